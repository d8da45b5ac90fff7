"""What stands in SGLang's scheduler for requests, batches, places, and the rest of a server.

Their methods that decide anything are SGLang's own (`sglang_scheduler.py`); here is what they hold.
"""

from array import array
from types import SimpleNamespace
from unittest.mock import MagicMock

from models.sglang_oracle import Pages, tensor
from models.sglang_parts import NOTHING


class FakeReq:
    """A request; what other features would hold is None."""

    def __init__(self, request, max_output, ignores_stops, stop):
        self.rid, self.stop = request.number, stop
        self.origin_input_ids, self.output_ids = array("q", request.tokens), array("q")
        self.full_untruncated_fill_ids = array("q")
        self.extra_key, self.priority = request.context, request.priority
        self.wants_logprobs, self.return_logprob, self.logprob_start_len = (
            not request.reads_cache,
            False,
            0,
        )
        self.sampling_params = SimpleNamespace(max_new_tokens=max_output, ignore_eos=ignores_stops)
        self.time_stats, self.cached_tokens = NOTHING, 0
        self.prefix_len = self.inflight_middle_chunks = self.already_computed = 0
        self.storage_hit_length = self.retraction_count = self.host_loaded_length = 0
        self.retracted_stain = self.is_retracted = False
        self.kv = FakeKv()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def _compute_max_prefix_len(self, input_len):
        """SGLang's own; logprobs are asked for here only, not carried through batches."""
        self.return_logprob = self.wants_logprobs
        try:
            return self.most_matched(input_len)
        finally:
            self.return_logprob = False

    def is_dllm(self):
        return False

    def needs_host_load_back(self):
        return False

    def materialized_host_hit_len(self):
        return 0

    def fulfilled_storage_hit_len(self, prefix_len):
        return 0

    def update_finish_state(self, new_accepted_len=1):
        """Stop tokens, then the length (`_check_token_based_finish`, `update_finish_state`)."""
        if self.output_ids[-1] == self.stop and not self.sampling_params.ignore_eos:
            self.finished_reason, self.finished_len = "stop", len(self.output_ids)
        elif len(self.output_ids) >= self.sampling_params.max_new_tokens:
            self.finished_reason, self.finished_len = "length", self.sampling_params.max_new_tokens


class FakeKv:
    """As ReqKvInfo: what a request holds."""

    def __init__(self):
        self.req_pool_idx = self.mamba_pool_idx = None
        self.cache_protected_len = self.cache_inserted_len = self.swa_evict_floor = 0
        self.kv_committed_len = self.kv_allocated_len = 0

    @property
    def holds_kv(self):
        return self.req_pool_idx is not None

    holds_mamba = False

    @property
    def is_kv_released(self):
        return self.kv_allocated_len == 0

    def get_evicted_seqlen(self, component):
        return 0

    def swa_dead_lo(self, page_size):
        return self.cache_protected_len

    def mark_kv_released(self):
        self.kv_allocated_len = 0


