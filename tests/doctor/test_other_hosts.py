"""Another model or host is a reason only where something was not read. Bodies are written by hand
from the documented shape of OpenAI's API, with usage and `system_fingerprint`."""

from pathlib import Path
from typing import Any

import pytest

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

DESK = "You are the night desk of a small hotel; answer in two sentences at most. " * 90


def turn(number: int, read: int) -> dict[str, Any]:
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"Said as number {n}, and no more."}
        for n in range(2 * number + 1)
    ]
    usage = {"prompt_tokens": 2_400 + 20 * number, "completion_tokens": 5,
             "prompt_tokens_details": {"cached_tokens": read}}  # fmt: skip
    return {"model": "gpt-4o", "messages": [{"role": "system", "content": DESK}, *said],
            "response": {"created": 1_764_400_000 + 20 * number, "usage": usage,
                         "system_fingerprint": f"fp_{number}"}}  # fmt: skip


@pytest.mark.parametrize(("read", "reason"), [(2_304, "read"), (0, "other_model_or_host")])
def test_what_was_read_needs_no_excuse(tmp_path: Path, read: int, reason: str) -> None:
    rows = [turn(number, read if number else 0) for number in range(4)]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    view = examine(open_subject([str(path)], Setting()), what_ifs=False).provider
    assert view is not None
    assert view.requests == {"first": 1, reason: 3}
    assert (view.tokens.get(reason, 0) > 0) == (reason != "read")
