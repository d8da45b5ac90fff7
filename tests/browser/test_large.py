"""A page of very many requests and groups: everything is aggregated before it is drawn."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from browser.devtools import CHROMIUM, Browser
from browser.pages import Made, Tags, make
from hitpath.accounting.rates import Group
from hitpath.core import Setting
from hitpath.report.html import render_html
from hitpath.report.html.tables import MOST_DATA_BYTES, MOST_ROWS, group_tables
from hitpath.report.html.tree import MOST_NODES
from hitpath.report.html.words import TOKENS
from hitpath.traces.problems import Problem, Skipped

pytestmark = pytest.mark.long

NUM_REQUESTS, NUM_SESSIONS = 50_000, 5_000
KINDS = ("tenant", "session", "model", "worker", "turn")
VISIBLE = "[...document.querySelectorAll('[data-key=session] tbody tr')]"
CELLS = f"{VISIBLE}.map(row => [...row.cells].slice(0, 7).map(cell => cell.textContent))"
COUNT = "document.querySelectorAll('*').length"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Block ids, as Mooncake has them: five heads, a stretch a session, a tail a request."""
    rows = [
        {
            "timestamp": i * 37,
            "input_length": 512 * 3,
            "output_length": 9,
            "session_id": f"session-{i * i % NUM_SESSIONS if i % 3 else i % NUM_SESSIONS}",
            "hash_ids": [i % 5, 10 + i % NUM_SESSIONS, 10_000 + i],
        }
        for i in range(NUM_REQUESTS)
    ]
    return make(
        tmp_path_factory.mktemp("large"), rows, Setting(engine="lru", capacity_tokens=10**6)
    )


@pytest.fixture(scope="module")
def browser():
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no {CHROMIUM} on this machine")
    made = Browser()
    yield made
    made.close()


@pytest.fixture
def opened(browser: Browser, large: Made, tmp_path: Path) -> Browser:
    path = tmp_path / "large.html"
    path.write_bytes(large.html)
    browser.open(path)
    return browser


def choose(browser: Browser, words: str) -> None:
    browser.run(
        "(() => { const i = document.querySelector('[data-key=session] input');"
        f"i.value = {json.dumps(words)}; i.dispatchEvent(new Event('input')); }})()"
    )


def groups_of(names: list[str]) -> dict[str, list[Group]]:
    found = [Group(name, 1, 2 * len(names) - i, 1, 1) for i, name in enumerate(names)]
    return {kind: found if kind == "session" else [] for kind in KINDS}


def test_the_page_is_small_whatever_the_trace(large: Made) -> None:
    assert len(large.html) < 800_000
    tags = Tags(large.html.decode())
    assert sum(tags.tags.values()) < 3_000
    assert len(large.tree.nodes) <= 2 * MOST_NODES + 1
    assert sum(node.num_merged for node in large.tree.nodes) > 10_000


def test_little_is_drawn_and_all_can_be_found(opened: Browser, large: Made) -> None:
    assert opened.run(COUNT) < 3_000
    groups = large.analysis.groups["session"]
    assert len(groups) > 2_000
    last = groups[-1]
    choose(opened, last.name)
    named = [row for row in opened.run(CELLS) if row[0] == last.name]
    assert named
    assert named[0][2] == f"{last.prompt_tokens:,}"
    choose(opened, "")
    for _ in range(2):
        opened.click("[data-key=session] .more button")
    assert opened.run(f"{VISIBLE}.length") == 512
    assert opened.run(COUNT) < 10_000
    opened.click("[data-key=session] .more button:nth-of-type(2)")
    assert opened.run(f"{VISIBLE}.length") == 12
    assert opened.complaints() == []


def test_sorting_takes_all_groups_not_only_those_drawn(opened: Browser, large: Made) -> None:
    groups = large.analysis.groups["session"]
    opened.click("[data-key=session] thead th:nth-child(5) button")
    best = sorted(groups, key=lambda g: -(g.hit_rate or 0.0))[:12]
    shown = opened.run(CELLS)
    assert [row[0] for row in shown] == [group.name for group in best]
    assert [row[4] for row in shown] == [f"{g.hit_rate:.2%}".replace("%", "\u00a0%") for g in best]
    opened.click("[data-key=session] thead th:nth-child(1) button")
    assert opened.run(CELLS)[0][0] == "session-0"


def test_many_small_boxes_can_be_looked_at(opened: Browser) -> None:
    boxes = "[...document.querySelectorAll('.box')]"
    assert opened.run(f"{boxes}.length") < 1_000
    assert opened.run(f"{boxes}.some(b => /others?$/.test(b.textContent))")
    opened.run(f"{boxes}.find(b => /others$/.test(b.textContent)).click()")
    crumbs = "document.querySelector('.crumbs').textContent"
    assert "others" in opened.run(crumbs)
    assert "wider than they are" in opened.run("document.querySelector('.told').textContent")
    widths = opened.run(f"{boxes}.filter(b => b.style.top === '31px').map(b => b.offsetWidth)")
    assert len(widths) > 10
    assert min(widths) > 5


def test_the_numbers_are_those_of_python(browser: Browser, large: Made, tmp_path: Path) -> None:
    """Ties between two decimals are rounded alike on both sides."""
    groups = [Group(f"g{hit}", 1, 800, hit, hit) for hit in range(1, 800, 2)]
    groups += [Group("none", 0, 0, 0, 0), Group("third", 1, 3, 1, 2)]
    analysis = replace(large.analysis, groups={k: [] for k in KINDS} | {"session": groups})
    path = tmp_path / "ties.html"
    path.write_bytes(render_html(analysis, None, ""))
    browser.open(path)
    for _ in range(2):
        browser.click("[data-key=session] .more button")
    shown = {row[0]: row[4] for row in browser.run(CELLS)}
    wanted = {
        g.name: f"{g.hit_rate:.2%}".replace("%", "\u00a0%") if g.prompt_tokens else "–"
        for g in groups
    }
    assert shown == wanted


def test_what_does_not_fit_is_counted() -> None:
    [table] = group_tables(groups_of([f"s{i}" for i in range(12_000)]), TOKENS)
    assert table.more == 12_000 - MOST_ROWS
    assert len(json.loads(table.data)) == MOST_ROWS
    assert json.loads(table.data)[0] == ["s0", 1, 24_000, 1, 1]
    assert len(table.rows) == 100


def test_very_long_names_do_not_make_the_page_large(large: Made) -> None:
    found = [Group(f"{'🚀' * 290}{i}", 1, 9_000 - i, 1, 1) for i in range(9_000)]
    groups = {kind: found if kind == "session" else [] for kind in KINDS}
    [table] = group_tables(groups, TOKENS)
    assert len(table.data.encode()) <= MOST_DATA_BYTES + 1
    assert table.more == 9_000 - len(json.loads(table.data))
    problem = Problem("🚀" * 999, "🚀" * 999, "🚀" * 999)
    trace = replace(
        large.analysis.trace,
        ids=tuple(f"{'🚀' * 290}{i}" for i in range(NUM_REQUESTS)),
        session=replace(large.analysis.trace.session, names=tuple(g.name for g in found)),
        skipped=Skipped((problem,) * 999),
        excluded=dict.fromkeys(range(999), problem),
    )
    hostile = replace(large.analysis, trace=trace, groups=dict.fromkeys(KINDS, found))
    assert 3_000_000 < len(render_html(hostile, None, "")) < 6_000_000
