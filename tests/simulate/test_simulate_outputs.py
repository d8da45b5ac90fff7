"""Every output of a run: the JSON document, the ledger, the Chrome trace, the page, the picture.
Figures are held against numpy on the ledger's rows."""

import json
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pyarrow.parquet as pq
import pytest

from hitpath.core import CAUSES, InputError, OutputError, SettingError
from hitpath.report.simulate import SimulateJob, run_simulate
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl

FLAGS = {
    "worker.count": 3,
    "worker.model": "llama-3.1-8b",
    "worker.hardware": "h100-sxm",
    "worker.capacity_tokens": 150_000,
    "router.name": "llmd-precise",
    "load.scale": 30.0,
    "outputs": "insert",
    "slo": "ttft_p90<0.2,tpot_p99<1",
    "gpu_hour_usd": 2.0,
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    return str(write_jsonl(tmp_path_factory.mktemp("t") / "t.jsonl", demo_rows(0)[:300]))


@pytest.fixture(scope="module")
def made(tmp_path_factory, trace):
    folder = tmp_path_factory.mktemp("out")
    files = {
        "json": "o.json", "ledger": "o.parquet", "html": "o.html", "perfetto": "o.trace.json",
        "svg": "o.svg",
    }  # fmt: skip
    paths = {name: str(folder / file) for name, file in files.items()}
    run_simulate(SimulateJob(traces=[trace], fleet=None, flags=FLAGS, command="cmd", **paths))
    return folder


@pytest.fixture(scope="module")
def document(made):
    return json.loads((made / "o.json").read_text())


@pytest.fixture(scope="module")
def ledger(made):
    return pq.read_table(made / "o.parquet")


def column(ledger, name):
    values = ledger[name].to_numpy()
    return values[~np.isnan(values.astype(float))]


def test_the_document_is_analyze_s_and_more(document):
    assert document["schema"] == "hitpath.simulation/1"
    for key in ("trace", "hit_rate", "tokens", "ladder", "over_time", "by", "warnings", "curve"):
        assert key in document
    assert document["setting"]["router"] == "llmd-precise"
    assert document["setting"]["workers"] == 3
    assert set(document["latency"]) == {"ttft_s", "tpot_s", "e2e_s"}
    for times in document["latency"].values():
        assert set(times) == {"mean", "p50", "p90", "p99"}
    assert set(document["throughput"]) == {"output_tokens_per_s", "requests_per_s"}
    for key in ("queue", "kv_use"):
        assert set(document[key]) == {"mean", "p90", "max"}
    assert len(document["per_worker"]) == 3
    assert document["per_stage"] is None


def test_the_ladder_adds_up(document):
    tokens = document["tokens"]
    labels = [tokens["causes"][cause] or 0 for cause in CAUSES]
    assert tokens["hit"] + sum(labels) + tokens["unexplained"] == tokens["prompt"]
    assert sum(tokens["hit_by_tier"].values()) == tokens["hit"]
    rungs = [rung["tokens"] for rung in document["ladder"] if rung["tokens"] is not None]
    assert rungs == sorted(rungs)
    assert rungs[0] == tokens["hit"] == document["funnel"]["delivered"]["tokens"]
    assert rungs[-1] == tokens["prompt"] == document["funnel"]["prompt"]["tokens"]
    assert tokens["causes"]["in_flight"] is not None


def test_percentiles_are_numpy_s_over_the_ledger(document, ledger):
    for metric in ("ttft_s", "tpot_s", "e2e_s"):
        times = column(ledger, metric)
        told = document["latency"][metric]
        assert told["mean"] == pytest.approx(times.mean())
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            assert told[name] == pytest.approx(np.quantile(times, share))


def test_sums_are_those_of_the_ledger(document, ledger):
    assert len(ledger) == document["requests"]["num_sent"] == 300
    assert column(ledger, "hit_tokens").sum() == document["tokens"]["hit"]
    assert column(ledger, "prompt_tokens").sum() == document["tokens"]["prompt"]
    span = column(ledger, "finish_s").max() - column(ledger, "sent_s").min()
    rate = column(ledger, "generated_tokens").sum() / span
    assert document["throughput"]["output_tokens_per_s"] == pytest.approx(rate)
    workers = document["per_worker"]
    assert sum(w["hit_tokens"] for w in workers) == document["tokens"]["hit"]
    assert sum(w["num_sent"] for w in workers) == 300
    assert sum(window["num_sent"] for window in document["timeline"]) == 300


def test_times_never_run_backwards(ledger):
    sent, admit, first, finish = (
        ledger[name].to_numpy() for name in ("sent_s", "admit_s", "first_token_s", "finish_s")
    )
    assert np.all(sent <= admit)
    assert np.all(admit <= first)
    assert np.all(first <= finish)
    assert np.all(np.diff(admit) >= 0)


def test_goodput_is_counted_over_the_ledger(document, ledger):
    goodput = document["goodput"]
    ttft, tpot = ledger["ttft_s"].to_numpy(), ledger["tpot_s"].to_numpy()
    good = (ttft < 0.2) & (np.isnan(tpot) | (tpot < 1))
    assert goodput["num_good"] == int(good.sum())
    assert goodput["bounds"][0]["value_s"] == pytest.approx(np.quantile(ttft, 0.9))
    assert goodput["met"] == all(bound["met"] for bound in goodput["bounds"])


def test_cost_is_gpu_time_of_the_fleet(document):
    cost = document["cost"]
    hours = 3 * (document["load"]["end_s"] - document["load"]["begin_s"]) / 3600
    assert cost["gpu_hours"] == pytest.approx(hours)
    assert cost["usd"] == pytest.approx(2 * hours)
    assert cost["usd_per_hour"] == 6


def test_a_miss_alone_costs_what_price_says(document):
    """The figure that stands beside every gain, from `hitpath price`'s own path."""
    from hitpath.cost.paths import miss_path
    from hitpath.cost.pricing import load_pricing

    replica = load_pricing("llama-3.1-8b", "h100-sxm").replica
    prompt = round(document["workload"]["mean_prompt_tokens"])
    path = miss_path(replica, prompt, chunk_tokens=8192)
    assert document["workload"]["miss_ttft_s"] == pytest.approx(path.ttft_s, rel=1e-9)


def test_the_chrome_trace_is_valid(made, document):
    trace = json.loads((made / "o.trace.json").read_text())
    events = trace["traceEvents"]
    named = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
    assert list(named.values()) == ["worker 0", "worker 1", "worker 2"]
    slices = [e for e in events if e["ph"] == "X"]
    assert {e["name"] for e in slices} <= {"queue", "prefill", "decode"}
    assert len({e["args"]["request"] for e in slices}) == document["requests"]["num_admitted"]
    on_threads = {}
    for e in slices:
        assert e["dur"] > 0
        on_threads.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"]))
    for spans in on_threads.values():
        spans.sort()
        ends = [end for _, end in spans]
        assert all(begin >= end - 1e-3 for end, (begin, _) in zip(ends, spans[1:], strict=False))
    counters = [e for e in events if e["ph"] == "C"]
    assert {e["name"] for e in counters} == {"requests", "KV"}
    assert all(0 <= v <= 1 for e in counters if e["name"] == "KV" for v in e["args"].values())


class _Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.loads, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.loads += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in ("meta", "path", "rect", "input", "br", "img", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("path", "rect"):
            assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(made, document):
    text = (made / "o.html").read_text()
    tags = _Tags(text)
    assert tags.open == []
    assert all(link.startswith("#") for link in tags.loads)
    rate = f"{document['hit_rate']['token_weighted']:.2%}".replace("%", "\u00a0%")
    assert rate in text
    for section in ("latency", "funnel", "tokens", "capacity", "time", "workers", "settings"):
        assert f'id="{section}"' in text
    assert len(text) < 2_000_000


def test_the_picture_is_an_svg(made):
    assert ElementTree.fromstring((made / "o.svg").read_text()).tag.endswith("svg")


def test_the_same_run_gives_the_same_bytes(made, trace, tmp_path):
    paths = {name: str(tmp_path / file) for name, file in (("json", "o.json"), ("html", "o.html"))}
    run_simulate(SimulateJob(traces=[trace], fleet=None, flags=FLAGS, command="cmd", **paths))
    for file in ("o.json", "o.html"):
        assert (tmp_path / file).read_bytes() == (made / file).read_bytes()


def test_requests_that_are_refused_stand_in_the_ledger(tmp_path, trace):
    path, out = tmp_path / "l.parquet", tmp_path / "o.json"
    flags = {**FLAGS, "router.max_in_flight": 4, "load.scale": 1000.0}
    run_simulate(SimulateJob([trace], None, flags, ledger=str(path), json=str(out)))
    ledger, document = pq.read_table(path), json.loads(out.read_text())
    refused = document["requests"]["refused_full"]
    assert refused > 0
    assert len(ledger) == 300
    endings = ledger["ending"].to_pylist()
    assert endings.count("refused_full") == refused
    rows = ledger.filter([e == "refused_full" for e in endings])
    assert rows["hit_tokens"].null_count == rows["worker"].null_count == refused
    assert set(rows["excluded"].to_pylist()) == {True}
    assert document["goodput"]["bounds"][0]["value_s"] is None  # infinite
    admitted = ledger.filter([e == "served" for e in endings])
    assert sum(admitted["prompt_tokens"].to_pylist()) == document["tokens"]["prompt"]


def test_stages_have_figures_of_their_own(tmp_path, trace):
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        '[worker]\nmodel = "llama-3.1-8b"\nhardware = "h100-sxm"\ncapacity_tokens = 150000\n'
        '[load]\narrivals = "poisson"\n[[load.stages]]\nrate_per_s = 2\nrequests = 100\n'
        "[[load.stages]]\nrate_per_s = 20\nrequests = 150\n"
    )
    out, page, ledger_file = (tmp_path / name for name in ("o.json", "o.html", "l.parquet"))
    run_simulate(
        SimulateJob([trace], str(fleet), {}, json=str(out), html=str(page), ledger=str(ledger_file))
    )
    document, ledger = json.loads(out.read_text()), pq.read_table(ledger_file)
    first, second = document["per_stage"]
    assert (first["num_sent"], second["num_sent"]) == (100, 150)
    stage = ledger["stage"].to_numpy()
    for told in (first, second):
        rows = stage == told["stage"]
        times = ledger["ttft_s"].to_numpy()[rows]
        assert told["latency"]["ttft_s"]["p90"] == pytest.approx(np.quantile(times, 0.9))
        assert told["hit_tokens"] == ledger["hit_tokens"].to_numpy()[rows].sum()
    finish, sent = ledger["finish_s"].to_numpy(), ledger["sent_s"].to_numpy()
    assert sent[stage == 1].min() >= finish[stage == 0].max()  # drained
    assert 'id="stages"' in page.read_text()
    assert any("50 requests behind the last stage" in w for w in document["warnings"])


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"worker.model": None}, SettingError, "--model, --hardware"),
        ({"worker.model": "no-such"}, SettingError, "no-such"),
        ({"router.name": "no-such"}, SettingError, "no such router"),
        ({"worker.count": 0}, SettingError, "--workers"),
        ({"worker.capacity_tokens": 3}, SettingError, "not one block"),
        ({"slo": "ttft<1"}, SettingError, "--slo"),
        ({"worker.engine": "llamacpp"}, SettingError, "slots"),
        ({"load.arrivals": "poisson"}, SettingError, "--scale"),
        ({"worker.capacity_tokens": 32}, InputError, "was ever admitted"),
    ],
)
def test_what_cannot_be_is_refused(trace, changed, error, words):
    flags = {name: v for name, v in {**FLAGS, **changed}.items() if v is not None}
    with pytest.raises(error, match=words):
        run_simulate(SimulateJob([trace], None, flags))


