"""Kinds that bodies cannot carry, because only token ids show them: a reply tokenised anew, tokens
that merge at a seam of text, positions that shift.

retokenised and position_shift stand in rows with `tokens` (and `output_ids`), seam_merge in rows
with `prompt`; each file needs the tokenizer that is written beside it.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from doctor_planted import base_words, field_words
from doctor_planted.bases import make_app
from doctor_planted.judging import Score

Text = Callable[[str], str]


@dataclass(frozen=True)
class TokenForms:
    """How a set of traces differs from others: words, what a reply looks like, where a server cuts
    (tokens kept at the beginning, size of the context, step of what is dropped)."""

    words: ModuleType = base_words
    replies: tuple[Text, ...] = ()
    keeps: tuple[int, ...] = (0, 4, 4, 32, 64)
    sizes: tuple[int, int] = (240, 420)
    step: int = 16


def _as_call(text: str) -> str:
    """A call of a tool as models write it."""
    return json.dumps({"name": "reply", "arguments": {"text": text, "n": len(text)}}, indent=1)


def _as_list(text: str) -> str:
    return "\n\n".join(f"- {part.strip()}" for part in text.split(". "))


def _as_code(text: str) -> str:
    return "```\n" + text.replace(", ", ",\n    ") + "\n```"


USUAL = TokenForms()


def _as_letter(text: str) -> str:
    return f"Dear customer,\n\n{text}\n\nYours,\nthe desk\n"


def _as_table(text: str) -> str:
    rows = "\n".join(f"| {i} | {part} |" for i, part in enumerate(text.split(", ")))
    return f"| part | text |\n|---|---|\n{rows}"


def _as_xml(text: str) -> str:
    return f"<reply lang='en'>\n  <text>{text}</text>\n</reply>"


FIELD = TokenForms(field_words, (_as_call, _as_list, _as_code), (1, 4, 16, 48), (300, 620), 64)
UNSEEN = TokenForms(field_words, (_as_letter, _as_table, _as_xml), (2, 8, 24, 100), (350, 500), 32)
VISIBLE = 24
"""Tokens that must be left of the old prompt behind a shift, for it to be one."""
KINDS = ("retokenised", "position_shift", "seam_merge")


@dataclass
class TokenRequest:
    """kind: what the first difference from the request before it in the dialogue is, "" for no
    defect. planted: whether its dialogue has any."""

    id: str
    dialogue: str
    row: dict[str, Any]
    tokens: list[int]
    output: list[int] = field(default_factory=list)
    kind: str = ""
    planted: bool = True


@dataclass
class TokenTrace:
    kind: str
    requests: list[TokenRequest]

    def write(self, path: Path) -> Path:
        path.write_text("".join(json.dumps(r.row) + "\n" for r in self.requests), encoding="utf-8")
        return path


@lru_cache(maxsize=1)
def tokenizer() -> Any:
    """Byte-level pairs without a split into words, so that tokens may merge across any seam."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        max_token_length=8,
    )
    words = (base_words.RULES, base_words.CODE_RULES, base_words.QUESTIONS, base_words.ANSWERS)
    lines = [line for group in words for line in group]
    lines += [f"{a}\n\n{b}\n{a}: {b}" for a, b in pairwise(lines)]
    made.train_from_iterator(lines, trainer)
    return made


def write_tokenizer(folder: Path) -> Path:
    path = folder / "tokenizer.json"
    tokenizer().save(str(path))
    return path


def encode(text: str) -> list[int]:
    ids: list[int] = tokenizer().encode(text).ids
    return ids


def decode(ids: list[int]) -> str:
    text: str = tokenizer().decode(ids)
    return text


