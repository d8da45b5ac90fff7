"""SGLang's own scheduler (0.5.23) on one rank: its methods, its policy, its budget, its cache.

Taken as they stand: the choice of the next batch, the prefill adder with its budget, chunks,
retraction, the ratio of output that is expected, how results are processed, and the eviction before
an allocation. Stand-ins, which is to say read and not run: what a batch does to tensors
(`prepare_for_extend`, `prepare_for_decode`: rows and places for its tokens), and the loop itself.
"""

import copy
from array import array
from collections import deque, namedtuple
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

from models.sglang_oracle import Counter, Sglang, tensor
from models.sglang_parts import NOTHING, Names, Options, taken
from models.sglang_real import RealCache
from models.sglang_standins import FakeBatch, FakePages, FakeReq, FakeRows, FakeScheduler, Mode
from models.sglang_unified import CACHE, UNIFIED, UnifiedReal, Unset
from models.sglang_unified import _before as unified_before

MANAGERS = "sglang.srt.managers"
PARTS = UNIFIED | {
    f"{CACHE}.allocation",
    f"{CACHE}.allocator.base",
    f"{CACHE}.common",
    f"{CACHE}.prefill_budget",
    f"{MANAGERS}.schedule_policy",
    f"{MANAGERS}.scheduler_components.new_token_ratio_tracker",
}
ENVIRONMENT = {
    "SGLANG_ENABLE_WAITING_PREFIX_REFRESH": True,
    "SGLANG_INIT_NEW_TOKEN_RATIO": 0.7,
    "SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR": 0.14,
    "SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS": 600,
    "SGLANG_PREFILL_TILE_BUDGET": 0,
    "SGLANG_PREFILL_TILE_BUDGET_MODE": "compact",
    "SGLANG_RETRACT_DECODE_STEPS": 20,
}
"""The defaults of 0.5.23 (environ.py); all else is off."""

SCHEDULER = (
    "get_next_batch_to_run",
    "get_new_batch_prefill",
    "_get_new_batch_prefill_raw",
    "get_num_allocatable_reqs",
    "is_fully_idle",
    "update_running_batch",
    "_reqs_finishing_inflight",
    "stash_chunked_request",
)
REQUEST = (
    "init_next_round_input",
    "refresh_fill_ids",
    "_compute_max_prefix_len",
    "next_output_finishes_by_length",
    "extend_len",
    "get_fill_ids",
    "reset_for_retract",
    "owned_kv_len",
    "output_ids_through_stop",
    "finished",
)
BATCH = (
    "check_decode_mem",
    "new_tokens_required_next_decode",
    "retract_decode",
    "_get_decode_retraction_order",
    "release_req",
    "filter_batch",
    "merge_batch",
    "batch_size",
    "is_empty",
)
RESULTS = (
    "process_batch_result_prefill",
    "process_batch_result_decode",
    "_handle_finish_state_updated_req",
)


class Environment(Unset):
    def __getattr__(self, name):
        return SimpleNamespace(get=lambda: ENVIRONMENT.get(name, False))


