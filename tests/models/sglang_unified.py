"""A worker around SGLang's own UnifiedRadixCache (0.5.23) with its Python tree core and, with a
host pool, its HiCache logic over a controller that only counts."""

from types import SimpleNamespace
from unittest.mock import MagicMock

from models.sglang_oracle import REAL, Counter, Sglang, key_of, tensor
from models.sglang_real import RealCache, _path, _shape

CACHE = "sglang.srt.mem_cache"
UNIFIED = REAL | {
    f"{CACHE}.buffer_mode",
    f"{CACHE}.buffer_mode.storage_existence_cache",
    f"{CACHE}.hicache_storage",
    f"{CACHE}.storage_prefetch",
    f"{CACHE}.unified_cache",
    f"{CACHE}.unified_cache.cache_action",
    f"{CACHE}.unified_cache.components",
    f"{CACHE}.unified_cache.components.base",
    f"{CACHE}.unified_cache.components.full",
    f"{CACHE}.unified_cache.components.mamba",
    f"{CACHE}.unified_cache.components.swa",
    f"{CACHE}.unified_cache.session_ref_tracker",
    f"{CACHE}.unified_cache.unified_tree_core",
    f"{CACHE}.unified_cache.unified_tree_core_interface",
    f"{CACHE}.unified_radix_cache",
}


def same_function(function=None, **_):
    """In the place of a decorator that compares ranks."""
    return function if function is not None else lambda f: f


