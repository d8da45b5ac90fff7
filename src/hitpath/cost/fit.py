"""Efficiencies and the overhead of a step, fitted to measured requests.

    fit_file("rows.csv", shape, hardware).setting  ->  what --efficiency takes

The model is that of paths.py, so rows have to be of requests that ran alone (or in batches of equal
ones) with nobody before them in the queue. What the rows cannot tell is None with the reason:
an efficiency that bounds no part of any row, or one whose standard error is above a quarter of it
even though no figure is taken to be more than 1 % off (or as far as the residuals say, if that is
more). The error is told twice: of the rows that were fitted, and of rows left out of the fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hitpath.core import SettingError, one_line
from hitpath.cost.attention import LatentForm
from hitpath.cost.device import Hardware
from hitpath.cost.efficiency import given_parts
from hitpath.cost.fit_rows import MeasuredRow, read_measured_rows
from hitpath.cost.fit_search import LEAST, Free, best_fit, error_of
from hitpath.cost.fit_terms import Floats, Terms, terms_of
from hitpath.cost.formats import Formats
from hitpath.cost.paths import Replica, replica_of
from hitpath.cost.shapes import ModelShape

UNKNOWNS = ("compute", "memory", "link", "overhead_s")
"""As --efficiency names them."""

_NOISE_FRAC = 0.01
_MOST_ERROR_FRAC = 0.25
_SMALL_OVERHEAD_FRAC = 0.05
_LEAVE_ONE_OUT_ROWS = 50
_FOLDS = 10
_FAR_OFF_FRAC = 0.5
_NOTHING_FACTOR = 20
_OVERHEAD = 3


@dataclass(frozen=True, slots=True)
class Fitted:
    """One unknown. `value` None: the rows do not tell it, `reason` says why. `std_error` in the
    value's own unit; None where it was given or lies at its bound."""

    value: float | None
    std_error: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Errors:
    """Of predicted against measured seconds, |predicted / measured - 1|."""

    median_frac: float
    p90_frac: float
    num_figures: int


@dataclass(frozen=True, slots=True)
class RowError:
    """predicted / measured - 1 of one row; TPOT None where the row has none."""

    place: str
    ttft_frac: float
    tpot_frac: float | None


@dataclass(frozen=True, slots=True)
class Fit:
    """`fitted`: by the names of UNKNOWNS, the link only where there is one. `held_out`: errors of
    rows that their fit did not see: `num_folds` fits, each without one row (up to 50 rows) or
    without every tenth; None for a single row."""

    fitted: Mapping[str, Fitted]
    errors: Errors
    held_out: Errors | None
    num_folds: int
    rows: tuple[RowError, ...]
    notes: tuple[str, ...]

    @property
    def setting(self) -> str:
        """For --efficiency. Raises SettingError where the rows leave an unknown open."""
        parts = []
        for name, one in self.fitted.items():
            if one.value is None:
                cause = f"{name} is not told by these rows: {one.reason}"
                raise SettingError("--fit", cause)
            parts.append(f"{name}={one.value!r}")
        return ",".join(parts)


def fit_file(
    path: Path,
    shape: ModelShape,
    hardware: Hardware,
    *,
    num_gpus: int = 1,
    formats: Formats | None = None,
    latent_form: LatentForm | None = None,
    chunk_tokens: int | None = None,
    known: Mapping[str, float] | None = None,
) -> Fit:
    """Fit to the rows of a file (fit_rows.py has its fields). Raises InputError for a row that is
    none, SettingError as `fit` does."""
    replica = replica_of(shape, hardware, num_gpus, formats, "ideal", latent_form)
    measured = read_measured_rows(path)
    found = fit(measured.rows, replica, chunk_tokens, known, measured.places)
    return replace(found, notes=(*measured.notes, *found.notes))


def fitted_efficiency(file: str, efficiency: str, *args: Any, **options: Any) -> str:
    """What `--efficiency` takes, by the rows of a file; given parts of `efficiency` are held. args,
    options: of fit_file. Raises InputError for a row that is none, SettingError for "achievable",
    and where the rows leave a part open."""
    if efficiency == "achievable":
        raise SettingError("--fit", "and --efficiency achievable are two efficiencies; give one")
    known = {} if efficiency == "ideal" else given_parts(efficiency)
    found = fit_file(Path(file), *args, known=known, **options)
    try:
        return found.setting
    except SettingError as error:
        raise open_part(file, error) from error


def open_part(file: str, error: SettingError) -> SettingError:
    """The same error with what to do about it."""
    part = error.cause.split(" ")[0]
    return SettingError(f"--fit {file}", f"{error.cause}; give it: --efficiency {part}=…")


def fit(
    rows: Sequence[MeasuredRow],
    replica: Replica,
    chunk_tokens: int | None = None,
    known: Mapping[str, float] | None = None,
    places: Sequence[str] = (),
) -> Fit:
    """Fit to rows, at least one. `replica` has ideal efficiencies; `known`: values by the names of
    UNKNOWNS that are not fitted. Raises SettingError for a known one that is none."""
    terms = terms_of(replica, rows, chunk_tokens)
    given = _given(known or {})
    free = np.array([name not in given for name in UNKNOWNS])
    free[UNKNOWNS.index("link")] &= replica.num_gpus > 1
    start = np.array([given.get(name, least) for name, least in zip(UNKNOWNS, LEAST, strict=True)])
    x = best_fit(terms, start, free)
    fitted = _judged(terms, x, free)
    if replica.num_gpus == 1:
        del fitted["link"]
    errors = terms.predicted_s(x) / terms.figures_s - 1
    held_out, num_folds = _held_out(terms, start, free, len(rows))
    return Fit(
        fitted=fitted,
        errors=_errors(errors),
        held_out=held_out,
        num_folds=num_folds,
        rows=_row_errors(terms, errors, places or [f"row {i}" for i in range(len(rows))]),
        notes=tuple(_notes(errors)),
    )


