"""Where a text may be cut so that its parts, tokenised apart, give exactly the tokens of the whole.

Two kinds of place qualify, and each comes with the condition under which it does:

* *After an added token* that is matched on the raw text (`normalized` false, no `lstrip`, `rstrip`
  or `single_word`). Such tokens are split off before anything else, leftmost-longest; all later
  stages see each piece by itself. The only stage that asks where a piece stands (Metaspace with
  `prepend_scheme: first`) asks whether it stands at the very beginning, so the right part is
  tokenised with the added token in front of it, and that one id is dropped.
* *At a seam*: between an ASCII letter x and a space or newline y, where no stage can put both into
  one piece or change one because of the other. Proved per stage, on the pair alone:

  | stage | condition |
  |---|---|
  | added tokens | none contains x y, raw or normalised; none has `rstrip` or `single_word` |
  | normalizer | none, or NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, BertNormalizer, Sequences |
  | ByteLevel | its own regex (GPT-2's) as for Split; with `add_prefix_space`, y is a space |
  | Split | isolated, or matches kept and the rest removed; text/regex_seams.py proves the regex |
  | Metaspace | splits, y is a space: the right part begins with its own mark, none is added |
  | Whitespace, WhitespaceSplit, BertPreTokenizer | none: no piece holds whitespace |
  | Digits, Punctuation (isolated) | never join x and y, but do not part them: another stage must |
  | Sequence | stages before the one that parts x and y must not join them; those after are local |

Anything else (no or another pre-tokenizer, another normalizer, a regex with look-behind, anchors,
back-references or set operations) has no seams. An unknown pre-tokenizer, normalizer, model or
post-processor, or BPE dropout, has no cuts at all.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hitpath.text.regex_seams import ENDS, LETTERS, Verdict, regex_verdict

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where texts for one tokenizer may be cut. All lengths are characters.

    `added` finds every token that is split off the raw text, leftmost-longest; a cut is allowed
    after those in `plain`. Which one stands at position s depends on at most `margin` characters
    from s on. `seam` matches x y: a cut is allowed between them, whatever stands around.
    """

    added: re.Pattern[str] | None = None
    plain: frozenset[str] = frozenset()
    margin: int = 0
    seam: re.Pattern[str] | None = None


_WHITESPACE_KINDS = ("Whitespace", "WhitespaceSplit", "BertPreTokenizer")
_KNOWN_PRE = (*_WHITESPACE_KINDS, "ByteLevel", "Split", "Metaspace", "Digits", "Punctuation")
_CHARWISE = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "BertNormalizer")
_KNOWN_NORMALIZERS = (*_CHARWISE, "Strip", "Nmt", "Precompiled", "Replace", "Prepend", "ByteLevel")
_KNOWN_POST = ("ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing")
_KNOWN_MODELS = ("BPE", "Unigram", "WordPiece", "WordLevel")


def cuts_of(config: dict[str, Any], normalize: Callable[[str], str]) -> Cuts:
    """The cuts of a tokenizer from its tokenizer.json; `normalize` is its own normalizer.

    Never raises for a form it does not know: that has no cuts.
    """
    if not _is_known(config):
        return Cuts()
    added = config.get("added_tokens") or []
    raw = [token for token in added if not token["normalized"]]
    contents = [token["content"] for token in raw]
    plain = frozenset(
        token["content"]
        for token in raw
        if not (token["lstrip"] or token["rstrip"] or token["single_word"])
        and token["content"] == token["content"].strip()
    )
    return make_cuts(contents, plain, _seam_ends(config, added, normalize))


def make_cuts(added: Iterable[str], plain: frozenset[str], ends: Iterable[str]) -> Cuts:
    """Cuts from the added tokens, those of them one may cut after, and the seams' second chars."""
    words = sorted({word for word in added if word})
    chars = "".join(sorted(ends))
    return Cuts(
        added=re.compile(_longest_of(words)) if words else None,
        plain=plain,
        margin=1 + max(map(len, words), default=0),
        seam=re.compile(f"[A-Za-z][{chars}]") if chars else None,
    )


