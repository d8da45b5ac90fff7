"""docs/engine.md: its example runs, and its table names every switch with its default."""

import re
from dataclasses import fields
from pathlib import Path

from hitpath.engine.settings import EngineSettings

DOC = (Path(__file__).resolve().parents[2] / "docs" / "engine.md").read_text(encoding="utf-8")


def test_the_example_runs_and_hits(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", DOC, re.DOTALL)
    exec(compile(example, "docs/engine.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("0 of 207 tokens cached; ")
    assert second.startswith("192 of 207 tokens cached; ")


def test_every_switch_is_in_the_table_with_its_default():
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", DOC, re.MULTILINE)
    told = {}
    for names, defaults in rows:
        listed = re.findall(r"`(\w+)`", names)
        values = [value.strip(" `") for value in defaults.split(",")]
        told.update(zip(listed, values * (len(listed) // len(values)), strict=True))
    defaults = {field.name: str(field.default) for field in fields(EngineSettings)}
    defaults["kv_cache_bytes"] = "1 GiB"
    assert told == defaults
