"""A small random Llama as a GGUF file (version 3), written by hand: no package, no download.

Its vocabulary is the 256 bytes, as GPT-2 spells them; 4 layers whose KV takes 4 KiB a token in
half precision, so that a few hundred tokens fill a cache of a MiB. What it writes means nothing.
"""

import struct
from pathlib import Path

import numpy as np

WIDTH, LAYERS, HEADS, INNER = 256, 4, 4, 64
KV_BYTES_PER_TOKEN = LAYERS * 2 * WIDTH * 2
ALIGNMENT = 32
UINT32, FLOAT32, BOOL, STRING, ARRAY, INT32 = 4, 6, 7, 8, 9, 5


def byte_words():
    """The 256 bytes as GPT-2's tokenizer spells them: printable ones as they are."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    words, extra = {}, 256
    for byte in range(256):
        if byte in plain:
            words[byte] = chr(byte)
        else:
            words[byte], extra = chr(extra), extra + 1
    return [words[byte] for byte in range(256)]


def _string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(kind, value):
    if kind == STRING:
        return _string(value)
    return struct.pack({UINT32: "<I", FLOAT32: "<f", BOOL: "<?", INT32: "<i"}[kind], value)


def _entry(key, kind, value):
    return _string(key) + struct.pack("<I", kind) + _value(kind, value)


def _list(key, kind, values):
    head = _string(key) + struct.pack("<IIQ", ARRAY, kind, len(values))
    return head + b"".join(_value(kind, value) for value in values)


def _entries():
    words = byte_words()
    end = len(words)
    numbers = {
        "context_length": 65536,
        "embedding_length": WIDTH,
        "block_count": LAYERS,
        "feed_forward_length": INNER,
        "attention.head_count": HEADS,
        "attention.head_count_kv": HEADS,
        "rope.dimension_count": WIDTH // HEADS,
        "vocab_size": end + 1,
    }
    return [
        _entry("general.architecture", STRING, "llama"),
        *(_entry(f"llama.{name}", UINT32, number) for name, number in numbers.items()),
        _entry("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
        _entry("tokenizer.ggml.model", STRING, "gpt2"),
        _entry("tokenizer.ggml.pre", STRING, "gpt-2"),
        _list("tokenizer.ggml.tokens", STRING, [*words, "<end>"]),
        _list("tokenizer.ggml.token_type", INT32, [1] * end + [3]),
        _list("tokenizer.ggml.merges", STRING, ["a b"]),
        _entry("tokenizer.ggml.eos_token_id", UINT32, end),
        _entry("tokenizer.ggml.add_bos_token", BOOL, False),
    ]


def _tensors():
    rng = np.random.default_rng(1)

    def weights(rows, columns):
        return (rng.standard_normal((rows, columns)) * columns**-0.5).astype("<f4")

    ones = np.ones(WIDTH, dtype="<f4")
    vocabulary = len(byte_words()) + 1
    yield "token_embd.weight", weights(vocabulary, WIDTH)
    for i in range(LAYERS):
        yield f"blk.{i}.attn_norm.weight", ones
        for part in ("q", "k", "v", "output"):
            yield f"blk.{i}.attn_{part}.weight", weights(WIDTH, WIDTH)
        yield f"blk.{i}.ffn_norm.weight", ones
        yield f"blk.{i}.ffn_gate.weight", weights(INNER, WIDTH)
        yield f"blk.{i}.ffn_up.weight", weights(INNER, WIDTH)
        yield f"blk.{i}.ffn_down.weight", weights(WIDTH, INNER)
    yield "output_norm.weight", ones
    head = weights(vocabulary, WIDTH)
    head[[token for token in range(vocabulary) if not 32 <= token < 127]] = 0  # replies are text
    yield "output.weight", head


def write_tiny_gguf(path):
    """The file, 5 MB."""
    entries, tensors = _entries(), list(_tensors())
    infos, data = b"", b""
    for name, tensor in tensors:
        infos += _string(name) + struct.pack("<I", tensor.ndim)
        infos += struct.pack(f"<{tensor.ndim}Q", *tensor.shape[::-1])
        infos += struct.pack("<IQ", 0, len(data))
        data += tensor.tobytes() + bytes(-tensor.nbytes % ALIGNMENT)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries) + infos
    Path(path).write_bytes(head + bytes(-len(head) % ALIGNMENT) + data)
