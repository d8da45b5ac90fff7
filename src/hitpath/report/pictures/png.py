"""SVG to PNG without a browser, by resvg (the optional extra `picture`)."""

from types import ModuleType

from hitpath.core import SettingError
from hitpath.report.pictures.sheet import FONTS
from hitpath.report.pictures.terminal_page import MONOSPACE_FONTS

ZOOM = 2.0


def png_of(svg: str) -> bytes:
    """The picture at twice its size in pixels. Raises SettingError; see check_png."""
    png: bytes = _resvg().svg_to_bytes(svg_string=svg, zoom=ZOOM)
    return png


def check_png() -> None:
    """Raise SettingError where a PNG cannot be made here: without resvg, and without a font (then
    resvg would leave out all text and say nothing)."""
    resvg = _resvg()
    for fonts in (FONTS, MONOSPACE_FONTS):
        drawn, empty = (
            resvg.svg_to_bytes(
                svg_string='<svg xmlns="http://www.w3.org/2000/svg" width="99" height="20">'
                f'<text y="15" font-family="{fonts}">{text}</text></svg>'
            )
            for text in ("hitpath", "")
        )
        if drawn == empty:
            cause = (
                "no font found on this machine, so text could not be drawn; install one "
                "(Debian: fonts-dejavu-core), or use --svg"
            )
            raise SettingError("--png", cause)


def _resvg() -> ModuleType:
    try:
        import resvg_py
    except ImportError as error:
        cause = "needs resvg-py, which is not installed: it comes with the extra picture (README)"
        raise SettingError("--png", cause) from error
    return resvg_py
