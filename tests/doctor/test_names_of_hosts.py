"""The name of a host is no label of what stands behind it in an address."""

from __future__ import annotations

import random
import uuid
from typing import TYPE_CHECKING

import pytest

from hitpath.core import Setting
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

RULES = "Answer briefly and cite the page of the manual you used. " * 9


@pytest.mark.parametrize(
    "address",
    [
        "Trace: https://smith.example.com/o/acme/r/{}",
        "See http://user.samples.org/{} for more.",
        "docs.example.com/{}",
    ],
)
@pytest.mark.parametrize("turns", [1, 2])
def test_an_id_in_an_address_is_a_request_s(address: str, turns: int, tmp_path: Path) -> None:
    rng = random.Random(4)
    rows = []
    for number in range(16):
        text = address.format(uuid.UUID(int=rng.getrandbits(128), version=4))
        said = [
            {"role": "system", "content": f"{RULES}\n{text}\n{RULES}"},
            {"role": "user", "content": f"Question {number} about part {number * 31}"},
        ]
        known = {"id": str(number), "arrival_s": number * 97 + number * 31 % 50}
        rows.append({**known, "session": f"s{number // turns}", "messages": said})
    found = examine(open_subject([str(write_jsonl(tmp_path / "t.jsonl", rows))], Setting()))
    assert [defect.kind for defect in found.defects] == ["request_id"]
