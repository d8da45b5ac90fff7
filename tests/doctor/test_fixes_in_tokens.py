"""Fixes replayed with a tokenizer: the fixed text tokenised again, unchanged prompts as they are,
generated ids put back. Rows are written by hand from the documented shapes."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from doctor.model_folders import model_folder
from doctor.planting import PLANTS, rows_of, traffic
from hitpath.core import Setting
from hitpath.doctor.splicing import Splicing, edited, moved
from hitpath.report.doctor_fix import write_fixed
from hitpath.report.doctor_run import Subject, examine, open_subject
from hitpath.spine import analyze
from hitpath.text.tokenizer import load_tokenizer
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

    from hitpath.doctor.diagnosis import Diagnosis

MISTRAL = "mistral:tekken_240911"


def diagnosed(path: Path, tokenizer: str | None, **options: Any) -> tuple[Subject, Diagnosis]:
    subject = open_subject([str(path)], Setting(tokenizer=tokenizer, **options))
    return subject, examine(subject)


def written(subject: Subject, found: Diagnosis, path: Path) -> Path:
    with path.open("wb") as file:
        write_fixed(found, subject.kept, subject.requests, file)
    return path


def computed(path: Path, tokenizer: str | None, **options: Any) -> int:
    """Tokens that no cache gives, by `analyze` of a file."""
    ledger = analyze([str(path)], Setting(tokenizer=tokenizer, **options)).ledger
    return ledger.total(ledger.prompt) - ledger.total(ledger.rungs.model[0])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return model_folder(tmp_path_factory.mktemp("models") / "model", "clean_chatml")


@pytest.mark.parametrize(
    "kind", ["clock", "tool_order", "key_order", "white_space", "unicode_form"]
)
def test_the_gain_in_tokens_is_what_analyze_says_of_the_fixed_file(
    kind: str, model: str, tmp_path: Path
) -> None:
    """The file that --fix writes, read and tokenised by its reader from the beginning, has exactly
    the computed tokens that the replay promised."""
    sent = traffic("agent", 5, num_sessions=3, num_turns=3)
    PLANTS[kind][1](sent, random.Random(5))
    path = write_jsonl(tmp_path / "t.jsonl", rows_of(sent))
    subject, found = diagnosed(path, model, block_size=1)
    assert found.trace.identity == "tokens"
    together = found.proofs[-1]
    assert together.gain_tokens > 0
    assert found.why_no_proof == ""
    before = computed(path, model, block_size=1)
    after = computed(written(subject, found, tmp_path / "fixed.jsonl"), model, block_size=1)
    assert before - after == together.gain_tokens
    assert together.prompt_tokens - together.hit_tokens == after


def test_unchanged_prompts_keep_their_tokens(model: str, tmp_path: Path) -> None:
    sent = traffic("chat", 5, num_sessions=2, num_turns=3)
    sent[-1].body["messages"][0]["content"] += " \n"
    path = write_jsonl(tmp_path / "t.jsonl", rows_of(sent))
    _, found = diagnosed(path, model)
    assert found.fixed is not None
    assert found.fixed.changed == (len(sent) - 1,)
    runs, own = found.fixed.trace.prompts, found.trace.prompts
    end = own.offsets[len(sent) - 1]
    assert np.array_equal(runs.flat[:end], own.flat[:end])


def test_a_fix_that_makes_prompts_longer_than_it_saves_costs(tmp_path: Path) -> None:
    """A user's name ahead of a short text: every request gets more at its end, and only two first
    turns find more before it. The gain is below 0, whatever the hit tokens say."""
    rules = "You are the night desk of a small hotel. " + "Answer in two sentences at most. " * 3
    rows = [
        {"id": f"{user}-{turn}", "arrival_s": 60 * number + turn, "session": user,
         "messages": [{"role": "system", "content": f"User: {user}. {rules}"},
                      *({"role": "user", "content": f"Tell me of room {n}."} for n in range(turn))]}
        for number, user in enumerate(["Ada Byron", "Max Born", "Eva Peron"])
        for turn in range(1, 7)
    ]  # fmt: skip
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    _, found = diagnosed(path, None, block_size=1)
    proof = next(p for p in found.proofs if p.kinds == ("per_user_field",))
    as_it_is = computed(path, None, block_size=1)
    assert proof.hit_tokens > found.trace.prompt_tokens.sum() - as_it_is
    assert proof.gain_tokens == as_it_is - (proof.prompt_tokens - proof.hit_tokens) < 0


# ---- generated ids put back ---------------------------------------------------------------------

PIECES = ["Ask", ":", "\n", "w", "o", "r", "d", "wo", "rd", "word", " ", "s", "words", ".", "x",
          "<think>", "</think>", "\n\n", "hm", "A", "n", "An", "answer", "!"]  # fmt: skip
TABLE = {piece: number for number, piece in enumerate(PIECES)}


def decode(ids: Any) -> str:
    return "".join(PIECES[int(number)] for number in ids)


def encode(text: str) -> np.ndarray:
    """The longest piece first, from the left."""
    ids: list[int] = []
    while text:
        piece = max((p for p in PIECES if text.startswith(p)), key=len)
        ids.append(TABLE[piece])
        text = text[len(piece) :]
    return np.array(ids, dtype=np.uint32)


def of(*pieces: str) -> np.ndarray:
    return np.array([TABLE[piece] for piece in pieces], dtype=np.uint32)


def splicing(texts: bool = True, reasoning: bool = False) -> Splicing:
    return Splicing(decode, encode, texts=texts, reasoning=reasoning)


def spliced(expected: np.ndarray, own: np.ndarray, **options: bool) -> np.ndarray:
    return edited(own, splicing(**options).read(expected, own).edits)


def test_other_ids_of_the_same_text_give_way_to_the_generated_ones() -> None:
    expected = of("Ask", ":", "\n", "w", "o", "rd", "s", ".")
    own = of("Ask", ":", "\n", "words", ".", " ", "x")
    assert spliced(expected, own).tolist() == [*expected.tolist(), TABLE[" "], TABLE["x"]]


def test_an_id_that_reaches_over_the_end_of_the_reply_is_parted() -> None:
    expected = of("Ask", ":", "w", "o")
    own = of("Ask", ":", "word", ".")
    made = spliced(expected, own)
    assert made.tolist()[:4] == expected.tolist()
    assert decode(made) == decode(own)


def test_where_the_texts_part_nothing_more_is_touched() -> None:
    expected = of("Ask", ":", "w", "o", "rd", "x", "s")
    own = of("Ask", ":", "word", "!", "words")
    made = spliced(expected, own)
    assert made.tolist() == of("Ask", ":", "w", "o", "rd", "!", "words").tolist()


@pytest.mark.parametrize("seed", range(60))
def test_splicing_keeps_the_text_and_is_done_once(seed: int) -> None:
    """Random texts cut into pieces in two ways."""
    rng = random.Random(seed)
    small = ["w", "o", "r", "d", " ", "s", ".", "x", "\n", "A", "n", "!"]

    def cut(text: str) -> np.ndarray:
        ids: list[int] = []
        while text:
            fitting = [p for p in PIECES if text.startswith(p)]
            piece = rng.choice(fitting)
            ids.append(TABLE[piece])
            text = text[len(piece) :]
        return np.array(ids, dtype=np.uint32)

    said = "".join(rng.choice([*small, "word", "words"]) for _ in range(rng.randint(1, 40)))
    rest = "".join(rng.choice(small) for _ in range(rng.randint(0, 9)))
    middle = len(said) // 2
    said_here = said[:middle] + rng.choice(["!", "", ""]) + said[middle:]
    expected, own = cut(said), cut(said_here + rest)
    once = spliced(expected, own)
    assert decode(once) == decode(own)
    assert spliced(expected, once).tolist() == once.tolist()
    if said_here == said:
        assert once.tolist()[: len(expected)] == expected.tolist()


def test_edits_of_an_earlier_turn_are_moved_with_the_history() -> None:
    first = of("Ask", ":", "w", "o", "rd")
    second = of("Ask", ":", "word", "\n", "x")
    third = of("Ask", ":", "word", "\n", "x", "!", "s")
    reader = splicing()
    edits = reader.read(first, second).edits
    reading = reader.read(second, third)
    carried = moved(edits, reading)
    assert (
        edited(third, carried).tolist()
        == of("Ask", ":", "w", "o", "rd", "\n", "x", "!", "s").tolist()
    )


def test_reasoning_that_the_template_dropped_is_put_back() -> None:
    expected = of("Ask", ":", "<think>", "hm", "</think>", "\n\n", "An", "answer", ".")
    own = of("Ask", ":", "An", "answer", ".", "\n", "x")
    made = spliced(expected, own, texts=False, reasoning=True)
    assert made.tolist() == [*expected.tolist(), TABLE["\n"], TABLE["x"]]
    assert spliced(expected, made, texts=False, reasoning=True).tolist() == made.tolist()
    other = of("Ask", ":", "x", "answer", ".")
    assert spliced(expected, other, texts=False, reasoning=True).tolist() == other.tolist()


def token_rows(tokenizer: Any) -> list[dict[str, Any]]:
    """Three turns whose replies came back tokenised again."""
    prompt = tokenizer.encode("You are a bot. Tell me of storms and of the sea, please. ").tolist()
    replies = ["Unbelievable thunderstorms rolled over the archipelago.",
               "Extraordinary lighthouses withstood the hurricane season."]  # fmt: skip
    rows: list[dict[str, Any]] = []
    history = list(prompt)
    for number in range(3):
        row: dict[str, Any] = {"id": str(number), "arrival_s": number, "session": "s",
                               "tokens": list(history)}  # fmt: skip
        if number < 2:
            generated = [i for c in replies[number] for i in tokenizer.encode(c).tolist()]
            row["output_ids"] = generated
            history += tokenizer.encode(replies[number]).tolist()
            history += tokenizer.encode(" And then?").tolist()
        rows.append(row)
    return rows


def test_reply_ids_are_spliced_in_all_later_turns_and_the_replay_proves_it(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    tokenizer = load_tokenizer(MISTRAL)
    path = write_jsonl(tmp_path / "t.jsonl", token_rows(tokenizer))
    subject, found = diagnosed(path, MISTRAL, block_size=1, outputs="insert")
    assert [d.kind for d in found.defects] == ["retokenised"]
    # Of each later turn the reply's ids but for the first ones, where both may agree.
    changed = [c for f in found.findings for c in f.comparison.changes]
    assert all(0 < c.stop - c.start <= 14 for c in changed)
    proof = found.proofs[0]
    assert proof.name == "reply ids spliced"
    lines = written(subject, found, tmp_path / "f").read_bytes().splitlines()
    fixed = [json.loads(line) for line in lines]
    for number in (1, 2):
        before = fixed[number - 1]
        expected = [*before["tokens"], *before["output_ids"]]
        assert fixed[number]["tokens"][: len(expected)] == expected
        assert tokenizer.decode(fixed[number]["tokens"]) == tokenizer.decode(
            found.trace.prompts.flat[
                found.trace.prompts.offsets[number] : found.trace.prompts.offsets[number + 1]
            ].tolist()
        )
    options = {"block_size": 1, "outputs": "insert"}
    after = computed(tmp_path / "f", MISTRAL, **options)
    assert computed(path, MISTRAL, **options) - after == proof.gain_tokens
    assert not diagnosed(tmp_path / "f", MISTRAL, **options)[1].defects


def test_ids_alone_have_no_proof_and_say_what_would(tmp_path: Path) -> None:
    pytest.importorskip("mistral_common")
    path = write_jsonl(tmp_path / "t.jsonl", token_rows(load_tokenizer(MISTRAL)))
    _, found = diagnosed(path, None)
    assert found.proofs == ()
    assert "ids only" in found.why_no_proof
    assert "--tokenizer" in found.why_no_proof
