"""Prompts in ids: what runs of ids tell without text, and what a tokenizer adds. Rows are written
by hand from the documented shape of hitpath's JSONL."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doctor.planting import PLANTS, rows_of, traffic
from hitpath.core import Setting
from hitpath.doctor.change import Comparison
from hitpath.doctor.diagnosis import Diagnosis
from hitpath.doctor.replies import Ids, id_change
from hitpath.doctor.symbols import compare_symbols
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl


def ids(rng: np.random.Generator, num: int) -> np.ndarray:
    return rng.integers(0, 50_000, num).astype(np.uint32)


def compared(there: list[np.ndarray], here: list[np.ndarray]) -> Comparison:
    return compare_symbols(np.concatenate(there), np.concatenate(here), True)


def test_runs_of_ids_tell_what_happened_to_a_history() -> None:
    rng = np.random.default_rng(1)
    head, a, b, c, new, note = (ids(rng, n) for n in (200, 300, 300, 300, 120, 20))
    cases = {
        "truncated_history": ([head, a, b, c], [head, b, c]),
        "compacted_history": ([head, a, b, c], [head, note, c, new]),
        "edited_message": ([head, a, b, c], [head, a, note, b[20:], c, new]),
        "moved_block": ([head, a, b, c], [head, b, a, c, new]),
        "position_shift": ([a, b, c], [a[150:], b, c, new]),
    }
    for kind, (there, here) in cases.items():
        found = compared(there, here)
        assert [change.kind for change in found.changes] == [kind]
        assert all(start < stop for start, stop in found.kept)


def test_ids_that_go_on_have_no_defect() -> None:
    rng = np.random.default_rng(2)
    head, new, other = ids(rng, 300), ids(rng, 60), ids(rng, 60)
    assert not compared([head], [head, new]).changes
    assert not compared([head, other], [head, new]).changes


@pytest.mark.parametrize(
    ("expected", "own", "length", "kind"),
    [
        ("abcdefghijklmnop", "abcdefghijklmnop", 8, None),
        ("abc|def", "abc|def", 3, None),
    ],
)
def test_equal_ids_are_no_change(expected: str, own: str, length: int, kind: None) -> None:
    one, two = (np.frombuffer(text.encode(), dtype=np.uint8) for text in (expected, own))
    assert id_change(Ids(one, two, length, len(one)), None) is kind


def pieces(*texts: str) -> np.ndarray:
    """Ids of pieces of text, by a table."""
    for text in texts:
        if text not in TABLE:
            TABLE.append(text)
    return np.array([TABLE.index(text) for text in texts], dtype=np.uint32)


TABLE: list[str] = []


def decode(numbers: Any) -> str:
    return "".join(TABLE[n] for n in numbers)


def test_other_ids_of_one_text_are_a_merge_or_a_reply_tokenised_again() -> None:
    said = [f"w{n} " for n in range(30)]
    prompt = pieces("Ask", ":", "\n")
    reply = pieces(*said)
    merged = pieces("Ask", ":", "\n" + said[0], *said[1:])
    seam = id_change(Ids(np.concatenate([prompt, reply]), merged, 3, 2), decode)
    assert seam is not None
    assert seam.kind == "seam_merge"
    again = np.concatenate([prompt, pieces(*said[:5], said[5] + said[6], *said[7:])])
    found = id_change(Ids(np.concatenate([prompt, reply]), again, 3, 8), decode)
    assert found is not None
    assert found.kind == "retokenised"
    assert found.start == 8
    other = np.concatenate([prompt, pieces("<think>", "</think>", *said)])
    flipped = id_change(Ids(np.concatenate([prompt, reply]), other, 3, 3), decode)
    assert flipped is not None
    assert flipped.kind == "template_flip"


def diagnosis_of(path: Path, tokenizer: str | None) -> Diagnosis:
    return examine(open_subject([str(path)], Setting(tokenizer=tokenizer)))


def test_a_reply_whose_ids_come_back_otherwise_is_found_by_its_text(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    from hitpath.text.tokenizer import load_tokenizer

    name = "mistral:tekken_240911"
    tokenizer = load_tokenizer(name)
    prompt = tokenizer.encode("You are a bot. Tell me of storms and of the sea, please. ").tolist()
    text = "Unbelievable thunderstorms rolled over the archipelago all night long."
    whole = tokenizer.encode(text).tolist()
    apart = [i for c in text for i in tokenizer.encode(c).tolist()]
    more = tokenizer.encode(" And then?").tolist()
    rows = [
        {"id": "a", "arrival_s": 0, "session": "s", "tokens": prompt, "output_ids": apart},
        {"id": "b", "arrival_s": 9, "session": "s", "tokens": prompt + whole + more},
    ]
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", rows), name)
    assert [change.kind for change in found.findings[1].comparison.changes] == ["retokenised"]
    assert [proof.name for proof in found.proofs] == ["reply ids spliced", "all fixes together"]


def test_what_stands_behind_the_other_ids_of_a_reply_is_invalidated(tmp_path: Path) -> None:
    """The rest of the reply was computed while it was generated, behind other ids."""
    pytest.importorskip("mistral_common")
    from hitpath.text.tokenizer import load_tokenizer

    name = "mistral:tekken_240911"
    tokenizer = load_tokenizer(name)
    prompt = tokenizer.encode("You are a bot. Tell me of storms and of the sea, please. ").tolist()
    first = tokenizer.encode("Unbelievable").tolist()
    said = " thunderstorms rolled over 14 islands, and nobody there had seen the like before."
    rest = tokenizer.encode(said).tolist()
    apart = [i for c in "Unbelievable" for i in tokenizer.encode(c).tolist()]
    more = tokenizer.encode(" And then?").tolist()
    rows = [
        {"id": "a", "arrival_s": 0, "session": "s", "tokens": prompt, "output_ids": apart + rest},
        {"id": "b", "arrival_s": 9, "session": "s", "tokens": prompt + first + rest + more},
    ]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    found = examine(
        open_subject([str(path)], Setting(tokenizer=name, block_size=1, outputs="insert"))
    )
    (defect,) = found.defects
    assert defect.kind == "retokenised"
    assert defect.tokens_invalidated == len(rest)
    assert defect.tokens_changed == len(first)


def test_with_a_tokenizer_the_offset_is_the_first_token_that_differs(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    all_sent = traffic("chat", 4, num_sessions=3)
    for sent in all_sent:  # what the template of this model takes
        sent.body["messages"] = [sent.body["messages"][0], *sent.body["messages"][1:]]
    PLANTS["clock"][1](all_sent, __import__("random").Random(4))
    path = write_jsonl(tmp_path / "t.jsonl", rows_of(all_sent))
    found = diagnosis_of(path, "mistral:tekken_240911")
    kinds = Counter(c.kind for f in found.findings for c in f.comparison.changes)
    assert kinds["clock"] >= len(all_sent) - 1
    for finding in found.findings[1:]:
        first = finding.first
        assert first is not None
        if first.kind == "clock":
            assert first.start <= finding.common <= first.stop + 1
    found.costs.check()


def test_block_ids_alone_give_relatives_and_no_text(tmp_path: Path) -> None:
    keys = list(range(40))
    rows = [
        {"id": "a", "arrival_s": 0, "session": "s", "block_keys": keys, "block_size": 16,
         "prompt_tokens": 640},
        {"id": "b", "arrival_s": 1, "session": "s", "block_keys": [*keys, 77], "block_size": 16,
         "prompt_tokens": 656},
    ]  # fmt: skip
    found = diagnosis_of(write_jsonl(tmp_path / "t.jsonl", rows), None)
    assert found.findings[1].relative == 0
    assert not found.defects
    assert "ids only" in found.why_no_proof
