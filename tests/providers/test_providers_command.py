"""The command: its page, JSON, Parquet, errors, and that every option reaches the job."""

import dataclasses
import json

import pytest
from provider_bodies import body, control, text, traced

import hitpath.report.providers as report
from hitpath.cli_providers import providers
from hitpath.core import OutputError, SettingError
from hitpath.report.providers import ProvidersJob, asked_providers, run_providers
from hitpath.summary.providers import PROVIDERS


def rows(with_usage=True):
    made = []
    for i in range(3):
        usage = {
            "input_tokens": 100,
            "cache_read_input_tokens": 1400 if i else 0,
            "cache_creation_input_tokens": 0 if i else 1400,
            "output_tokens": 20,
        }
        messages = [{"role": "user", "content": f"question {i} " * 30}]
        system = [text("s" * 5600, control())]
        made.append(body(messages, 1.7e9 + i, usage if with_usage else None, system=system))
    return made


@pytest.fixture
def path(tmp_path):
    traced(tmp_path, rows())
    return str(tmp_path / "bodies.jsonl")


def test_everything_as_json(path, tmp_path):
    pytest.importorskip("genai_prices")
    out = tmp_path / "o.json"
    prices = ["anthropic=anthropic/claude-sonnet-4-5", "openai=openai/gpt-4o"]
    run_providers(ProvidersJob(traces=[path], prices=prices, json=str(out)))
    told = json.loads(out.read_text(encoding="utf-8"))
    assert told["schema"] == "hitpath.providers/1"
    assert [one["provider"] for one in told["providers"]] == list(PROVIDERS)
    assert told["reported"] == {
        "requests": 3,
        "prompt_tokens": 4500,
        "read_tokens": 2800,
        "written_tokens": 1400,
        "hit_rate": 2800 / 4500,
        "usd": None,
        "usd_requests": 0,
    }
    by_name = {one["provider"]: one for one in told["providers"]}
    anthropic = by_name["anthropic"]
    assert anthropic["read_tokens"] == 2 * anthropic["written_tokens"] > 2500
    assert anthropic["where_reported"]["read_tokens"] == anthropic["read_tokens"]
    assert anthropic["bill"]["total_usd"] < anthropic["bill"]["prompt_usd_without_cache"]
    assert by_name["gemini"]["bill"] is None
    assert by_name["openai"]["written_tokens"] is None


def test_rows_as_parquet(path, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "o.parquet"
    run_providers(ProvidersJob(traces=[path], providers=["anthropic", "openai"], out=str(out)))
    table = pq.read_table(out).to_pylist()
    assert [row["provider"] for row in table] == ["anthropic"] * 3 + ["openai"] * 3
    assert [row["request"] for row in table[:3]] == ["0", "1", "2"]
    assert table[0]["written_tokens"] == table[1]["read_tokens"] > 0
    assert table[3]["written_tokens"] is None
    assert table[1]["reported_read_tokens"] == 1400
    assert all(row["usd"] is None and not row["excluded"] for row in table)


def test_one_page(path, capsys):
    run_providers(ProvidersJob(traces=[path]))
    page = capsys.readouterr().out
    assert "reported (3 requests)" in page
    assert "upper" in page
    for name in PROVIDERS:
        assert name in page
    assert "bytes of text" in page


def test_a_refused_provider_says_why(tmp_path, capsys):
    marked = [{"role": "user", "content": [text("a" * 300, control())]} for _ in range(5)]
    traced(tmp_path, [body(marked, 0.0)])
    job = ProvidersJob(traces=[str(tmp_path / "bodies.jsonl")], bytes_per_token=1.0)
    run_providers(job)
    page = " ".join(capsys.readouterr().out.split())
    assert "bedrock: nothing can be said: request 0" in page
    out = tmp_path / "o.json"
    run_providers(dataclasses.replace(job, json=str(out)))
    told = json.loads(out.read_text(encoding="utf-8"))
    refused = [one for one in told["providers"] if "refused" in one]
    assert {one["provider"] for one in refused} == {"anthropic", "bedrock"}


def test_names_of_providers():
    assert asked_providers(["openai, gemini", "openai"]) == ["openai", "gemini"]
    assert asked_providers([]) == list(PROVIDERS)
    with pytest.raises(SettingError, match="not one of openai, openai-breakpoints"):
        asked_providers(["mistral"])


def test_a_trace_is_not_overwritten(path):
    with pytest.raises(OutputError):
        run_providers(ProvidersJob(traces=[path], json=path))


def test_every_option_reaches_the_job(monkeypatch):
    jobs = []
    monkeypatch.setattr(report, "run_providers", jobs.append)
    providers(
        ["t"],
        provider=["openai"],
        prices=["openai/gpt-4o"],
        bytes_per_token=3.5,
        tokenizer="f",
        block_size=32,
        mapping=["a=b"],
        skip_bad_rows=True,
        json_file="j",
        out="o",
    )
    assert jobs == [
        ProvidersJob(
            traces=["t"],
            providers=["openai"],
            prices=["openai/gpt-4o"],
            tokenizer="f",
            bytes_per_token=3.5,
            block_size=32,
            mapping=["a=b"],
            skip_bad_rows=True,
            json="j",
            out="o",
        )
    ]


def test_the_minimum_is_that_of_the_priced_model_where_the_trace_names_none(tmp_path):
    """Prompts of 1,100 and more tokens: below Opus 4.5's minimum of 4,096 nothing is cached."""
    pytest.importorskip("genai_prices")
    path = tmp_path / "ids.jsonl"
    ids = [{"id": str(i), "arrival_s": i, "tokens": [*range(1100 + i)]} for i in range(3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in ids))

    def read(*prices):
        out = tmp_path / "o.json"
        asked = ["anthropic", "gemini"]
        run_providers(
            ProvidersJob(traces=[str(path)], providers=asked, prices=prices, json=str(out))
        )
        return {one["provider"]: one for one in json.loads(out.read_text())["providers"]}

    assert read()["anthropic"]["read_tokens"] == 1100 + 1101
    opus = read("anthropic=anthropic/claude-opus-4-5")["anthropic"]
    assert (opus["read_tokens"], opus["written_tokens"]) == (0, 0)
    assert opus["bill"]["prompt_usd"] == opus["bill"]["prompt_usd_without_cache"]
    assert any("priced" in note and "4,096" in note for note in opus["notes"])
    sonnet = read("anthropic=anthropic/claude-sonnet-4-5")["anthropic"]
    assert sonnet["read_tokens"] == 1100 + 1101


def test_geminis_minimum_is_that_of_the_model(tmp_path):
    path = tmp_path / "ids.jsonl"
    for model, hit in (("gemini-2.5-pro", 3000), ("gemini-3-pro-preview", 0), (None, 3000)):
        ids = [
            {"id": str(i), "arrival_s": i, "tokens": [*range(3000)], "model": model}
            for i in range(2)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in ids))
        out = tmp_path / "o.json"
        run_providers(ProvidersJob(traces=[str(path)], providers=["gemini"], json=str(out)))
        assert json.loads(out.read_text())["providers"][0]["read_tokens"] == hit
