"""Want of memory is the engine's own error, of one line, that names what to ask less of."""

import pytest
import torch
from engine_support import small_engine

from hitpath.core import SettingError
from hitpath.engine import model
from hitpath.engine.load import tiny_engine
from hitpath.engine.memory import allocating
from hitpath.engine.settings import EngineSettings


@pytest.mark.parametrize(
    ("settings", "option", "said"),
    [
        (
            {"kv_cache_bytes": 1 << 41},
            "kv_cache_bytes",
            "tiny: KV of .* tokens cannot be allocated",
        ),
        ({"num_blocks": 1 << 28}, "num_blocks", "tiny: KV of 4,294,967,296 tokens cannot"),
        ({"kv_cache_bytes": 1 << 42, "int8_shared": True}, "kv_cache_bytes", "tiny: KV of"),
        ({"kv_cache_bytes": 1 << 90}, "kv_cache_bytes", "blocks are more than 268,435,456"),
        ({"num_blocks": 1 << 60}, "num_blocks", "blocks are more than 268,435,456"),
    ],
    ids=str,
)
def test_a_kv_cache_that_no_machine_holds(settings, option, said):
    with pytest.raises(SettingError, match=said) as caught:
        tiny_engine(EngineSettings(**settings))
    assert caught.value.option == option
    assert "\n" not in str(caught.value)


def test_weights_that_no_machine_holds(monkeypatch):
    def refused(*args):
        return torch.empty(1 << 45)

    monkeypatch.setattr(model, "fuse", refused)
    with pytest.raises(SettingError, match=r"^tiny: weights as torch\.float32 cannot be allocated"):
        small_engine()


def test_every_kind_of_refusal():
    for error in (MemoryError(), torch.OutOfMemoryError("CUDA out of memory")):
        with pytest.raises(SettingError, match=r"^num_blocks: KV"), allocating("num_blocks", "KV"):
            raise error


def test_another_fault_stays_what_it_is():
    with pytest.raises(RuntimeError, match="size"), allocating("num_blocks", "KV"):
        torch.ones(2) @ torch.ones(3)
