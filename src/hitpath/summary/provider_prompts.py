"""The requests of a trace as providers' models take them: in units of so many tokens.

A unit is a token (token ids), a block (block ids; what two prompts share inside the first block
that differs is not known) or as many bytes as a token has on average (text, whose provider's
tokenizer nobody has): there every count is scaled so that the prompts come to what was reported.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from hitpath.core import ABSENT, InputError, SettingError
from hitpath.sim.models.chains import Chains
from hitpath.sim.models.providers import MINUTE_S, Breakpoint, Prompt
from hitpath.traces.cache_marks import Mark, Marks
from hitpath.traces.table import Ints, Symbols, Trace

MOST_UNITS = 1 << 26
_MOST_BYTES = 8
"""A token of more bytes than this on average is none of this text."""

NO_PROMPTS = "the trace does not say what its prompts are: nothing can be predicted from it"


@dataclass(frozen=True, slots=True)
class ProviderPrompts:
    """One entry a request, in the order of the trace. units: the prompt, equal where the text is
    (a whole prefix must be equal to be shared). prompt_tokens: what it counts. size: tokens a
    unit. bytes_per_token: of text, else None. marks: None where block ends are not known."""

    units: tuple[list[int], ...]
    outputs: tuple[list[int], ...]
    prompt_tokens: Ints
    size: int
    bytes_per_token: float | None
    marks: tuple[Marks | None, ...] | None
    contexts: tuple[Hashable, ...]
    arrival_s: tuple[float, ...]
    visible_s: tuple[float | None, ...]
    order: tuple[int, ...]
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.units)

    def place(self, end: int) -> int:
        """A place in bytes as units: only whole tokens lie before it."""
        assert self.bytes_per_token is not None
        return int(end / self.bytes_per_token)


def provider_prompts(
    trace: Trace, marks: list[Marks | None] | None, bytes_per_token: float | None = None
) -> ProviderPrompts:
    """Raises InputError for a trace without prompts, SettingError for text whose tokens nobody
    tells and for more than can be looked at."""
    if trace.identity == "lengths_only":
        raise InputError(trace.format, "", NO_PROMPTS)
    notes: list[str] = []
    scale = _bytes_per_token(trace, marks, bytes_per_token, notes)
    if trace.identity not in ("text", "tokens"):
        notes.append(
            f"prompts are ids of {trace.block_size} tokens: what two of them share inside the "
            "first block that differs is not known and not counted"
        )
    lengths = _lengths(trace, marks)
    size = 1 if scale is not None or trace.block_size is None else trace.block_size
    num_units = lengths if scale is None else (lengths / scale).astype(np.int64)
    if int(num_units.sum()) > MOST_UNITS:
        cause = f"{int(num_units.sum()):,} tokens are more than {MOST_UNITS:,}: take a part of it"
        raise SettingError("TRACE", cause)
    prompts, outputs = trace.prompts, trace.outputs
    arrival, visible = _times(trace, notes)
    prompt_tokens = trace.prompt_tokens if scale is None else num_units
    return ProviderPrompts(
        units=tuple(
            _units(prompts.flat[a : a + n], scale)
            for a, n in zip(prompts.offsets[:-1].tolist(), lengths.tolist(), strict=True)
        ),
        outputs=tuple(
            _units(outputs.flat[a:b], scale)
            for a, b in zip(
                outputs.offsets[:-1].tolist(), outputs.offsets[1:].tolist(), strict=True
            )
        ),
        prompt_tokens=prompt_tokens,
        size=size,
        bytes_per_token=scale,
        marks=None if marks is None else tuple(marks),
        contexts=tuple(_context(trace, marks, row) for row in range(len(trace))),
        arrival_s=arrival,
        visible_s=visible,
        order=tuple(np.argsort(np.array(arrival), kind="stable").tolist()),
        notes=tuple(notes),
    )


def _lengths(trace: Trace, marks: list[Marks | None] | None) -> Ints:
    """Symbols of each prompt; without the head of the reply, where its blocks are known: the next
    turn's text begins in its place."""
    lengths = trace.prompts.lengths.copy()
    for row, its in enumerate(marks or ()):
        if its is not None:
            lengths[row] = its.block_ends[-1]
    return lengths


def _bytes_per_token(
    trace: Trace, marks: list[Marks | None] | None, typed: float | None, notes: list[str]
) -> float | None:
    if trace.identity != "text":
        if typed is not None:
            raise SettingError("--bytes-per-token", "the trace's prompts are no bytes")
        return None
    if not trace.has_text:
        cause = "are stretches of bytes without their text: no provider's tokens can be told"
        raise InputError(trace.format, "prompts", cause)
    if typed is not None:
        if not 1 <= typed <= _MOST_BYTES:
            cause = f"is not from 1 to {_MOST_BYTES}"
            raise SettingError(f"--bytes-per-token {typed:g}", cause)
        notes.append(f"bytes of text a token: {typed:g}, as --bytes-per-token says")
        return typed
    told = trace.apart_prompt > 0
    if not np.any(told):
        cause = (
            "text, and no request reports its prompt tokens: give --bytes-per-token (4 is usual "
            "for English) or --tokenizer"
        )
        raise SettingError("TRACE", cause)
    scale = float(_lengths(trace, marks)[told].sum() / trace.apart_prompt[told].sum())
    if not 1 <= scale <= _MOST_BYTES:
        cause = f"reported prompts come to {scale:.3g} bytes a token: are they of these prompts?"
        raise SettingError("TRACE", f"{cause} --bytes-per-token overrules them")
    notes.append(
        f"bytes of text a token: {scale:.4g}, what the reported prompts come to "
        f"(requests that report: {int(told.sum()):,}); single requests differ"
    )
    return scale


