"""With a tokenizer every difference is at its token. The oracle finds what was planted in the
rendered text by its own words, and its token by decoding or by the tokenizer library's offsets;
templates are those in tests/templates, requests are made by hand."""

from __future__ import annotations

import json
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from doctor.model_folders import model_folder
from doctor.planting import traffic
from hitpath.doctor.chats import messages_of, tools_of
from hitpath.doctor.compare import compare
from hitpath.doctor.json_places import JsonPlaces
from hitpath.doctor.placing import BY_TEMPLATE, Placing
from hitpath.doctor.request_rows import request_of
from hitpath.text.tokenizer import TextTokenizer, load_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from hitpath.doctor.change import Comparison
    from hitpath.doctor.requests import Request

    Loaded = Callable[[str], TextTokenizer]

MISTRAL = "mistral:tekken_240911"
TEMPLATES = ("clean_chatml", "qwen3_like", "hoisted_system", "deepseek_r1_like")
WITH_TOOLS = ("clean_chatml", "qwen3_like", "mistral")
"""Those that write tools."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TextTokenizer]:
    """Tokenizers by the name of their template."""
    folder = tmp_path_factory.mktemp("models")

    @cache
    def by_name(name: str) -> TextTokenizer:
        if name == "mistral":
            pytest.importorskip("mistral_common")
            return load_tokenizer(MISTRAL)
        return load_tokenizer(model_folder(folder / name, name))

    return by_name


def request(body: dict[str, Any]) -> Request:
    made = request_of("openai-requests", json.dumps(body).encode(), "0")
    assert made is not None
    return made


def rendered(tokenizer: TextTokenizer, one: Request) -> str:
    return tokenizer.render_chat(messages_of(one), tools_of(one))


def token_at(tokenizer: TextTokenizer, text: str, char: int) -> int:
    """The token that holds a character, by the lengths of what the first tokens decode to; texts
    here are ASCII, so that no token holds half a character."""
    ids = tokenizer.encode(text).tolist()
    ends = accumulate(len(tokenizer.decode([number])) for number in ids)
    return next(n for n, end in enumerate(ends) if end > char)


def placed(
    tokenizer: TextTokenizer, there: dict[str, Any], here: dict[str, Any]
) -> tuple[Comparison, str, int]:
    """(the comparison in tokens, the rendered text, leading tokens that both have)."""
    one, other = request(there), request(here)
    text = rendered(tokenizer, other)
    a, b = tokenizer.encode(rendered(tokenizer, one)), tokenizer.encode(text)
    most = min(len(a), len(b))
    parted = np.flatnonzero(a[:most] != b[:most])
    common = int(parted[0]) if len(parted) else most
    found = Placing(tokenizer)(other, b, compare(one.prompt, other.prompt, True), common)
    assert found is not None
    return found, text, common


def body(stamps: dict[str, str], with_tools: bool) -> dict[str, Any]:
    """Stamps at places all over a request of three turns."""
    sent = traffic("agent", 3, num_sessions=1, num_turns=3)[-1].body
    messages = [m for m in sent["messages"] if m["role"] in ("system", "user")]
    chat: list[dict[str, Any]] = [messages[0]]
    for number, message in enumerate(messages[1:]):
        chat += [message, {"role": "assistant", "content": f"Reply {number}."}]
    chat.pop()
    made: dict[str, Any] = {"model": "m", "messages": chat}
    head = chat[0]["content"].split("\n\n")
    head.insert(1, f"Current time: {stamps['clock']}")
    head.insert(3, f"Request ID: {stamps['id']}")
    chat[0]["content"] = "\n\n".join(head)
    chat[3]["content"] += f" Seen by {stamps['user']}"
    if with_tools:
        made["tools"] = sent["tools"][:3]
        about = made["tools"][1]["function"]["parameters"]["properties"]
        next(iter(about.values()))["description"] += f" Build {stamps['build']} of it."
    return made


OLD = {"clock": "2026-11-29 09:12:44", "id": "req_0a1b2c3d4e5f6a7b8c9d0e1f", "user": "Ada Byron",
       "build": "build-11f3a9"}  # fmt: skip
NEW = {"clock": "2026-11-29 09:12:51", "id": "req_0a1b2cffeed1ba5e9e44aa10", "user": "Max Born",
       "build": "build-11f7c2"}  # fmt: skip


def first_differing(old: str, new: str) -> int:
    return next(n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)


@pytest.mark.parametrize(
    ("template", "with_tools"),
    [*((one, False) for one in (*TEMPLATES, "mistral")), *((one, True) for one in WITH_TOOLS)],
)
def test_every_difference_is_at_the_token_of_its_first_character(
    template: str, with_tools: bool, loaded: Loaded
) -> None:
    tokenizer = loaded(template)
    found, text, common = placed(tokenizer, body(OLD, with_tools), body(NEW, with_tools))
    wanted = {
        name: token_at(
            tokenizer, text, text.index(NEW[name]) + first_differing(OLD[name], NEW[name])
        )
        for name in NEW
        if NEW[name] in text
    }
    own = [change for change in found.changes if change.detail != BY_TEMPLATE]
    places = sorted(change.offset for change in own)
    exact = sorted(wanted.values())
    assert len(places) == len(exact) == (4 if with_tools else 3)
    # Where ids part, the place is that of the ids: letters before it may join otherwise.
    assert [p for p, e in zip(places, exact, strict=True) if p != e and p != common] == []
    assert min(exact) - 3 <= common <= min(exact)
    for start, stop in found.kept:
        assert not any(start <= place < stop for place in exact)


@pytest.mark.parametrize("template", [*TEMPLATES, "mistral"])
def test_between_what_was_kept_stand_the_stamps_and_nothing_else(
    template: str, loaded: Loaded
) -> None:
    tokenizer = loaded(template)
    found, text, _ = placed(tokenizer, body(OLD, False), body(NEW, False))
    ids = tokenizer.encode(text)
    ends = [0, *(stop for _, stop in found.kept)]
    gaps = [tokenizer.decode(ids[end:start].tolist()).strip()
            for end, (start, _) in zip(ends, found.kept, strict=False)]  # fmt: skip
    stamps = sorted((NEW[name] for name in ("clock", "id", "user")), key=text.index)
    shown = [gap for gap in gaps if gap]
    # Where ids part a stamp's beginning is kept too; Mistral's template ends a text where it moves.
    own = [gap for gap in shown if any(stamp.endswith(gap) for stamp in stamps)]
    assert len(own) == len(stamps)
    assert template == "mistral" or own == shown


def test_where_the_template_moves_text_the_template_is_named(loaded: Loaded) -> None:
    """Mistral's own template writes the instructions before the last question."""
    tokenizer = loaded("mistral")
    there, here = body(OLD, False), body(NEW, False)
    there["messages"] = there["messages"][:2]
    found, _, common = placed(tokenizer, there, here)
    first = found.changes[0]
    assert (first.kind, first.start, first.detail) == ("template_flip", common, BY_TEMPLATE)
    assert all(change.start > common for change in found.changes[1:])


