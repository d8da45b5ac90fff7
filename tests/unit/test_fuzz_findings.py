"""Inputs that once ended a reader in a traceback, found by bench/fuzz.py and the fuzz tests."""

import json
from pathlib import Path
from typing import Any

import pytest

from hitpath.core import InputError
from hitpath.traces import read_trace

HUGE = 10**400
"""An integer that JSON can write and no float can hold."""
HELICONE = {
    "request_id": "r",
    "request_created_at": "2026-01-15 12:00:00",
    "request_model": "m",
    "response_status": 200,
    "provider": "OPENAI",
    "request_body": {"messages": [{"role": "user", "content": "Hi"}]},
}
AIPERF = {
    "metadata": {"request_start_ns": 1, "request_end_ns": 2},
    "metrics": {
        "usage_prompt_tokens": {"value": 9, "unit": "tokens"},
        "time_to_first_token": {"value": HUGE, "unit": "ms"},
    },
}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({**HELICONE, "delay_ms": HUGE}, "delay_ms"),
        ({**HELICONE, "delay_ms": -1}, "delay_ms"),
        ({**HELICONE, "time_to_first_token": HUGE}, "time_to_first_token"),
        (AIPERF, "metrics.time_to_first_token.value"),
    ],
)
def test_an_integer_that_is_no_float_is_no_time(tmp_path: Path, row: Any, field: str) -> None:
    """Dividing it by the unit raised OverflowError."""
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match="is not a time from 0 to") as caught:
        read_trace([str(path)])
    assert caught.value.field == field
    assert str(caught.value).isprintable()
