"""The spine of a simulated fleet: trace -> what is sent -> served in virtual time -> ledger.

    trace --plan_sending--> requests and their times --simulate_serving--> what happened to each
          --retimed--> the trace as it was served --make_rungs, attribute--> ledger --sum_up--> page

The ledger is the ordinary one: rungs 0 to 3 are the state at each request's first admission, as
the simulator saw it, and the others are what `analyze` computes from the trace in the order and at
the times in which it was served. A request that was never admitted is in no sum of tokens.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hitpath.accounting.ledger import Ledger, Rungs, attribute
from hitpath.core import InputError, Progress, Setting, SettingError
from hitpath.sim.engines import Engine
from hitpath.sim.events import order_events
from hitpath.sim.fleet import FleetOutcome
from hitpath.sim.rungs import NO_STATES, make_rungs, root_codes
from hitpath.sim.serving.records import ENDINGS, ServingOutcome
from hitpath.sim.serving.simulate import simulate_serving
from hitpath.sim.serving_file import FleetFile
from hitpath.sim.serving_inputs import ServingInputs, Shapes, serving_inputs
from hitpath.sim.serving_load import Sending, plan_sending
from hitpath.sim.serving_plan import FleetPlan, plan_fleet
from hitpath.sim.serving_rows import retimed, take_rows
from hitpath.spine import check_some_counts, check_tokenizer, content_ids_told
from hitpath.summary import Analysis, Stages, sum_up
from hitpath.summary.lengths import NO_IDENTITY
from hitpath.summary.serving import Mask, Served, sum_up_serving
from hitpath.summary.serving_records import Serving
from hitpath.summary.serving_slo import Slo, parse_slo
from hitpath.summary.warnings import notes_on_load, notes_on_times
from hitpath.summary.worth import IN_BYTES
from hitpath.text.tokenizer import load_tokenizer
from hitpath.traces import read_trace
from hitpath.traces.blocking import block_trace, choose_block_size
from hitpath.traces.sources import Input
from hitpath.traces.table import Ints, Labels, Trace


@dataclass(frozen=True, slots=True)
class Simulation:
    """Everything that a report shows. analysis: of the admitted requests, in the order and at the
    times of their admission; order: which row of `served` each of its rows is."""

    analysis: Analysis
    serving: Serving
    served: Served
    order: Ints
    prepared: "Prepared"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trace and a fleet, ready to run: what is sent, when, and to whom."""

    trace: Trace
    setting: Setting
    file: FleetFile
    plan: FleetPlan
    sending: Sending
    inputs: ServingInputs
    slo: Slo | None

    def run(self, between: Callable[[float], None] | None = None) -> ServingOutcome:
        """Serve every request. between: see `simulate_serving`. Raises SettingError where the
        router needs what is not there."""
        inputs = self.inputs
        outcome = simulate_serving(
            inputs.tree.tree,
            None if inputs.router_tree is None else inputs.router_tree.tree,
            inputs.requests,
            self.sending.arrivals(),
            self.plan.settings,
            between,
        )
        outcome.check(inputs.requests)
        return outcome

    def served(self, outcome: ServingOutcome) -> Served:
        """As the sums take it."""
        plan, inputs = self.plan, self.inputs
        return Served(
            outcome=outcome,
            prompt_tokens=inputs.requests.prompt_tokens,
            output_tokens=inputs.requests.output_tokens,
            stage=self.sending.stage,
            worker_names=plan.worker_names,
            roles=tuple(group.role for group in plan.settings.of_workers()),
            block_size=plan.settings.block_size,
        )


def read_for_serving(
    paths: list[str],
    setting: Setting,
    *,
    skip_bad_rows: bool = False,
    mapping: Sequence[str] = (),
    progress: Progress | None = None,
    inputs: Sequence[Input] | None = None,
) -> Trace:
    """A trace that can be served: with prompts, in tokens. Raises HitpathError."""
    trace = read_trace(
        paths,
        block_size=setting.block_size,
        skip_bad_rows=skip_bad_rows,
        tokenizer=load_tokenizer(setting.tokenizer),
        mapping=mapping,
        progress=progress,
        inputs=inputs,
    )
    return servable(trace, setting)


def servable(trace: Trace, setting: Setting) -> Trace:
    """The trace, its identity corrected where its ids are not chained. Raises HitpathError where
    it cannot be served."""
    check_some_counts(trace)
    if trace.identity == "lengths_only":
        raise InputError("trace", "", f"nothing to serve: {NO_IDENTITY}")
    check_tokenizer(trace, setting)
    if trace.identity == "text":
        raise SettingError("--model", IN_BYTES)
    return content_ids_told(trace, root_codes(trace, setting.split_models))


def prepare(
    trace: Trace, setting: Setting, file: FleetFile, known: Sequence[ServingInputs] = ()
) -> Prepared:
    """trace: from `servable`. setting: how it was read (tokenizer, models kept apart). known:
    inputs of other fleets, taken again where they are the same. Raises HitpathError."""
    plan = plan_fleet(file, trace.block_size)
    size = choose_block_size(trace, plan.settings.block_size)
    sending = plan_sending(trace, file.load, file.seed)
    if not len(sending.rows):
        raise InputError("trace", "", "no request to send")
    slo = None if file.slo is None else parse_slo(file.slo)
    shapes = Shapes(
        block_size=size,
        router_block_tokens=plan.router.block_tokens,
        prefix_tokens=plan.router.router.prefix_tokens,
        keep_outputs=file.outputs == "insert",
        output_tokens=file.load.output_tokens,
        split_models=setting.split_models,
    )
    inputs = next((one for one in known if one.serves(shapes, sending.rows)), None)
    if inputs is None:
        inputs = serving_inputs(trace, sending.rows, shapes)
    return Prepared(trace, setting, file, plan, sending, inputs, slo)


