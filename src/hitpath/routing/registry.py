"""All routers by name, and `make_router`, which reads "name:option=value,option=value"."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hitpath.core import MAX_TOKENS, MAX_WORKERS, SettingError
from hitpath.routing import (
    aibrix,
    cache_aware,
    dynamo,
    hitpath_router,
    kinds,
    kv_aware,
    least_loaded,
    llmd,
    longest_prefix,
    power_of_two,
    preble,
    prefix_aware,
    prefix_hash,
    random_worker,
    ray_affinity,
    round_robin,
    session_hash,
)
from hitpath.routing.hashes import hash_ring
from hitpath.routing.router import Router
from hitpath.routing.rule import Option, Rule
from hitpath.routing.terms import StepTerms
from hitpath.routing.typed import typed_options
from hitpath.routing.view import IndexSettings

_ALL: tuple[Rule, ...] = (
    random_worker.RULE,
    round_robin.RULE,
    least_loaded.RULE,
    power_of_two.RULE,
    session_hash.RULE,
    prefix_hash.RULE,
    longest_prefix.RULE,
    *cache_aware.RULES,
    kv_aware.RULE,
    prefix_aware.RULE,
    *llmd.RULES,
    dynamo.RULE,
    aibrix.RULE,
    ray_affinity.RULE,
    preble.RULE,
    hitpath_router.RULE,
)
RULES: dict[str, Rule] = {rule.name: rule for rule in _ALL}
ROUTERS: dict[str, str] = {rule.name: f"{rule.line} [{rule.source}]" for rule in _ALL}
"""Name -> the formula in one line and where it was read."""

_INDEX_OPTIONS = (
    Option("index", 0, "whence the match comes", words=("resident", "history"), high=1),
    Option("block", 0, "tokens a block of the index, 0 the engine's", whole=True, high=MAX_TOKENS),
    Option("max_blocks", 0, "leading blocks looked at, 0 all", whole=True, high=MAX_TOKENS),
    Option("capacity", 0, "blocks kept a worker, 0 no bound", whole=True, high=MAX_TOKENS),
    Option("ttl", 0, "seconds that an entry lasts, 0 for ever", high=1e9),
)
_MICRO = {"_us": 1e6, "_ns": 1e9, "_ms": 1e3}


def make_router(
    text: str,
    num_workers: int,
    seed: int,
    step_terms: StepTerms | Sequence[StepTerms] | None = None,
) -> Router:
    """The router that a text like "llmd-precise:prefix=3,queue=2" names; options that are not
    typed have the rule's defaults, `step_terms` those of the engine's times: of all workers, or of
    each (which `hitpath` reads; the others take the first worker's).

    Raises SettingError for an unknown name, an unknown or repeated option, a value that is none,
    a router without its step times, and numbers of workers and seeds out of range.
    """
    option = f"--router {text}" if isinstance(text, str) else "--router"
    if not isinstance(text, str):
        raise SettingError(option, "is no text")
    if not 1 <= num_workers <= MAX_WORKERS:
        raise SettingError("--workers", f"{num_workers} is not from 1 to {MAX_WORKERS:,}")
    if not 0 <= seed < 2**63:
        raise SettingError("--seed", "must be from 0 to 2**63 - 1")
    name, _, rest = text.partition(":")
    rule = RULES.get(name.strip())
    if rule is None:
        raise SettingError(option, f"no such router; there are {', '.join(RULES)}")
    typed = typed_options(option, {own.name: own for own in options_of(rule)}, rest)
    index = _index(rule, typed)
    terms = _terms_of(step_terms, num_workers, rule.kind == kinds.HITPATH)
    rows = [[_value(option, own, typed, one) for own in rule.options] for one in terms]
    needs = _needs(rule, [max(values) for values in zip(*rows, strict=True)])
    params = [value for row in rows for value in row]
    if rule.kind == kinds.LLMD:
        params += [index.block_tokens, index.max_blocks]
    return Router(
        text,
        rule.kind,
        np.array(params, dtype=np.float64),
        hash_ring(num_workers, rule.ring_points, seed),
        index,
        seed,
        needs,
        rule.prefix_tokens,
        rule.counts_blocks,
    )


def _terms_of(
    step_terms: StepTerms | Sequence[StepTerms] | None, num_workers: int, of_each: bool
) -> Sequence[StepTerms | None]:
    """One for all workers, or one for each where they differ and the rule reads each's."""
    if step_terms is None or isinstance(step_terms, StepTerms):
        return (step_terms,)
    if len(step_terms) != num_workers:
        raise ValueError(f"{len(step_terms)} step times for {num_workers} workers")
    return step_terms if of_each and len(set(step_terms)) > 1 else step_terms[:1]


def options_of(rule: Rule) -> tuple[Option, ...]:
    """All options that may be typed: the rule's, and its index's where it has one."""
    if rule.index.source == "none":
        return rule.options
    found = rule.index
    source = 0.0 if found.source == "resident" else 1.0
    numbers = (
        source,
        found.block_tokens,
        found.max_blocks,
        found.capacity_blocks,
        found.ttl_s,
    )
    own = tuple(replace(o, default=float(n)) for o, n in zip(_INDEX_OPTIONS, numbers, strict=True))
    return rule.options + own


def _value(
    option: str, own: Option, typed: dict[str, float], step_terms: StepTerms | None
) -> float:
    if own.name in typed:
        return typed[own.name]
    if own.term is None:
        return own.default
    if step_terms is None:
        raise SettingError(option, f"needs the engine's step times: {own.name} ({own.meaning})")
    return float(getattr(step_terms, own.term)) * _MICRO.get(own.name[-3:], 1.0)


def _index(rule: Rule, typed: dict[str, float]) -> IndexSettings:
    settings = rule.index
    if "index" in typed:
        source = _INDEX_OPTIONS[0].words[int(typed["index"])]
        settings = replace(settings, source=source)  # type: ignore[arg-type]
    return replace(
        settings,
        block_tokens=int(typed.get("block", settings.block_tokens)),
        max_blocks=int(typed.get("max_blocks", settings.max_blocks)),
        capacity_blocks=int(typed.get("capacity", settings.capacity_blocks)),
        ttl_s=typed.get("ttl", settings.ttl_s),
    )


def _needs(rule: Rule, params: list[float]) -> tuple[str, ...]:
    """Figures that the options as they are read: "x", "x if option", "x if option=word"."""
    values = {own.name: value for own, value in zip(rule.options, params, strict=True)}
    words = {own.name: own.words for own in rule.options}
    needs = []
    for need in rule.needs:
        figure, _, condition = need.partition(" if ")
        name, equals, word = condition.partition("=")
        if equals:
            wanted = values[name] == words[name].index(word)
        else:
            wanted = not name or values[name] != 0.0
        if wanted:
            needs.append(figure)
    return tuple(needs)
