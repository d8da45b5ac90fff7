"""What a trace tells that does not say what its prompts are: lengths, times, reported hits.

Nothing is modelled: which prompts share a beginning is not in such a file, so neither what was
possible nor why a token missed can be known. A hit rate is that of the requests which report
their hit; requests that do not are in no denominator (absent is not zero).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hitpath.accounting.rates import Group, HitCounts, HitRates, hit_rates
from hitpath.core import ABSENT, Setting, SettingError
from hitpath.summary.groups import label_groups, turn_groups
from hitpath.summary.warnings import notes_on_rows, notes_on_silence, notes_on_times
from hitpath.summary.windows import Window, over_time
from hitpath.traces.table import Floats, Ints, Trace

if TYPE_CHECKING:
    from hitpath.summary.billed import Billed
    from hitpath.summary.priced import Priced

NO_IDENTITY = (
    "the file tells how long the prompts are, not what they are: which of them share a beginning "
    "cannot be known from it"
)
NOTHING_REPORTED = f"{NO_IDENTITY}, and no request reports its cached tokens"
_QUANTILES = (0.1, 0.5, 0.9, 0.99, 1.0)
_SHARE_EDGES = (0.0, 0.5, 0.9)
_SHARE_NAMES = ("no hit", "up to 50 %", "50 to 90 %", "90 % and more")


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Of one quantity over the counted requests that tell it (`num_requests`). `values`: at
    shares 0.1, 0.5, 0.9, 0.99 and 1 (the largest), linearly interpolated."""

    num_requests: int
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class HitShare:
    """Requests whose own hit / prompt lies in one step; seconds are None where none tells them."""

    name: str
    num_requests: int
    median_prompt_tokens: float
    median_ttft_s: float | None


@dataclass(frozen=True, slots=True)
class LengthsAnalysis:
    """Masks have one entry a request. All sums are tokens over counted requests.

    told: counted requests that report their hit. hit_tokens: None where none does.
    missed_tokens: the rest of their prompts, cause not known. not_reported_tokens: prompts of
    requests that report nothing. written_tokens: what providers say they wrote, None if untold.
    """

    trace: Trace
    setting: Setting
    counted: NDArray[np.bool_]
    told: NDArray[np.bool_]
    prompt_tokens: int
    output_tokens: int | None
    hit_tokens: int | None
    missed_tokens: int
    not_reported_tokens: int
    written_tokens: int | None
    hit_rate: HitRates
    steady: HitRates
    over_time: tuple[Window, ...]
    quantiles: dict[str, Quantiles]
    by_share: tuple[HitShare, ...]
    groups: dict[str, list[Group]]
    warnings: tuple[str, ...]
    priced: "Priced | None" = None
    billed: "Billed | None" = None

    def check(self) -> None:
        """hit + missed + not reported = prompt; written tokens are among the missed ones."""
        hit = self.hit_tokens or 0
        assert hit + self.missed_tokens + self.not_reported_tokens == self.prompt_tokens
        assert min(hit, self.missed_tokens, self.not_reported_tokens) >= 0
        assert (self.written_tokens or 0) <= self.missed_tokens + self.not_reported_tokens


def check_lengths_setting(setting: Setting) -> None:
    """Raise SettingError for an option that only a trace with prompts can honour."""
    for option, is_asked in (
        (f"--engine {setting.engine}", setting.engine != "unlimited"),
        ("--block-size", setting.block_size is not None),
        ("--last-token", setting.last_token),
        ("--outputs insert", setting.outputs == "insert"),
        ("--workers", setting.workers is not None),
        ("--split-models", setting.split_models),
        ("--sample", setting.sample_frac is not None),
        ("--tokenizer", setting.tokenizer is not None),
    ):
        if is_asked:
            raise SettingError(option, f"nothing to model here: {NO_IDENTITY}")


