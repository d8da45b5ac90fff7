"""Where a text may be cut so that its parts, tokenised apart, give exactly the tokens of the whole.

Three kinds of place qualify, and each comes with the condition under which it does:

* *After an added token* that is matched on the raw text (`normalized` false, no `lstrip`, `rstrip`
  or `single_word`). Such tokens are split off before anything else, leftmost-longest; all later
  stages see each piece by itself. Where a stage asks whether a piece stands at the very beginning
  (Metaspace with `prepend_scheme: first`), or an added token asks what stands before it
  (`single_word`), the right part is tokenised with the added token in front of it, and that one id
  is dropped; else it stands `alone`.
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

* *Before a paragraph*: between the second newline x and an ASCII letter y that has another ASCII
  character behind it (so that no normalizer composes y), by the same table with these differences:
  BertNormalizer, ByteLevel with a regex, Metaspace and any `lstrip` token have none; no added token
  has anything after a newline; for Split, text/regex_seams.py proves the pair x y.

Anything else (no or another pre-tokenizer, another normalizer, a regex with look-behind, anchors,
back-references or set operations) has no seams. An unknown pre-tokenizer, normalizer, model or
post-processor, or BPE dropout, has no cuts at all.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from hitpath.text.regex_seams import ENDS, LETTERS, Verdict, regex_verdict

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where texts for one tokenizer may be cut. All lengths are characters.

    `added` finds every token that is split off the raw text, leftmost-longest; a cut is allowed
    after those in `reach`. That such a token stands at position s and is split off there depends on
    the text before s and on `reach[token]` characters from s on: its own, or more where it also
    stands inside a longer token. What follows it is tokenised the same `alone`, without it in
    front. `seam` and `line` match x y: a cut is allowed between them, whatever stands around.
    """

    added: re.Pattern[str] | None = None
    reach: Mapping[str, int] = field(default_factory=dict)
    alone: bool = False
    seam: re.Pattern[str] | None = None
    paragraph: re.Pattern[str] | None = None


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
    stages = _flatten(config.get("pre_tokenizer"))
    return make_cuts(
        contents,
        plain,
        ends=_seam_ends(config, added, normalize),
        lines=_parts_lines(config, added, normalize),
        alone=not any(map(_asks_for_beginning, stages))
        and not any(token["single_word"] for token in added),
    )


def make_cuts(
    added: Iterable[str], plain: frozenset[str], *, ends: Iterable[str], lines: bool, alone: bool
) -> Cuts:
    """Cuts from the added tokens, those of them one may cut after, the seams' second characters,
    whether newline, letter may be cut, and whether an added token may be left away in front."""
    words = sorted({word for word in added if word})
    chars = "".join(sorted(ends))
    return Cuts(
        added=re.compile(_longest_of(words)) if words else None,
        reach=_reaches(words, plain),
        alone=alone,
        seam=re.compile(f"[A-Za-z][{chars}]") if chars else None,
        paragraph=re.compile("\n\n[A-Za-z][ -~]") if lines else None,
    )


def _reaches(words: Iterable[str], plain: frozenset[str]) -> dict[str, int]:
    """For each plain token, how far a match that could stand in its place may go on: to its own
    end, or to that of the longest word that has it inside."""
    reaches = {token: len(token) for token in plain}
    lengths = sorted({len(token) for token in plain})
    for word in words:
        for start in range(len(word)):
            for length in lengths:
                token = word[start : start + length]
                if token in reaches:
                    reaches[token] = max(reaches[token], len(word) - start)
    return reaches


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


def _parts_lines(
    config: dict[str, Any], added: list[dict[str, Any]], normalize: Callable[[str], str]
) -> bool:
    """Whether newline, letter may be cut in the whole pipeline."""
    for stage in _flatten(config.get("normalizer"), "normalizers"):
        if stage["type"] not in _CHARWISE or stage["type"] == "BertNormalizer":
            return False
    for token in added:
        if token["lstrip"] or token["rstrip"] or token["single_word"]:
            return False
        if any("\n" in text[:-1] for text in (token["content"], normalize(token["content"]))):
            return False
    apart, parted = True, False
    stages = _flatten(config.get("pre_tokenizer"))
    for at, stage in enumerate(stages):
        verdict = _stage_verdict(stage)
        if not any(map(_asks_for_beginning, stages[at + 1 :])):
            parted |= apart and verdict.line_parts
        apart &= verdict.line_apart
    return parted


def _parted(stages: list[dict[str, Any]]) -> frozenset[str]:
    apart, parted = ENDS, frozenset[str]()
    for at, stage in enumerate(stages):
        verdict = _stage_verdict(stage)
        if not any(map(_asks_for_beginning, stages[at + 1 :])):
            parted |= apart & verdict.parts
        apart &= verdict.apart
    return parted


def _asks_for_beginning(stage: dict[str, Any]) -> bool:
    """Whether the very beginning of a text is tokenised in another way than any other piece."""
    return stage["type"] == "Metaspace" and stage.get("prepend_scheme") == "first"


def _stage_verdict(stage: dict[str, Any]) -> Verdict:
    kind = stage["type"]
    if kind in _WHITESPACE_KINDS:
        return Verdict(ENDS, ENDS, True, True)
    if kind == "Digits" or (kind == "Punctuation" and stage.get("behavior") == "Isolated"):
        return Verdict(ENDS, line_apart=True)
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
