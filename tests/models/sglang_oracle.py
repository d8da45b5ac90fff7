"""SGLang's own radix caches, without torch and without a GPU.

The tree (`sglang/srt/mem_cache/radix_cache.py`) is plain Python over tensors of indices. It is
imported from an unpacked wheel, with numpy in the place of torch and stand-ins for everything else
that it names. Time is a counter, so that two accesses never fall into one tick of a clock.
"""

import importlib.machinery
import importlib.util
import os
import sys
import types
from array import array
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np

REAL = {
    "sglang.srt.disaggregation.kv_events",
    "sglang.srt.mem_cache.base_prefix_cache",
    "sglang.srt.mem_cache.cache_init_params",
    "sglang.srt.mem_cache.cpp_utils.native_hash",
    "sglang.srt.mem_cache.events",
    "sglang.srt.mem_cache.evict_policy",
    "sglang.srt.mem_cache.radix_cache",
    "sglang.srt.mem_cache.unified_cache.component_type",
    "sglang.srt.mem_cache.utils",
}
STAND_INS = ("sglang", "triton", "sgl_kernel", "torch")


class Tensor(np.ndarray):
    """As much of torch's tensor as the cache uses."""

    def clone(self):
        return self.copy()

    def to(self, dtype=None, copy=False, **_):
        return self.copy()

    def numel(self):
        return self.size


def tensor(values, dtype=None, **_):
    return np.array(values, dtype=np.int64).view(Tensor)


class _StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class _Finder:
    def __init__(self, source, real, stand_ins):
        self.source, self.real, self.stand_ins = source, real, stand_ins

    def find_spec(self, name, path, target=None):
        if name in self.real:
            place = os.path.join(self.source, *name.split("."))
            if os.path.exists(f"{place}.py"):
                return importlib.util.spec_from_file_location(name, f"{place}.py")
            return importlib.util.spec_from_file_location(
                name, f"{place}/__init__.py", submodule_search_locations=[place]
            )
        if name.split(".")[0] in self.stand_ins:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = _StandIn(spec.name)
        module.__path__ = []
        if spec.name == "torch":
            module.Tensor, module.tensor, module.int64, module.bool = (
                Tensor,
                tensor,
                "int64",
                "bool",
            )
            module.empty = lambda shape, **_: np.empty(shape, dtype=np.int64).view(Tensor)
            module.cat = lambda parts: np.concatenate(parts).view(Tensor)
            module.device = type("device", (str,), {})
            module.iinfo = lambda _: SimpleNamespace(max=(1 << 63) - 1)
        return module

    def exec_module(self, module):
        pass


class Counter:
    """A clock of which no two readings are equal."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 1
        return self.now

    perf_counter = monotonic


class Sglang:
    """The modules of one unpacked wheel."""

    def __init__(self, source, real=REAL, before=lambda: None, stand_ins=STAND_INS):
        if not os.path.isdir(os.path.join(source, "sglang", "srt", "mem_cache")):
            raise FileNotFoundError(f"{source} holds no unpacked sglang wheel")
        sys.meta_path.insert(0, _Finder(source, real, stand_ins))
        import sglang.srt.utils.common as common

        common.ceil_align = lambda x, a: -(-x // a) * a
        before()
        import sglang.srt.mem_cache.base_prefix_cache as base
        import sglang.srt.mem_cache.radix_cache as radix

        radix.time = Counter()
        self.base, self.radix = base, radix


class Pages:
    """Which places of the device are free, by page; who has written to which place."""

    device = "cpu"

    def __init__(self, num_pages, page_size):
        self.page_size = page_size
        self.free_pages = list(range(num_pages))
        self.written = {}

    @property
    def free_tokens(self):
        return len(self.free_pages) * self.page_size

    def free_segment(self, indices, start_pos=0):
        pages = dict.fromkeys(int(i) // self.page_size for i in indices)
        assert not set(pages) & set(self.free_pages), "freed twice"
        self.free_pages += pages

    free = free_segment

    def free_segments(self, segments):
        # Segments of one row may share a page.
        joined = np.concatenate([indices for indices, _ in segments])
        self.free_segment(joined)

    def take(self, row, start, end, req=None):
        """Places for the tokens [start, end) of a request's row whose last page may have room."""
        for at in range(start, end):
            if at % self.page_size == 0:
                row[at] = self.free_pages.pop() * self.page_size
            else:
                row[at] = row[at - 1] + 1
            self.written[int(row[at])] = req, at


def key_of(radix, tokens, context):
    return radix.RadixKey(array("q", tokens), context)
