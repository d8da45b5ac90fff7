"""Kinds that only a whole trace tells: what one field is, from all that stood there."""

import random
from collections import Counter
from pathlib import Path

import pytest

from doctor.test_planted_kinds import kinds_of

INSTRUCTIONS = (
    "You are the desk of a small museum; answer briefly.\n"
    "If a visitor asks for tickets, name both prices.\n"
    "Never promise a guided tour.\n"
)
SHOTS = [
    ("Where do I park?", "Behind the mill, and it costs nothing."),
    ("Is there a cafe?", "Yes, on the upper floor; it closes at noon."),
    ("Are pictures allowed?", "Gladly, but without a flash."),
    ("Are dogs let in?", "Only those that lead somebody."),
    ("Do you have lockers?", "Beside the entrance, for a coin."),
    ("Is it warm inside?", "In the halls, not in the tower."),
    ("Can I pay by card?", "We take every card but one."),
    ("Who built it?", "Nobody knows, the papers burnt."),
]
ASKED = ["is it open", "how much is it", "where is the entrance", "may we come late", "who is in"]


def rows(systems: list[str], per_session: int) -> list[dict[str, object]]:
    """One request a system prompt; sessions of `per_session` turns that go on."""
    made: list[dict[str, object]] = []
    for number, system in enumerate(systems):
        session, turn = divmod(number, per_session)
        messages = [{"role": "system", "content": system}]
        for n in range(turn + 1):
            text = f"Visitor {session}: {ASKED[n % 5]}, please tell me now ({session}.{n})?"
            messages.append({"role": "user", "content": text})
            if n < turn:
                messages.append({"role": "assistant", "content": f"Reply {session}.{n} to that."})
        made.append({"model": "m", "session_id": f"s{session}", "messages": messages,
                     "timestamp": 1_764_400_000 + 7 * number})  # fmt: skip
    return made


@pytest.mark.parametrize(
    "stamp",
    [
        "Nous sommes le {d} mars 2026 à {h} h {m:02}.",
        "(day {day} of 2026, {h:02}:{m:02})",
        "Ora esatta: {d:02}/03/2026 alle {h:02}.{m:02}.18",
        "{d}th of march 2026, {h:02}.{m:02}am",
        "現在{h}時{m}分です",
        "ticks={ticks}",
    ],
)
@pytest.mark.parametrize("every", [1, 3])
def test_a_line_with_a_clock_that_comes_and_goes(stamp: str, every: int, tmp_path: Path) -> None:
    systems = []
    for n in range(18):
        line = stamp.format(d=9 + n // 8, h=8 + n % 3, m=7 + n, day=68 + n // 8,
                            ticks=639_086_148_000_000_000 + n * 70_000_000)  # fmt: skip
        systems.append(INSTRUCTIONS + (line if n % every == 0 else ""))
    assert set(kinds_of(rows(systems, 4), tmp_path)) == {"clock"}


@pytest.mark.parametrize(
    "stamp",
    ["req-id: {i:016x}", "(run {i:08x}-{j:04x})", "X-Request-Id: req_{i:020x}", "xid {word}",
     "completion chatcmpl-{word}9x{word}"],
)  # fmt: skip
@pytest.mark.parametrize("every", [1, 3])
def test_an_id_that_comes_and_goes(stamp: str, every: int, tmp_path: Path) -> None:
    rng = random.Random(5)
    systems = []
    for n in range(18):
        word = "".join(rng.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(18)) + "7"
        line = "\n" + stamp.format(i=rng.getrandbits(60), j=rng.getrandbits(16), word=f"k4{word}")
        systems.append(INSTRUCTIONS.strip() + (line if n % every == 0 else ""))
    found = kinds_of(rows(systems, 4), tmp_path)
    assert set(found) == {"request_id"}