def test_tokens_of_another_text_are_not_placed(loaded: Loaded) -> None:
    tokenizer = loaded("clean_chatml")
    one, other = request(body(OLD, False)), request(body(NEW, False))
    ids = tokenizer.encode(rendered(tokenizer, other))
    comparison = compare(one.prompt, other.prompt, True)
    placing = Placing(tokenizer)
    assert placing(other, ids, comparison, 0) is not None
    assert placing.notes == ()
    assert placing(other, ids[:-1], comparison, 0) is None
    (note,) = placing.notes
    assert note.startswith("differences of 1 request are placed in proportion behind the first")


@pytest.mark.parametrize("style", [{}, {"indent": 2}, {"separators": (",", ":")}, {"indent": 4}])
def test_json_is_found_however_it_is_written(style: dict[str, Any]) -> None:
    value = {"name": "find", "parameters": {"properties": {"x": {"enum": ["a", "é"], "n": 10}}}}
    compact = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text = f"# Tools\n{json.dumps(value, **style)}\nend"
    places = JsonPlaces(value, text, 0, len(text))
    for word in ("find", "parameters", "enum", "10"):
        assert places.place(compact.index(word)) == text.index(word)


def test_json_whose_members_stand_apart_is_found_member_by_member() -> None:
    value = {
        "name": "find_room",
        "description": "Rooms that are free.",
        "parameters": {"a": [1, 2]},
    }
    compact = json.dumps(value, separators=(",", ":"))
    text = 'def find_room: Rooms that are free.\n{"parameters": {"a": [1, 2]}, "name": "find_room"}'
    places = JsonPlaces(value, text, 0, len(text))
    assert places.place(compact.index("[1")) == text.index("[1")
    assert places.place(compact.index("are free")) == text.index("are free")
