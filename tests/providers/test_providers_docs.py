"""docs/providers.md tells every key of the JSON, every column of --out, every provider."""

import json
from pathlib import Path

from provider_bodies import body, control, text, traced

import hitpath.report.providers as report
from hitpath.report.providers import ProvidersJob, run_providers
from hitpath.summary.providers import PROVIDERS

PAGE = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def test_every_key_and_column(tmp_path):
    marked = [{"role": "user", "content": [text("a" * 300, control())]} for _ in range(5)]
    usage = {"input_tokens": 1500, "cache_read_input_tokens": 0, "output_tokens": 3}
    traced(tmp_path, [body(marked, 0.0, usage)])
    out = tmp_path / "o.json"
    job = ProvidersJob(traces=[str(tmp_path / "bodies.jsonl")], bytes_per_token=1.0, json=str(out))
    run_providers(job)
    told = json.loads(out.read_text(encoding="utf-8"))
    keys = set(keys_of(told)) | set(report._COLUMNS)
    keys |= {"prompt_usd", "output_usd", "total_usd", "prompt_usd_without_cache", "reasons"}
    assert {key for key in keys if f"`{key}`" not in PAGE} == set()
    assert "refused" in keys
    assert told["schema"] in PAGE
    for name in PROVIDERS:
        assert f"| `{name}` |" in PAGE