def sum_up_lengths(trace: Trace, setting: Setting) -> LengthsAnalysis:
    """All sums of a trace with identity "lengths_only". Raises SettingError."""
    check_lengths_setting(setting)
    counted = trace.counted
    told = counted & (trace.reported_hit != ABSENT)
    counts = _counts(trace)
    second_half = np.arange(len(trace)) >= len(trace) // 2
    hit = int(trace.reported_hit[told].sum())
    prompt = int(trace.prompt_tokens[counted].sum())
    told_prompt = int(trace.prompt_tokens[told].sum())
    analysis = LengthsAnalysis(
        trace=trace,
        setting=setting,
        counted=counted,
        told=told,
        prompt_tokens=prompt,
        output_tokens=_sum_of_told(trace.output_tokens, counted),
        hit_tokens=hit if np.any(told) else None,
        missed_tokens=told_prompt - hit,
        not_reported_tokens=prompt - told_prompt,
        written_tokens=_sum_of_told(trace.reported_written, counted),
        hit_rate=hit_rates(counts, told),
        steady=hit_rates(counts, told & second_half),
        over_time=over_time(trace, counts, told),
        quantiles=_quantiles(trace, counted),
        by_share=_by_share(trace, told),
        groups=_groups(trace, told),
        warnings=_warnings(trace, counted, told),
    )
    analysis.check()
    return analysis


def _sum_of_told(column: Ints, counted: NDArray[np.bool_]) -> int | None:
    values = column[counted & (column != ABSENT)]
    return int(values.sum()) if len(values) else None


def _counts(trace: Trace) -> HitCounts:
    none = np.zeros(len(trace), dtype=np.int64)
    return HitCounts(trace.prompt_tokens, trace.reported_hit, none, none, none, blocks_known=False)


def _quantiles(trace: Trace, counted: NDArray[np.bool_]) -> dict[str, Quantiles]:
    """Only of what some request tells."""
    columns: dict[str, Ints | Floats] = {
        "prompt_tokens": trace.prompt_tokens,
        "output_tokens": trace.output_tokens,
        "reported_hit_tokens": trace.reported_hit,
        "ttft_s": trace.ttft_s,
        "duration_s": trace.finish_s - trace.arrival_s,
    }
    found = {}
    for name, column in columns.items():
        values = column[counted]
        values = values[~np.isnan(values) & (values != ABSENT)]
        if len(values):
            cuts = np.quantile(values, _QUANTILES).tolist()
            found[name] = Quantiles(len(values), tuple(cuts))
    return found


def _by_share(trace: Trace, told: NDArray[np.bool_]) -> tuple[HitShare, ...]:
    """Requests by their own share of hit, none without a prompt."""
    rows = np.flatnonzero(told & (trace.prompt_tokens > 0))
    share = trace.reported_hit[rows] / trace.prompt_tokens[rows]
    step = np.where(share == 0, 0, np.searchsorted(_SHARE_EDGES, share, side="right"))
    found = []
    for number, name in enumerate(_SHARE_NAMES):
        members = rows[step == number]
        if not len(members):
            continue
        ttft = trace.ttft_s[members]
        ttft = ttft[~np.isnan(ttft)]
        median_s = float(np.median(ttft)) if len(ttft) else None
        median_tokens = float(np.median(trace.prompt_tokens[members]))
        found.append(HitShare(name, len(members), median_tokens, median_s))
    return tuple(found)


def _groups(trace: Trace, told: NDArray[np.bool_]) -> dict[str, list[Group]]:
    """Tables over the requests that report."""
    named = {
        "tenant": trace.tenant,
        "session": trace.session,
        "model": trace.model,
        "worker": trace.worker,
    }
    tokens = (trace.prompt_tokens, trace.reported_hit, None)
    groups = {name: label_groups(labels, told, *tokens) for name, labels in named.items()}
    return {**groups, "turn": turn_groups(trace, told, *tokens)}


def _warnings(trace: Trace, counted: NDArray[np.bool_], told: NDArray[np.bool_]) -> tuple[str, ...]:
    found = [*trace.notes, *notes_on_rows(trace)]
    rows, silent = int(counted.sum()), int(counted.sum() - told.sum())
    if 0 < silent < rows:
        found.append(
            f"{silent:,} of {rows:,} requests do not report their hit: they are in no rate here"
        )
    found += notes_on_silence(trace.reported_hit, counted)
    return (*found, *notes_on_times(trace))