def _units(symbols: Symbols, scale: float | None) -> list[int]:
    """Numbers that are equal where the symbols are."""
    if scale is None or not len(symbols):
        ids: list[int] = symbols.tolist()
        return ids
    edges = (np.arange(int(len(symbols) / scale) + 1) * scale).astype(np.int64)
    starts, counts = edges[:-1], np.diff(edges)
    values = counts.astype(np.uint64)
    for k in range(int(counts.max(initial=0))):
        inside = k < counts
        byte = symbols[np.minimum(starts + k, len(symbols) - 1)].astype(np.uint64)
        values = np.where(inside, values * np.uint64(257) + byte + np.uint64(1), values)
    numbers: list[int] = values.tolist()
    return numbers


def _times(trace: Trace, notes: list[str]) -> tuple[tuple[float, ...], tuple[float | None, ...]]:
    if not trace.common_clock:
        notes.append(
            "no times of one clock: requests are taken in their order and within every lifetime, "
            "each after the answer to the one before"
        )
        return (0.0,) * len(trace), (None,) * len(trace)
    arrival = trace.arrival_s.tolist()
    told = ~np.isnan(trace.ttft_s)
    if not np.all(told):
        notes.append(
            f"requests that do not tell when their answer began: {int((~told).sum()):,}; others "
            "can read what they store at once"
        )
    visible = [
        at + ttft if known else None
        for at, ttft, known in zip(arrival, trace.ttft_s.tolist(), told.tolist(), strict=True)
    ]
    return tuple(arrival), tuple(visible)


def _context(trace: Trace, marks: list[Marks | None] | None, row: int) -> Hashable:
    its = None if marks is None else marks[row]
    return (trace.contexts[int(trace.context[row])], None if its is None else its.key)


def bodies(prompts: ProviderPrompts, lifetime_s: float, automatic: bool) -> list[Prompt]:
    """As bodies with blocks and breakpoints, in the order of arrival, for providers that cache up
    to marked places. automatic: one mark at the end where a body has none."""
    ends_before: set[int] = set()
    chains = Chains(1)
    made = []
    for row in prompts.order:
        units = prompts.units[row]
        its = None if prompts.marks is None else prompts.marks[row]
        if its is None:
            # A partial last block's id is another one as soon as the prompt goes on.
            units = units[: int(prompts.prompt_tokens[row]) // prompts.size]
            ends = _continued(units, prompts.contexts[row], chains, ends_before)
            marks: tuple[Breakpoint, ...] = ()
            if automatic and units:
                marks = (Breakpoint(len(units), lifetime_s),)
        else:
            ends = tuple(sorted({prompts.place(end) for end in its.block_ends} - {0}))
            marks = _breakpoints(prompts, its, lifetime_s, automatic)
        made.append(_prompt(prompts, row, units, ends, marks))
    return made


def _continued(
    units: list[int], context: Hashable, chains: Chains, ends_before: set[int]
) -> tuple[int, ...]:
    """Where earlier prompts ended that this one continues, and its own end."""
    numbers: list[int] = []
    chains.extend(numbers, units, context)
    ends = tuple(i + 1 for i, number in enumerate(numbers[:-1]) if number in ends_before)
    if numbers:
        ends_before.add(numbers[-1])
        ends += (len(numbers),)
    return ends


def _breakpoints(
    prompts: ProviderPrompts, its: Marks, lifetime_s: float, automatic: bool
) -> tuple[Breakpoint, ...]:
    told: list[Mark] = [*its.marks]
    if its.automatic is not None:
        told.append(its.automatic)
    if not told and automatic:
        told = [Mark(its.block_ends[-1], None)]
    by_place: dict[int, float] = {}
    for mark in told:
        end = prompts.place(mark.end)
        if end:
            by_place[end] = mark.lifetime_s or lifetime_s
    return tuple(Breakpoint(end, by_place[end]) for end in sorted(by_place))


def automatic_prompts(prompts: ProviderPrompts, whole: bool = False) -> list[Prompt]:
    """For providers that cache by themselves, in the order of arrival. whole: without the id of a
    partial last block."""
    made = []
    for row in prompts.order:
        end = int(prompts.prompt_tokens[row]) // prompts.size if whole else None
        made.append(_prompt(prompts, row, prompts.units[row][:end], (), ()))
    return made


def _prompt(
    prompts: ProviderPrompts,
    row: int,
    units: list[int],
    ends: tuple[int, ...],
    marks: tuple[Breakpoint, ...],
) -> Prompt:
    return Prompt(
        prompts.arrival_s[row],
        units,
        ends,
        marks,
        prompts.contexts[row],
        prompts.visible_s[row],
        prompts.outputs[row],
    )


FIVE_MINUTES_S = 5 * MINUTE_S


def reported_of(trace: Trace) -> tuple[Ints, Ints]:
    """(tokens that each request reports as read, its prompt as it reports it), ABSENT where not:
    in the provider's own tokens."""
    if trace.identity == "text":
        return trace.apart_hit, trace.apart_prompt
    read = np.where(trace.reported_hit == ABSENT, trace.apart_hit, trace.reported_hit)
    told = np.where(trace.apart_prompt == ABSENT, trace.prompt_tokens, trace.apart_prompt)
    return read, np.where(read == ABSENT, ABSENT, told)
