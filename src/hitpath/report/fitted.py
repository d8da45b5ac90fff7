"""What measured rows tell of the efficiencies, as a part of `hitpath price`."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from hitpath.core import SettingError
from hitpath.cost.fit import Errors, Fit, fit_file, open_part
from hitpath.report.text_parts import label, table

_MOST_ROWS = 12
_NAMES = {
    "compute": "share of the peak arithmetic",
    "memory": "share of the memory rate",
    "link": "share of the link rate",
    "overhead_s": "overhead of a step",
}


@dataclass(frozen=True, slots=True)
class Fitted:
    """`setting`: for --efficiency."""

    file: str
    fit: Fit
    setting: str

    @property
    def document(self) -> dict[str, Any]:
        """Ready for JSON."""
        told = asdict(self.fit)
        return {"file": self.file, "setting": self.setting, **told}

    def section(self) -> RenderableType:
        """The values with their errors, then how far the rows are off."""
        shown = table("<", "value", "standard error", "what it is~")
        for name, one in self.fit.fitted.items():
            assert one.value is not None  # `setting` could be made
            unit = 1e3 if name == "overhead_s" else 1.0
            suffix = " ms" if name == "overhead_s" else ""
            error = "–" if one.std_error is None else f"{unit * one.std_error:.3g}{suffix}"
            meaning = _NAMES[name] + (f" ({one.reason})" if one.reason else "")
            shown.add_row(name, f"{unit * one.value:.4g}{suffix}", error, Text(meaning, "dim"))
        lines = [Text(f"rows that were fitted: {_errors(self.fit.errors)}")]
        if self.fit.held_out is not None:
            lines.append(
                Text(
                    f"rows left out of their fit ({self.fit.num_folds} fits): "
                    f"{_errors(self.fit.held_out)}"
                )
            )
        lines.append(Text(f"the same again: --efficiency {self.setting}", "dim"))
        notes = [label(f"• {note}") for note in self.fit.notes]
        return Group(shown, *lines, *notes, self._rows())

    def _rows(self) -> RenderableType:
        """The rows that are farthest off."""
        shown = table("row<", "TTFT off by", "TPOT off by")
        far = sorted(
            self.fit.rows,
            key=lambda row: -max(abs(row.ttft_frac), abs(row.tpot_frac or 0.0)),
        )
        for row in far[:_MOST_ROWS]:
            tpot = "–" if row.tpot_frac is None else f"{row.tpot_frac:+.1%}"
            shown.add_row(label(row.place), f"{row.ttft_frac:+.1%}", tpot)
        if len(far) > _MOST_ROWS:
            shown.add_row(f"… and {len(far) - _MOST_ROWS:,} more (--json)")
        return shown


def _errors(errors: Errors) -> str:
    return (
        f"median {errors.median_frac:.1%} off, 90th percentile {errors.p90_frac:.1%} "
        f"({errors.num_figures:,} figures)"
    )


def fitted(file: str, *args: Any, **options: Any) -> Fitted:
    """fit_file of a file by its name. Raises SettingError where the rows leave a part open."""
    fit = fit_file(Path(file), *args, **options)
    try:
        return Fitted(file, fit, fit.setting)
    except SettingError as error:
        raise open_part(file, error) from error
