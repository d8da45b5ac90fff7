"""A line that names the program a request comes from, and its version, is an attribution, whatever
it is headed with; a person, an order, a version of the rules or a price in such a line is none."""

import random
from pathlib import Path

import pytest

from doctor.test_fields_by_all_pairs import Text, drawn, letters, rows_with
from doctor.test_planted_kinds import kinds_of
from hitpath.canonical import find_volatile
from hitpath.doctor.kinds import Difference, kind_of
from hitpath.doctor.leaf import leaf_changes

CLIENTS = [
    "Client: Zed/0.171.38 (stable)",
    "app: raycast/1.96.0 macos",
    "Client: Visual Studio Code 1.94.0",
    "Client - zed@0.171.38",
    "SDK: @anthropic-ai/sdk@0.32.1",
    "sdk=openai-python 1.52.0",
    "App version: 4.18.0 (ios)",
    "Client name and version: Zed 1.10.12",
    "<client>zed/0.171.38</client>",
    "[client: zed v0.171]",
    "<!-- client: zed/0.171.38 -->",
    "**Client:** Claude Code 2.1.10",
    "Sent by cursor/0.48.12",
    "This request was sent from Zed 0.171.38.",
    "Gesendet von opencode/1.2.3",
    "\u5ba2\u6237\u7aef\uff1a\u5fae\u4fe1/8.0.50",
    "\u041a\u043b\u0438\u0435\u043d\u0442: Telegram/10.2.1",
    "User agent: Mozilla/5.0 (X11; Linux) Firefox/103.0",
    "HTTP-Referer: https://cline.bot | X-Title: Cline 3.17.24",
    "Client: Zed/0.171.38-9f3ac2d1 on macOS 14.5 (build 2024.11.02)",
]
OTHERS = [
    "Client: Maria Ito",
    "Referrer: Maria Ito",
    "Client: Acme 2.5",
    "Client: Anna 37.2 degrees",
    "Client: visit 12.03.26",
    "Client since 2021.05",
    "App: orders",
    "App: https://example.com/1.2.3",
    "App: Raycast 1.96.0. Never quote it to callers.",
    "Application: permit 12.03.2026",
    "Application fee: 12.50",
    "Client request: orders/north",
    "User agent: Maria",
    "Policy version: 3.2.1",
    "Sent by Maria at 10.30",
    "Editors: Ann 1.2",
]


@pytest.mark.parametrize("line", CLIENTS)
def test_a_line_of_a_client_is_found_whole(line: str) -> None:
    text = f"You are the desk.\n{line}\nBe brief."
    found = [(one.kind, text[one.start : one.stop]) for one in find_volatile(text)]
    assert found == [("attribution", line)]


@pytest.mark.parametrize("line", OTHERS)
def test_what_names_no_client_is_none(line: str) -> None:
    text = f"You are the desk.\n{line}\nBe brief."
    assert "attribution" not in {one.kind for one in find_volatile(text)}


@pytest.mark.parametrize("line", CLIENTS[:6])
@pytest.mark.parametrize("ends", ["{}\n", "\n{}\n\n", "{}\nHostname: lark-7\n"])
def test_a_line_that_comes_and_goes(line: str, ends: str) -> None:
    text = ends.format(line)
    told = Difference(text, "", "You are the desk.\n", "Be brief.", None, "system")
    assert kind_of(told) == "attribution"
    told = Difference("", text + "Never quote it.\n", "You are.\n", "Be brief.", None, "system")
    assert kind_of(told) == "?words"


@pytest.mark.parametrize("line", ["X-Request-Id: req_9f3ac2d1e5", "cwd: /home/ann/lark"])
@pytest.mark.parametrize("ends", ["{}\n", "\n{}\n"])
def test_a_line_of_a_request_or_of_a_user_that_comes_and_goes(line: str, ends: str) -> None:
    text = ends.format(line)
    for old, new in (("", text), (text, "")):
        told = Difference(old, new, "You are the desk.\n", "Be brief.", None, "system")
        assert kind_of(told) != "attribution"


BESIDE = [
    ("Client: Zed/0.171.38; request-id: {}", "8f3a2b1c9d11", "9a3a2b1c9d77", "?id"),
    ("Client: Zed/0.171.38, session {}", "8f3a2b1c9d11", "9a3a2b1c9d77", "?id"),
    ("Client: Zed/0.171.38 at {}", "2026-03-01 10:11", "2026-03-01 10:12", "clock"),
    ("Client: Zed/0.171.38 | User: {}", "Ann Lee", "Bob Ruiz", "?words"),
    ("Client: Zed/0.171.38+{}", "9f3ac2d1e5", "aa3bc2e9e0", "attribution"),
    ("User-Agent: Zed/0.171.38+{}", "9f3ac2d1e5", "aa3bc2e9e0", "attribution"),
    ("See https://example.com/notes/{}", "9f3ac2d1e5", "aa3bc2e9e0", "?id"),
]


@pytest.mark.parametrize(("line", "old", "new", "kind"), BESIDE)
def test_what_stands_beside_a_client(line: str, old: str, new: str, kind: str) -> None:
    text = f"You are the desk.\n{line}\nBe brief."
    found = leaf_changes(text.format(old), text.format(new), "system")
    assert [one.kind for one in found] == [kind]


def version(seed: int) -> str:
    return f"1.{random.Random(seed).randrange(40, 99)}.{random.Random(seed + 1).randrange(9)}"


FIELDS: dict[str, tuple[Text, str]] = {
    "drawn": (
        lambda _, n: f"Client: {drawn(n, 'Zed', 'VSCode', 'Lark')}/{version(n)} (stable)",
        "attribution",
    ),
    "of a session": (lambda s, _: f"app: raycast/{version(s)} macos", "attribution"),
    "person": (
        lambda s, _: f"Client: {drawn(s, 'Maria Ito', 'Wei Zhang', 'Zoë Berg', 'Noah Ruiz')}",
        "per_user_field",
    ),
    "request": (lambda _, n: f"Client request: {letters(n, 12)}", "request_id"),
}


@pytest.mark.parametrize(("text", "kind"), FIELDS.values(), ids=FIELDS)
def test_over_a_trace(text: Text, kind: str, tmp_path: Path) -> None:
    assert set(kinds_of(rows_with(text, 12, 3), tmp_path)) == {kind}
