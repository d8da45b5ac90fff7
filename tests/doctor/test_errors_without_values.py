"""With --no-content an error's line says nothing that the input made up: no 8 characters of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hitpath.cli import app
from hitpath.core import InputError
from hitpath.report.without_values import without_values
from support import write_jsonl

MARK = "QZJVKWXPHB"
GOOD = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
BAD: dict[str, list[Any]] = {
    "time": [{**GOOD, "timestamp": MARK}],
    "id": [{**GOOD, "id": MARK}, {**GOOD, "id": MARK}],
    "url": [{"custom_id": "1", "method": "POST", "url": f"/v1/{MARK}", "body": GOOD}],
    "fields": [{MARK: 1, f"{MARK}2": 2}],
    "own time": [{"id": 1, "arrival_s": MARK, "prompt": "x"}],
    "own id": [{"id": MARK, "arrival_s": 0, "prompt": "x"}] * 2,
    "role": [{**GOOD, "messages": [MARK]}],
    "type": [{**GOOD, "model": {MARK: MARK}}],
    "usage": [{**GOOD, "usage": {"prompt_tokens": MARK}}],
    "a name of a key": [{"id": 1, "arrival_s": 0, "prompt": "x", "context": {MARK: [MARK]}}],
    "a number": [{**GOOD, "timestamp": 8_123_456_789_012_345_678}],
    "otel": [{"trace_id": MARK, "span_id": MARK, "name": "chat", "attributes": {
        "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": MARK}}],
    "share": [{"id": MARK, "conversations": [{"from": MARK, "value": 3}]}],
}  # fmt: skip


@pytest.mark.parametrize("command", ["doctor", "lint"])
@pytest.mark.parametrize("name", BAD)
def test_no_stretch_of_the_input_stands_in_the_error(
    name: str, command: str, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", BAD[name])
    done = CliRunner().invoke(app, [command, str(path), "--no-content"])
    told = done.output + str(done.exception)
    secret = json.dumps(BAD[name]) if name == "a number" else f"{MARK} {MARK}2"
    for at in range(len(secret) - 7):
        stretch = secret[at : at + 8]
        if MARK[:4] in stretch or name == "a number":
            assert stretch not in told, told
    assert done.exception is None or isinstance(done.exception, InputError | SystemExit)


def test_words_for_values() -> None:
    assert without_values("'HQPG' is not an ISO 8601 time") == (
        "a text of 4 characters is not an ISO 8601 time"
    )
    assert without_values("\"it's cut") == "a text of 7 characters"
    assert without_values("format not recognised (fields: A, B); docs list them") == (
        "format not recognised (fields: 2); docs list them"
    )
    assert without_values("512, but 1,024 before") == "512, but 1,024 before"
    assert without_values("1700000000123 s is not a time") == "a number s is not a time"