class NoSession:
    """In the place of streaming sessions: there are none."""

    def __init__(self, cache):
        self.slots = {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


class Unset:
    """Environment: nothing is set."""

    def __getattr__(self, name):
        return SimpleNamespace(get=lambda: False)


def load(source):
    """Its modules, with stand-ins for sessions, ranks and the choice of the tree core."""
    sglang = Sglang(source, UNIFIED, _before)
    import sglang.srt.mem_cache.unified_radix_cache as unified

    unified.time = Counter()
    sglang.unified = unified
    return sglang


def _before():
    import sglang.srt.environ as environ
    import sglang.srt.mem_cache.allocator.page_interleave as interleave
    import sglang.srt.mem_cache.unified_cache.tree_core_registry as registry
    import sglang.srt.session.streaming_session as sessions
    import sglang.srt.utils.rank_consensus_checker as ranks

    environ.envs = Unset()
    interleave.page_interleave_shard_size = lambda _: 1
    sessions.StreamingSession, sessions.is_virtual_node = NoSession, lambda _: False
    ranks.rank_consensus = same_function
    registry.select_tree_core_backend = lambda _: "python"

    def create(name, params, components):
        from sglang.srt.mem_cache.unified_cache.unified_tree_core import UnifiedTreeCore

        return UnifiedTreeCore(params, components)

    registry.create_tree_core = create


class Host:
    """The host's pool, and the copies to and from it: only counted."""

    write_policy = "write_through"
    enable_storage = False

    def __init__(self, size, pages, make):
        self.size, self.pages, self.used, self.make = size, pages, 0, make
        self.copied = []
        entry = SimpleNamespace(
            host_pool=SimpleNamespace(shared_allocation_domain=None), host_evict_fn=None
        )
        self.mem_pool_host = SimpleNamespace(
            available_size=lambda: self.size - self.used, anchor_entry=entry, clear=lambda: None
        )

    def write(self, device_value, **_):
        if self.used + len(device_value) > self.size:
            return None
        self.used += len(device_value)
        first = len(self.copied)
        self.copied += [self.pages.written[int(place)] for place in device_value]
        return self.make(range(first, len(self.copied)))

    def free(self, host_value, pool=None):
        self.used -= len(host_value)

    def load(self, host_indices, **_):
        if len(host_indices) > self.pages.free_tokens:
            return None
        row = self.make([0] * len(host_indices))
        self.pages.take(row, 0, len(row))
        for place, copy in zip(row, host_indices, strict=True):
            self.pages.written[int(place)] = self.copied[int(copy)]
        return row


class UnifiedReal(RealCache):
    """See RealCache."""

    new = True
    in_kv = True
    tensor = staticmethod(tensor)

    def __init__(self, sglang, settings):
        self.unified = sglang.unified
        super().__init__(sglang, settings)

    def _build(self, params, settings):
        from sglang.srt.mem_cache.unified_cache.component_type import ComponentType

        params.__dict__.update(
            tree_components=(ComponentType.FULL,),
            enable_session_radix_cache=False,
            component_registry_override=None,
            enable_mamba_extra_buffer=False,
            swa_retain_window=None,
            decoder_swa_bounded_replay=False,
            draft_swa_window=0,
            tree_core_backend=None,
            tp_cache_group=None,
            attn_cp_cache_group=None,
            attn_tp_cache_group=None,
            pp_cache_group=None,
            pp_rank=0,
            pp_size=1,
            eviction_policy_config=None,
        )
        self.pages.available_size = lambda: self.pages.free_tokens - self.reserved
        self.pages.mamba_full_cache_donor = lambda: None
        cache = self.unified.UnifiedRadixCache(params)
        cache.metrics_collector = None
        cache.update_eviction_metrics = lambda *_: None
        self.core, self.host = cache.tree_core, None
        if settings.host_tokens:
            self.host = Host(settings.host_tokens, self.pages, self.tensor)
            cache.cache_controller, cache.host_pool_group = self.host, self.host
            cache.load_back_threshold = settings.load_back_tokens
            self._enable_host()
            self.core.write_through_threshold = settings.write_through_hits
            cache._components_tuple[0]._full_kv_pool_host = MagicMock()
        return cache

    def _enable_host(self):
        self.core.enable_hicache = True

    def new_step(self):
        """Copies to and from the host are done."""
        self.settle()
        for number in list(self.cache.ongoing_write_through):
            self.cache._finish_write_through_ack(number)
        for number in list(self.cache.ongoing_load_back):
            node, lock, host_lock = self.cache.ongoing_load_back.pop(number)
            self.cache.dec_lock_ref(node, lock)
            self.cache.dec_host_lock_ref(node, host_lock)
            self.core.finish_load_back(node)

    def admit(self, request, num_new):
        req = self.requests.get(request.number)
        if req is None:
            req = self._make(request)
        total = len(req.origin_input_ids) + len(req.output_ids)
        most = total - 1 if request.reads_cache else 0
        ids = (list(req.origin_input_ids) + list(req.output_ids))[:most]
        params = self.base.MatchPrefixParams(key=key_of(self.radix, ids, request.context))
        found = self.cache.match_prefix(params)
        node, hit = found.last_device_node, found.device_prefix_len
        if found.host_hit_length:
            req.last_node, req.swa_host_hit_length, req.mamba_host_hit_length = node, 0, 0
            asked = self.base.InitLoadBackParams(
                best_match_node=found.best_match_node,
                host_hit_length=found.host_hit_length,
                req=req,
            )
            loaded, node = self.cache.init_load_back(asked)
            hit += loaded
        new = total - hit if num_new is None else num_new
        lock = self.cache.lock(node)
        if not self._reserve(hit, new):
            self.cache.unlock(lock)
            return None
        self.requests[request.number] = req
        req.last_node, req.lock = node, lock
        req.kv.cache_protected_len, req.kv.cache_inserted_len = hit, 0
        self.table[req.row, :hit] = self.cache.path_device_indices(node)
        req.computed, req.prefill = hit + new, total
        self.pending.append((req, hit, hit + new))
        return hit

    def _make(self, request):
        req = super()._make(request)
        req.session_id = req.kv_rotation_base = req.kv.mamba_pool_idx = None
        req.finished = lambda: False  # matters to state layers only
        return req

    def _checkpoint(self, req):
        req.full_untruncated_fill_ids = req.origin_input_ids + req.output_ids
        self.cache.checkpoint(req, up_to=req.computed)

    def _give_back(self, req):
        row = self.table[req.row, req.kv.cache_protected_len : req.computed]
        if len(row):
            self.pages.free_segment(row)
        self.cache.unlock(req.lock)
        req.lock = req.last_node = None

    def _evict(self, missing):
        self.cache.evict_for_alloc(self.base.EvictParams(num_tokens=missing))

    def tree(self):
        return _shape(self.core.root_node, _tokens, _locks)

    def order(self):
        return self._ranked(self.core.evictable_device_leaves)

    def host_order(self):
        return self._ranked(self.core.evictable_host_leaves)

    def _ranked(self, leaves):
        ranked = sorted(leaves, key=lambda n: (self.core.eviction_strategy.get_priority(n), n))
        return [_path(node, _tokens) for node in ranked]


def _tokens(node):
    return list(node.key.token_ids)


def _locks(node):
    full = node.component_data[0]
    return full.lock_ref, full.host_lock_ref, full.value is not None, full.host_value is not None