def test_outputs_are_checked_before_anything_is_read(trace, tmp_path):
    with pytest.raises(OutputError, match="input"):
        run_simulate(SimulateJob([trace], None, FLAGS, json=trace))
    both = str(tmp_path / "x")
    with pytest.raises(OutputError, match="two outputs"):
        run_simulate(SimulateJob([trace], None, FLAGS, json=both, html=both))
    with pytest.raises(SettingError, match="--sweep"):
        run_simulate(SimulateJob([trace], None, FLAGS, table=str(tmp_path / "x.csv")))


def test_a_trace_without_output_lengths_needs_one(tmp_path):
    rows = [{"id": str(i), "arrival_s": i, "tokens": list(range(100))} for i in range(5)]
    path = str(write_jsonl(tmp_path / "t.jsonl", rows))
    flags = {name: v for name, v in FLAGS.items() if name != "outputs"}
    with pytest.raises(SettingError, match="--output-tokens"):
        run_simulate(SimulateJob([path], None, flags))
    out = tmp_path / "o.json"
    run_simulate(SimulateJob([path], None, {**flags, "load.output_tokens": 7}, json=str(out)))
    document = json.loads(out.read_text())
    assert any("5 requests do not tell their output" in w for w in document["warnings"])
    assert document["workload"]["mean_output_tokens"] == 7


