"""What the page says of costs, on a narrow screen: no figure leaves its column."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import hitpath
from browser.devtools import CHROMIUM, Browser
from hitpath.report.html import render_html


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no {CHROMIUM} on this machine")
    made = Browser()
    yield made
    made.close()


@pytest.mark.parametrize("width", [400, 700, 1280])
def test_no_figure_leaves_its_column(browser: Browser, tmp_path: Path, width: int) -> None:
    rows = [
        {
            "id": i,
            "arrival_s": 30 * i,
            "tokens": [*range(200), *range(1000 * i, 1000 * i + 300)],
            "output_tokens": 20,
            "reported": {"cached_tokens": 100, "cache_write_tokens": 0, "ttft_s": 0.3},
        }
        for i in range(1, 40)
    ]
    pricing = hitpath.load_pricing(
        "llama-3.1-70b", "h100-sxm", num_gpus=8, chunk_tokens=64, gpu_hour_usd=2.5
    )
    found = hitpath.analyze(rows, pricing=pricing, prices="anthropic/claude-opus-4-5")
    page = tmp_path / "page.html"
    page.write_bytes(render_html(found.analysis, None, "hitpath analyze x"))
    browser.open(page, width=width)
    table = "document.querySelector('.fall.cost').getBoundingClientRect()"
    assert 0 < browser.run(f"{table}.left") < browser.run(f"{table}.right") <= width
    assert browser.run("document.querySelectorAll('.fall.cost tbody td').length") > 0
    cells = "[...document.querySelectorAll('.fall.cost td')]"
    cut = "filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.innerText)"
    assert browser.run(f"{cells}.{cut}") == []
