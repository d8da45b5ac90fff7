"""Single pictures: which were asked for, what they say alone, and PNG without a browser."""

import re
import struct
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
import resvg_py

from browser.pages import Made, demo, small, texts
from cli import call
from hitpath.core import Setting, SettingError
from hitpath.report.html.sentences import Note
from hitpath.report.html.view import Part, Step, Waterfall
from hitpath.report.html.words import BYTES, TOKENS
from hitpath.report.pictures import png
from hitpath.report.pictures.bars import draw_waterfall
from hitpath.report.pictures.draw import draw
from hitpath.report.pictures.files import NAMES, PictureFile, picture_files
from hitpath.report.pictures.icicle import Box, boxes
from hitpath.report.pictures.sheet import COLOURS, MARGIN, WIDTH, Sheet, placed, shortened
from hitpath.spine import analyze
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl

AXES = {
    "waterfall": ("elsewhere", "of prompt tokens", "can act: the router"),
    "curve": ("cache size in tokens, logarithmic", "token-weighted hit rate", "ceiling", "90"),
    "over-time": ("time since the first request", "hit rate", "token-weighted", "prompt tokens"),
    "gaps": ("kept after each use", "reusable tokens still there", "1 min"),
    "lengths": ("prompt length in tokens", "share of the prompt that hit"),
    "icicle": ("all prompts", "agents", "Width: tokens × requests"),
}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return demo(tmp_path_factory.mktemp("demo"))


def drawn(made: Made, name: str) -> ET.Element:
    return ET.fromstring(draw(PictureFile("svg", name, "x"), made.analysis, None))


def test_what_was_typed() -> None:
    typed = ["a.svg", "curve=b.svg", "./curve=b.svg", "v1=2.svg", "gaps=-"]
    parsed = picture_files(typed, ["over-time=c=d.png"])
    assert [(p.kind, p.name, p.path) for p in parsed] == [
        ("svg", "page", "a.svg"),
        ("svg", "curve", "b.svg"),
        ("svg", "page", "./curve=b.svg"),
        ("svg", "page", "v1=2.svg"),
        ("svg", "gaps", "-"),
        ("png", "over-time", "c=d.png"),
    ]
    with pytest.raises(SettingError, match="'curv' is not one of page, waterfall"):
        picture_files(["curv=b.svg"], [])
    with pytest.raises(SettingError, match="names no file"):
        picture_files([], ["curve="])


@pytest.mark.parametrize("name", AXES)
def test_a_picture_stands_alone(made: Made, name: str) -> None:
    root = drawn(made, name)
    title, told = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert told is not None
    assert told.text
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    written = " ".join(texts)
    assert title.text == texts[0]
    assert told.text.split()[0] in written
    assert told.text.split()[-1] in written
    assert all(word in written for word in AXES[name])
    assert "hitpath trace of 766 requests" in written
    markup = ET.tostring(root, encoding="unicode")
    assert not re.findall(r"<(?:\w+:)?(?:script|style|image|use|a)\b|href|url\(|@import", markup)


@pytest.mark.parametrize("name", AXES)
def test_everything_lies_on_the_sheet(made: Made, name: str) -> None:
    root = drawn(made, name)
    height = float(root.attrib["height"])
    for element in root.iter():
        x, y = float(element.get("x", 0)), float(element.get("y", 0))
        assert 0 <= x <= WIDTH
        assert 0 <= y <= height
        assert x + float(element.get("width", 0)) <= WIDTH
        assert y + float(element.get("height", 0)) <= height


def test_the_same_analysis_gives_the_same_picture(made: Made) -> None:
    for name in NAMES:
        file = PictureFile("svg", name, "x")
        assert draw(file, made.analysis, None) == draw(file, made.analysis, None)


