"""One request priced on both paths, with what follows from the two."""

from dataclasses import dataclass

from hitpath.core import SettingError
from hitpath.cost.break_even import (
    Crossover,
    PrefixCurves,
    Tier,
    compute_bound_from,
    crossover,
    hit_share_needed,
    load_s,
    prefix_bytes,
    rate_needed,
)
from hitpath.cost.kv import has_constant_kv
from hitpath.cost.parameters import num_parameters
from hitpath.cost.paths import Path, Replica, hit_path, miss_path
from hitpath.cost.speedup import Speedup, speedup

_MOST_TOKENS = 1 << 24
"""Above any context that a model is served with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierMoney:
    """What a cache tier costs and what it serves. USD an hour; prompt tokens a second, over all
    requests of the replica."""

    gpu_hour_usd: float
    tier_usd_per_hour: float
    prompt_tokens_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request (or a batch of equal ones) with so many of its prompt tokens cached."""

    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    batch: int = 1
    chunk_tokens: int | None = None
    lookup_s: float = 0.0
    queue_s: float = 0.0
    tiers: tuple[Tier, ...] = ()
    money: TierMoney | None = None

    def __post_init__(self) -> None:
        for option, least, tokens in (
            ("--prompt", 1, self.prompt_tokens),
            ("--output", 0, self.output_tokens),
        ):
            if not least <= tokens <= _MOST_TOKENS:
                cause = f"is not from {least} to {_MOST_TOKENS:,}"
                raise SettingError(f"{option} {tokens}", cause)
        for option, value in (("--lookup-s", self.lookup_s), ("--queue-s", self.queue_s)):
            if not 0 <= value < 1e6:
                raise SettingError(f"{option} {value:g}", "is no number of seconds")


@dataclass(frozen=True, slots=True)
class TierQuote:
    """The cached prefix in a slower tier. `ttft_s`: the hit path with its load;
    `rate_needed_bytes_per_s`: the link's rate at which loading takes as long as computing again;
    `hit_rate_needed`: what the tier has to add, None without TierMoney or where it never pays."""

    tier: Tier
    load_s: float
    ttft_s: float
    crossover: Crossover
    rate_needed_bytes_per_s: float | None
    hit_rate_needed: float | None


@dataclass(frozen=True, slots=True)
class Quote:
    """Everything about one question. `saved_s`: miss TTFT less hit TTFT, the lookup left out;
    `compute_bound_new_tokens` and the crossovers: see break_even."""

    replica: Replica
    question: Question
    miss: Path
    hit: Path
    speedup: Speedup
    prefix_bytes: float
    saved_s: float
    compute_bound_new_tokens: int | None
    lookup: Crossover
    hit_share_needed: float | None
    tiers: tuple[TierQuote, ...]
    notes: tuple[str, ...]


def quote(replica: Replica, question: Question) -> Quote:
    """Raises SettingError for a question that cannot be asked."""
    q = question
    miss = miss_path(
        replica, q.prompt_tokens, batch=q.batch, chunk_tokens=q.chunk_tokens, queue_s=q.queue_s
    )
    hit = hit_path(
        replica,
        q.prompt_tokens,
        q.cached_tokens,
        batch=q.batch,
        chunk_tokens=q.chunk_tokens,
        lookup_s=q.lookup_s,
        queue_s=q.queue_s,
    )
    saved_s = miss.ttft_s - hit.ttft_s + hit.lookup_s
    curves = PrefixCurves(replica, hit.tokens_computed, q.batch, q.chunk_tokens)
    return Quote(
        replica=replica,
        question=q,
        miss=miss,
        hit=hit,
        speedup=speedup(replica, miss, hit, q.output_tokens, q.chunk_tokens),
        prefix_bytes=prefix_bytes(replica, hit.tokens_cached),
        saved_s=saved_s,
        compute_bound_new_tokens=compute_bound_from(replica, q.batch),
        lookup=crossover(curves, lambda cached: q.lookup_s),
        hit_share_needed=hit_share_needed(q.lookup_s, saved_s),
        tiers=tuple(_tier_quote(replica, q, hit, saved_s, tier, curves) for tier in q.tiers),
        notes=tuple(_notes(replica, q, hit)),
    )


def _tier_quote(
    replica: Replica,
    question: Question,
    hit: Path,
    saved_s: float,
    tier: Tier,
    curves: PrefixCurves,
) -> TierQuote:
    q = question
    load = load_s(replica, tier, hit.tokens_cached, q.batch)
    return TierQuote(
        tier=tier,
        load_s=load,
        ttft_s=hit.ttft_s + load,
        crossover=crossover(
            curves, lambda cached: q.lookup_s + load_s(replica, tier, cached, q.batch)
        ),
        rate_needed_bytes_per_s=rate_needed(
            replica, tier, hit.tokens_cached, saved_s - q.lookup_s, q.batch
        ),
        hit_rate_needed=_hit_rate_needed(replica, q, hit, saved_s, load),
    )


def _hit_rate_needed(
    replica: Replica, question: Question, hit: Path, saved_s: float, load: float
) -> float | None:
    if question.money is None or not hit.tokens_cached:
        return None
    from hitpath.cost.money import tier_break_even_hit_rate  # loads numpy

    tokens = question.batch * hit.tokens_cached
    return tier_break_even_hit_rate(
        question.money.tier_usd_per_hour,
        question.money.prompt_tokens_per_s,
        saved_s / tokens,
        load / tokens,
        question.money.gpu_hour_usd,
        replica.num_gpus,
    )


def _notes(replica: Replica, question: Question, hit: Path) -> list[str]:
    """What a reader has to know before quoting a number, one sentence each."""
    roofline, hardware, formats = replica.roofline, replica.hardware, replica.formats
    notes = [f"efficiency {roofline.efficiency} ({roofline.origin})"]
    if not roofline.step_overhead_s and roofline.efficiency != "ideal":
        notes.append("no overhead a step (launches, scheduling, sampling) is counted")
    if question.cached_tokens > hit.tokens_cached:
        notes.append("the last token of a prompt is always computed: one less is cached")
    wanted = formats.activations if formats.weights == "int4" else formats.weights
    if roofline.matrix_type != wanted:
        type_ = roofline.matrix_type
        notes.append(f"{hardware.name} has no known {wanted} rate: products run in {type_}")
    if roofline.attention_type != formats.activations:
        type_ = roofline.attention_type
        notes.append(
            f"{hardware.name} has no known {formats.activations} rate: attention runs in {type_}"
        )
    if hardware.memory_bytes is not None:
        tokens = question.prompt_tokens + question.output_tokens
        needed = num_parameters(replica.shape) * formats.weight_bytes
        needed += question.batch * replica.work.held_bytes(tokens)
        room = replica.num_gpus * hardware.memory_bytes
        if needed > room:
            notes.append(
                f"does not fit: weights and KV take {needed / 1e9:,.1f} GB, "
                f"{replica.num_gpus} x {hardware.name} have {room / 1e9:,.1f} GB"
            )
    if not has_constant_kv(replica.shape):
        notes.append(
            "KV bytes a token count the layers that keep every token; windows and states are in "
            "the bytes of the prefix"
        )
    return notes