def _given(known: Mapping[str, float]) -> dict[str, float]:
    """Known values as the unknowns of fit_terms: an efficiency's inverse."""
    given = {}
    for name, value in known.items():
        if name not in UNKNOWNS:
            raise SettingError(f"--fit {one_line(name)}", f"not one of {', '.join(UNKNOWNS)}")
        if name == "overhead_s":
            if not 0 <= value < 3600:
                raise SettingError("--fit overhead_s", f"{value:g} s a step is no overhead")
            given[name] = value
        else:
            if not 0 < value <= 1:
                raise SettingError(f"--fit {name}", f"{value:g} is not above 0 and at most 1")
            given[name] = 1 / value
    return given


def _judged(terms: Terms, x: Floats, free: Free) -> dict[str, Fitted]:
    """What the figures tell of each unknown."""
    design = terms.design(x) / terms.figures_s[:, None]
    size = np.linalg.norm(design, axis=0)
    seen = np.flatnonzero(free & (size > 0))
    scaled = design[:, seen] / size[seen]
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    inverse = (vectors / np.maximum(values, 1e-12)) @ vectors.T
    freedom = len(terms.figures_s) - len(seen)
    noise = max(_NOISE_FRAC, (error_of(terms, x) / freedom) ** 0.5 if freedom > 0 else 0.0)
    spread = np.sqrt(np.diag(inverse))
    told = {}
    for i, name in enumerate(UNKNOWNS):
        value = float(x[i] if i == _OVERHEAD else 1 / x[i])
        if not free[i]:
            told[name] = Fitted(value, None, "given")
        elif size[i] == 0:
            told[name] = Fitted(None, None, f"{_WHAT[name]} bounds no part of any row")
        else:
            at = int(np.flatnonzero(seen == i)[0])
            error = float(noise * spread[at] / size[i])
            together = np.abs(inverse[at]) / (spread[at] * spread)
            together[at] = 0
            partner = UNKNOWNS[seen[np.argmax(together)]] if together.max() > 0.9 else None
            told[name] = _told(name, value, error, float(x[i]), terms, partner)
    return told


_WHAT = {"compute": "computing", "memory": "memory", "link": "a link"}


def _told(
    name: str, value: float, error: float, x: float, terms: Terms, partner: str | None
) -> Fitted:
    """`error`: standard error of x."""
    if name == "overhead_s":
        enough = max(_MOST_ERROR_FRAC * x, _SMALL_OVERHEAD_FRAC * float(np.min(terms.figures_s)))
        known_to, std_error = f"{error * 1e3:,.2g} ms", error
    else:
        enough = _MOST_ERROR_FRAC * x
        known_to, std_error = f"{error / x:.0%}".replace("%", " %"), value * error / x
    if error > _NOTHING_FACTOR * enough:
        return Fitted(None, None, f"the rows cannot tell it from {partner or 'the others'}")
    if error > enough:
        moves = f" and moves with {partner}" if partner else ""
        return Fitted(None, None, f"it is known to ± {known_to} only{moves}")
    if name != "overhead_s" and x <= 1:
        return Fitted(value, None, "at its bound: these rows reach the hardware's peak or more")
    return Fitted(value, std_error, "")


def _held_out(terms: Terms, start: Floats, free: Free, num_rows: int) -> tuple[Errors | None, int]:
    """Errors of rows that were not fitted, and the number of fits. Each starts anew: what only the
    row left out tells is not known to it."""
    if num_rows < 2:
        return None, 0
    num_folds = num_rows if num_rows <= _LEAVE_ONE_OUT_ROWS else _FOLDS
    fold_of_row = np.arange(num_rows) % num_folds
    errors = []
    for fold in range(num_folds):
        out = fold_of_row == fold
        x = best_fit(terms.of_rows(~out), start, free)
        unseen = terms.of_rows(out)
        errors.append(unseen.predicted_s(x) / unseen.figures_s - 1)
    return _errors(np.concatenate(errors)), num_folds


def _errors(relative: Floats) -> Errors:
    median, p90 = np.quantile(np.abs(relative), (0.5, 0.9)).tolist()
    return Errors(median, p90, len(relative))


def _row_errors(terms: Terms, errors: Floats, places: Sequence[str]) -> tuple[RowError, ...]:
    ttft: dict[int, float] = {}
    tpot: dict[int, float] = {}
    for row, is_tpot, error in zip(
        terms.row_of_figure.tolist(), terms.is_tpot.tolist(), errors.tolist(), strict=True
    ):
        (tpot if is_tpot else ttft)[row] = error
    return tuple(RowError(place, ttft[i], tpot.get(i)) for i, place in enumerate(places))


def _notes(errors: Floats) -> list[str]:
    far = int(np.count_nonzero(np.abs(errors) > _FAR_OFF_FRAC))
    if not far:
        return []
    return [
        f"{far:,} of {len(errors):,} figures are more than {_FAR_OFF_FRAC:.0%} off: "
        "did those requests wait for others?"
    ]