def load(source, core="python"):
    """The modules and methods of one unpacked wheel; `core`: its tree's, "python" or "rust"."""
    parts = {
        "disagg": Options(disaggregation_mode="null"),
        "exec": Options(),
        "memory": Options(radix_eviction_policy="lru"),
        "schedule": Options(prefill_max_requests=None, schedule_conservativeness=1.0),
        "serving": Options(),
        "spec": Options(speculative_algorithm=None),
        "parallel": Options(),
        "observability": Options(),
    }
    if core == "rust":
        from models import sglang_rust as rust  # needs torch

        def before():
            _before(parts)
            rust.compiled(source)

        sglang = Sglang(source, PARTS | rust.PARTS, before, rust.STAND_INS)
        sglang.kind = rust.RustReal
    else:
        sglang = Sglang(source, PARTS, lambda: _before(parts))
        sglang.kind = UnifiedReal
    import sglang.srt.managers.schedule_policy as policy
    import sglang.srt.managers.scheduler_components.new_token_ratio_tracker as ratio
    import sglang.srt.mem_cache.allocation as allocation
    import sglang.srt.mem_cache.allocator.base as allocator
    import sglang.srt.mem_cache.common as common
    import sglang.srt.mem_cache.unified_radix_cache as unified

    unified.time = Counter()
    sglang.unified, sglang.policy, sglang.ratio, sglang.options = unified, policy, ratio, parts
    sglang.allocation, sglang.allocator = allocation, allocator.BaseTokenToKVPoolAllocator
    plan = namedtuple("plan", "batch_to_run running_batch")
    names = Names(
        __name__="taken",
        array=array,
        torch=SimpleNamespace(tensor=tensor, int64="int64", cat=MagicMock()),
        envs=Environment(),
        AddReqResult=policy.AddReqResult,
        NextBatchPlan=lambda batch_to_run, running_batch: plan(batch_to_run, running_batch),
        NewTokenRatioTracker=ratio.NewTokenRatioTracker,
        DisaggregationMode=SimpleNamespace(NULL="null", PREFILL="prefill", DECODE="decode"),
        TEST_RETRACT=False,
        num_beam_member_rows=lambda _: 0,
        beam_retraction_order=lambda order, _: order,
        CaptureHiddenMode=NOTHING,
        get_batch_return_hidden_states_mode=NOTHING,
        BaseSpecWorker=type("BaseSpecWorker", (), {}),
        release_kv_cache=common.release_kv_cache,
        checkpoint_kv_cache=common.checkpoint_kv_cache,
        evict_from_tree_cache=common.evict_from_tree_cache,
        match_kv_cache=common.match_kv_cache,
        **{f"get_{name}": part for name, part in parts.items()},
    )
    managers = Path(source, *MANAGERS.split("."))
    batches = managers / "schedule_batch.py"
    results = managers / "scheduler_components" / "batch_result_processor.py"
    methods = taken(batches, "Req", REQUEST, names)
    methods["most_matched"] = methods.pop("_compute_max_prefix_len")
    sglang.Req = type("Req", (FakeReq,), methods)
    names["Req"] = sglang.Req
    sglang.Batch = type("Batch", (FakeBatch,), taken(batches, "ScheduleBatch", BATCH, names))
    names["ScheduleBatch"] = sglang.Batch
    names |= taken(batches, None, ("release_req",), names)
    methods = taken(managers / "scheduler.py", "Scheduler", SCHEDULER, names)
    methods |= taken(results, "SchedulerBatchResultProcessor", RESULTS, names)
    sglang.Scheduler = type("Scheduler", (FakeScheduler,), methods)
    return sglang


def _before(parts):
    unified_before()
    import sglang.srt.environ as environ
    import sglang.srt.managers.schedule_batch as batches
    import sglang.srt.mem_cache.allocator.hisparse as hisparse
    import sglang.srt.mem_cache.allocator.swa as swa
    import sglang.srt.mem_cache.allocator.unified_hybrid_swa as hybrid
    import sglang.srt.mem_cache.allocator.unified_mamba as mamba
    import sglang.srt.runtime_context as context
    import sglang.srt.utils as utils

    environ.envs = Environment()
    for name, part in parts.items():
        setattr(context, f"get_{name}", part)
    context.get_context = NOTHING
    utils.is_hip = utils.is_npu = utils.is_cpu = utils.is_cuda = utils.is_xpu = lambda: False
    batches.split_cached_prefix_by_tier = lambda prefix_len, **_: (prefix_len, 0, 0)
    swa.is_swa_req_ring = lambda _: False
    for module, name in (
        (hisparse, "DeepSeekV4HiSparseTokenToKVPoolAllocator"),
        (swa, "SWATokenToKVPoolAllocator"),
        (hybrid, "UnifiedMambaSWATokenToKVPoolAllocator"),
        (mamba, "UnifiedMambaTokenToKVPoolAllocator"),
    ):
        setattr(module, name, type(name, (), {}))


