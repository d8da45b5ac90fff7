"""A worker around SGLang's UnifiedRadixCache with its tree core in Rust, as production runs it.

The compiled core of the 0.5.23 wheel needs torch (2.13 and 2.14 have what it uses) and no GPU. It
shows no nodes, but which places of the device it holds, each with its position and the place before
it: with the tokens that were written there, that is the whole tree.
"""

import importlib.util
import sys
from pathlib import Path

import torch

from models.sglang_oracle import Counter, Sglang
from models.sglang_real import LONGEST
from models.sglang_unified import CACHE, UNIFIED, UnifiedReal
from models.sglang_unified import _before as unified_before

CORE = f"{CACHE}.rust_tree_core"


PARTS = {CORE, f"{CORE}.adapter"}
STAND_INS = ("sglang", "triton", "sgl_kernel")


def load(source):
    """The wheel's modules over real torch."""
    sglang = Sglang(source, UNIFIED | PARTS, lambda: _before(source), STAND_INS)
    import sglang.srt.mem_cache.unified_radix_cache as unified

    unified.time = Counter()
    sglang.unified = unified
    return sglang


def _before(source):
    unified_before()
    compiled(source)


def compiled(source):
    """The compiled core in the place of the one in Python."""
    import sglang.srt.mem_cache.rust_tree_core.extension as extension
    import sglang.srt.mem_cache.unified_cache.tree_core_registry as registry
    import sglang.srt.utils as utils

    (path,) = Path(source, *CORE.split(".")).glob("mem_cache.*.so")
    spec = importlib.util.spec_from_file_location(f"{CORE}.mem_cache", path)
    extension.bindings = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = extension.bindings
    spec.loader.exec_module(extension.bindings)
    utils.assert_int64_array = lambda *_: None
    registry.select_tree_core_backend = lambda _: "rust"

    def create(name, params, components):
        from sglang.srt.mem_cache.rust_tree_core.adapter import RustUnifiedTreeCore

        return RustUnifiedTreeCore(params)

    registry.create_tree_core = create


class RustReal(UnifiedReal):
    """See RealCache; `paths` instead of `tree` and `order`."""

    tensor = staticmethod(lambda values: torch.tensor(list(values), dtype=torch.int64))

    def _build(self, params, settings):
        params.swa_gates_prefix_match, params.sliding_window_size = True, None
        return super()._build(params, settings)

    def _enable_host(self):
        self.core.set_hicache_enabled()

    def _empty_table(self):
        return torch.full((512, LONGEST), -1, dtype=torch.int64)

    def paths(self, unlocked):
        """The tokens from the root to each token that the tree holds (that nobody locks)."""
        held = self.core.walk_for_kv_canary(False, False)
        rows = zip(
            held.slot_indices.tolist(),
            held.positions.tolist(),
            held.prev_slot_indices.tolist(),
            strict=True,
        )
        found = {}
        for place, position, before in sorted(rows, key=lambda row: row[1]):
            req, at = self.pages.written[place]
            token = (req.origin_input_ids + req.output_ids)[at]
            found[place] = (*(found[before] if position else ()), token)
        if unlocked:
            free = self.core.walk_for_kv_canary(True, False).slot_indices.tolist()
            return sorted(found[place] for place in free)
        return sorted(found.values())
