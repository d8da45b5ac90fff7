"""The offline spine: trace files -> requests -> block keys -> match -> worker -> ledger -> sums.

`analyze_trace` is the whole flow, one call a stage; each stage's frozen record is all that the
next one sees. Reports read the result and compute nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hitpath.accounting.ledger import attribute
from hitpath.core import InputError, Progress, Setting, SettingError
from hitpath.doctor.kept import KeptRows, keep_rows
from hitpath.doctor.rung import canonical_rung
from hitpath.routing.policies import fixed_or_absent, make_policy
from hitpath.sim.engines import make_engine
from hitpath.sim.events import ids_are_prefixes, order_events
from hitpath.sim.fleet import simulate_fleet
from hitpath.sim.modelled import check_engine, default_block_size, simulate_models
from hitpath.sim.rungs import make_rungs, root_codes
from hitpath.summary import Analysis, Estimate, LengthsAnalysis, Stages, sum_up, sum_up_lengths
from hitpath.summary.estimate import check_sampled_setting, estimate_trace
from hitpath.summary.lengths import check_lengths_setting
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import open_inputs, read_trace
from hitpath.traces.blocking import block_trace, choose_block_size
from hitpath.traces.sampling import Sampler
from hitpath.traces.sources import Input
from hitpath.traces.table import Ints, Labels, Trace


def analyze(
    paths: list[str],
    setting: Setting,
    *,
    skip_bad_rows: bool = False,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
    inputs: Sequence[Input] | None = None,
    canonical: bool = False,
) -> Analysis | LengthsAnalysis:
    """Read a trace and explain every prompt token; a trace that does not say what its prompts
    are gives sums of lengths and reported hits. canonical: look for tokens that diverged too, which
    takes the prompts' text a second time. Raises HitpathError."""
    check_engine(setting)
    kept = KeptRows() if canonical else None
    if kept is not None:
        inputs = keep_rows(open_inputs(paths, progress) if inputs is None else inputs, kept)
    tokenizer = load_tokenizer(setting.tokenizer)
    trace = read_trace(
        paths,
        block_size=setting.block_size,
        skip_bad_rows=skip_bad_rows,
        tokenizer=tokenizer,
        mapping=mapping,
        progress=progress,
        inputs=inputs,
        keep_places=canonical,
    )
    check_some_counts(trace)
    if trace.identity == "lengths_only":
        return sum_up_lengths(trace, setting)
    rung = None
    if kept is not None:
        rung = canonical_rung(trace, kept, setting.split_models, progress, tokenizer)
    return analyze_trace(trace, setting, progress, rung)


def estimate(
    paths: list[str],
    setting: Setting,
    *,
    skip_bad_rows: bool = False,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
    inputs: Sequence[Input] | None = None,
) -> Estimate:
    """Estimate the rates of a trace of which only some blocks are kept in memory
    (`setting.sample_frac`). Raises HitpathError."""
    check_sampled_setting(setting)
    assert setting.sample_frac is not None
    trace = read_trace(
        paths,
        block_size=setting.block_size,
        skip_bad_rows=skip_bad_rows,
        sampler=Sampler.from_share(setting.sample_frac, setting.seed),
        tokenizer=load_tokenizer(setting.tokenizer),
        mapping=mapping,
        progress=progress,
        inputs=inputs,
    )
    if trace.identity == "lengths_only":
        check_lengths_setting(setting)
    check_tokenizer(trace, setting)
    size = choose_block_size(trace, setting.block_size)
    if size != trace.block_size:
        cause = f"a sampled trace keeps its own blocks of {trace.block_size} tokens"
        raise SettingError(f"--block-size {size}", cause)
    return estimate_trace(trace, setting, make_engine(setting, size))


def check_tokenizer(trace: Trace, setting: Setting) -> None:
    """Raise SettingError where a tokenizer was asked for and there is nothing for it to do: text
    would be tokens by now."""
    if setting.tokenizer is None or trace.identity == "tokens":
        return
    has = "bytes in stretches without their text" if trace.identity == "text" else "block ids"
    raise SettingError("--tokenizer", f"the trace has {has}: there is nothing to tokenise")


