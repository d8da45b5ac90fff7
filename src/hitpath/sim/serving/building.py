"""The state at the beginning, from what the simulator is given."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel
from hitpath.core import ABSENT
from hitpath.index.forest import Tree
from hitpath.routing.dispatch import NUM_COUNTERS
from hitpath.routing.view import empty_view
from hitpath.sim.serving import layout
from hitpath.sim.serving.layout import Caches, Engine, Floats, Index, Ints, Records, State
from hitpath.sim.serving.records import (
    VISIBLE,
    Arrivals,
    FleetSettings,
    Link,
    Requests,
    WorkerGroup,
)
from hitpath.sim.serving.router_index import HISTORY_INDEX, NO_INDEX, RESIDENT

_SOURCES = {"none": NO_INDEX, "resident": RESIDENT, "history": HISTORY_INDEX}
_EVENTS = {"fail": layout.FAIL, "join": layout.JOIN, "restart": layout.RESTART}


def build_state(
    tree: Tree,
    router_tree: Tree | None,
    requests: Requests,
    arrivals: Arrivals,
    fleet: FleetSettings,
) -> State:
    """Everything idle and empty."""
    groups = fleet.workers
    most_windows = max(len(group.steps.windows) for group in groups)
    most_running = max(group.settings.max_running for group in groups)
    stages = _stages(arrivals)
    num = fleet.num_workers
    engine = Engine(
        caches=_caches(tree, requests, arrivals, fleet),
        queues=np.full((num, layout.ENDED + 1, 2), ABSENT, dtype=np.int64),
        phase=np.zeros((num, fleet.block_size), dtype=np.int64),
        fills=np.full((num, fleet.block_size, 2), ABSENT, dtype=np.int64),
        window=np.zeros((num, 2, most_windows), dtype=np.int64),
        slots=np.full((num, layout.SLOTS), ABSENT, dtype=np.int64),
        items=_items(len(requests) * (1 + most_windows)),
        step_end=np.full(num, np.inf),
        heap=layout.zeros(layout.EVENT, len(requests) + 1),
        groups=_groups(groups),
        sizes=_padded([np.array(group.steps.windows) for group in groups]).astype(np.int64),
        linear=_padded([group.steps.linear_s for group in groups]),
        head=_padded([group.steps.head_s for group in groups]),
        attention=np.concatenate([group.steps.attention for group in groups]),
        ended=np.zeros(most_running + 1, dtype=np.int64),
        filled=np.zeros(most_running + 1, dtype=np.int64),
        stages=stages,
        stage_left=np.bincount(
            arrivals.stage[arrivals.stage >= 0], minlength=stages.shape[1]
        ).astype(np.int64),
    )
    return with_room(
        State(
            engine=engine,
            router=_index(tree, router_tree, requests, fleet),
            open_rows=_open_rows(arrivals),
            changes=_changes(fleet),
            sample_s=np.zeros(fleet.max_samples),
            samples=np.zeros((fleet.max_samples, 6, num), dtype=np.int64),
            found=np.zeros(3, dtype=np.int64),
        )
    )


def _caches(tree: Tree, requests: Requests, arrivals: Arrivals, fleet: FleetSettings) -> Caches:
    return Caches(
        nodes=_nodes(tree),
        entries=layout.zeros(layout.ENTRY, 0),
        segments=layout.zeros(layout.SEGMENT, 0),
        moves=layout.zeros(layout.MOVE, 0),
        workers=_workers(fleet),
        jobs=_jobs(requests, arrivals),
        clock=_clock(tree, arrivals, fleet),
        held=np.zeros((2, 2 * fleet.num_workers + 1), dtype=np.int64),
        queue_time_s=np.zeros(len(requests) + 1),
        use_time_s=np.zeros(layout.USE_STEPS + 1),
        num_roots=tree.num_roots,
    )


def with_room(state: State) -> State:
    """The same state with at least as much room as loop.has_room asks for, and as much again."""
    caches = state.engine.caches
    clock = caches.clock[0]
    entries = min(clock.num_entries + 2 * clock.most_entries, clock.all_entries)
    entries = max(entries, min(2 * len(caches.entries), clock.all_entries))
    in_use = len(caches.segments) - clock.left_segments
    segments = _with_free_segments(caches, int(in_use + 2 * (entries + clock.most_running)))
    moves = caches.moves
    if clock.lagging:
        moves = _with_free_moves(caches, int(clock.moves_count + 2 * (clock.most_moves + in_use)))
    caches = caches._replace(
        entries=layout.grown(caches.entries, max(int(entries), len(caches.entries))),
        segments=segments,
        moves=moves,
    )
    return state._replace(engine=state.engine._replace(caches=caches))


def _with_free_segments(caches: Caches, count: int) -> Records:
    """Free ones are chained by `older`."""
    clock, before = caches.clock[0], len(caches.segments)
    if count <= before:
        return caches.segments
    segments = layout.grown(caches.segments, count)
    segments["older"][before:] = np.arange(before + 1, count + 1)
    segments["older"][-1] = clock.free_segments if clock.left_segments else ABSENT
    clock.free_segments = before
    clock.left_segments += count - before
    return segments


def _with_free_moves(caches: Caches, count: int) -> Records:
    """The ring, unrolled to begin at 0."""
    clock = caches.clock[0]
    moves = layout.zeros(layout.MOVE, max(count, len(caches.moves)))
    if clock.moves_count:
        order = (clock.moves_first + np.arange(clock.moves_count)) % len(caches.moves)
        moves[: clock.moves_count] = caches.moves[order]
    clock.moves_first = 0
    return moves


def _items(count: int) -> Records:
    items = layout.zeros(layout.ITEM, count)
    items["due"] = ABSENT
    return items


def _nodes(tree: Tree) -> Records:
    nodes = layout.zeros(layout.NODE, len(tree.parent))
    nodes["parent"], nodes["depth"], nodes["length"] = tree.parent, tree.depth, tree.length
    nodes["first"] = ABSENT
    return nodes


def _jobs(requests: Requests, arrivals: Arrivals) -> Records:
    jobs = layout.zeros(layout.JOB, len(requests))
    links = (
        "next prev run_next run_prev part_entry part_next part_prev worker target routed decoder "
        "counted"
    )
    layout.absent(jobs, links + " matched ending follower next_follower")
    jobs["prompt"], jobs["output"] = requests.prompt_tokens, requests.output_tokens
    jobs["end_node"], jobs["output_node"] = requests.end_node, requests.output_end_node
    jobs["session"] = requests.session.view(np.int64)
    jobs["prefix_hash"] = requests.prefix_hash.view(np.int64)
    jobs["expected"] = requests.expected_output_tokens
    jobs["stage"] = arrivals.stage
    jobs["time"], jobs["think"] = arrivals.time_s, arrivals.think_s
    for name in ("sent", "admitted", "first", "finish"):
        jobs[name] = np.nan
    for row in np.flatnonzero(arrivals.follows >= 0)[::-1].tolist():
        leader = int(arrivals.follows[row])
        jobs["next_follower"][row] = jobs["follower"][leader]
        jobs["follower"][leader] = row
    return jobs


def _workers(fleet: FleetSettings) -> Records:
    """The workers, the memories of their hosts, the store that all share."""
    num = fleet.num_workers
    workers = layout.zeros(layout.WORKER, 2 * num + 1)
    layout.absent(
        workers,
        "oldest newest run_first run_last history_newest history_oldest late_first late_last",
    )
    workers["capacity"] = layout.UNLIMITED
    number = {id(group): i for i, group in enumerate(fleet.workers)}
    for w, group in enumerate(fleet.of_workers()):
        worker, settings = workers[w], group.settings
        worker.group = number[id(group)]
        worker.hands_over = group.role == "prefill"
        worker.takes_new = group.role != "decode"
        if settings.capacity_blocks is not None:
            worker.capacity = settings.capacity_blocks
            worker.watermark = int(settings.watermark_frac * settings.capacity_blocks)
        worker.max_batch, worker.max_running = settings.max_batch_tokens, settings.max_running
        worker.chunked, worker.reserve = settings.chunked_prefill, settings.reserve_full_prompt
        worker.last_token, worker.twins = settings.last_token, settings.wait_for_twins
        worker.visible = VISIBLE.index(settings.visible)
        worker.outputs, worker.growing = settings.cache_outputs, settings.replies == "growing"
        worker.mixed, worker.free_copies = settings.mixed, settings.free_copies
        worker.late_results = settings.late_results
        worker.alive = 1
    for owners, tier in ((slice(num, 2 * num), fleet.host), (slice(2 * num, None), fleet.remote)):
        if tier is not None and tier.capacity_blocks is not None:
            workers["capacity"][owners] = tier.capacity_blocks
    begun: set[int] = set()
    for event in sorted(fleet.changes, key=lambda change: change.time_s):
        if event.event == "join" and event.worker not in begun:
            workers[event.worker].alive = 0
        begun.add(event.worker)
    return workers


def _clock(tree: Tree, arrivals: Arrivals, fleet: FleetSettings) -> Records:
    clock = layout.zeros(layout.CLOCK, 1)
    now, nodes = clock[0], len(tree.parent)
    now.block, now.num_workers = fleet.block_size, fleet.num_workers
    now.num_jobs, now.drain = len(arrivals.time_s), arrivals.drain
    tiers = (fleet.host is not None) + (fleet.remote is not None)
    now.most_entries = nodes * (1 + tiers)
    now.all_entries = nodes * (fleet.num_workers * (1 + (fleet.host is not None)) + 1)
    now.most_running = max(group.settings.max_running for group in fleet.workers) + 2
    if any(group.settings.late_results for group in fleet.workers):
        now.most_running *= 2  # those that ended give back their blocks beside those that run
    now.lagging = fleet.index_lag_s > 0 or fleet.index_loss_frac > 0
    now.most_moves = 2 * (now.most_running + 1) * (path_nodes(tree) + 1) if now.lagging else 0
    now.counts_active = fleet.router.counts_blocks
    now.max_in_flight = layout.UNLIMITED if fleet.max_in_flight is None else fleet.max_in_flight
    now.linked = arrivals.drain or np.any(arrivals.follows >= 0) or fleet.transfer is not None
    now.seen_tick = -1
    now.has_host, now.has_remote = fleet.host is not None, fleet.remote is not None
    now.overlaps, now.checked, now.seed = fleet.load_overlaps, fleet.checked, fleet.seed
    now.now, now.sample_s = -np.inf, fleet.sample_s
    now.interval, now.age = fleet.scrape_interval_s, fleet.scrape_age_s
    now.lag, now.loss = fleet.index_lag_s, fleet.index_loss_frac
    now.host_s, now.host_latency = _link(fleet.host.link if fleet.host else None)
    now.remote_s, now.remote_latency = _link(fleet.remote.link if fleet.remote else None)
    now.move_s, now.move_latency = _link(fleet.transfer)
    return clock


def _link(link: Link | None) -> tuple[float, float]:
    return (link.s_per_token, link.latency_s) if link is not None else (0.0, 0.0)


@kernel
def _fill_levels(tree: Tree, order: Ints, levels: Ints) -> None:
    for node in order:
        if node >= tree.num_roots:
            levels[node] = levels[tree.parent[node]] + 1


def path_nodes(tree: Tree) -> int:
    """On the longest path."""
    return int(_levels(tree).max(initial=0))


def _levels(tree: Tree) -> Ints:
    """Nodes on the path to each node, itself counted, its root not."""
    levels = np.zeros(len(tree.parent), dtype=np.int64)
    _fill_levels(tree, np.argsort(tree.depth + tree.length, kind="stable"), levels)
    return levels


def _groups(groups: tuple[WorkerGroup, ...]) -> Records:
    records = layout.zeros(layout.GROUP, len(groups))
    row = 0
    for record, group in zip(records, groups, strict=True):
        steps = group.steps
        record.first_row, row = row, row + len(steps.attention)
        record.last_row = row
        record.num_windows = len(steps.windows)
        record.link_s, record.overhead_s = steps.link_s_per_token, steps.overhead_s
        record.lookup_s = steps.lookup_s_per_block
    return records


def _padded(rows: list[NDArray[Any]]) -> Floats:
    table = np.zeros((len(rows), max(len(row) for row in rows)))
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def _stages(arrivals: Arrivals) -> Floats:
    num = int(arrivals.stage.max(initial=-1)) + 1
    stages = np.full((2, max(num, 1)), np.nan)
    stages[0, 0] = 0.0
    stages[1] = 0.0 if arrivals.stage_length_s is None else arrivals.stage_length_s
    return stages


def _open_rows(arrivals: Arrivals) -> Ints:
    """By stage (where stages drain), time and row."""
    rows = np.flatnonzero(arrivals.follows < 0)
    stage = arrivals.stage[rows] if arrivals.drain else np.zeros(len(rows), dtype=np.int64)
    order: Ints = rows[np.lexsort((rows, arrivals.time_s[rows], stage))].astype(np.int64)
    return order


def _changes(fleet: FleetSettings) -> Records:
    changes = layout.zeros(layout.ALTERATION, len(fleet.changes))
    in_order = sorted(enumerate(fleet.changes), key=lambda pair: (pair[1].time_s, pair[0]))
    for record, (_, change) in zip(changes, in_order, strict=True):
        record.time, record.worker = change.time_s, change.worker
        record.event = _EVENTS[change.event]
    return changes


def _index(tree: Tree, router_tree: Tree | None, requests: Requests, fleet: FleetSettings) -> Index:
    router, settings = fleet.router, fleet.router.index
    rules = layout.zeros(layout.RULES, 1)
    rules[0].kind, rules[0].source = router.kind, _SOURCES[settings.source]
    rules[0].unit = settings.block_tokens or fleet.block_size
    rules[0].max_blocks, rules[0].capacity = settings.max_blocks, settings.capacity_blocks
    rules[0].ttl = settings.ttl_s
    nodes, entries = layout.zeros(layout.NODE, 0), layout.zeros(layout.HISTORY, 0)
    if settings.source == "history" and router_tree is not None:
        rules[0].num_roots = router_tree.num_roots
        nodes = _nodes(router_tree)
        most = min(
            len(nodes) * fleet.num_workers,
            int(_levels(router_tree)[requests.router_end_node].sum()),
        )
        entries = layout.zeros(layout.HISTORY, most)
    places = 1
    if fleet.scrape_interval_s:
        places = int(np.ceil(fleet.scrape_age_s / fleet.scrape_interval_s)) + 3
    return Index(
        sees=empty_view(fleet.num_workers),
        params=np.array(router.params, dtype=np.float64),
        ring=np.array(router.ring, dtype=np.uint64),
        counter=np.zeros(NUM_COUNTERS, dtype=np.int64),
        seed=np.uint64(router.seed),
        rules=rules,
        nodes=nodes,
        entries=entries,
        path=np.zeros(path_nodes(tree), dtype=np.int64),
        scraped=np.zeros((places, 3, fleet.num_workers)),
    )
