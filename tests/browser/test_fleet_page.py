"""The page of `hitpath simulate` in a browser: it opens offline, complains of nothing, nothing is
wider than the screen or cut off, and its lines are whole."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser.devtools import CHROMIUM, Browser
from browser.pages import Tags
from browser.test_page import OVERLAPS
from hitpath.core import Setting
from hitpath.report.html.serving import render_serving, serving_view
from hitpath.serving_spine import Simulation, servable, simulate_trace
from hitpath.sim.serving_file import fleet_of
from hitpath.traces.synthetic import demo_rows
from support import trace_of_rows

READ = Setting()
COMMAND = "hitpath simulate t.jsonl --fleet fleet.toml --html fleet.html"
WORKER = {"model": "llama-3.1-8b", "hardware": "h100-sxm", "capacity_tokens": 100_000}
FLEETS = {
    "parted": {
        "worker": WORKER,
        "workers": [{"count": 2, "role": "prefill"}, {"count": 2, "role": "decode"}],
        "transfer": {"bytes_per_s": 5e10, "latency_s": 0.002},
        "host": {"tokens": 300_000},
        "router": {"name": "random"},
        "changes": [{"time_s": 2.0, "worker": 0, "change": "restart"}],
        "load": {
            "arrivals": "poisson",
            "stages": [{"rate_per_s": r, "requests": 60} for r in (10, 40, 80)],
        },
        "outputs": "insert",
        "slo": "ttft_p90<0.05,tpot_p99<1",
    },
    "many": {
        "worker": {**WORKER, "count": 24},
        "router": {"name": "llmd-precise:prefix=3,queue=2", "max_in_flight": 30},
        "load": {"scale": 2000.0},
    },
    "short": {"worker": WORKER, "load": {"scale": 1e6}},
}


@pytest.fixture(scope="module")
def simulations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Simulation]:
    trace = servable(trace_of_rows(tmp_path_factory.mktemp("t"), demo_rows(0)[:180]), READ)
    return {
        name: simulate_trace(trace, READ, fleet_of(fleet, "fleet"))
        for name, fleet in FLEETS.items()
    }


@pytest.fixture(scope="module")
def pages(
    simulations: dict[str, Simulation], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, simulation in simulations.items():
        (folder / f"{name}.html").write_bytes(render_serving(simulation, COMMAND))
    return {name: folder / f"{name}.html" for name in simulations}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no {CHROMIUM} on this machine")
    made = Browser()
    yield made
    made.close()


@pytest.mark.parametrize("name", FLEETS)
def test_it_is_whole_and_asks_nobody(pages: dict[str, Path], name: str) -> None:
    text = pages[name].read_text()
    tags = Tags(text)
    assert tags.open == tags.handlers == []
    assert tags.tags["h1"] == tags.tags["main"] == 1
    assert tags.tags["caption"] == tags.tags["table"]
    assert all(target.startswith("#") for target in tags.loads)
    assert "default-src 'none'" in text
    assert not re.findall(r"https?://|@import|url\(", text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", FLEETS)
def test_a_browser_has_nothing_to_complain_of(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    browser.colours(scheme)
    browser.open(pages[name], width)
    browser.run("new Promise(done => setTimeout(done, 50))")
    assert browser.complaints() == []
    assert browser.requests() == [pages[name].as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert browser.run(OVERLAPS) == []
    cut = (
        "[...document.querySelectorAll('.numbers td, .fall td')]"
        ".filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"
    )
    assert browser.run(cut) == []


def test_a_plot_is_read_by_keys(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["parted"])
    browser.run("document.querySelector('#plot-queue .field').focus()")
    browser.key("End")
    value = "document.querySelector('#plot-queue .field').getAttribute('aria-valuetext')"
    assert "waiting" in browser.run(value)
    assert browser.run("document.querySelector('#tip').hidden") is False


@pytest.mark.parametrize("name", FLEETS)
def test_lines_over_time_are_not_broken(simulations: dict[str, Simulation], name: str) -> None:
    """Queue, running and KV use are told in every window, however short the run; hit rate and TTFT
    go on over windows in which nothing was sent."""
    simulation = simulations[name]
    plots = serving_view(simulation, COMMAND).time.plots
    lines = [layer for plot in plots for layer in plot.layers if layer.css.startswith("line")]
    assert len(lines) == 5
    assert [layer.path.count("M") for layer in lines] == [1] * 5
    windows = simulation.serving.windows
    assert all(None not in (window.waiting, window.running, window.kv_use) for window in windows)
    if name == "parted":
        assert any(window.hit_rate is None for window in windows)


def test_what_is_simulated_stands_in_the_head(pages: dict[str, Path]) -> None:
    text = pages["parted"].read_text()
    for words in (
        "fleet: 2 workers for prefill and 2 workers for decode, each of 1 x h100-sxm",
        "KV is handed over at 50.00 GB/s and 2.000 ms · host tier of 300,000 tokens at",
        "1 change of a worker",
    ):
        assert words in text.replace("\u00a0", " ")
    assert "of them admitted" in pages["many"].read_text()
