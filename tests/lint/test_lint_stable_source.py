"""Source that looks at no clock and at no order: no finding; and its neighbours that do."""

from pathlib import Path

import pytest

from hitpath.doctor.lint_source import lint_source

HEAD = "import json, time\nfrom email.utils import formatdate\nX = {'b', 'a'}\n"


def kinds(folder: Path, expression: str) -> list[str]:
    file = folder / "prompts.py"
    said = f"str({expression}) + ' You keep a library.'"
    file.write_text(f"{HEAD}def ask(): return call(system={said})\n")
    return [one.rule.kind for one in lint_source([str(file)])]


@pytest.mark.parametrize(
    "expression",
    [
        'time.strftime("%Y", time.gmtime(0))',
        "time.ctime(1700000000)",
        "time.asctime(time.localtime(0))",
        "formatdate(0)",
        "{3, 1, 2}",
        "json.dumps(sorted(X))",
        "json.dumps(sorted(X, reverse=True))",
    ],
)
def test_no_finding(tmp_path: Path, expression: str) -> None:
    assert kinds(tmp_path, expression) == []


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ('time.strftime("%H:%M:%S", time.gmtime())', "clock"),
        ('time.strftime("%H:%M:%S", time.localtime(time.time()))', "clock"),
        ("time.ctime(None)", "clock"),
        ("time.ctime(time.time())", "clock"),
        ("time.asctime(time.localtime())", "clock"),
        ("formatdate()", "clock"),
        ('{"3", "1"}', "array_order"),
        ("{3, other}", "array_order"),
        ("json.dumps(sorted(rows, key=len))", "key_order"),
        ("json.dumps(list(X))", "array_order"),
    ],
)
def test_a_finding(tmp_path: Path, expression: str, kind: str) -> None:
    assert kind in kinds(tmp_path, expression)
