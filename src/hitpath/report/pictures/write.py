"""Drawing the pictures that were asked for."""

from collections.abc import Sequence

from hitpath.cost.models import ModelKV
from hitpath.report.pictures.draw import draw
from hitpath.report.pictures.files import PictureFile
from hitpath.report.pictures.png import png_of
from hitpath.summary import Analysis, LengthsAnalysis


def pictures_of(
    files: Sequence[PictureFile], analysis: Analysis | LengthsAnalysis, model: ModelKV | None
) -> list[tuple[str, bytes]]:
    """(path, what is to stand there) of each. Raises SettingError for what this trace has no
    picture of."""
    drawn = [(file, draw(file, analysis, model)) for file in files]
    return [
        (file.path, png_of(svg) if file.kind == "png" else f"{svg}\n".encode())
        for file, svg in drawn
    ]