def common(a: list[int], b: list[int]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


def make_token_trace(
    seed: int, kind: str, num_apps: int = 5, forms: TokenForms = USUAL
) -> TokenTrace:
    """Dialogues of several applications; in some the kind is planted, others only grow."""
    rng = random.Random(f"{seed}:{kind}")
    lists: list[list[TokenRequest]] = []
    planted_lists = set()
    for i, row in enumerate(rng.sample(base_words.APPS, num_apps)):
        app = make_app(rng, row, "chat", 20, forms.words)
        reply = rng.choice(forms.replies) if forms.replies else str
        planted_here = i >= 2
        for number in range(4):
            parts = app.dialogues[number::4]
            texts = [str(m["content"]) for part in parts for m in part.messages]
            texts, dialogue = list(dict.fromkeys(texts))[:12], parts[0]
            texts = [reply(text) if i % 2 else text for i, text in enumerate(texts)]
            head = app.joiner.join(app.system)
            make = _maker(kind, forms) if planted_here else _plain(kind)
            if planted_here:
                planted_lists.add(len(lists))
            lists.append(make(rng, f"{app.name}/{dialogue.session}", head, texts))
    order = [i for i, rows in enumerate(lists) for _ in rows]
    rng.shuffle(order)
    requests, left = [], [iter(rows) for rows in lists]
    for rank, i in enumerate(order):
        request = next(left[i])
        request.id, request.planted = f"t{rank:03d}", i in planted_lists
        request.row = {"id": request.id, "arrival_s": 10.0 * rank, **request.row}
        requests.append(request)
    return TokenTrace(kind, requests)


def _row(dialogue: str, tokens: list[int], output: list[int], kind: str) -> TokenRequest:
    row: dict[str, Any] = {"tokens": tokens, "session": dialogue}
    if output:
        row["output_ids"] = output
    return TokenRequest("", dialogue, row, tokens, output, kind)


def _plain(kind: str) -> Callable[..., list[TokenRequest]]:
    def make(rng: random.Random, name: str, head: str, texts: list[str]) -> list[TokenRequest]:
        """Each prompt continues the one before and its reply, id for id."""
        ids, text = encode(f"{head}\n"), f"{head}\n"
        rows: list[TokenRequest] = []
        for question, answer in zip(texts[::2], texts[1::2], strict=False):
            ids = ids + encode(f"User: {question}\n")
            text += f"User: {question}\n"
            reply = encode(f"Assistant: {answer}")
            if kind == "seam_merge":
                if rows and encode(text)[: len(rows[-1].tokens)] != rows[-1].tokens:
                    break
                rows.append(_text_row(name, text, ""))
                text += f"Assistant: {answer}\n"
            else:
                rows.append(_row(name, list(ids), reply, ""))
            ids = ids + reply + encode("\n")
        return rows

    return make


def _text_row(dialogue: str, text: str, kind: str) -> TokenRequest:
    row = {"prompt": text, "session": dialogue}
    return TokenRequest("", dialogue, row, encode(text), [], kind)


def _other_ids(rng: random.Random, text: str) -> list[int]:
    """Ids that decode to the text and that its tokenizer does not give: cut inside tokens, as
    sampling does that chooses two pieces where the tokenizer merges them."""
    usual = encode(text)
    for _ in range(50):
        cut = rng.randrange(2, len(text) - 2)
        ids = encode(text[:cut]) + encode(text[cut:])
        if ids != usual and decode(ids) == text:
            return ids
    return usual


def _retokenised(rng: random.Random, name: str, head: str, texts: list[str]) -> list[TokenRequest]:
    """The engine's ids of a reply differ from those of its text in the next prompt. Half of the
    dialogues keep the engine's ids for one turn (spliced) and lose them in the turn after."""
    spliced = rng.random() < 0.5
    past: list[tuple[str, list[int]]] = [(f"{head}\n", [])]
    rows: list[TokenRequest] = []
    for question, answer in zip(texts[::2], texts[1::2], strict=False):
        past.append((f"User: {question}\nAssistant:", []))
        ids: list[int] = []
        for i, (text, engine) in enumerate(past):
            keep = spliced and engine and i == len(past) - 2
            ids += engine if keep else encode(text)
        reply = _other_ids(rng, f" {answer}\n")
        if not rows:
            kind = ""
        elif spliced:
            kind = "retokenised" if len(rows) > 1 else ""
        else:
            kind = "retokenised"
        rows.append(_row(name, ids, reply, kind))
        past.append((f" {answer}\n", reply))
    return _checked(rows)


def _checked(rows: list[TokenRequest]) -> list[TokenRequest]:
    """The kind stands only where the ids really differ within what the earlier request held."""
    for old, new in pairwise(rows):
        whole = old.tokens + old.output
        if common(whole, new.tokens) == len(whole):
            new.kind = ""
    return rows


def _position_shift(
    forms: TokenForms, rng: random.Random, name: str, head: str, texts: list[str]
) -> list[TokenRequest]:
    """A server that drops tokens behind the first n_keep when the context is full, in the middle
    of messages; sinks and a window; or a plain window."""
    keep = rng.choice(forms.keeps)
    size = rng.randrange(*forms.sizes)
    halve = rng.random() < 0.5
    ids = encode(f"{head}\n")[-100:]
    rows: list[TokenRequest] = []
    kind = ""
    for question, answer in zip(texts[::2], texts[1::2], strict=False):
        more = encode(f"User: {question}\n")
        over = len(ids) + len(more) - size
        if over > 0:
            drop = (
                max(over, (len(ids) - keep) // 2) if halve else -(-over // forms.step) * forms.step
            )
            if decode(ids[keep + drop :][:6]).lstrip().startswith(("User:", "Assistant:")):
                drop += 5  # not by chance whole messages: that would be a truncated history
            visible = len(rows[-1].tokens if rows else ids) - keep - drop
            if visible < 2 * VISIBLE:
                break  # of the prompt before, not of the reply, which these rows do not tell
            ids = ids[:keep] + ids[keep + drop :]
            kind = "position_shift"
        ids = ids + more
        rows.append(_row(name, list(ids), [], kind if rows else ""))
        kind = ""
        reply = encode(f"Assistant: {answer}\n")
        ids = (ids + reply)[:size]
    return rows


def _seam_merge(rng: random.Random, name: str, head: str, texts: list[str]) -> list[TokenRequest]:
    """Each text continues the one before, but its last token merges with what follows."""
    text = f"{head}\n"
    rows: list[TokenRequest] = []
    for question, answer in zip(texts[::2], texts[1::2], strict=False):
        text += f"User: {question}"
        cut = _seam(rng, text, f"\n\nAssistant: {answer}\n")
        text += f"\n\nAssistant: {answer}\n"[:cut]
        rest = f"\n\nAssistant: {answer}\n"[cut:]
        kind = ""
        if rows and common(rows[-1].tokens, encode(text)) < len(rows[-1].tokens):
            kind = "seam_merge"
        rows.append(_text_row(name, text, kind))
        text += rest
    return rows


def _seam(rng: random.Random, before: str, text: str) -> int:
    """Where the text may be cut so that tokens merge across the cut; 0 if nowhere."""
    whole = encode(before + text)
    for cut in rng.sample(range(1, len(text)), min(12, len(text) - 1)):
        ids = encode(before + text[:cut])
        if whole[: len(ids)] != ids:
            return cut
    return 0


def _maker(kind: str, forms: TokenForms) -> Callable[..., list[TokenRequest]]:
    makers: dict[str, Callable[..., list[TokenRequest]]] = {
        "retokenised": _retokenised, "position_shift": partial(_position_shift, forms),
        "seam_merge": _seam_merge,
    }  # fmt: skip
    return makers[kind]


def kind_of_pair(kind: str, old: TokenRequest, new: TokenRequest) -> str:
    """What the first difference from an earlier request of the dialogue is; "" for none."""
    if common(old.tokens + old.output, new.tokens) == len(old.tokens + old.output):
        return ""
    # Without reading the reply there is a difference only where the prompts differ.
    if kind != "retokenised" and common(old.tokens, new.tokens) == len(old.tokens):
        return ""
    return kind


def is_visible(old: TokenRequest, new: TokenRequest) -> bool:
    """Whether the end of an earlier prompt still stands in a later one."""
    tail = old.tokens[-VISIBLE:]
    return any(new.tokens[i : i + VISIBLE] == tail for i in range(len(new.tokens)))


def score_tokens(trace: TokenTrace, found: list[dict[str, Any]]) -> Score:
    """Kinds, and the common tokens to the token. Any earlier request of the dialogue may be the
    relative; where none is named, the last one is meant."""
    result = Score()
    said_of = {str(row["id"]): row for row in found}
    earlier: dict[str, dict[str, TokenRequest]] = {}
    for new in trace.requests:
        dialogue = earlier.setdefault(new.dialogue, {})
        said = said_of.get(new.id, {})
        result.rows += 1
        result.missing_rows += not said
        kind, relative = said.get("kind"), said.get("relative_id")
        named = "" if kind in (None, "", "new_content", "none") else str(kind)
        old = dialogue.get(str(relative), list(dialogue.values())[-1] if dialogue else None)
        if dialogue and relative is not None and str(relative) not in dialogue:
            result.wrong_relatives += 1
        dialogue[new.id] = new
        if old is not None and trace.kind == "position_shift" and not is_visible(old, new):
            continue  # of an older request nothing may be left: then both answers are right
        true = "" if old is None or not new.planted else kind_of_pair(trace.kind, old, new)
        if named == true and true and old is not None:
            tally = result.tallies[true]
            tally.found += 1
            tally.placed += 1
            tally.exact += said.get("common_tokens") in _true_common(old, new)
        if named == true:
            continue
        result.notes.append(f"{new.id} against {old.id if old else None}: said {said}, true {true}")
        if true:
            result.tallies[true].missed += 1
        if named:
            result.tallies[named].false += 1
    return result


def _true_common(old: TokenRequest, new: TokenRequest) -> set[int]:
    """With the reply of the earlier request or without it."""
    return {common(old.tokens, new.tokens), common(old.tokens + old.output, new.tokens)}
