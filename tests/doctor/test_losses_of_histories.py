"""Tokens lost to histories that were cut, summed up or cleared, and to blocks that moved, with a
tokenizer: exact against a slow replay in tokens (token_losses.py) that knows for every byte of a
prompt where it stands in the same prompt without the cut. Only a template that writes messages one
after the other is used: what a message is in the text is known then without the doctor."""

from __future__ import annotations

import json
import random
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from doctor.model_folders import model_folder
from doctor.test_losses_in_tokens import Told, by_tokenizers, render_by, told_of
from doctor.token_losses import Trace, lost_to, planted_trace, token_prompt
from doctor_planted import base_words
from doctor_planted.bases import make_app, steps_of
from doctor_planted.carriers import prompt_of
from doctor_planted.losses import cut_prompt
from hitpath.core import Setting
from hitpath.report.doctor_run import open_subject

if TYPE_CHECKING:
    from pathlib import Path

    from doctor.token_losses import Encode, Render

Row = dict[str, Any]
HEAD = "<|im_start|>assistant\n"
KEPT, STEP = 4, 4
"""Messages that a cut leaves, and by how many it moves on."""
NOTE = "[Old tool result content cleared]"
SUMMARY = "<summary>\nThe user was greeted, and the record was looked up.\n</summary>"
CUTS = ("truncated_history", "compacted_history", "cleared")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("histories")


def cut_trace(kind: str, seed: int, render: Render, encode: Encode) -> Trace:
    """One application whose history is cut from the front, summed up once, or whose old results
    are cleared."""
    rng = random.Random(f"cut:{kind}:{seed}")
    app = make_app(rng, rng.choice(base_words.APPS), rng.choice(("service", "code")), 3)
    trace = Trace()
    for number, step in enumerate(steps_of(app, rng, (4.0, 400.0), 30.0)):
        body = prompt_of(step, "openai")
        pieces, messages = _cut(body, kind, render)
        trace.prompts.append(token_prompt(cut_prompt(str(number), (), pieces), encode))
        trace.rows.append(
            {"custom_id": str(number), "model": "m", "session_id": step.session,
             "timestamp": step.time.isoformat(), **body, "messages": messages}
        )  # fmt: skip
    return trace


def _cut(body: Row, kind: str, render: Render) -> tuple[list[tuple[str, bool, bool]], list[Row]]:
    """(pieces of the text: whether each is sent, and stands in the uncut prompt; the messages that
    are sent)."""
    messages: list[Row] = body["messages"]
    *texts, head = _texts(body, render)
    stop = 1 + max(0, (len(messages) - 1 - KEPT) // STEP * STEP)
    if kind == "compacted_history":  # one summary for good
        stop = min(stop, 1 + STEP)
    while stop < len(messages) and messages[stop]["role"] == "tool":
        stop -= 1
    if kind == "cleared":
        sent: list[Row] = []
        pieces: list[tuple[str, bool, bool]] = []
        for number, (message, text) in enumerate(zip(messages, texts, strict=True)):
            is_old = number < stop and message["role"] == "tool"
            sent.append({**message, "content": NOTE} if is_old else message)
            before, _, after = text.partition(message["content"]) if is_old else (text, "", "")
            pieces.append((before, True, True))
            if is_old:
                told = message["content"]
                pieces += [(NOTE, True, False), (told, False, True), (after, True, True)]
        return [*pieces, (head, True, True)], sent
    note = [{"role": "user", "content": SUMMARY}]
    note = note if kind == "compacted_history" and stop > 1 else []
    summed_up = [(_texts({"messages": note}, render)[0], True, False)] if note else []
    rest = [(text, number >= stop, True) for number, text in enumerate(texts[1:], 1)]
    pieces = [(texts[0], True, True), *summed_up, *rest, (head, True, True)]
    return pieces, [messages[0], *note, *messages[stop:]]


def _texts(body: Row, render: Render) -> list[str]:
    """Each message, and the head of the reply: by rendering one message more each time. What stands
    before the first message is its own."""
    messages = body["messages"]
    whole = [render({**body, "messages": messages[:n]}) for n in range(1, len(messages) + 1)]
    assert all(text.endswith(HEAD) for text in whole)
    bare = ["", *(text.removesuffix(HEAD) for text in whole)]
    assert all(longer.startswith(text) for text, longer in pairwise(bare))
    return [*(longer.removeprefix(text) for text, longer in pairwise(bare)), HEAD]


@cache
def asked(folder: Path, kind: str, seed: int) -> tuple[Trace, Told]:
    """A trace, and what the doctor says of it."""
    spec = model_folder(folder / "clean_chatml", "clean_chatml")
    render, encode = render_by(spec), by_tokenizers(spec)
    if kind == "moved_block":
        trace = planted_trace(kind, seed, render, encode)
    else:
        trace = cut_trace(kind, seed, render, encode)
    path = folder / f"{kind}-{seed}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in trace.rows), encoding="utf-8")
    subject = open_subject([str(path)], Setting(tokenizer=spec, block_size=1))
    own = [subject.requests.symbols(row).tolist() for row in range(len(subject.trace))]
    assert own == [prompt.tokens for prompt in trace.prompts]
    return trace, told_of(subject)


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("kind", [*CUTS, "moved_block"])
def test_every_request_loses_the_tokens_that_the_replay_says(
    kind: str, seed: int, folder: Path
) -> None:
    trace, told = asked(folder, kind, seed)
    total = 0
    for row, finding in enumerate(told.findings):
        want = set()
        if finding.relative >= 0:
            earlier = trace.prompts[:row]
            want = lost_to(trace.prompts[row], trace.prompts[finding.relative], earlier)
        assert int(told.costs.lost[row]) == len(want), row
        total += len(want)
    assert total > 0
    of_defects = sum(defect.tokens_invalidated for defect in told.defects)
    assert of_defects + int(told.costs.unexplained.sum()) == total
    expected = "truncated_history" if kind == "cleared" else kind
    assert {defect.kind for defect in told.defects} == {expected}
