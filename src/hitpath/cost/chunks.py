"""Attention over many equal steps at once: chunked prefill without a loop over its chunks.

In step k of a run the context is `context + k x chunk`, so FLOPs and bytes are straight lines in k
but for the few steps where a window fills or a first state is read. Between these the time, the
least over forms of the greater of two lines, is itself straight from crossing to crossing, and a
straight line's sum is its length times the mean of its ends.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from hitpath.cost.attention_work import MixerWork
from hitpath.cost.roofline import Ops, Roofline, Work


def attention_over_steps(
    kernel: MixerWork,
    roofline: Roofline,
    sequences: int,
    context: int,
    chunk: int,
    count: int,
    ops: Ops,
) -> tuple[Work, float]:
    """(work, seconds) of `count` steps of `chunk` tokens each, the first behind `context` tokens.
    `sequences`: layers x batch. Each step takes the faster of the forms it may run in."""
    total, seconds = Work(), 0.0

    def forms_at(step: int) -> list[Work]:
        forms = kernel.step(context + step * chunk, chunk, ops)
        return [form.times(sequences) for form in forms]

    def timed(forms: list[Work]) -> list[float]:
        return [roofline.attention_seconds(form, ops) for form in forms]

    for first, last in _runs(kernel.breaks(context, chunk), count):
        low = forms_at(first)
        if first == last:
            alone_s, form = min(zip(timed(low), range(len(low)), strict=True))
            total, seconds = total + low[form], seconds + alone_s
            continue
        for begin, end in _straight(low, forms_at(last), roofline, first, last):
            low, high = forms_at(begin), forms_at(end)
            both_ends = map(sum, zip(timed(low), timed(high), strict=True))
            both_ends_s, form = min(zip(both_ends, range(len(low)), strict=True))
            steps = end - begin + 1
            total += _sum(low[form], high[form], steps)
            seconds += both_ends_s * steps / 2
    return total, seconds


def _runs(breaks: Sequence[int], count: int) -> Iterator[tuple[int, int]]:
    """First and last step of each run that a break does not interrupt."""
    starts = [0, *sorted({b for b in breaks if 0 < b < count}), count]
    for start, end in pairwise(starts):
        yield start, end - 1


def _straight(
    low: list[Work], high: list[Work], roofline: Roofline, first: int, last: int
) -> Iterator[tuple[int, int]]:
    """The run, cut wherever two of its lines (arithmetic, traffic; of each form) cross."""
    lines = [
        (seconds_of(a), seconds_of(b))
        for a, b in zip(low, high, strict=True)
        for seconds_of in (roofline.attention_arithmetic_s, roofline.traffic_s)
    ]
    cuts = set()
    for (a0, a1), (b0, b1) in combinations(lines, 2):
        if (a0 - b0) * (a1 - b1) < 0:
            cuts.add(first + int((last - first) * (a0 - b0) / ((a0 - b0) - (a1 - b1))) + 1)
    starts = [first, *sorted(cut for cut in cuts if first < cut <= last), last + 1]
    for start, end in pairwise(starts):
        yield start, end - 1


def _sum(first: Work, last: Work, steps: int) -> Work:
    """Of an arithmetic progression with these ends; whole numbers stay whole."""

    def summed(a: float, b: float) -> float:
        twice = (a + b) * steps
        return twice // 2 if isinstance(twice, int) else twice / 2

    return Work(
        summed(first.flops, last.flops),
        summed(first.weight_bytes, last.weight_bytes),
        summed(first.kv_bytes, last.kv_bytes),
        summed(first.other_bytes, last.other_bytes),
    )