FORMS = [
    "Q: {q}\nA: {a}",
    "<example>\n<question>{q}</question>\n<answer>{a}</answer>\n</example>",
    "Example\nUser: {q}\nAssistant: {a}",
    "| {q} | {a} |",
    '- "{q}" -> "{a}"',
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("behind", [False, True])
def test_examples_drawn_anew_are_one_sample(form: str, behind: bool, tmp_path: Path) -> None:
    """Some of them stay, some come back at another place, some are seen once: one kind."""
    rng = random.Random(3)
    systems = []
    for _ in range(20):
        shots = "\n".join(form.format(q=q, a=a) for q, a in rng.sample(SHOTS, 3))
        systems.append(INSTRUCTIONS + shots if behind else shots + "\n" + INSTRUCTIONS)
    assert set(kinds_of(rows(systems, 4), tmp_path)) == {"random_sample"}


@pytest.mark.parametrize("template", ["<s>[system] {}[/system]\n[user] {}[/user]\n[assistant]",
                                      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>"
                                      "\n\n{}<|eot_id|><|start_header_id|>user<|end_header_id|>"
                                      "\n\n{}<|eot_id|>"])  # fmt: skip
def test_examples_in_one_text_of_a_template(template: str, tmp_path: Path) -> None:
    """The instructions of all prompts are compared, though nobody asks the same; and `User:` in an
    example is no turn."""
    rng = random.Random(6)
    made = []
    for n in range(12):
        shots = "\n".join(FORMS[2].format(q=q, a=a) for q, a in rng.sample(SHOTS, 3))
        prompt = template.format(INSTRUCTIONS + shots, f"Visitor {n}: {ASKED[n % 5]} ({n * 7})?")
        made.append({"id": str(n), "arrival_s": 7.0 * n, "prompt": prompt})
    assert set(kinds_of(made, tmp_path)) == {"random_sample"}


def test_a_numbered_list_drawn_anew_is_one_sample(tmp_path: Path) -> None:
    rng = random.Random(8)
    systems = []
    for _ in range(16):
        asked = [question for question, _ in rng.sample(SHOTS, 3)]
        lines = "\n".join(f"{n}. {question}" for n, question in enumerate(asked, 1))
        systems.append(f"Questions that people ask:\n{lines}\n{INSTRUCTIONS}")
    assert set(kinds_of(rows(systems, 4), tmp_path)) == {"random_sample"}


def test_names_drawn_anew_are_one_sample(tmp_path: Path) -> None:
    rng = random.Random(8)
    names = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gil", "Hal"]
    for per_session in (4, 1):
        systems = [
            f"On duty: {', '.join(rng.sample(names, 4))}.\n{INSTRUCTIONS}" for _ in range(16)
        ]
        assert set(kinds_of(rows(systems, per_session), tmp_path)) == {"random_sample"}


@pytest.mark.parametrize("form", ["<file name='{n}.md'>\n{a}\n</file>", "* {n}: {a}", "[{n}] {a}"])
def test_the_same_blocks_in_another_order_have_moved(form: str, tmp_path: Path) -> None:
    rng = random.Random(4)
    names = ["rules", "notes", "build", "changes"]
    blocks = [form.format(n=name, a=a) for name, (_, a) in zip(names, SHOTS, strict=False)]
    systems = [INSTRUCTIONS + "\n\n".join(rng.sample(blocks, 4)) for _ in range(16)]
    assert set(kinds_of(rows(systems, 4), tmp_path)) == {"moved_block"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("promise", "promisn"),
        ("guided tour", "guided tour, as we said,"),
        ("visitor", "********"),
        ("museum", "muesum"),
        ("name both prices", "name the two prices, with the discount for groups of ten"),
    ],
)
@pytest.mark.parametrize(("per_session", "num"), [(4, 18), (4, 8), (1, 12)])
def test_instructions_that_changed_once_were_edited(
    old: str, new: str, per_session: int, num: int, tmp_path: Path
) -> None:
    """Whatever the words around it are (`If a visitor`), and however few requests there are."""
    at = num // 2 + 1
    systems = [INSTRUCTIONS if n < at else INSTRUCTIONS.replace(old, new) for n in range(num)]
    assert set(kinds_of(rows(systems, per_session), tmp_path)) == {"edited_message"}


@pytest.mark.parametrize(
    "form",
    [
        "User: {name} <{mail}>",
        "You are assisting {name} today.",
        "Hi! I am {name}'s personal assistant.",
        "Working directory: /home/{mail}/src",
        "Username: {mail}; locale: en",
        "Name des Nutzers: {name}, Ort: {town}",
        "About who asks:\n- {name} lives in {town}\n- their plan: {mail}",
        "<customer name='{name}' town='{town}'/>",
    ],
)
def test_a_user_s_name_is_theirs(form: str, tmp_path: Path) -> None:
    people = [
        ("Maria Ruiz", "maria.ruiz42", "Bonn"),
        ("Wei Zhang", "wei.zhang17", "Pune"),
        ("Noah Zhang", "noah.zhang88", "Lagos"),
        ("Leila Haddad", "leila.haddad23", "Lyon"),
    ]
    systems = []
    for n in range(16):
        name, mail, town = people[n // 4]
        systems.append(form.format(name=name, mail=mail, town=town) + "\n" + INSTRUCTIONS)
    for per_session in (4, 1):
        some = systems if per_session == 4 else systems[::4]
        assert set(kinds_of(rows(some, per_session), tmp_path)) == {"per_user_field"}


def test_a_message_index_in_hexadecimal_counts(tmp_path: Path) -> None:
    systems = [f"message_index: 0x{n + 16:x}\n{INSTRUCTIONS}" for n in range(16)]
    assert kinds_of(rows(systems, 4), tmp_path) == Counter(counter=15)
