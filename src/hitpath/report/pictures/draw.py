"""One picture by its name, as SVG text: its title, what it shows for this trace, the drawing."""

from hitpath import __version__
from hitpath.core import SettingError, one_line
from hitpath.cost.models import ModelKV
from hitpath.report.html.figures import PromptHits
from hitpath.report.html.measures import capacity_view, gaps_view, lengths_view, time_view
from hitpath.report.html.sharing import tree_note
from hitpath.report.html.tree import prefix_tree
from hitpath.report.html.view import Picture
from hitpath.report.html.waterfall import waterfall_view
from hitpath.report.html.words import TOKENS, unit_of
from hitpath.report.pictures.bars import draw_gaps, draw_waterfall
from hitpath.report.pictures.files import PAGE, PictureFile
from hitpath.report.pictures.icicle import draw_icicle
from hitpath.report.pictures.plots import draw_plot
from hitpath.report.pictures.sheet import Sheet
from hitpath.report.pictures.terminal_page import terminal_svg
from hitpath.report.terminal import print_report
from hitpath.report.terminal_lengths import print_lengths
from hitpath.report.text_parts import count
from hitpath.summary import Analysis, LengthsAnalysis
from hitpath.summary.lengths import NO_IDENTITY, NOTHING_REPORTED
from hitpath.traces.table import Trace

_TITLES = {
    "waterfall": "Where every prompt {} went",
    "curve": "How large a cache is enough",
    "over-time": "Hit rate over time",
    "gaps": "How long a block must be kept",
    "lengths": "Which prompts hit: short or long",
    "icicle": "What the prompts have in common",
}
_CURVE_FOOT = "Least-recently-used cache, one for all requests, exact at every size."
_NO_REUSE = "nothing is ever reused in this trace"
_ONE_MOMENT = "all requests arrive at one moment"


def draw(file: PictureFile, analysis: Analysis | LengthsAnalysis, model: ModelKV | None) -> str:
    """Raises SettingError for what this trace has no picture of."""
    if isinstance(analysis, LengthsAnalysis):
        if file.name == PAGE:
            return terminal_svg(lambda page: print_lengths(analysis, page))
        return _lengths_only(file, analysis)
    if file.name == PAGE:
        return terminal_svg(lambda page: print_report(analysis, model, page))
    foot = _foot(analysis.trace, analysis.setting.engine, analysis.setting.capacity_tokens)
    unit = unit_of(analysis.trace)
    if file.name == "waterfall":
        fall = waterfall_view(analysis)
        sheet = Sheet(_TITLES[file.name].format(unit.one), fall.note, foot)
        draw_waterfall(sheet, fall, unit)
        return sheet.svg()
    if file.name == "gaps":
        gaps = gaps_view(analysis)
        if gaps is None:
            raise SettingError(file.option, _NO_REUSE if analysis.gaps else "there is no clock")
        sheet = Sheet(_TITLES[file.name], gaps.note, foot)
        draw_gaps(sheet, gaps, unit)
        return sheet.svg()
    if file.name == "icicle":
        sheet = Sheet(_TITLES[file.name], tree_note(analysis), foot)
        tree = prefix_tree(analysis.trace, analysis.ledger, analysis.events, analysis.blocks)
        draw_icicle(sheet, tree, unit)
        return sheet.svg()
    return _plots(file, *_picture(file.name, analysis, model), foot)


def _picture(name: str, analysis: Analysis, model: ModelKV | None) -> tuple[Picture | None, str]:
    """(plots with their sentence, why there are none)."""
    if name == "curve":
        return capacity_view(analysis, model), _NO_REUSE
    if name == "over-time":
        return time_view(analysis), _ONE_MOMENT
    ledger = analysis.ledger
    hits = PromptHits(ledger.prompt, ledger.hit, ledger.counted)
    return lengths_view(hits, unit_of(analysis.trace)), ""


def _lengths_only(file: PictureFile, analysis: LengthsAnalysis) -> str:
    if file.name not in ("over-time", "lengths"):
        raise SettingError(file.option, NO_IDENTITY)
    if analysis.hit_tokens is None:
        raise SettingError(file.option, NOTHING_REPORTED)
    trace = analysis.trace
    foot = _foot(trace, "hits as reported", None)
    if file.name == "lengths":
        hits = PromptHits(trace.prompt_tokens, trace.reported_hit, analysis.told)
        return _plots(file, lengths_view(hits, TOKENS), "", foot)
    return _plots(file, time_view(analysis), _ONE_MOMENT, foot)


def _plots(file: PictureFile, picture: Picture | None, why_not: str, foot: str) -> str:
    if picture is None:
        raise SettingError(file.option, why_not)
    foot = f"{_CURVE_FOOT} {foot}" if file.name == "curve" else foot
    sheet = Sheet(_TITLES[file.name], picture.note, foot)
    for plot in picture.plots:
        draw_plot(sheet, plot)
    return sheet.svg()


def _foot(trace: Trace, engine: str, capacity_tokens: int | None) -> str:
    """What the picture was made of, so that it can stand alone."""
    cache = (
        engine
        if capacity_tokens is None
        else f"{engine}, {count(capacity_tokens)} {unit_of(trace).size} a worker"
    )
    return (
        f"{one_line(trace.format)} trace of {count(len(trace))} requests · {cache} · "
        f"hitpath {__version__}"
    )