class RealScheduler:
    """Requests by number; see `SglangScheduler`, which has the same methods."""

    def __init__(self, sglang, settings, steps, stop):
        self.sglang, self.stop, self.overlap = sglang, stop, steps.overlap
        kind = RealCache if settings.as_radix_cache else sglang.kind
        self.cache = kind(sglang, settings)
        tree = self.tree = self.cache.cache
        pages = self.pages = _pages(sglang, settings)
        rows = self.rows = FakeRows(steps.max_running, self.cache.table)
        tree.token_to_kv_pool_allocator, tree.req_to_token_pool = pages, rows
        self.cache.pages = pages
        options = sglang.options
        options["memory"].radix_eviction_policy = settings.policy
        options["schedule"].schedule_policy = steps.queue
        options["schedule"].schedule_conservativeness = steps.conservativeness
        options["parallel"].pp_max_micro_batch_size = steps.max_running
        sglang.Batch.functions = sglang.allocation
        made = self.made = sglang.Scheduler()
        made.tree_cache, made.token_to_kv_pool_allocator, made.req_to_token_pool = tree, pages, rows
        made.page_size, made.max_running_requests = settings.page_size, steps.max_running
        made.max_prefill_tokens = steps.max_prefill_tokens
        made.chunked_prefill_size = steps.chunk_tokens
        made.enable_overlap = made.enable_skip_finishing_decode = steps.overlap
        made.waiting_queue, made.result_queue = [], deque()
        made.running_batch = _empty(sglang, made)
        made.get_prefill_adder_class = lambda: sglang.policy.PrefillAdder
        made.policy = sglang.policy.SchedulePolicy(steps.queue, tree, False, False, False)
        made.new_token_ratio_tracker = sglang.ratio.NewTokenRatioTracker.from_config()
        made.dp_attn_adapter = SimpleNamespace(
            maybe_prepare_mlp_sync_batch=lambda batch, **_: batch,
            maybe_convert_decode_to_extend=lambda batch: batch,
        )
        made.ngram_embedding_manager = SimpleNamespace(prepare_for_forward=lambda batch, **_: batch)
        self.requests, self.batch = {}, None

    def submit(self, request, max_output, ignores_stops=False):
        """False where it is refused; its output is cut by SGLang's own rule."""
        max_output = self.pages.max_new_tokens_for_memory(
            len(request.tokens),
            max_output,
            token_capacity=self.pages.size,
            sliding_window_size=None,
            chunk_size=None,
        )
        if max_output < 1:
            return False
        req = self.sglang.Req(request, max_output, ignores_stops, self.stop)
        self.requests[request.number] = req
        self.made.waiting_queue.append(req)
        return True

    def schedule(self):
        """(kind, tokens of each request) of the next step, or None."""
        made = self.made
        plan = made.get_next_batch_to_run(made.running_batch, made.last_batch)
        made.running_batch, batch = plan.running_batch, plan.batch_to_run
        self.batch = batch
        if batch is not None:
            made.result_queue.append((_copied(batch), None))
        elif not (self.overlap and made.last_batch) and made.is_fully_idle():
            made.new_token_ratio_tracker.reset()  # `on_idle`
        there = made.last_batch if self.overlap else batch
        self.result = None if there is None else made.result_queue[0][0]
        made.last_batch = batch
        if batch is None:
            return None
        if batch.forward_mode.is_prefill:
            return "prefill", {req.rid: req.extend_len for req in batch.reqs}
        return "decode", {req.rid: 1 for req in batch.reqs}

    def update(self, sampled):
        """The result that is there by now; numbers of those that finished with it."""
        batch, made = self.result, self.made
        if batch is None:
            return []
        made.result_queue.popleft()
        before = {req.rid for req in batch.reqs if req.finished()}
        tokens = tensor([sampled.get(req.rid, 0) for req in batch.reqs])
        result = SimpleNamespace(
            copy_done=None,
            next_token_ids=tokens,
            logits_output=None,
            auxiliary_host_output=None,
            routed_experts_output=None,
            indexer_topk_output=None,
            extend_input_len_per_req=None,
            extend_logprob_start_len_per_req=None,
            can_run_cuda_graph=False,
            get_num_generated_tokens=lambda count: count,
            grammar_advanced=False,
        )
        if batch.forward_mode.is_prefill:
            made.process_batch_result_prefill(batch, result)
        else:
            result.next_token_ids = tokens.tolist()
            made.process_batch_result_decode(batch, result)
        return [req.rid for req in batch.reqs if req.finished() and req.rid not in before]

    def running(self):
        return [req.rid for req in self.made.running_batch.reqs]

    def waiting(self):
        return [req.rid for req in self.made.waiting_queue]


def _empty(sglang, made):
    batch = sglang.Batch.init_new(
        [], made.req_to_token_pool, made.token_to_kv_pool_allocator, made.tree_cache
    )
    batch.forward_mode = Mode(False)
    return batch


def _copied(batch):
    """What is kept of it for its result."""
    kept = copy.copy(batch)
    kept.reqs, kept.prefill_stats = batch.reqs[:], None
    return kept


def _pages(sglang, settings):
    """With SGLang's own eviction before an allocation, and its own budget."""
    taken_from = sglang.allocator
    names = (
        "create_prefill_budget",
        "request_slot_reserve",
        "get_extend_allocation_demand",
        "evict_to_free_tokens",
        "max_new_tokens_for_memory",
        "check_decode_capacity",
    )
    kind = type("Pages", (FakePages,), {name: getattr(taken_from, name) for name in names})
    made = kind(settings.capacity_tokens // settings.page_size, settings.page_size)
    made.size = len(made.free_pages) * made.page_size
    return made
