"""Every key of what `simulate`, its grid and `size` write is documented."""

import re
from pathlib import Path

from hitpath.core import Setting
from hitpath.report.simulate_result import Simulated, Sized, Swept
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json-output.md"
OPTIONS = {"model": "llama-3.1-8b", "hardware": "h100-sxm", "capacity_tokens": 150_000}
FLEET = {
    "workers": [{"count": 2, "role": "prefill"}, {"count": 1, "role": "decode"}],
    "transfer": {"bytes_per_s": 1e9},
    "host": {"tokens": 1_000_000},
    "remote": {"tokens": 1_000_000, "bytes_per_s": 1e9},
    "changes": [{"time_s": 1, "worker": 0, "change": "restart"}],
    "load": {"arrivals": "poisson", "stages": [{"rate_per_s": 10, "requests": 60}]},
    "slo": "ttft_p90<1",
    "gpu_hour_usd": 2.0,
}
GRID = {"scale": 60.0, "slo": "ttft_p90<30", **OPTIONS}


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if not re.fullmatch(r"0\.\d+", key):
                yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value[:2]:
            yield from keys_of(inner)


def test_every_key_is_documented(tmp_path):
    trace, read = trace_of_rows(tmp_path, demo_rows(0)[:80]), Setting()
    axes = {"router": ["random"], "workers": [1, 2]}
    results = (
        Simulated.of(trace, read, FLEET, **OPTIONS),
        Swept.of(trace, read, None, axes, None, **GRID),
        Sized.of(trace, read, None, ("random",), 4, **GRID),
    )
    keys = {key for result in results for key in keys_of(result.document)}
    keys |= set(results[0].ledger.column_names) | set(results[1].cells.column_names)
    page = PAGE.read_text()
    assert not sorted(key for key in keys if f"`{key}`" not in page)
