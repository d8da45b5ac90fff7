"""GPU time and money in every output: document, page, terminal, ledger, command line."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import hitpath
from hitpath.cli import app
from hitpath.core import CAUSES, SettingError
from hitpath.report.html import render_html
from hitpath.report.terminal_worth import gpu_time, priced_notes, usd, worth_sections
from hitpath.report.text_parts import Page
from hitpath.report.units import si
from support import write_jsonl

ROOT = Path(__file__).resolve().parents[2]
OPUS = "anthropic/claude-opus-4-5"
ON = ["--model", "llama-3.1-8b", "--hardware", "h100-sxm"]


def rows(tell_tokens=True):
    """Forty requests on one beginning, in tokens or only their lengths (written by hand)."""
    made = []
    for i in range(40):
        row = {
            "id": f"<b>{i}</b>",
            "arrival_s": 60 * i,
            "output_tokens": 10,
            "session": f"s{i % 4}",
            "reported": {"cached_tokens": 64 if i else 0, "cache_write_tokens": 0, "cost": 0.01},
        }
        prompt = [*range(96), *(1000 * (i + 1) + t for t in range(40))]
        made.append(row | ({"tokens": prompt} if tell_tokens else {"prompt_tokens": len(prompt)}))
    return made


@pytest.fixture(params=[True, False], ids=["tokens", "lengths"])
def found(request):
    pricing = hitpath.load_pricing("llama-3.1-8b", "h100-sxm", gpu_hour_usd=2.5)
    return hitpath.analyze(rows(request.param), pricing=pricing, prices=OPUS)


def keys_of(value):
    """All keys at any depth."""
    if isinstance(value, dict):
        return {*value} | {key for inner in value.values() for key in keys_of(inner)}
    if isinstance(value, list):
        return {key for inner in value for key in keys_of(inner)}
    return set()


def command(path, *options):
    result = CliRunner().invoke(app, ["analyze", str(path), *map(str, options)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_every_key_is_documented(found):
    section = (ROOT / "docs" / "json-output.md").read_text().split("## `price` and `bill`")[1]
    section = section.split("\n## ")[0] + "`unexplained` the eight causes "
    told = {*keys_of(found.document["price"]), *keys_of(found.document["bill"])} - {*CAUSES}
    assert sorted(key for key in told if f"`{key}`" not in section) == []


def test_the_document_adds_up(found):
    price = found.document["price"]
    for quantity in ("prefill_tokens", "flops", "gpu_s", "usd", "gpu_hours_per_day"):
        labels = [worth[quantity] for worth in price["wasted"].values() if worth]
        served = sum(labels) + price["floor"][quantity]
        assert price["served"][quantity] == pytest.approx(served, rel=1e-9)
        whole = price["served"][quantity] + price["avoided"][quantity]
        assert price["miss"][quantity] == pytest.approx(whole, rel=1e-9)
    assert price["miss"]["gpu_hours_per_day"] == pytest.approx(
        price["miss"]["gpu_s"] / 3600 * 86_400 / (39 * 60)
    )


def test_the_page_says_it_and_escapes_names(found):
    page = render_html(found.analysis, None, "hitpath analyze").decode()
    for part in ("What it costs", "avoided by hits", "hit class", "decoding sets", "bill"):
        assert part in page
    assert "the farthest apart: &lt;b&gt;" in page
    assert "<b>1" not in page.split("What it costs")[1].split("</section>")[0]
    assert 'href="#worth"' in page


def test_nothing_is_said_where_nothing_was_asked():
    plain = hitpath.analyze(rows())
    assert plain.document["price"] is plain.document["bill"] is None
    page = render_html(plain.analysis, None, "hitpath analyze").decode()
    assert "What it costs" not in page


def test_the_command_writes_the_same(tmp_path):
    trace = write_jsonl(tmp_path / "t.jsonl", rows())
    ledger = tmp_path / "l.parquet"
    told = json.loads(
        command(trace, *ON, "--gpu-hour", 2.5, "--prices", OPUS, "--ledger", ledger, "--json", "-")
    )
    pricing = hitpath.load_pricing("llama-3.1-8b", "h100-sxm", gpu_hour_usd=2.5)
    same = hitpath.analyze(str(trace), pricing=pricing, prices=OPUS).document
    assert told["price"] == same["price"]
    assert told["bill"] == same["bill"]
    columns = pq.read_table(ledger).to_pydict()
    assert sum(columns["miss_prefill_s"]) == pytest.approx(told["price"]["miss"]["gpu_s"])
    assert sum(columns["prefill_flops"]) == pytest.approx(told["price"]["served"]["flops"])
    assert sum(columns["bill_usd"]) == pytest.approx(told["bill"]["total_usd"])


def test_the_terminal_tells_no_speedup_without_its_workload(tmp_path):
    page = command(write_jsonl(tmp_path / "t.jsonl", rows()), *ON, "--decode-batch", 8)
    part = page.split("The bound that decoding sets")[1]
    for beside in (
        "faster end to end",
        "136 prompt and 10 output",
        "hit rate",
        "of prefill",
        "8 a",
    ):
        assert beside in part.replace("\n", " ").replace("  ", " ")
    assert "$" not in page


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_number_is_cut_at_any_width(width):
    pricing = hitpath.load_pricing("llama-3.1-70b", "h100-sxm", num_gpus=8, gpu_hour_usd=2.5)
    found = hitpath.analyze(rows(), pricing=pricing, prices=OPUS).analysis
    told = io.StringIO()
    page = Page(file=told, width=width)
    for _, section in worth_sections(found.priced, found.billed):
        page.print(section)
    lines = told.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for worth in (found.priced.miss, found.priced.avoided, found.priced.labels["cold"]):
        daily = f"{found.priced.gpu_hours_per_day(worth):,.3g} GPU-h"
        for numbers in (
            (f"{worth.prefill_tokens:,}", si(worth.flops), gpu_time(worth.gpu_s)),
            (daily, usd(worth.usd)),
        ):
            row = r" +".join(map(re.escape, numbers))
            assert re.search(rf" {row}\s", told.getvalue())


def test_names_of_models_and_hardware_are_shown_not_obeyed():
    pricing = hitpath.load_pricing("llama-3.1-8b", "h100-sxm")
    shape = replace(pricing.replica.shape, name="m\x1b[2J")
    pricing = replace(pricing, replica=replace(pricing.replica, shape=shape))
    priced = hitpath.analyze(rows(), pricing=pricing).analysis.priced
    told = "".join(map(str, priced_notes(priced)))
    assert "\x1b" not in told
    assert "m\\x1b[2J" in told


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--hardware", "h100-sxm"], "needs --model"),
        (["--model", "llama-3.1-8b", "--gpu-hour", "2"], "--gpu-hour: needs --hardware"),
        (["--tp", "2"], "--tp: needs --hardware"),
        ([*ON, "--gpu-hour", "0"], "no price of a GPU-hour"),
        ([*ON, "--chunk", "0"], "not from 1"),
        ([*ON, "--decode-batch", "0"], "not from 1"),
        ([*ON, "--mla", "x"], "not one of"),
        ([*ON, "--sample", "0.5"], "--hardware: needs the whole trace"),
        (["--prices", OPUS, "--sample", "0.5"], "--prices: needs the whole trace"),
        (["--prices", "nobody"], "not of the form"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, options, cause):
    with pytest.raises(SettingError, match=cause):
        command(write_jsonl(tmp_path / "t.jsonl", rows()), *options)


def test_statistics_of_an_engine_have_no_price(tmp_path):
    log = tmp_path / "vllm.log"
    log.write_text(
        "INFO 01-01 00:00:10 [loggers.py:123] Engine 000: Avg prompt throughput: 100.0 tokens/s, "
        "Avg generation throughput: 10.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 1.0%, Prefix cache hit rate: 50.0%\n"
    )
    with pytest.raises(SettingError, match="--hardware"):
        command(log, *ON)


def test_a_model_whose_kv_is_no_constant_is_priced(tmp_path):
    trace = write_jsonl(tmp_path / "t.jsonl", rows())
    told = json.loads(
        command(trace, "--model", "gpt-oss-20b", "--hardware", "h100-sxm", "--json", "-")
    )
    assert told["model"] is None
    assert told["price"]["model"] == "gpt-oss-20b"
    with pytest.raises(SettingError, match="no constant"):
        command(
            trace, "--model", "gpt-oss-20b", "--hardware", "h100-sxm", "--engine", "lru",
            "--capacity-gib", 1,
        )  # fmt: skip
