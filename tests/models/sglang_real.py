"""A worker around SGLang's own RadixCache, driven as its scheduler drives it."""

import inspect
from array import array
from types import SimpleNamespace

import numpy as np

from models.sglang_oracle import Pages, Tensor, key_of

LONGEST = 4096


class RealCache:
    """Requests by number. `new` releases (0.5.23) publish by `checkpoint`, older ones by
    `cache_unfinished_req` and `cache_finished_req`."""

    def __init__(self, sglang, settings):
        self.base, self.radix = sglang.base, sglang.radix
        self.page = settings.page_size
        self.pages = Pages(settings.capacity_tokens // self.page, self.page)
        self.table = self._empty_table()
        pool = SimpleNamespace(req_to_token=self.table, write=self._write)
        extra = {"eviction_policy_config": None} if self._has("eviction_policy_config") else {}
        params = SimpleNamespace(
            disable=False,
            req_to_token_pool=pool,
            token_to_kv_pool_allocator=self.pages,
            page_size=self.page,
            is_eagle=False,
            eviction_policy=settings.policy,
            enable_kv_cache_events=False,
            dynamo_kv_event_format=False,
            kv_event_lora_names=None,
            enable_metrics=False,
            disable_finished_insert=False,
            **extra,
        )
        self.requests = {}
        self.wanted = self.reserved = 0
        self.pending = []
        self.cache = self._build(params, settings)

    def _empty_table(self):
        return np.full((512, LONGEST), -1, dtype=np.int64).view(Tensor)

    def _build(self, params, settings):
        cache = self.radix.RadixCache(params)
        cache.update_eviction_metrics = lambda *_: None
        self.new = hasattr(cache, "checkpoint")
        self.in_kv = "req.kv.cache_protected_len" in inspect.getsource(self.radix)
        return cache

    def new_step(self):
        self.settle()

    def _has(self, name):
        return name in inspect.getsource(self.radix.RadixCache.__init__)

    def _write(self, where, values):
        row, part = where
        self.table[row, part] = values

    # ---- as the scheduler would

    def admit(self, request, num_new):
        req = self.requests.get(request.number)
        if req is None:
            req = self._make(request)
        most = len(req.origin_input_ids) + len(req.output_ids) - 1 if request.reads_cache else 0
        ids = (list(req.origin_input_ids) + list(req.output_ids))[:most]
        params = self.base.MatchPrefixParams(key=key_of(self.radix, ids, request.context))
        found = self.cache.match_prefix(params)
        indices = self._indices(found)
        hit = len(indices)
        new = len(req.origin_input_ids) + len(req.output_ids) - hit if num_new is None else num_new
        self.cache.inc_lock_ref(found.last_device_node)
        if not self._reserve(hit, new):
            self.cache.dec_lock_ref(found.last_device_node)
            return None
        self.requests[request.number] = req
        req.last_node, req.kv.cache_protected_len, req.cache_protected_len = (
            found.last_device_node,
            hit,
            hit,
        )
        req.kv.cache_inserted_len = 0
        req.lock = found.last_device_node
        self.table[req.row, :hit] = indices
        req.computed, req.prefill = hit + new, len(req.origin_input_ids) + len(req.output_ids)
        self.pending.append((req, hit, hit + new))
        return hit

    def _indices(self, found):
        if hasattr(found, "device_indices") and found.device_indices is not None:
            return found.device_indices
        return self.cache.path_device_indices(found.last_device_node)

    def _make(self, request):
        row = next(i for i in range(len(self.table)) if i not in {r.row for r in self._live()})
        req = SimpleNamespace(
            row=row,
            req_pool_idx=row,
            origin_input_ids=array("q", request.tokens),
            output_ids=array("q"),
            extra_key=request.context,
            cache_salt=None,
            priority=request.priority,
            prefix_indices=None,
            last_node=None,
            lock=None,
            kv=SimpleNamespace(
                req_pool_idx=row, cache_inserted_len=0, cache_protected_len=0, swa_evict_floor=0
            ),
            cache_protected_len=0,
            computed=0,
            prefill=0,
        )
        req.get_fill_ids = lambda: (req.origin_input_ids + req.output_ids)[: req.computed]
        req.pop_committed_kv_cache = lambda: req.computed
        return req

    def _live(self):
        return self.requests.values()

    def extend(self, number, num_new):
        req = self.requests[number]
        if not self._reserve(req.computed, num_new, decodes=req.computed >= req.prefill):
            return False
        self.pending.append((req, req.computed, req.computed + num_new))
        req.computed += num_new
        return True

    def _reserve(self, computed, num_new, decodes=False):
        pages = -(-(computed + num_new) // self.page) - -(-computed // self.page)
        left = self.pages.free_tokens - self.reserved + self.cache.evictable_size()
        if pages * self.page > left:
            return False
        self.reserved += pages * self.page
        if self.page > 1:
            self.wanted += self.page if decodes else num_new + self.page
        else:
            self.wanted += num_new
        return True

    def settle(self):
        """The batch begins: make room for all of it, then take it."""
        missing = self.wanted - self.pages.free_tokens
        if missing > 0:
            self._evict(missing)
        for req, start, end in self.pending:
            self.pages.take(self.table[req.row], start, end, req)
        self.pending, self.wanted, self.reserved = [], 0, 0

    def _evict(self, missing):
        self.cache.evict(self.base.EvictParams(num_tokens=missing))

    def processed(self, number):
        self.settle()
        req = self.requests[number]
        if req.computed > req.prefill or req.computed <= self._protected(req):
            return
        if self.new:
            self._checkpoint(req)
        else:
            req.fill_ids = req.get_fill_ids()  # 0.5.12
            self.cache.cache_unfinished_req(req, chunked=req.computed < req.prefill)

    def _protected(self, req):
        return req.kv.cache_protected_len if self.in_kv else req.cache_protected_len

    def _checkpoint(self, req):
        req.full_untruncated_fill_ids = req.origin_input_ids + req.output_ids
        self.cache.lock = lambda node: (self.cache.inc_lock_ref(node), node)[1]
        self.cache.unlock = self.cache.dec_lock_ref
        self.cache.checkpoint(req, up_to=req.computed)

    def generate(self, number, tokens):
        self.requests[number].output_ids.extend(tokens)

    def finish(self, number):
        self.settle()
        req = self.requests.pop(number)
        if self.new:
            self._checkpoint(req)
            self._give_back(req)
        else:
            known = inspect.signature(self.cache.cache_finished_req).parameters
            extra = {"kv_len_to_handle": req.computed} if "kv_len_to_handle" in known else {}
            self.cache.cache_finished_req(req, **extra)

    def preempt(self, number):
        self.settle()
        self._give_back(self.requests[number])

    def _give_back(self, req):
        row = self.table[req.row, self._protected(req) : req.computed]
        if len(row):
            self.pages.free_segment(row)
        self.cache.dec_lock_ref(req.last_node)
        req.lock = req.last_node = None

    # ---- what it holds

    def tree(self):
        """The tree as (tokens, locks, hits, priority, children) with children in a fixed order."""
        return _shape(self.cache.root_node, lambda n: list(n.key.token_ids), lambda n: n.lock_ref)

    def order(self):
        """The nodes that could be evicted, as their paths, the first to go first."""
        leaves = self.cache.evictable_leaves
        ranked = sorted(leaves, key=lambda n: (self.cache.eviction_strategy.get_priority(n), n))
        return [_path(node, lambda n: list(n.key.token_ids)) for node in ranked]

    def host_order(self):
        return []


def _shape(node, tokens_of, locks_of):
    parts = []
    for child in node.children.values():
        own = (tokens_of(child), locks_of(child), child.hit_count, child.priority)
        parts.append((own, _shape(child, tokens_of, locks_of)))
    return sorted(parts, key=repr)


def _path(node, tokens_of):
    path = []
    while node.parent is not None:
        path[:0] = tokens_of(node)
        node = node.parent
    return path
