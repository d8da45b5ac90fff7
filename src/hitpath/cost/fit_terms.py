"""Measured rows as sums of terms, each the longer of its arithmetic and its traffic.

With x = (1 / compute efficiency, 1 / memory efficiency, 1 / link efficiency, overhead of a step)
the seconds of paths.hit_path and paths.tpot_s are

    sum over kernels of max(arithmetic x0, traffic x1)  +  sent x2  +  steps x3

at the seconds that each part takes with all efficiencies 1. Piecewise linear in x, so around any x
the seconds are a matrix times x: the design that least squares needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.core import SettingError
from hitpath.cost.fit_rows import MeasuredRow
from hitpath.cost.paths import Replica
from hitpath.cost.roofline import Ops, Roofline, Work

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NUM_UNKNOWNS = 4
_MOST_STEPS = 200_000
_ARRAYS = Ops(least=np.minimum, most=np.maximum, expm1=np.expm1)


@dataclass(frozen=True, slots=True)
class Form:
    """One way to run a kernel: seconds of each step at efficiency 1."""

    arithmetic_s: Floats
    traffic_s: Floats


@dataclass(frozen=True, slots=True)
class Terms:
    """`figures`: measured seconds; `row_of_figure`: the row each is from; `is_tpot`: TPOT, else
    TTFT. Steps belong to figures by `figure_of_step`; of a kernel's forms the faster one runs."""

    figures_s: Floats
    row_of_figure: Integers
    is_tpot: NDArray[np.bool_]
    figure_of_step: Integers
    kernels: tuple[tuple[Form, ...], ...]
    sent_s: Floats

    def design(self, x: Floats) -> Floats:
        """(figures x unknowns): seconds around x are its product with x, exactly at x."""
        columns = np.zeros((len(self.figure_of_step), NUM_UNKNOWNS))
        for forms in self.kernels:
            fastest = np.argmin([_seconds(form, x) for form in forms], axis=0)
            for i, form in enumerate(forms):
                runs = fastest == i
                computes = form.arithmetic_s * x[0] >= form.traffic_s * x[1]
                columns[:, 0] += np.where(runs & computes, form.arithmetic_s, 0.0)
                columns[:, 1] += np.where(runs & ~computes, form.traffic_s, 0.0)
        columns[:, 2] = self.sent_s
        columns[:, 3] = 1.0
        summed = [
            _summed(self.figure_of_step, columns[:, i], len(self.figures_s))
            for i in range(NUM_UNKNOWNS)
        ]
        return np.stack(summed, axis=1)

    def predicted_s(self, x: Floats) -> Floats:
        """Seconds of every figure."""
        seconds: Floats = self.sent_s * x[2] + x[3]
        for forms in self.kernels:
            seconds += np.min([_seconds(form, x) for form in forms], axis=0)
        return _summed(self.figure_of_step, seconds, len(self.figures_s))

    def of_rows(self, chosen: NDArray[np.bool_]) -> "Terms":
        """The figures of some rows only."""
        figures = chosen[self.row_of_figure]
        steps = figures[self.figure_of_step]
        number = np.cumsum(figures) - 1
        return Terms(
            figures_s=self.figures_s[figures],
            row_of_figure=self.row_of_figure[figures],
            is_tpot=self.is_tpot[figures],
            figure_of_step=number[self.figure_of_step[steps]],
            kernels=tuple(
                tuple(Form(f.arithmetic_s[steps], f.traffic_s[steps]) for f in forms)
                for forms in self.kernels
            ),
            sent_s=self.sent_s[steps],
        )


def _seconds(form: Form, x: Floats) -> Floats:
    longer: Floats = np.maximum(form.arithmetic_s * x[0], form.traffic_s * x[1])
    return longer


def _summed(group: Integers, values: Floats, num_groups: int) -> Floats:
    return np.bincount(group, values, num_groups).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True)
class _Steps:
    """Context and new tokens of each step, of `batch` sequences; `last`: gives a token."""

    figure: Integers
    context: Floats
    new: Floats
    batch: Integers
    last: NDArray[np.bool_]


def terms_of(
    replica: Replica, rows: Sequence[MeasuredRow], chunk_tokens: int | None = None
) -> Terms:
    """The terms of all rows. `replica` has ideal efficiencies. Raises SettingError where chunks
    make too many steps."""
    timed = [
        (i, row, tpot)
        for i, row in enumerate(rows)
        for tpot in ((False,) if row.tpot_s is None else (False, True))
    ]
    steps = _steps([(row, tpot) for _, row, tpot in timed], chunk_tokens)
    kernels, sent_s = _kernels(replica, steps)
    seconds = [row.tpot_s if tpot else row.ttft_s for _, row, tpot in timed]
    return Terms(
        figures_s=np.array(seconds, dtype=np.float64),
        row_of_figure=np.array([i for i, _, _ in timed], dtype=np.int64),
        is_tpot=np.array([tpot for _, _, tpot in timed], dtype=np.bool_),
        figure_of_step=steps.figure,
        kernels=kernels,
        sent_s=sent_s,
    )


