"""The linter over Python source: what flows into a prompt, and what must not be told."""

import textwrap
from pathlib import Path

import pytest

from hitpath.core import InputError
from hitpath.doctor.lint_record import Finding
from hitpath.doctor.lint_source import lint_source

HEAD = """\
import asyncio, glob, json, os, random, secrets, socket, time, uuid
import datetime as dt
from datetime import date, datetime
from uuid import uuid4 as new_id
"""


def linted(tmp_path: Path, code: str) -> list[Finding]:
    path = tmp_path / "prompts.py"
    path.write_text(HEAD + textwrap.dedent(code))
    return lint_source([str(path)])


def told(tmp_path: Path, code: str) -> list[tuple[str, str, str]]:
    return [(one.rule.kind, one.level, one.excerpt) for one in linted(tmp_path, code)]


FOUND = {
    "clock in an f-string": (
        'system = f"Now {datetime.now()}. You are"', "clock", "datetime.now()"),
    "through a variable": (
        "now = dt.datetime.utcnow()\ntext = now.isoformat()\nask(system='Time ' + text)",
        "clock", "dt.datetime.utcnow()"),
    "through a function": (
        "def stamp():\n    return time.time()\nask(instructions=f'{stamp()} rules')",
        "clock", "time.time()"),
    "through str.format": (
        "SYSTEM_PROMPT = 'Time {}'.format(time.strftime('%H:%M'))", "clock",
        "time.strftime('%H:%M')"),
    "an attribute": (
        "class A:\n    def __init__(self):\n        self.started = time.time()\n"
        "    def ask(self):\n        return {'role': 'system', 'content': f'up {self.started}'}",
        "clock", "time.time()"),
    "an id under another name": (
        "ask(messages=[{'role': 'system', 'content': 'Session ' + str(new_id())}])",
        "request_id", "new_id()"),
    "secrets": ("system = 'nonce ' + secrets.token_hex(8)", "request_id", "secrets.token_hex(8)"),
    "chance": (
        "shots = random.sample(pool, 3)\nsystem = 'Examples: ' + '\\n'.join(shots)",
        "random_sample", "random.sample(pool, 3)"),
    "a shuffle": (
        "random.shuffle(shots)\nsystem = 'Examples: ' + '\\n'.join(shots)",
        "random_sample", "random.shuffle(shots)"),
    "a process": ("system = f'pid {os.getpid()}'", "attribution", "os.getpid()"),
    "a host": ("developer_message = socket.gethostname()", "attribution", "socket.gethostname()"),
    "a set of tools": ("ask(tools=list(set(names)))", "array_order", "set(names)"),
    "a set in a comprehension": (
        "unique = {n.lower() for n in names}\nask(tools=[make(n) for n in unique])",
        "array_order", "{n.lower() for n in names}"),
    "a loop over a set": (
        "tools = []\nfor name in set(names):\n    tools.append(make(name))",
        "array_order", "set(names)"),
    "a folder": ("system = 'Files: ' + ' '.join(os.listdir('.'))", "array_order",
                 "os.listdir('.')"),
    "json": ("system = 'Schema: ' + json.dumps(schema)", "key_order", "json.dumps(schema)"),
    "a counter": (
        "import itertools\nsteps = itertools.count()\nsystem = f'[step {next(steps)}]'",
        "counter", "next(steps)"),
    "a message class": ("SystemMessage(content=f'{datetime.now()}')", "clock", "datetime.now()"),
    "a pair": ("make([('system', f'{datetime.now()}')])", "clock", "datetime.now()"),
    "a builder's result": (
        "def build_system_prompt():\n    text = f'{datetime.now()} rules'\n    return text",
        "clock", "datetime.now()"),
    "ahead of text in a prompt": ("prompt = f'{datetime.now()} Answer: {q}. Be brief'", "clock",
                                  "datetime.now()"),
    "in a branch": (
        "text = 'a'\nif fresh:\n    text = str(time.time())\nask(system=text)", "clock",
        "time.time()"),
    "a body's key": ("body = {}\nbody['system'] = f'{datetime.now()}'", "clock", "datetime.now()"),
    "added to the first message": (
        "messages[0]['content'] += f'Time {datetime.now()}'", "clock", "datetime.now()"),
    "a list of parts": (
        "ask(system=[{'type': 'text', 'text': f'{datetime.now()}'}])", "clock",
        "datetime.now()"),
    "inserted": (
        "messages.insert(0, {'role': 'system', 'content': str(time.time())})", "clock",
        "time.time()"),
    "an awaited loop": (
        "async def f():\n    async for d in asyncio.as_completed(jobs):\n"
        "        docs.append(d)\n    system = ' '.join(docs)",
        "array_order", "asyncio.as_completed(jobs)"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_flows_into_a_prompt(tmp_path: Path, name: str) -> None:
    code, kind, excerpt = FOUND[name]
    kinds = [(one.rule.kind, one.excerpt) for one in linted(tmp_path, code)]
    assert kinds == [(kind, excerpt)]


CLEAN = {
    "the user's message": (
        "ask(messages=[{'role': 'system', 'content': RULES},"
        " {'role': 'user', 'content': f'{q} ({datetime.now()})'}])"
    ),
    "the end of a prompt": "prompt = f'Answer: {q}\\nIt is {datetime.now()}'",
    "sorted": "ask(tools=[make(n) for n in sorted(set(names))])",
    "sorted in place": "found = list(set(names))\nfound.sort()\nask(tools=found)",
    "sorted keys": "system = json.dumps(schema, sort_keys=True)",
    "a literal": "system = json.dumps({'a': 1, 'b': [1, 2]})",
    "a length": "system = f'{len(set(names))} names'",
    "another use": "log(time.time())\nstarted = datetime.now()\nask(system=RULES, user=new_id())",
    "a test": "system = RULES if time.time() > limit else OTHER",
    "overwritten": "text = str(time.time())\ntext = 'constant'\nask(system=text)",
    "a tool's result": "def find(x):\n    return {'role': 'tool', 'content': str(time.time())}",
    "another module's now": "system = f'{clock.now()}'",
    "an ignored line": "system = f'{datetime.now()}'  # hitpath: ignore",
    "a shadowed name": "set = make_set\nask(tools=list(set(names)))",
    "roles": "SYSTEM_ROLES = frozenset(['system'])",
}


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_no_finding(tmp_path: Path, name: str) -> None:
    assert told(tmp_path, CLEAN[name]) == []


def test_a_coarse_clock_is_a_note(tmp_path: Path) -> None:
    code = """\
    system = f"Today is {date.today()}"
    instructions = datetime.now().strftime("%A, %d %B %Y")
    preamble = f"{datetime.now().replace(minute=0, second=0, microsecond=0)}"
    system_prompt = f"Today is {datetime.now():%A, %B %d}."
    system_message = "Today is " + str(datetime.now())[:10]
    developer_prompt = datetime.now().isoformat(timespec="hours")
    """
    assert [(kind, level) for kind, level, _ in told(tmp_path, code)] == [("clock", "note")] * 6
    (minute,) = linted(tmp_path, 'system = f"It is {datetime.now():%H:%M}"')
    assert minute.level == "warning"
    (fine,) = linted(tmp_path, 'system = datetime.now().strftime("%H:%M")')
    assert fine.level == "warning"


def test_the_place_is_that_of_the_origin(tmp_path: Path) -> None:
    code = 'é = 1\nsystem = "é" + str(  uuid.uuid4())\n'
    (one,) = linted(tmp_path, code)
    line = code.split("\n")[1]
    # ast counts bytes of UTF-8; columns here are characters.
    assert (one.line, one.column) == (HEAD.count("\n") + 2, line.index("uuid.uuid4") + 1)
    assert "system" in one.message


def test_fingerprints_survive_moved_lines(tmp_path: Path) -> None:
    code = "def head():\n    system = f'{datetime.now()}'\n    return system\n"
    first = linted(tmp_path, code)
    second = linted(tmp_path, "\n\n# a comment\nOTHER = 1\n\n" + code)
    assert [one.fingerprint for one in first] == [one.fingerprint for one in second]
    assert first[0].line + 5 == second[0].line
    twice = linted(tmp_path, code + "    system = f'{datetime.now()}'\n")
    assert len({one.fingerprint for one in twice}) == len(twice)


def test_folders_are_walked_and_installed_packages_are_not(tmp_path: Path) -> None:
    code = HEAD + "system = f'{datetime.now()}'\n"
    for name in ("a.py", "sub/b.py", ".hidden/c.py", "site-packages/d.py", "sub/e.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    found = lint_source([str(tmp_path)])
    assert [Path(one.path).name for one in found] == ["a.py", "b.py"]


@pytest.mark.parametrize(
    "data",
    [
        b"def broken(:\n", b"x = '\n", b"\xff\xfe\x00", b"a\x00b", b"# coding: nonsense\n",
        b"x = " + b"(" * 10_000, b"x = " + b"-" * 100_000 + b"1", b"x = a" + b".b" * 100_000,
    ],
    ids=["def", "quote", "bytes", "null", "coding", "parentheses", "signs", "attributes"],
)  # fmt: skip
def test_what_is_not_python_is_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        lint_source([str(path)])
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_long_sums_need_no_recursion(tmp_path: Path) -> None:
    code = "system = " + " + ".join(["'x'"] * 800) + " + str(uuid.uuid4())"
    assert [kind for kind, _, _ in told(tmp_path, code)] == ["request_id"]


def test_missing_files_and_empty_folders_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none.py", tmp_path):
        with pytest.raises(InputError):
            lint_source([str(path)])


def test_our_own_source_is_clean() -> None:
    source = Path(__file__).resolve().parents[2] / "src" / "hitpath" / "canonical"
    assert lint_source([str(source)]) == []
