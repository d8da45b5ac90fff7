"""Rung 7 against a slow, obvious model of it, and as a label of the ledger.

The model knows how each prompt was put together: tools that stand in some order, texts into which
something was stamped. Its canonical prompt is the tools by name and the texts without stamps; the
image of a byte is where the same byte of the same piece stands. No product code is used for it.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hitpath.core import Setting
from hitpath.spine import analyze
from hitpath.summary import Analysis
from support import write_jsonl


@dataclass(frozen=True)
class Piece:
    """name: equal for the same piece in another prompt; stamp: changes by itself."""

    name: str
    text: bytes
    stamp: bool = False


def pieces_of(row: dict[str, Any], stamp: str) -> tuple[list[Piece], list[Piece]]:
    """(the pieces as sent, the same in canonical order) in the plain rendering of a chat."""
    tools = [Piece(t["name"], json.dumps(t, separators=(",", ":")).encode()) for t in row["tools"]]

    def joined(parts: list[Piece]) -> list[Piece]:
        out = [Piece("head", b"<|tools|>\n[")]
        for number, tool in enumerate(parts):
            out += [Piece(f"comma {number}", b",")] * bool(number) + [tool]
        return [*out, Piece("end", b"]<|end|>\n")]

    rest: list[Piece] = []
    for number, message in enumerate(row["messages"]):
        rest.append(Piece(f"role {number}", f"<|{message['role']}|>\n".encode()))
        before, found, after = message["content"].partition(stamp)
        rest.append(Piece(f"before {number} {before}", before.encode()))
        if found:
            rest.append(Piece("stamp", found.encode(), stamp=True))
            rest.append(Piece(f"after {number} {after}", after.encode()))
        rest.append(Piece(f"end {number}", b"<|end|>\n"))
    rest.append(Piece("reply", b"<|assistant|>\n"))
    ordered = sorted(tools, key=lambda tool: tool.name)
    return joined(tools) + rest, joined(ordered) + [p for p in rest if not p.stamp]


def common(one: bytes, other: bytes) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
                min(len(one), len(other)))  # fmt: skip


def slow_rung(rows: list[dict[str, Any]], stamps: list[str]) -> list[tuple[int, int]]:
    """(rung 6, rung 7) of each prompt, unlimited cache, byte by byte."""
    sent: list[bytes] = []
    canonical: list[bytes] = []
    found: list[tuple[int, int]] = []
    for row, stamp in zip(rows, stamps, strict=True):
        own, ordered = pieces_of(row, stamp)
        text = b"".join(piece.text for piece in own)
        form = b"".join(piece.text for piece in ordered)
        six = max((common(text, other) for other in sent), default=0)
        match = max((common(form, other) for other in canonical), default=0)
        place: dict[str, int] = {}
        at = 0
        for piece in ordered:
            place.setdefault(piece.name, at)
            at += len(piece.text)
        covered, at = 0, 0
        for piece in own:
            for offset in range(len(piece.text)):
                if not piece.stamp and at + offset >= six:
                    covered += place[piece.name] + offset < match
            at += len(piece.text)
        found.append((six, six + covered))
        sent.append(text)
        canonical.append(form)
    return found


def traffic(seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Sessions with a clock in the system text and tools in any order."""
    rng = random.Random(seed)
    tools = [
        {"name": name, "description": f"What {name} does, in words {name * 3}", "parameters": {}}
        for name in ("alpha", "beta", "gamma", "delta")
    ]
    rows, stamps = [], []
    said: dict[int, list[dict[str, str]]] = {}
    for number in range(14):
        session = rng.randrange(3)
        stamp = f"2026-11-29 10:{rng.randrange(60):02}:{rng.randrange(60):02}"
        history = said.setdefault(session, [])
        if history:
            history.append({"role": "assistant", "content": f"answer {number} of {session}"})
        history.append(
            {"role": "user", "content": f"question {number} of session {session}, please"}
        )
        system = {"role": "system", "content": f"You help.\nCurrent time: {stamp}\nBe kind to all."}
        rows.append({
            "model": "m",
            "messages": [system, *history],
            "tools": rng.sample(tools, 4) if seed % 2 else tools,
            "session_id": str(session),
            "timestamp": 1_764_400_000 + number,
        })  # fmt: skip
        stamps.append(stamp)
    return json.loads(json.dumps(rows)), stamps


def analysed(path: Path, **setting: Any) -> Analysis:
    found = analyze([str(path)], Setting(**setting), canonical=True)
    assert isinstance(found, Analysis)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_rung_seven_is_the_slow_model_s(seed: int, tmp_path: Path) -> None:
    rows, stamps = traffic(seed)
    analysis = analysed(write_jsonl(tmp_path / "t.jsonl", rows))
    rungs = analysis.ledger.rungs.model
    expected = slow_rung(rows, stamps)
    assert rungs[6].tolist() == [six for six, _ in expected]
    assert rungs[7].tolist() == [seven for _, seven in expected]
    analysis.ledger.check()
    assert "diverged" not in analysis.ledger.rungs.unknown
    assert analysis.ledger.total(analysis.ledger.cause("diverged")) > 0


def test_what_is_covered_is_in_the_same_place_whatever_the_engine(tmp_path: Path) -> None:
    rows, _ = traffic(1)
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    small = analysed(path, engine="lru", capacity_tokens=600, block_size=16)
    large = analysed(path)
    assert np.array_equal(small.ledger.rungs.model[7], large.ledger.rungs.model[7])


def test_without_text_it_is_not_known(tmp_path: Path) -> None:
    rows = [{"id": str(i), "arrival_s": i, "tokens": [1, 2, 3, i]} for i in range(3)]
    analysis = analysed(write_jsonl(tmp_path / "t.jsonl", rows))
    assert "diverged" in analysis.ledger.rungs.unknown
    assert analysis.ledger.total(analysis.ledger.cause("diverged")) == 0


def test_unless_asked_for_nothing_is_kept(tmp_path: Path) -> None:
    rows, _ = traffic(1)
    found = analyze([str(write_jsonl(tmp_path / "t.jsonl", rows))], Setting())
    assert isinstance(found, Analysis)
    assert found.trace.places == ()
    assert "diverged" in found.ledger.rungs.unknown