def simulate_trace(
    trace: Trace, setting: Setting, file: FleetFile, progress: Progress | None = None
) -> Simulation:
    """Serve a trace from `servable` and explain every prompt token. Raises HitpathError."""
    told = progress or _nothing
    told("planning", 0, 0)
    prepared = prepare(trace, setting, file)
    num = len(prepared.inputs.requests)
    told("serving requests", 0, num)
    outcome = prepared.run(lambda share: told("serving requests", round(share * num), num))
    told("serving requests", num, num)
    told("summing up", 0, 0)
    return conclude(prepared, outcome)


def conclude(prepared: Prepared, outcome: ServingOutcome) -> Simulation:
    """From what happened to the ledger and all sums."""
    served, inputs = prepared.served(outcome), prepared.inputs
    order = _by_admission(outcome)
    if not len(order):
        raise InputError("trace", "", f"no request was ever admitted: {_why_none(served)}")
    notes = _notes(prepared)
    trace = retimed(take_rows(inputs.trace, order), outcome.admit_s[order], outcome.finish_s[order])
    analysis = _explain(prepared, outcome, replace(trace, notes=(*trace.notes, *notes)), order)
    analysis = replace(analysis, warnings=_warnings(analysis, trace))
    return Simulation(
        analysis=analysis,
        serving=sum_up_serving(served, analysis.ledger, order, prepared.slo),
        served=served,
        order=order,
        prepared=prepared,
    )


def _warnings(analysis: Analysis, trace: Trace) -> tuple[str, ...]:
    """Without what is of `analyze` alone: its times are admissions here, of which a step has
    several, and workers that only decode serve no prompts on purpose."""
    others = {*notes_on_times(trace), *notes_on_load(analysis.workers, analysis.ledger)}
    return tuple(note for note in analysis.warnings if note not in others)


def _why_none(served: Served) -> str:
    """How the requests ended, none of which was admitted."""
    outcome = served.outcome
    told = []
    for code, name in ENDINGS.items():
        rows = outcome.ending == code
        if np.any(rows):
            told.append(
                f"{int(rows.sum()):,} of {len(rows):,} requests {_ended(served, name, rows)}"
            )
    return ", ".join(told)


def _ended(served: Served, ending: str, rows: Mask) -> str:
    """What befell these."""
    if ending == "too_large":
        most = int(served.outcome.per_worker.capacity_blocks.max()) * served.block_size
        least = int((served.prompt_tokens + served.output_tokens - 1)[rows].min())
        return f"are larger than a worker's cache ({most:,} tokens; the smallest takes {least:,})"
    words = {
        "failed_worker": "found no worker alive, or failed with it before they were admitted",
        "refused_full": "were refused: as many as may be were in flight",
    }
    return words[ending]


def _by_admission(outcome: ServingOutcome) -> Ints:
    """Rows of the admitted requests; of those admitted at one moment the first sent first."""
    rows = np.arange(len(outcome.admit_s))
    order = np.lexsort((rows, outcome.sent_s, outcome.admit_s))
    admitted: Ints = order[~np.isnan(outcome.admit_s[order])]
    return admitted


def _notes(prepared: Prepared) -> tuple[str, ...]:
    notes = [*prepared.sending.notes, *prepared.plan.notes]
    if prepared.inputs.num_assumed:
        tokens = prepared.file.load.output_tokens
        notes.append(
            f"{prepared.inputs.num_assumed:,} requests do not tell their output: {tokens:,} tokens "
            "each, as the load says"
        )
    return tuple(notes)


def _explain(prepared: Prepared, outcome: ServingOutcome, trace: Trace, order: Ints) -> Analysis:
    """The ordinary ledger and sums of the trace as it was served."""
    plan, keep_outputs = prepared.plan, prepared.file.outputs == "insert"
    group = plan.groups[0]
    worker = group.settings
    setting = Setting(
        engine="unlimited" if worker.capacity_blocks is None else "lru",
        last_token=worker.last_token,
        outputs=prepared.file.outputs,
        block_size=worker.block_size,
        capacity_tokens=group.capacity_tokens,
        split_models=prepared.setting.split_models,
        tokenizer=prepared.setting.tokenizer,
        seed=prepared.file.seed,
    )
    size = worker.block_size
    engine = Engine(setting.engine, size, worker.last_token, worker.capacity_blocks)
    roots = prepared.inputs.roots[order]
    blocks = block_trace(trace, size, setting.split_models)
    events = order_events(trace, blocks, roots, keep_outputs)
    limit = np.minimum(engine.limit(trace.prompt_tokens), blocks.whole)
    granted = outcome.granted[:, order]
    chosen = outcome.worker[order]
    fleet = FleetOutcome(
        worker=chosen,
        resident=granted[0] // size,
        best=granted[3] // size,
        best_worker=chosen,
        num_workers=plan.settings.num_workers,
        granted=granted,
    )
    ledger = _ledger(make_rungs(trace, setting, engine, blocks, events, fleet, roots))
    workers = Labels(chosen, plan.worker_names)
    return sum_up(Stages(trace, setting, engine, blocks, events, limit, workers, fleet, ledger))


def _ledger(rungs: Rungs) -> Ledger:
    """With what is in flight told: the simulator knows it. It has no rules of states."""
    unknown = {cause: why for cause, why in rungs.unknown.items() if cause != "in_flight"}
    unknown["ineligible"] = NO_STATES
    ledger = attribute(replace(rungs, unknown=unknown))
    ledger.check()
    return ledger


def _nothing(stage: str, done: int, total: int) -> None:
    """Nobody looks at progress."""