def test_bars_are_as_long_as_their_shares() -> None:
    def step(name: str, css: str, left: float, width: float) -> Step:
        return Step(css, name, "plain", "", left, width, "1", "1 %", "", "", "", ())

    steps = (
        step("hit", "hit", 0, 25),
        step("cold", "floor", 25, 75),
        step("none", "lost", 99, 0.01),
    )
    sheet = Sheet("t", Note("n", ""), "f")
    draw_waterfall(sheet, Waterfall(Note("n", ""), steps, "", ()), TOKENS)
    root = ET.fromstring(sheet.svg())
    bars = [r for r in root.iter(f"{SVG}rect") if r.get("height") == "22.00"]
    lanes, fills = bars[::2], bars[1::2]
    whole = float(lanes[0].attrib["width"])
    assert [float(f.attrib["width"]) for f in fills] == [whole / 4, whole * 3 / 4, 2.0]
    assert float(fills[1].attrib["x"]) == float(fills[0].attrib["x"]) + whole / 4
    assert [f.get("fill") for f in fills] == [COLOURS[c] for c in ("hit", "floor", "lost")]


def rows_of(found: Iterator[Box]) -> dict[int, list[Box]]:
    rows: dict[int, list[Box]] = {}
    for box in found:
        rows.setdefault(box.level, []).append(box)
    return rows


def test_the_icicle_keeps_areas(made: Made) -> None:
    rows = rows_of(boxes(made.tree))
    span = WIDTH - 2 * MARGIN
    assert rows[0] == [Box(0.0, span, 0, "all prompts", 0, None)]
    contexts = [n for n in made.tree.nodes if n.parent == 0]
    widths = sorted((span * n.area / made.tree.nodes[0].area for n in contexts), reverse=True)
    assert [box.width for box in rows[1]] == pytest.approx(widths)
    for level, row in rows.items():
        assert level < 10
        assert all(a.left + a.width <= b.left + 1e-6 for a, b in pairwise(row))
        for box in row:
            above = [b for b in rows[level - 1] if b.left <= box.left + 1e-6] if level else [box]
            assert box.left + box.width <= above[-1].left + above[-1].width + 1e-6
    assert any(box.name.endswith("others") for row in rows.values() for box in row)


def test_paths_are_moved_into_their_box() -> None:
    assert placed("M0 0L100 100h50v-10Z", 10, 20, 200, 50) == (
        "M10.00 20.00L210.00 70.00h100.00v-5.00Z"
    )


def test_names_are_cut_to_their_box() -> None:
    assert shortened("agent", 12, 100) == "agent"
    assert shortened("a very long name", 12, 60) == "a very …"
    assert shortened("anything", 12, 20) == ""


def test_the_colours_are_the_pages() -> None:
    css = files("hitpath.report.html").joinpath("page.css").read_text()
    light = dict(re.findall(r"--(\w+): light-dark\((#\w+),", css))
    assert {name: light[name] for name in COLOURS} == dict(COLOURS)


def test_hostile_names_are_text(made: Made) -> None:
    name = '</text><script>alert(1)</script>"&\x00\x1b'
    trace = replace(made.analysis.trace, format=name)
    root = ET.fromstring(
        draw(PictureFile("svg", "icicle", "x"), replace(made.analysis, trace=trace), None)
    )
    assert "<script>alert(1)</script>" in " ".join(t.text or "" for t in root.iter(f"{SVG}text"))


def test_pictures_of_text_count_bytes(tmp_path: Path) -> None:
    made = texts(tmp_path)
    for name in AXES:
        markup = ET.tostring(drawn(made, name), encoding="unicode").lower()
        assert "token" not in markup.replace("token-weighted", "").replace("--tokenizer", "")
        assert "byte" in markup
        assert not re.search("[gmk]ib", markup)


def test_a_picture_says_what_is_cold(made: Made) -> None:
    written = " ".join(e.text or "" for e in drawn(made, "waterfall").iter(f"{SVG}text"))
    assert "new text" not in written
    assert "not computed before behind the same" in written
    assert "this includes text that only moved" in written