def _steps(timed: list[tuple[MeasuredRow, bool]], chunk_tokens: int | None) -> _Steps:
    """As paths.steps cuts a prefill, and paths.tpot_s sees a decode step."""
    context = np.array([_context(row, tpot) for row, tpot in timed], dtype=np.int64)
    total = np.array([_total(row, tpot) for row, tpot in timed], dtype=np.int64)
    new = total - context
    chunk = new if chunk_tokens is None else np.minimum(new, chunk_tokens)
    num_steps = -(-new // chunk)
    if num_steps.sum() > _MOST_STEPS:
        cause = f"its rows make {num_steps.sum():,} steps, more than {_MOST_STEPS:,}"
        raise SettingError("--fit", cause)
    figure = np.repeat(np.arange(len(timed)), num_steps)
    begin = np.concatenate([[0], np.cumsum(num_steps)[:-1]])
    done = (np.arange(len(figure)) - begin[figure]) * chunk[figure]
    batch = np.array([row.batch or 1 for row, _ in timed], dtype=np.int64)
    return _Steps(
        figure=figure,
        context=(context[figure] + done).astype(np.float64),
        new=np.minimum(chunk[figure], new[figure] - done).astype(np.float64),
        batch=batch[figure],
        last=done + chunk[figure] >= new[figure],
    )


def _context(row: MeasuredRow, tpot: bool) -> int:
    return _total(row, tpot) - 1 if tpot else min(row.cached_tokens, row.prompt_tokens - 1)


def _total(row: MeasuredRow, tpot: bool) -> int:
    return row.prompt_tokens + (row.output_tokens or 0) // 2 if tpot else row.prompt_tokens


def _kernels(replica: Replica, steps: _Steps) -> tuple[tuple[tuple[Form, ...], ...], Floats]:
    """(kernels over all steps, seconds of sending)."""
    work, roofline = replica.work, replica.roofline
    matrix, attention = roofline.matrix_flops_per_s, roofline.attention_flops_per_s
    sent_s = np.zeros(len(steps.figure))
    parts: list[tuple[NDArray[np.intp], list[list[Form]]]] = []
    for batch in np.unique(steps.batch).tolist():
        here = np.flatnonzero(steps.batch == batch)
        context, new = steps.context[here], steps.new[here]
        head = _form(work.head.step(batch, _ARRAYS), roofline, matrix, len(here))
        last = steps.last[here]
        made = [
            [_form(kernel, roofline, matrix, len(here))]
            for kernel in work.linear_step(batch * new, _ARRAYS)
        ]
        made += [
            [
                _form(form.times(layers * batch), roofline, attention, len(here))
                for form in mixer.step(context, new, _ARRAYS)
            ]
            for layers, mixer in work.attention
        ]
        made.append([Form(head.arithmetic_s * last, head.traffic_s * last)])
        parts.append((here, made))
        if roofline.link_bytes_per_s is not None:
            sent_s[here] = work.sent_bytes(batch * new) / roofline.link_bytes_per_s
    return _joined(parts, len(steps.figure)), sent_s


def _joined(
    parts: list[tuple[NDArray[np.intp], list[list[Form]]]], num_steps: int
) -> tuple[tuple[Form, ...], ...]:
    shape = parts[0][1]
    kernels = [[Form(np.zeros(num_steps), np.zeros(num_steps)) for _ in forms] for forms in shape]
    for here, made in parts:
        for kernel, forms in zip(kernels, made, strict=True):
            for into, form in zip(kernel, forms, strict=True):
                into.arithmetic_s[here] = form.arithmetic_s
                into.traffic_s[here] = form.traffic_s
    return tuple(tuple(forms) for forms in kernels)


def _form(work: Work, roofline: Roofline, flops_per_s: float, num_steps: int) -> Form:
    arithmetic = np.asarray(work.flops, dtype=np.float64) / (roofline.num_gpus * flops_per_s)
    traffic = np.asarray(work.num_bytes, dtype=np.float64)
    traffic = traffic / (roofline.num_gpus * roofline.memory_bytes_per_s)
    return Form(
        arithmetic_s=np.broadcast_to(arithmetic, num_steps),
        traffic_s=np.broadcast_to(traffic, num_steps),
    )