def _is_known(config: dict[str, Any]) -> bool:
    model = config.get("model") or {}
    added = config.get("added_tokens") or []
    post = _flatten(config.get("post_processor"), "processors")
    return (
        model.get("type") in _KNOWN_MODELS
        and not model.get("dropout")
        and model.get("alpha") is None
        and len({token["content"] for token in added}) == len(added)
        and len({token["id"] for token in added}) == len(added)
        and all(s["type"] in _KNOWN_PRE for s in _flatten(config.get("pre_tokenizer")))
        and all(
            s["type"] in _KNOWN_NORMALIZERS
            for s in _flatten(config.get("normalizer"), "normalizers")
        )
        and all(s["type"] in _KNOWN_POST and _keeps_order(s) for s in post)
    )


def _keeps_order(post: dict[str, Any]) -> bool:
    """Whether a template puts the text in once."""
    single = post.get("single", [{"Sequence": {"id": "A"}}])
    return sum("Sequence" in piece for piece in single) == 1


def _flatten(stage: dict[str, Any] | None, inner: str = "pretokenizers") -> list[dict[str, Any]]:
    if stage is None:
        return []
    if stage["type"] != "Sequence":
        return [stage]
    return [flat for part in stage[inner] for flat in _flatten(part, inner)]


def _seam_ends(
    config: dict[str, Any], added: list[dict[str, Any]], normalize: Callable[[str], str]
) -> frozenset[str]:
    """The y for which letter, y is a seam of the whole pipeline."""
    ends = ENDS
    for stage in _flatten(config.get("normalizer"), "normalizers"):
        if stage["type"] not in _CHARWISE:
            return frozenset()
        if stage["type"] == "BertNormalizer":  # turns a newline into a space
            ends = frozenset(" ")
    for token in added:
        if token["rstrip"] or token["single_word"]:
            return frozenset()
        for text in (token["content"], normalize(token["content"])):
            ends -= {y for x, y in pairwise(text) if x in LETTERS}
    return ends & _parted(_flatten(config.get("pre_tokenizer")))


def _parted(stages: list[dict[str, Any]]) -> frozenset[str]:
    apart, parted = ENDS, frozenset[str]()
    for at, stage in enumerate(stages):
        verdict = _stage_verdict(stage)
        later_are_local = not any(
            later["type"] == "Metaspace" and later.get("prepend_scheme") == "first"
            for later in stages[at + 1 :]
        )
        if later_are_local:
            parted |= apart & verdict.parts
        apart &= verdict.apart
    return parted


def _stage_verdict(stage: dict[str, Any]) -> Verdict:
    kind = stage["type"]
    if kind in _WHITESPACE_KINDS:
        return Verdict(ENDS, ENDS)
    if kind == "Digits" or (kind == "Punctuation" and stage.get("behavior") == "Isolated"):
        return Verdict(ENDS)
    if kind == "Metaspace" and stage.get("split", True):
        return Verdict(frozenset(), frozenset(" "))  # it changes the space: nothing to say of later
    if kind == "ByteLevel" and stage.get("use_regex", True):
        ends = frozenset(" ") if stage.get("add_prefix_space", True) else ENDS
        return Verdict(frozenset(), ends & regex_verdict(GPT2).parts)
    if kind == "Split" and (stage["behavior"], stage["invert"]) in (
        ("Isolated", False),
        ("Removed", True),
    ):
        ((how, text),) = stage["pattern"].items()
        return regex_verdict(text if how == "Regex" else re.escape(text))
    return Verdict()


def _longest_of(words: list[str]) -> str:
    """A pattern for any of the sorted words, the longest where several begin alike."""
    tree: dict[str, Any] = {}
    for word in words:
        node = tree
        for char in word:
            node = node.setdefault(char, {})
        node[""] = {}

    def pattern(node: dict[str, Any]) -> str:
        branches = [re.escape(char) + pattern(node[char]) for char in node if char]
        if not branches:
            return ""
        if len(branches) == 1 and "" not in node:
            return branches[0]
        return f"(?:{'|'.join(branches)}){'?' if '' in node else ''}"

    return pattern(tree)
