"""The gain of a defect is that of its fix in the requests of its application: what a trace of that
application alone gains. Several defects of one fix and application say that they gain together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hitpath.core import Setting
from hitpath.doctor.proof import ALL
from hitpath.report.doctor_document import doctor_document
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

DESK = "Time: {clock}. You are the night desk of a small hotel. " + "Be brief and kind. " * 60
BOOKS = "Ledgers are kept. " * 9 + "As of {clock}, nothing is guessed. " + "Quote the page. " * 40
SETTING = Setting(block_size=1)


def chat(number: int, session: str, system: str, tools: list[Any] | None = None) -> dict[str, Any]:
    clock = f"10:{number:02}:{number * 7 % 60:02}"
    said = [
        {"role": "system", "content": system.format(clock=clock)},
        {"role": "user", "content": f"Question {number}?"},
    ]
    row = {"id": f"{session}{number}", "arrival_s": number * 60, "session": f"{session}{number}"}
    return {**row, "messages": said, **({"tools": tools} if tools else {})}


def examined(rows: list[dict[str, Any]], path: Path) -> Diagnosis:
    return examine(open_subject([str(write_jsonl(path, rows))], SETTING), what_ifs=False)


def test_each_application_gains_what_it_gains_alone(tmp_path: Path) -> None:
    desks = [chat(n, "desk", DESK) for n in range(0, 40, 2)]
    books = [chat(n, "books", BOOKS) for n in range(1, 40, 8)]
    both = sorted([*desks, *books], key=lambda row: row["arrival_s"])
    found = examined(both, tmp_path / "both.jsonl")
    assert [defect.kind for defect in found.defects] == ["clock", "clock"]
    gains = [found.gain_of(defect) for defect in found.defects]
    alone = [examined(rows, tmp_path / f"{len(rows)}.jsonl") for rows in (desks, books)]
    for gain, one in zip(gains, alone, strict=True):
        assert gain is not None
        assert gain.tokens == one.proofs[0].gain_tokens > 0
        assert gain.beside == gain.tokens
        assert gain.others == ()
    assert sum(gain.tokens for gain in gains if gain is not None) == found.proofs[0].gain_tokens


def test_kinds_are_summed_over_applications(tmp_path: Path) -> None:
    rows = [chat(n, "desk", DESK) for n in range(0, 40, 2)]
    rows += [chat(n, "books", BOOKS) for n in range(1, 40, 8)]
    found = examined(sorted(rows, key=lambda row: row["arrival_s"]), tmp_path / "t.jsonl")
    told = doctor_document(found, SETTING)
    (kind,) = told["kinds"]
    assert kind == {
        "kind": "clock",
        "num_defects": 2,
        "num_applications": 2,
        "num_requests": sum(one["num_requests"] for one in told["defects"]),
        "tokens_invalidated": sum(one["tokens_invalidated"] for one in told["defects"]),
        "gain_tokens": found.proofs[0].gain_tokens,
    }


def test_all_that_one_fix_gains_is_told_once(tmp_path: Path) -> None:
    """Keys of one tool and `required` of another come in two orders: one fix, no two gains."""

    def tool(name: str, *, keys: bool = False, required: bool = False) -> dict[str, Any]:
        words = [("b", {"type": "string"}), ("a", {"type": "integer", "description": "x" * 300})]
        told = dict(words[::-1] if keys else words)
        names = ["b", "a"] if required else ["a", "b"]
        parameters = {"type": "object", "properties": told, "required": names}
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    rows = []
    for n in range(12):
        tools = [tool("one", keys=n % 2 == 1), tool("two", required=n % 3 == 1)]
        rows.append(chat(n, "s", BOOKS.replace("{clock}", "noon"), tools))
    found = examined(rows, tmp_path / "t.jsonl")
    gains = [found.gain_of(defect) for defect in found.defects]
    assert len(gains) == 2
    assert gains[0] is not None
    assert gains[1] is not None
    assert (gains[0].others, gains[1].others) == ((1,), (0,))
    (proof,) = (one for one in found.proofs if one.name != ALL)
    assert gains[0].tokens == gains[1].tokens == proof.gain_tokens
    told = doctor_document(found, SETTING)["defects"]
    assert [(one["gain_tokens"], one["gained_with"]) for one in told] == [
        (proof.gain_tokens, [1]),
        (proof.gain_tokens, [0]),
    ]