def check_some_counts(trace: Trace) -> None:
    """Raise InputError where every request contradicts itself, so that no sum has a row."""
    if np.any(trace.counted):
        return
    first = next(iter(trace.excluded.values()))
    cause = f"all {len(trace):,} requests contradict themselves; this one: {first.cause}"
    if first.field == "reported.prompt_tokens":
        cause += "; is this the model's own tokenizer and template (--tokenizer)?"
    raise InputError(first.place, first.field, cause)


def analyze_trace(
    trace: Trace,
    setting: Setting,
    progress: Progress | None = None,
    canonical: Callable[[Ints], Ints] | None = None,
) -> Analysis:
    """The spine. The trace has prompts (its identity is not "lengths_only"). canonical: rung 7,
    where somebody brings it (sim.rungs)."""
    assert trace.identity != "lengths_only"
    check_tokenizer(trace, setting)
    told = progress or _nothing
    told("matching prefixes", 0, 3)
    roots = root_codes(trace, setting.split_models)
    trace = content_ids_told(trace, roots)
    engine = make_engine(setting, choose_block_size(trace, _asked_block_size(trace, setting)))
    blocks = block_trace(trace, engine.block_size, setting.split_models)
    events = order_events(trace, blocks, roots, setting.outputs == "insert")
    limit = np.minimum(engine.limit(trace.prompt_tokens), blocks.whole)
    workers, given = _workers(trace, setting)
    told("serving requests", 1, 3)
    if setting.is_modelled:
        fleet = simulate_models(trace, setting, events, roots, given, engine.block_size)
    else:
        fleet = simulate_fleet(
            events,
            given_worker=given,
            num_workers=len(workers),
            limit=limit,
            prompt_tokens=trace.prompt_tokens,
            block_size=engine.block_size,
            capacity_blocks=engine.capacity_blocks,
        )
    ledger = attribute(make_rungs(trace, setting, engine, blocks, events, fleet, roots, canonical))
    ledger.check()
    served = Labels(fleet.worker, workers)
    told("summing up", 2, 3)
    return sum_up(Stages(trace, setting, engine, blocks, events, limit, served, fleet, ledger))


def _asked_block_size(trace: Trace, setting: Setting) -> int | None:
    """That of the setting; else an engine's own, where the trace leaves it open."""
    if setting.block_size is None and setting.is_modelled and trace.block_size is None:
        return default_block_size(setting.engine)
    return setting.block_size


def _nothing(stage: str, done: int, total: int) -> None:
    """Nobody looks at progress."""


def content_ids_told(trace: Trace, roots: Ints) -> Trace:
    """The trace with its identity corrected where its ids are not chained."""
    if trace.identity != "chained" or ids_are_prefixes(trace, roots):
        return trace
    note = (
        "the same block id stands behind different prefixes: these are ids of content, not of "
        "prefixes; a block counts as shared only where everything before it is shared too"
    )
    return replace(trace, identity="content", notes=(*trace.notes, note))


def _workers(trace: Trace, setting: Setting) -> tuple[tuple[str, ...], Ints]:
    """(names of the workers, worker of each request or ABSENT where the router decides later).

    Raises SettingError where trace and options contradict each other.
    """
    if trace.worker.known:
        if setting.workers is not None:
            raise SettingError("--workers", "the trace names its own workers")
        return trace.worker.names, trace.worker.codes
    count = setting.workers or 1
    names = tuple(f"worker {i}" for i in range(count))
    if count == 1:
        return names, np.zeros(len(trace), dtype=np.int64)
    assert setting.router is not None  # Setting sees to it
    policy = make_policy(setting.router, count, setting.seed)
    return names, fixed_or_absent(policy, [trace.session.of(i) for i in range(len(trace))])
