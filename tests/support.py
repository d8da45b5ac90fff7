"""Traces for tests: from the oracle's requests, from rows of JSON, from the shared data."""

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hitpath.traces import Trace, TraceBuilder, read_trace
from hitpath.traces.rows import Row
from hitpath.traces.table import Context
from oracle.world import Request, all_ids, whole_ids


def signals_as_usual() -> None:
    """For a process that a test will end: whoever runs the tests may ignore signals (nohup, a job
    in the background), and what is ignored is inherited."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(name: str) -> Path:
    """A file of real traffic; the test is skipped only where the folder as a whole is absent."""
    if not SHARED.exists():
        pytest.skip("no ../shared/data beside this checkout")
    path = SHARED / name
    assert path.exists(), f"{path} is missing"
    return path


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def trace_of_rows(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> Trace:
    return read_trace([str(write_jsonl(tmp_path / "trace.jsonl", rows))], **options)


def token_trace(requests: list[Request]) -> Trace:
    """The oracle's requests with their token ids."""
    return _build(requests, None)


def chained_trace(requests: list[Request], block_size: int) -> Trace:
    """The same requests as chained block ids, without their tokens."""
    return _build(requests, block_size)


def _build(requests: list[Request], block_size: int | None) -> Trace:
    builder = TraceBuilder()
    numbers: dict[Any, int] = {}

    def symbols(request: Request, tokens: tuple[int, ...]) -> np.ndarray:
        if block_size is None:
            return np.array(tokens, dtype=np.uint32)
        ids = all_ids(request.context, tokens, block_size)
        return np.array([numbers.setdefault(i, len(numbers)) for i in ids], dtype=np.uint64)

    def output(request: Request) -> np.ndarray | None:
        if request.output is None:
            return None
        if block_size is None:
            return np.array(request.output, dtype=np.uint32)
        whole = len(whole_ids(request.context, request.tokens, block_size))
        return symbols(request, request.whole)[whole:]

    for i, request in enumerate(requests):
        row = Row(
            id=f"r{i}",
            arrival_s=float(request.arrival_s),
            prompt=symbols(request, request.tokens),
            prompt_tokens=len(request.tokens),
            output=output(request),
            output_tokens=None if request.output is None else len(request.output),
            finish_s=None
            if request.finish_s is None
            else float(max(request.finish_s, request.arrival_s)),
            session=request.session,
            tenant=request.tenant,
            model=request.model,
            worker=f"w{request.worker}",
            context=Context(model=request.model, salt=request.salt, adapter=request.adapter),
            reported=request.reported,
        )
        builder.attempt(lambda row=row: row, f"test:{i + 1}")
    if block_size is None:
        return builder.build("hitpath", "tokens", None)
    return builder.build("hitpath", "chained", block_size)
