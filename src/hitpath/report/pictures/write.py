"""Drawing the pictures that were asked for, and writing them."""

from collections.abc import Sequence
from functools import partial
from typing import IO

from hitpath.cost.models import ModelKV
from hitpath.report.output import write_whole
from hitpath.report.pictures.draw import draw
from hitpath.report.pictures.files import PictureFile
from hitpath.report.pictures.png import png_of
from hitpath.summary import Analysis, LengthsAnalysis


def write_pictures(
    files: Sequence[PictureFile], analysis: Analysis | LengthsAnalysis, model: ModelKV | None
) -> None:
    """All files whole. Raises OutputError, and SettingError for what this trace has no picture of
    (then nothing is written)."""
    drawn = [(file, draw(file, analysis, model)) for file in files]
    contents = [
        (file.path, png_of(svg) if file.kind == "png" else f"{svg}\n".encode())
        for file, svg in drawn
    ]
    for path, content in contents:
        write_whole(path, partial(_write, content))


def _write(content: bytes, file: IO[bytes]) -> None:
    file.write(content)