def test_marks_of_a_small_curve_do_not_cover_each_other(tmp_path: Path) -> None:
    root = ET.fromstring(draw(PictureFile("svg", "curve", "x"), small(tmp_path).analysis, None))
    labels = [e for e in root.iter(f"{SVG}text") if re.fullmatch(r"\d\d\xa0%", e.text or "")]
    places = [(float(e.attrib["x"]), float(e.attrib["y"])) for e in labels if "stroke" in e.attrib]
    assert len(places) == 5
    assert all(abs(a[1] - b[1]) >= 12 or abs(a[0] - b[0]) > 40 for a, b in pairwise(places))


def png_size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_the_command_writes_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("t.jsonl"), demo_rows(0)[:200])
    options = [o for n in NAMES for o in ("--svg", f"{n}={n}.svg", "--png", f"{n}={n}.png")]
    done = call("analyze", "t.jsonl", *options)
    assert done.code == 0, done.err
    for name in NAMES:
        root = ET.fromstring(Path(f"{name}.svg").read_bytes())
        width, height = (float(v) for v in root.attrib["viewBox"].split()[2:])
        size = png_size(Path(f"{name}.png").read_bytes())
        assert size == pytest.approx((width * png.ZOOM, height * png.ZOOM), abs=2)


def test_text_is_drawn_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    png.check_png()
    whole = resvg_py.svg_to_bytes

    def without_fonts(**options: object) -> bytes:
        return whole(**options, skip_system_fonts=True)

    monkeypatch.setattr(resvg_py, "svg_to_bytes", without_fonts)
    with pytest.raises(SettingError, match="--png: no font found"):
        png.check_png()


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    path = write_jsonl(tmp_path / "t.jsonl", demo_rows(0)[:20])
    done = call("analyze", str(path), "--png", f"curve={tmp_path / 'o.png'}")
    assert done.code == 2
    assert "the extra picture" in done.err
    assert not (tmp_path / "o.png").exists()


def test_what_a_trace_has_no_picture_of_is_said(tmp_path: Path) -> None:
    rows = [{"id": f"{i}", "arrival_s": 0, "tokens": [i] * 3} for i in range(2)]
    analysis = analyze([str(write_jsonl(tmp_path / "t.jsonl", rows))], Setting())
    for name, cause in (
        ("curve", "nothing is ever reused"),
        ("gaps", "nothing is ever reused"),
        ("over-time", "at one moment"),
    ):
        with pytest.raises(SettingError, match=f"--svg {name}: .*{cause}"):
            draw(PictureFile("svg", name, "x"), analysis, None)


def test_lengths_only_have_two_pictures_and_the_page(tmp_path: Path) -> None:
    rows = [
        {"id": f"{i}", "arrival_s": i, "prompt_tokens": 100, "reported": {"cached_tokens": i}}
        for i in range(9)
    ]
    analysis = analyze([str(write_jsonl(tmp_path / "t.jsonl", rows))], Setting())
    for name in ("page", "over-time", "lengths"):
        assert "hit" in draw(PictureFile("svg", name, "x"), analysis, None)
    with pytest.raises(SettingError, match="--png icicle: the file tells how long"):
        draw(PictureFile("png", "icicle", "x"), analysis, None)
    for row in rows:
        del row["reported"]
    silent = analyze([str(write_jsonl(tmp_path / "u.jsonl", rows))], Setting())
    with pytest.raises(SettingError, match="no request reports"):
        draw(PictureFile("svg", "lengths", "x"), silent, None)


def test_parts_of_a_cause_are_written(made: Made) -> None:
    reasons = (Part("", "capacity", "12", "1 %"),)
    step = Step("lost", "evicted", "p", "w", 0, 9, "12", "1 %", "", "", "", reasons)
    sheet = Sheet("t", Note("n", "do"), "f")
    draw_waterfall(sheet, Waterfall(Note("n", ""), (step,), "cold", ("beside",)), BYTES)
    for text in ("· capacity: 12 (1 %)", "can act: w", "No bytes under: cold.", "beside", "→ do"):
        assert text in sheet.svg()
