"""The page without a browser (size, escaping, sameness, numbers) and in one (errors, requests,
zoom, sorting and filtering, keys, colours, narrow screens)."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

from browser.devtools import CHROMIUM, Browser
from browser.pages import COMMAND, HOSTILE, Made, Tags, demo, hostile, make, small, texts
from hitpath.core import Setting
from hitpath.report.document import document
from hitpath.report.html import render_html
from hitpath.report.html.repeat import parted
from hitpath.report.html.view import Command


@pytest.fixture(scope="module")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return demo(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def hostile_page(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def browser():
    if not Path(CHROMIUM).exists():
        pytest.skip(f"no {CHROMIUM} on this machine")
    made = Browser()
    yield made
    made.close()


@pytest.fixture(scope="module")
def demo_file(demo_page: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "demo.html"
    path.write_bytes(demo_page.html)
    return path


def test_it_is_small_and_asks_nobody(demo_page: Made) -> None:
    text = demo_page.html.decode()
    assert len(demo_page.html) < 300_000
    assert "default-src 'none'" in text
    assert not re.findall(r"https?://|@import|url\(", text)
    assert all(target.startswith("#") for target in Tags(text).loads)


def test_the_same_analysis_gives_the_same_bytes(demo_page: Made, tmp_path: Path) -> None:
    assert demo(tmp_path).html == demo_page.html


def test_the_public_call_makes_a_page(demo_page: Made) -> None:
    page = render_html(demo_page.analysis, None, "hitpath analyze x").decode()
    assert "hitpath analyze x" in page
    assert "GiB" not in page


@pytest.mark.parametrize("which", ["demo_page", "hostile_page"])
def test_the_markup_is_well_formed(which: str, request: pytest.FixtureRequest) -> None:
    tags = Tags(request.getfixturevalue(which).html.decode())
    assert tags.open == []
    assert tags.handlers == []
    assert tags.tags["h1"] == tags.tags["main"] == 1
    assert tags.tags["caption"] == tags.tags["table"]
    assert "img" not in tags.tags


def test_names_from_a_trace_are_text(hostile_page: Made) -> None:
    tags = Tags(hostile_page.html.decode())
    assert tags.programs == 1
    for raw in (b"<script>window", b"<img", b"<!--", b"\x00", b"\x1b", "\u202e".encode()):
        assert raw not in hostile_page.html
    assert "{{ 7 * 7 }}" in unescape(hostile_page.html.decode())


def test_the_numbers_of_the_document_stand_in_the_page(demo_page: Made) -> None:
    text = unescape(demo_page.html.decode()).replace("\u00a0", " ")
    result = document(demo_page.analysis, None)
    tokens = result["tokens"]
    counts = [tokens["prompt"], tokens["hit"], *tokens["causes"].values()]
    counts += [rung["tokens"] for rung in result["ladder"]]
    counts += result["capacity_for"].values()
    counts += [row["tokens"] for row in result["reuse_gaps"]["within"]]
    counts += [prefix["reusable_tokens"] for prefix in result["shared_prefixes"]]
    counts += [v for v in result["origin"].values() if v is not None]
    counts += result["sharing"].values()
    for window in result["over_time"]["windows"]:
        counts += [window["num_requests"], window["prompt_tokens"], window["hit_tokens"]]
    rates = [*result["hit_rate"].values(), *result["steady"].values()]
    rates += [rung["hit_rate"] for rung in result["ladder"]]
    for kind in result["by"].values():
        for group in kind["groups"]:
            if len(kind["groups"]) > 1:
                counts += [group["prompt_tokens"], group["hit_tokens"]]
                rates.append(group["hit_rate"])
    missing = [n for n in counts if isinstance(n, int) and f"{n:,}" not in text]
    missing += [r for r in rates if r is not None and f"{r:.2%}".replace("%", " %") not in text]
    assert missing == []
    for why in tokens["not_known"].values():
        assert why in text


def test_a_tree_accounts_for_every_token(demo_page: Made) -> None:
    nodes = demo_page.tree.nodes
    ledger = demo_page.analysis.ledger
    assert sum(n.own_area for n in nodes) == nodes[0].area == ledger.total(ledger.prompt)
    assert sum(n.own_hit for n in nodes) == ledger.total(ledger.hit)
    for i, node in enumerate(nodes):
        below = [n for n in nodes if n.parent == i]
        assert node.parent < i
        assert node.area == node.own_area + sum(n.area for n in below)
        assert 0 <= node.own_hit <= node.own_area or node.parent < 0


def test_a_tree_finds_the_biggest_stretches(demo_page: Made) -> None:
    drawn = {(n.begin_token, n.tokens, n.num_requests) for n in demo_page.tree.nodes}
    for prefix in demo_page.analysis.prefixes:
        length = prefix.end_token - prefix.begin_token
        assert (prefix.begin_token, length, prefix.num_requests) in drawn


def shown_in(made: Made) -> str:
    """All that a page says, tooltips and the data of scripts included, without its style, its
    program and what the analysis warns of."""
    page = unescape(made.html.decode()).replace("\u00a0", " ")
    page = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", page, flags=re.DOTALL)
    return re.sub(r'<section class="warn".*?</section>', "", page, flags=re.DOTALL)


NAMES_WITH_TOKEN = re.compile(
    r'token-weighted|--tokenizer|--capacity-tokens|(?:id|href|labelledby)="#?tokens"'
)


def test_a_page_of_text_counts_bytes(tmp_path: Path) -> None:
    page = shown_in(texts(tmp_path))
    assert "token" not in NAMES_WITH_TOKEN.sub("", page).lower()
    for words in (
        "of all prompt bytes were hits",
        "Where every prompt byte went",
        "cache size in bytes of text, logarithmic",
        "prompt length in bytes",
        "hit bytes / prompt bytes",
        "last byte always computed",
        "<bdi>last byte</bdi>",
        'data-unit="bytes"',
        "needs --tokenizer: these are bytes",
    ):
        assert words in page
    assert not re.search(r"[0-9] [GMK]iB|llama", page)


def test_what_an_engine_reported_in_its_tokens_stands_in_the_head(tmp_path: Path) -> None:
    page = shown_in(texts(tmp_path, reported=True))
    hero = page.split('<section class="hero"')[1].split("</section>")[0]
    hit, prompt = 20 * sum(i % 3 for i in range(60)), 60 * 70
    rate = f"{hit / prompt:.2%}".replace("%", " %")
    assert f"reported by the engine, in its tokens: {rate} of {prompt:,} (60 requests)" in hero
    assert "in the cache that hitpath modelled" in hero


@pytest.mark.parametrize(("told", "name"), [(9, "as reported"), (5, "as reported where told")])
def test_a_reported_rate_has_the_modelled_one_beside_it(
    told: int, name: str, tmp_path: Path
) -> None:
    rows = [
        {"id": f"{i}", "arrival_s": i, "tokens": list(range(160))}
        | ({"reported": {"cached_tokens": 16}} if i < told else {})
        for i in range(9)
    ]
    page = shown_in(make(tmp_path, rows, Setting()))
    hero = page.split('<section class="hero"')[1].split("</section>")[0]
    assert f"token-weighted hit rate, {name}" in hero
    assert "modelled: 88.89 %" in hero
    assert f"{told} of 9 requests report their hit" in hero


def test_nobody_reads_that_text_is_new_or_that_nobody_can_act(demo_page: Made) -> None:
    page = shown_in(demo_page)
    assert "new text" not in page
    assert "never computed" not in page
    assert "no cache could" not in page
    assert "nobody" not in page
    assert "can act: the application, where the same text follows something that changes" in page
    assert page.count("not computed before behind the same beginning; this includes text") == 3


def test_few_requests_bear_no_advice(tmp_path: Path) -> None:
    page = shown_in(small(tmp_path))
    assert "8 requests are too few" in page
    for words in ("quoted", "Look at", "long enough", "moves the rate", "Keep a session"):
        assert words not in page


def test_the_command_to_copy_writes_no_files(demo_page: Made) -> None:
    page = shown_in(demo_page)
    repeat = COMMAND.removesuffix(" --html demo.html")
    assert f"<code>{repeat}</code>" in page
    assert "<code>--html demo.html</code>" in page


@pytest.mark.parametrize(
    ("command", "repeat", "files"),
    [
        ("hitpath analyze a.jsonl --json - --html=x.html --seed 3 --show-text",
         "hitpath analyze a.jsonl --seed 3", "--json - --html=x.html --show-text"),
        ("hitpath analyze 'my file' --svg 'curve=a b.svg' --per-request a --ledger b --png c",
         "hitpath analyze 'my file'", "--svg 'curve=a b.svg' --per-request a --ledger b --png c"),
        ("hitpath analyze --json", "hitpath analyze --json", ""),
        ("hitpath analyze -- --json x", "hitpath analyze -- --json x", ""),
        ("no 'end", "no 'end", ""),
    ],
)  # fmt: skip
def test_a_command_is_parted(command: str, repeat: str, files: str) -> None:
    assert parted(command) == Command(repeat, files)


@pytest.mark.parametrize("num_rows", [1, 2])
def test_a_trace_with_nothing_to_show_has_a_page(num_rows: int, tmp_path: Path) -> None:
    rows = [{"id": f"{i}", "arrival_s": 0, "tokens": [i] * 3} for i in range(num_rows)]
    page = make(tmp_path, rows, Setting()).html.decode()
    assert "Nothing is ever reused" in page
    assert Tags(page).open == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_a_browser_has_nothing_to_complain_of(
    browser: Browser, demo_file: Path, scheme: str, width: int
) -> None:
    browser.colours(scheme)
    browser.open(demo_file, width)
    browser.run("new Promise(done => setTimeout(done, 50))")
    assert browser.complaints() == []
    assert browser.requests() == [demo_file.as_uri()]
    assert browser.run("document.documentElement.scrollWidth") == width
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")


def test_colours_can_be_chosen(browser: Browser, demo_file: Path) -> None:
    browser.colours("light")
    browser.open(demo_file)
    browser.click(".theme button[data-theme=dark]")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    browser.click(".theme button[data-theme=auto]")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_the_tree_zooms_by_mouse_and_keys(browser: Browser, demo_file: Path) -> None:
    browser.open(demo_file)
    crumbs = "[...document.querySelectorAll('.crumbs button')].map(b => b.textContent)"
    assert browser.run(crumbs) == ["all prompts"]
    browser.click(".box:nth-child(3)")
    assert browser.run(crumbs)[-1] == "agents"
    assert "of all prompt tokens" in browser.run("document.querySelector('.told').textContent")
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        browser.key(key)
    assert browser.run(crumbs)[-1] == "agent-1"
    browser.key("Escape")
    assert browser.run(crumbs)[-1] == "agents"
    browser.click(".crumbs button")
    assert browser.run(crumbs) == ["all prompts"]
    widths = "[...document.querySelectorAll('.box')].map(b => b.getBoundingClientRect().width)"
    assert all(width <= 1280 for width in browser.run(widths))


def test_tables_sort_and_filter(browser: Browser, demo_file: Path) -> None:
    browser.open(demo_file)
    table = "[data-key=session]"
    names = (
        f"[...document.querySelectorAll('{table} tbody tr:not([hidden]) th')]"
        ".map(cell => cell.textContent)"
    )
    assert browser.run(names)[:2] == ["agent-5", "agent-1"]
    assert len(browser.run(names)) == 12
    browser.click(f"{table} .more button")
    assert len(browser.run(names)) == 46
    browser.click(f"{table} thead th:first-child button")
    assert browser.run(names)[:2] == ["agent-0", "agent-1"]
    browser.click(f"{table} thead th:nth-child(5) button")
    assert browser.run(f"document.querySelector('{table} th[aria-sort]').textContent") == "hit rate"
    browser.run(
        f"(() => {{ const i = document.querySelector('{table} input'); i.value = 'CHAT-1';"
        "i.dispatchEvent(new Event('input')); })()"
    )
    assert all("chat-1" in name for name in browser.run(names))
    assert browser.run(f"document.querySelector('{table} .shown').textContent").startswith("11 of")


def test_a_plot_is_read_by_keys(browser: Browser, demo_file: Path) -> None:
    browser.open(demo_file)
    browser.run("document.querySelector('#plot-time .field').focus()")
    browser.key("End")
    browser.key("ArrowLeft")
    value = "document.querySelector('#plot-time .field').getAttribute('aria-valuetext')"
    assert "token-weighted" in browser.run(value)
    assert browser.run("document.querySelector('#tip').hidden") is False


def test_hostile_names_run_nothing(browser: Browser, hostile_page: Made, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_bytes(hostile_page.html)
    browser.open(path)
    browser.click(".box:nth-child(3)")
    assert browser.run("window.pwned") is None
    assert browser.complaints() == []
    assert browser.run("document.querySelectorAll('#groups, .group').length") > 1
    shown = browser.run("document.body.textContent")
    assert all(name.split("\n")[0][:20] in shown for name in HOSTILE)


OVERLAPS = """(() => {
  const box = (e) => e.getBoundingClientRect();
  const shown = (e) => box(e).width > 0 && getComputedStyle(e).display !== "none";
  const cut = (a, b) => box(a).left < box(b).right - 1 && box(b).left < box(a).right - 1
    && box(a).top < box(b).bottom - 1 && box(b).top < box(a).bottom - 1;
  const found = [];
  for (const plot of document.querySelectorAll(".plot")) {
    const texts = [...plot.querySelectorAll(".xticks span, .xtitle, .dot-label, .dot")]
      .filter(shown);
    texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
      if (cut(a, b) && !(a.className === "dot" && b.className === "dot"))
        found.push(`${plot.id}: ${a.textContent || a.className} / ${b.textContent || b.className}`);
    }));
  }
  return found;
})()"""


@pytest.mark.parametrize("width", [1280, 500])
@pytest.mark.parametrize("which", [demo, small, texts])
def test_nothing_in_a_plot_covers_anything(
    browser: Browser, which: Callable[[Path], Made], width: int, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(which(tmp_path).html)
    browser.open(path, width)
    assert browser.run("document.querySelectorAll('.dot-label').length") > 1
    assert browser.run(OVERLAPS) == []


def test_a_narrow_page_cuts_no_table_of_the_demo(browser: Browser, demo_file: Path) -> None:
    browser.open(demo_file, 500)
    cut = (
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        ".map(e => e.getAttribute('aria-label'))"
    )
    assert browser.run(cut) == []


def test_a_box_has_its_name_or_six_letters_of_it(browser: Browser, demo_file: Path) -> None:
    for width in (1280, 500):
        browser.open(demo_file, width)
        boxes = browser.run(
            "[...document.querySelectorAll('.box')].filter(b => b.textContent).map("
            "b => [b.textContent, b.clientWidth, b.scrollWidth])"
        )
        assert len(boxes) > 2
        for label, room, needed in boxes:
            assert needed <= room or (room - 12) * len(label) / (needed - 12) > 6


def test_everything_focusable_has_a_name(browser: Browser, demo_file: Path) -> None:
    browser.open(demo_file)
    nameless = browser.run(
        "[...document.querySelectorAll('a, button, input, summary, [tabindex], [role=img]')]"
        ".filter(e => !(e.textContent.trim() || e.getAttribute('aria-label')))"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    assert nameless == []
