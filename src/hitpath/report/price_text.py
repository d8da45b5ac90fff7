"""A quote as rows of text: the terminal and the page show the same ones."""

from collections.abc import Iterator
from dataclasses import dataclass

from hitpath.core import one_line
from hitpath.cost.break_even import HORIZON_TOKENS, Crossover
from hitpath.cost.kv import kv_elements_per_token, state_elements
from hitpath.cost.parameters import active_parameters, num_parameters
from hitpath.cost.paths import Part
from hitpath.cost.quote import Quote, TierQuote
from hitpath.report.text_parts import count, percent
from hitpath.report.units import number, ratio_text, short_time, si

PART_NAMES = {
    "linear": "linear",
    "attention": "attention",
    "lm_head": "lm_head",
    "allreduce": "all-reduce",
}

BOUND_BY = "bound by"
"""The quantity whose values are words."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One quantity on both paths. `group` is empty but on a group's first row."""

    group: str
    quantity: str
    miss: str
    hit: str
    ratio: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A result, and what it is."""

    name: str
    value: str
    meaning: str


def workload(quote: Quote) -> str:
    """The hit rate, without which no speed-up means anything."""
    q = quote.question
    return (
        f"hit rate {percent(quote.speedup.hit_rate)}: {count(quote.hit.tokens_cached)} of "
        f"{count(q.prompt_tokens)} prompt tokens"
    )


def model_line(quote: Quote) -> str:
    """The model and the size of its weights and KV."""
    shape, formats = quote.replica.shape, quote.replica.formats
    params, active = num_parameters(shape), active_parameters(shape)
    sizes = si(params) if active == params else f"{si(params)}, {si(active)} active"
    per_token = kv_elements_per_token(shape) * formats.kv_bytes
    line = (
        f"{one_line(shape.name)} ({sizes} parameters) · weights {formats.weights} "
        f"{si(params * formats.weight_bytes, 'B')} · KV {formats.kv} {si(per_token, 'B')} a token"
    )
    states = state_elements(shape)
    return f"{line} · {si(states)} state elements" if states else line


def machine_line(quote: Quote) -> str:
    """The GPUs and their roofline."""
    replica, roofline = quote.replica, quote.replica.roofline
    gpus = f"{replica.num_gpus} x " if replica.num_gpus > 1 else ""
    peak = f"{si(roofline.matrix_flops_per_s, 'FLOP/s')} in {roofline.matrix_type}"
    return (
        f"{gpus}{one_line(replica.hardware.name)} · {peak} · "
        f"{si(roofline.memory_bytes_per_s, 'B/s')} · ridge {number(roofline.matrix_ridge)} "
        f"FLOP/byte · efficiency {one_line(roofline.efficiency)}"
    )


def work_line(quote: Quote) -> str:
    """Batch, output and steps."""
    q = quote.question
    chunks = "one step" if q.chunk_tokens is None else f"chunks of {count(q.chunk_tokens)} tokens"
    return f"batch {count(q.batch)} · {count(q.output_tokens)} output tokens · {chunks}"


def compared(quote: Quote) -> Iterator[Compared]:
    """Both paths, part by part."""
    miss, hit = quote.miss, quote.hit
    tokens = miss.tokens_computed, hit.tokens_computed
    fewer = ratio_text(tokens[0] / tokens[1])
    yield Compared("tokens", "computed", count(tokens[0]), count(tokens[1]), fewer)
    yield Compared("", "cached", count(miss.tokens_cached), count(hit.tokens_cached))
    for name, title in PART_NAMES.items():
        for i, row in enumerate(_part(name, miss.parts[name], hit.parts[name])):
            yield Compared(title if i == 0 else "", *row)
    both = ratio_text(miss.flops / hit.flops)
    yield Compared("all", "FLOPs", si(miss.flops, "FLOP"), si(hit.flops, "FLOP"), both)
    intensities = number(miss.intensity), number(hit.intensity)
    yield Compared("", "FLOP / byte of both", *intensities)
    times = short_time(miss.ttft_s), short_time(hit.ttft_s)
    yield Compared("", "time to first token", *times, ratio_text(quote.speedup.ttft))


_Row = tuple[str, str, str, str]


def _part(name: str, miss: Part, hit: Part) -> Iterator[_Row]:
    def row(quantity: str, attribute: str, unit: str) -> _Row:
        values = getattr(miss, attribute), getattr(hit, attribute)
        both = ratio_text(values[0] / values[1]) if all(values) else ""
        return (quantity, si(values[0], unit), si(values[1], unit), both)

    if name == "allreduce":
        yield row("sent by each GPU", "sent_bytes", "B")
    else:
        yield row("FLOPs", "flops", "FLOP")
        moved = "weights"
        if name == "attention":
            moved = "KV"
            yield row("… a layer", "flops_per_layer", "FLOP")
            yield row("KV read and written", "kv_bytes", "B")
        else:
            yield row("weights read", "weight_bytes", "B")
        yield (
            f"FLOP / byte of {moved}",
            number(miss.intensity),
            number(hit.intensity),
            "",
        )
        both = number(miss.intensity_all_bytes), number(hit.intensity_all_bytes)
        yield ("… of all that moves", *both, "")
    ratio = ratio_text(miss.time_s / hit.time_s) if miss.time_s and hit.time_s else ""
    times = short_time(miss.time_s), short_time(hit.time_s)
    yield ("time", *times, ratio)
    yield (BOUND_BY, miss.bound, hit.bound, "")


def worth(quote: Quote) -> Iterator[Finding]:
    """Speed-ups with their ceilings, TPOT with the reason why it stays, KV of the prefix."""
    faster, q = quote.speedup, quote.question
    yield Finding(
        "time to first token",
        ratio_text(faster.ttft),
        f"ceiling {ratio_text(faster.ttft_ceiling)}: all cached but the last token",
    )
    share = percent(faster.prefill_frac)
    ceiling = ratio_text(faster.request_ceiling) if faster.decode_s else "none"
    yield Finding(
        f"request of {count(q.output_tokens)} output tokens",
        ratio_text(faster.request),
        f"ceiling {ceiling}: prefill is {share} of the request on the miss path",
    )
    yield Finding(
        "time per output token",
        short_time(faster.tpot_s),
        "unchanged: after the first token both paths have the same tokens in the cache and run "
        "the same steps; a prefix cache shortens prefill only",
    )
    yield Finding(
        "KV of the cached prefix",
        si(quote.prefix_bytes, "B"),
        f"{count(quote.hit.tokens_cached)} tokens, one sequence",
    )


def break_evens(quote: Quote) -> Iterator[Finding]:
    """Where one side begins to pay."""
    q, hit = quote.question, quote.hit
    bound = quote.compute_bound_new_tokens
    several = "" if q.batch == 1 else f" of each of {count(q.batch)} sequences"
    yield Finding(
        "hit path turns compute-bound",
        "never" if bound is None else f"from {count(bound)} new tokens",
        f"its linear layers; this hit computes {count(hit.tokens_computed)}{several}",
    )
    if q.lookup_s:
        yield Finding(
            f"a lookup of {short_time(q.lookup_s)} pays",
            _from(quote.lookup),
            f"cached prefix before {count(hit.tokens_computed)} new tokens{_also(quote.lookup)}",
        )
        yield Finding(
            "requests that must hit for it",
            "never" if quote.hit_share_needed is None else percent(quote.hit_share_needed),
            f"each pays the lookup, each hit saves {short_time(quote.saved_s)}",
        )
    for tier in quote.tiers:
        yield _tier(quote, tier)
        if q.money is not None:
            rate = tier.hit_rate_needed
            above = ": more than there is" if rate is not None and rate > 1 else ""
            yield Finding(
                f"hit rate that {tier.tier.name} must add",
                "never pays" if rate is None else percent(rate),
                f"for the GPU time it saves to be worth what it costs{above}",
            )


def _tier(quote: Quote, found: TierQuote) -> Finding:
    tier = found.tier
    links = " a GPU" if tier.per_gpu and quote.replica.num_gpus > 1 else ""
    meaning = (
        f"at {si(tier.bytes_per_s, 'B/s')}{links}: this prefix loads in "
        f"{short_time(found.load_s)}, first token after {short_time(found.ttft_s)}"
    )
    if found.rate_needed_bytes_per_s is not None:
        needed = si(found.rate_needed_bytes_per_s, "B/s")
        meaning += f"; it breaks even at {needed}{links}"
    name = f"loading from {tier.name} pays"
    return Finding(name, _from(found.crossover), meaning + _also(found.crossover))


def _from(found: Crossover) -> str:
    if found.from_tokens is None:
        return "never"
    return f"from {_tokens(found.from_tokens)}"


def _tokens(number: int) -> str:
    return f"{count(number)} token{'' if number == 1 else 's'}"


def _also(found: Crossover) -> str:
    """Where a prefix that pays is followed by longer ones that do not."""
    if found.from_tokens is None:
        return f"; no prefix of up to {count(HORIZON_TOKENS)} tokens"
    if found.always_from_tokens is None:
        return "; longer ones do not all pay"
    if found.always_from_tokens == found.from_tokens:
        return ""
    return f"; every one from {count(found.always_from_tokens)} on"