class FakePages(Pages):
    """Free places, asked for as SGLang's own allocators are."""

    size = 0

    def available_size(self):
        return self.free_tokens

    def mamba_full_cache_donor(self):
        return None

    def free_group_begin(self):
        """Nothing is held back."""

    free_group_end = free_group_begin

    def alloc(self, num_tokens, *_):
        return True if num_tokens <= self.free_tokens else None

    def alloc_extend(self, prefix_lens, prefix_cpu, seq_lens, *_, **__):
        page = self.page_size
        new = sum(-(-int(n) // page) - -(-int(p) // page) for p, n in zip(prefix_cpu, seq_lens))  # noqa: B905
        return self.alloc(new * page)

    def alloc_decode(self, seq_lens, *_, **__):
        new = sum(int(n) % self.page_size == 1 or self.page_size == 1 for n in seq_lens)
        return self.alloc(new * self.page_size)


class FakeRows:
    """The table of requests."""

    def __init__(self, count, table):
        self.rows, self.req_to_token = list(range(count)), table

    def available_size(self):
        return len(self.rows)

    def free(self, req):
        self.rows.append(req.kv.req_pool_idx)
        req.kv.req_pool_idx = None

    def write(self, where, values):
        row, part = where
        self.req_to_token[row, part] = values


class FakeBatch:
    """The requests of a step; tensors are nothing."""

    multimodal_inputs = spec_info = hisparse_coordinator = decoding_reqs = None
    return_logprob = return_hidden_states = is_prefill_only = has_grammar = False
    return_hidden_states_mode = NOTHING
    req_pool_indices = req_pool_indices_cpu = seq_lens = orig_seq_lens = seq_lens_cpu = MagicMock()
    sampling_info, input_ids, mamba_track_mask_cpu, forward_iter = NOTHING, None, None, 0
    model_config, device = SimpleNamespace(is_encoder_decoder=False), "cpu"
    spec_algorithm = SimpleNamespace(is_none=lambda: True)

    def __init__(self, reqs, batch_is_full=False):
        self.reqs, self.batch_is_full = reqs, batch_is_full

    @classmethod
    def init_new(cls, reqs, rows, pages, tree, *_, chunked_req=None, **__):
        made = cls(list(reqs))
        made.req_to_token_pool, made.token_to_kv_pool_allocator, made.tree_cache = rows, pages, tree
        made.chunked_req = chunked_req
        return made

    def prepare_for_extend(self):
        """`prepare_for_extend` and `alloc_for_extend`: rows, the hit, then places for the rest."""
        self.forward_mode = Mode(True)
        pages, rows, tree = self.token_to_kv_pool_allocator, self.req_to_token_pool, self.tree_cache
        for req in self.reqs:
            if not req.kv.holds_kv:
                req.kv.req_pool_idx = rows.rows.pop()
                hit = tree.path_device_indices(req.last_node)[: req.prefix_len]
                rows.req_to_token[req.kv.req_pool_idx, : req.prefix_len] = hit
        starts = tensor([req.prefix_len for req in self.reqs])
        ends = tensor([req.extend_end for req in self.reqs])
        count = int((ends - starts).sum())
        if pages.page_size == 1:
            self.functions.alloc_token_slots(tree, count)
        else:
            self.functions.alloc_paged_token_slots_extend(
                tree, starts, starts, ends, ends, None, count
            )
        for req in self.reqs:
            row = rows.req_to_token[req.kv.req_pool_idx]
            pages.take(row, req.prefix_len, req.extend_end, req)
            req.kv.kv_allocated_len = req.kv.kv_committed_len = req.extend_end
            if not req.retracted_stain:
                req.cached_tokens += req.prefix_len - req.already_computed
                req.already_computed = req.extend_end
            req.is_retracted = False

    def prepare_for_decode(self):
        """`alloc_for_decode`: a place for one token of each."""
        self.forward_mode = Mode(False)
        pages, rows = self.token_to_kv_pool_allocator, self.req_to_token_pool
        ends = tensor([req.kv.kv_committed_len + 1 for req in self.reqs])
        if pages.page_size == 1:
            self.functions.alloc_token_slots(self.tree_cache, len(self.reqs))
        else:
            self.functions.alloc_paged_token_slots_decode(self.tree_cache, ends, ends, None)
        for req in self.reqs:
            at = req.kv.kv_committed_len
            pages.take(rows.req_to_token[req.kv.req_pool_idx], at, at + 1, req)
            req.kv.kv_allocated_len = req.kv.kv_committed_len = at + 1


class Mode:
    def __init__(self, is_prefill):
        self.is_prefill = is_prefill

    def is_extend(self):
        return self.is_prefill


class FakeScheduler:
    """The scheduler's own state; whatever other features it has is off."""

    chunked_req = last_batch = dllm_config = min_free_slots_delayer = dynamic_chunk_sizer = None
    truncation_align_size = decode_offload_manager = draft_worker = None
    is_generation, processed_tokens_counter, forward_ct, max_prefill_bs = True, 0, 1, 0
    disaggregation_mode, spec_algorithm = "null", SimpleNamespace(is_none=lambda: True)
    model_config = tp_worker = NOTHING

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return NOTHING

    def _add_request_to_queue(self, req, is_retracted=False):
        self.waiting_queue.append(req)

    def _pp_microbatches_drained(self):
        return True  # there is one rank

    def _mamba_can_cache_finished_req(self, *_):
        return True  # there are no states

    def _normalize_decode_outputs(self, next_token_ids, **_):
        return [[token] for token in next_token_ids], None
