"""Prompts that are one text, without messages or a template's marks: few-shot examples, documents,
translation batches, an agent's scratchpad. The last paragraph asks, and so do the documents before
it; what is stamped into the instructions is found, within a paragraph too."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hitpath.core import Setting
from hitpath.doctor.flat_question import question_of
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORDS = """
saddle frame gears brake chain pump rim bell box order colour shop week lake ride depot price noise
hose delivery parcel refund manual wheel tyre light lock basket pedal spoke valve
""".split()  # noqa: SIM905
DESK = (
    "You are the desk of a small hotel; be brief, kind, and never promise a room before you have "
    "looked. Quote prices from the list below only. Breakfast is served from seven to ten. Say so "
    "where you do not know."
)
RULES = (
    "You answer questions of customers of Harbour Bikes. Use only the context. If the answer is "
    "not in it, say that you do not know. Quote the number of the passage in brackets.\n\n"
)
EXAMPLES = [
    f"Review: The {one} works but the {other} is too short.\nLabel: {label}\n\n"
    for one, other, label in [
        ("pump", "hose", "mixed"), ("bell", "chain", "negative"), ("lamp", "cable", "positive"),
        ("lock", "key", "mixed"), ("seat", "post", "positive"), ("bag", "strap", "negative"),
    ]
]  # fmt: skip


def sentence(rng: random.Random, num: int = 9) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(num)).capitalize() + "."


def question(rng: random.Random) -> str:
    return rng.choice(
        [
            f"Where is order {rng.randrange(10_000, 99_999)}?",
            f"Can I swap the {rng.choice(WORDS)} of model {rng.randrange(100, 999)}?",
            f"The {rng.choice(WORDS)} squeaks since {rng.randrange(1, 28)} March 2026.",
            f"How long is the warranty on the {rng.choice(WORDS)}?",
        ]
    )


def kinds_in(prompts: list[str], tmp_path: Path, users: int = 5) -> Counter[str]:
    """Changes by kind; users: 0 names no session."""
    rows: list[dict[str, Any]] = [
        {"id": f"r{n}", "arrival_s": 97.0 * n, "prompt": prompt} for n, prompt in enumerate(prompts)
    ]
    for number, row in enumerate(rows if users else []):
        row["session"] = f"u{number % users}"
    trace = write_jsonl(tmp_path / "trace.jsonl", rows)
    told = examine(open_subject([str(trace)], Setting()), what_ifs=False)
    return Counter(c.kind for one in told.findings for c in one.comparison.changes)


def batch(ask: Callable[[random.Random], str], num: int = 18) -> list[str]:
    rng = random.Random(11)
    return [ask(rng) for _ in range(num)]


BATCHES: dict[str, Callable[[random.Random], str]] = {
    "few-shot": lambda r: (
        f"Classify the review.\n\n{''.join(EXAMPLES)}Review: {sentence(r)}\nLabel:"
    ),
    "translation": lambda r: (
        f"Translate to English.\n\nGerman: Ihre Bestellung {r.randrange(10_000)} "
        f"ist seit dem {r.randrange(1, 28)}.3.2026 unterwegs.\nEnglish:"
    ),
    "one line": lambda r: (
        "Translate from German to English and keep names as they are: Ihre "
        f"Bestellung {r.randrange(10_000)} ist unterwegs."
    ),
    "extraction": lambda r: (
        "Extract order and date as JSON.\n\nText: Order "
        f"{r.randrange(10_000)} came on 2026-03-{r.randrange(10, 28)} with a dent in it.\nJSON:"
    ),
    "SQL": lambda r: (
        "### Tables:\n#\n# orders(id, customer_id, created_at, total)\n#\n### A query to "
        f"list orders above {r.randrange(900)} euros since {2000 + r.randrange(20)}\nSELECT"
    ),
}


@pytest.mark.parametrize("users", [0, 5])
@pytest.mark.parametrize("ask", BATCHES.values(), ids=BATCHES)
def test_values_of_what_was_asked(
    ask: Callable[[random.Random], str], users: int, tmp_path: Path
) -> None:
    assert kinds_in(batch(ask), tmp_path, users) == Counter()


STAMPS: dict[str, tuple[str, Callable[[int], str]]] = {
    "id": (
        "request_id",
        lambda n: f"Request id: 7c4e53a1c9{n + 10:02x}2f18ab73d00c5bd54f{n + 90:02x}.",
    ),
    "clock": ("clock", lambda n: f"Time: 2026-03-09 08:{n + 10}:07."),
    "counter": ("counter", lambda n: f"Call number {100 + n}."),
    "user": ("per_user_field", lambda n: f"User: {['Ann Lee', 'Ivan Ruiz', 'Lena York'][n % 3]}."),
}


@pytest.mark.parametrize(
    "place",
    [
        "{value} {desk}",
        "{desk} {value} Pets stay free of charge when they are small, and so do bicycles.",
        "{desk}\n{value}\nPets stay free.",
    ],
)
@pytest.mark.parametrize(("kind", "value"), STAMPS.values(), ids=STAMPS)
def test_a_value_within_a_paragraph(
    kind: str, value: Callable[[int], str], place: str, tmp_path: Path
) -> None:
    rng = random.Random(5)
    prompts = [
        f"{place.format(value=value(n), desk=DESK)}\n\nQuestion: {question(rng)} {question(rng)}"
        "\nAnswer:"
        for n in range(16)
    ]
    assert set(kinds_in(prompts, tmp_path, users=0)) == {kind}


def retrieved(rng: random.Random, docs: list[str], head: str = "") -> str:
    context = "\n".join(rng.sample(docs, 4))
    return f"{head}{RULES}Context:\n{context}\n\nQuestion: {question(rng)}\nAnswer:"


def corpus(rng: random.Random, num: int = 14) -> list[str]:
    return [f"[{n}] " + " ".join(sentence(rng) for _ in range(5)) for n in range(num)]


@pytest.mark.parametrize("users", [0, 5])
def test_documents_of_a_question(users: int, tmp_path: Path) -> None:
    rng = random.Random(3)
    docs = corpus(rng)
    plain = [retrieved(rng, docs) for _ in range(24)]
    assert kinds_in(plain, tmp_path, users) == Counter()
    stamped = [retrieved(rng, docs, f"Time: 2026-03-09 08:{n + 10}:07\n") for n in range(24)]
    assert set(kinds_in(stamped, tmp_path, users)) == {"clock"}


def test_a_question_before_its_documents(tmp_path: Path) -> None:
    rng = random.Random(3)
    docs = corpus(rng)
    prompts = [
        f"{RULES}Question: {question(rng)}\n\nContext:\n"
        f"{chr(10).join(rng.sample(docs, 4))}\n\nAnswer:"
        for _ in range(24)
    ]
    assert kinds_in(prompts, tmp_path) == Counter()


def test_the_same_documents_in_another_order(tmp_path: Path) -> None:
    rng = random.Random(3)
    docs = corpus(rng, 4)
    assert set(kinds_in([retrieved(rng, docs) for _ in range(16)], tmp_path)) == {"moved_block"}


def test_examples_drawn_anew_are_no_documents(tmp_path: Path) -> None:
    rng = random.Random(7)
    prompts = [
        "Classify the review as positive, negative or mixed. Answer with one word, please.\n\n"
        f"{''.join(rng.sample(EXAMPLES, 3))}Review: {sentence(rng)}\nLabel:"
        for _ in range(24)
    ]
    found = kinds_in(prompts, tmp_path, users=0)
    assert found["random_sample"] > sum(found.values()) / 2


def test_an_edit_of_instructions_is_no_document(tmp_path: Path) -> None:
    rng = random.Random(9)
    docs = corpus(rng, 3)
    head = "Answer in the language of the question and in forty words at most, please.\n"
    context = "\n".join(docs)
    prompts = [
        f"{RULES}{head * (n >= 8)}Context:\n{context}\n\nQuestion: {question(rng)}\nAnswer:"
        for n in range(16)
    ]
    assert kinds_in(prompts, tmp_path, users=0) == Counter({"edited_message": 1})


def steps(rng: random.Random, first: int, last: int) -> str:
    return "".join(
        f" I look at {WORDS[n]}.\nAction: search\nAction Input: {WORDS[-n]} {7 * n}\nObservation: "
        f"{random.Random(n).choice(WORDS)} is on page {31 * n} of the handbook, part {n}.\nThought:"
        for n in range(first, last)
    )


FORMAT = (
    "Answer the question as best you can. Use this format:\n\nQuestion: the question\n"
    "Thought: what to do\nAction: one of [search, stock]\nAction Input: its input\n"
    "Observation: its result\n\nBegin!\n\n"
)


def test_a_scratchpad(tmp_path: Path) -> None:
    """It grows; or steps are left out of it."""
    rng = random.Random(1)
    asked = f"{FORMAT}Question: {question(rng)} {question(rng)}\n"
    grown = [f"{asked}Thought:{steps(rng, 1, n)}" for n in range(1, 7)]
    assert kinds_in(grown, tmp_path, users=1) == Counter()
    noted = f"{asked}[earlier steps left out]\nThought:"
    cut = [*grown, *(f"{noted}{steps(rng, n - 3, n)}" for n in range(7, 11))]
    assert set(kinds_in(cut, tmp_path, users=1)) == {"truncated_history"}
    silent = [*grown, *(f"{asked}Thought:{steps(rng, n - 3, n)}" for n in range(7, 11))]
    assert set(kinds_in(silent, tmp_path, users=1)) == {"truncated_history"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Do this.\n\nQuestion: why?\nAnswer:", "Question: why?"),
        ("Do this.\nQuestion: why?\nAnswer:", "Question: why?"),
        ("Do this.\n\nText: one\ntwo\n\n### Response:\n", "Text: one"),
        ("Do this: now", "Do this: now"),
    ],
)
def test_where_the_question_begins(text: str, line: str) -> None:
    lines = text.splitlines(keepends=True)
    assert lines[question_of(lines)].strip() == line