@pytest.mark.parametrize("tokens", [1, 100, 8192, 20_000])
def test_a_lone_request_takes_what_price_says(tmp_path, tokens):
    from hitpath.cost.paths import miss_path
    from hitpath.cost.pricing import load_pricing

    row = {"id": "a", "arrival_s": 0, "tokens": list(range(tokens)), "output_tokens": 1}
    path, out = str(write_jsonl(tmp_path / "t.jsonl", [row])), tmp_path / "o.json"
    flags = {
        "worker.model": "qwen3-32b",
        "worker.hardware": "h100-sxm",
        "worker.tp": 2,
        "worker.efficiency": "compute=0.5,memory=0.9,overhead_s=0.004",
    }
    run_simulate(SimulateJob([path], None, flags, json=str(out)))
    replica = load_pricing(
        "qwen3-32b", "h100-sxm", num_gpus=2, efficiency="compute=0.5,memory=0.9,overhead_s=0.004"
    ).replica
    document = json.loads(out.read_text())
    expected = miss_path(replica, tokens, chunk_tokens=8192).ttft_s
    assert document["latency"]["ttft_s"]["mean"] == pytest.approx(expected, rel=1e-9)
    assert document["workload"]["miss_ttft_s"] == pytest.approx(expected, rel=1e-9)
