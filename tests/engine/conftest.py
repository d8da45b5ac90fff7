"""The engine's tests need its extra (torch, safetensors) and transformers, their reference; those
marked `gpu` run where torch sees a CUDA device."""

from importlib.util import find_spec

import pytest

NEEDED = ("torch", "safetensors", "transformers")
collect_ignore_glob = [] if all(map(find_spec, NEEDED)) else ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a CUDA device; left out where there is none")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if not on_gpu:
        return
    import torch

    if not torch.cuda.is_available():
        items[:] = [item for item in items if item not in on_gpu]
        config.hook.pytest_deselected(items=on_gpu)
