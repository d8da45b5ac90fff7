"""The keyed hashes that stand for content: names (BLAKE2b, RFC 7693) and tokens (SipHash-2-4).

A token becomes 32 bits of a keyed hash of the whole prompt up to it:

    state_i = SipHash-2-4(key, state_(i-1), token_i),  state_(-1) = 0;  written: its low 32 bits

so that equal prompts have equal tokens exactly as far as they are equal, in this file and in any
other under the same key, and a token by itself says nothing of the text. SipHash (Aumasson and
Bernstein, 2012) is a pseudo-random function: without the key nobody can try out texts.

Odds: two prompts that part at one place look alike for one token more with odds of 2**-32; of n
names of 64 bits two are equal with odds of about n**2 / 2**65 (3e-8 for a million names).
"""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hitpath._jit import kernel

_NAME_BYTES = 8
_STATE_BYTES = 16

_13, _16, _17, _21, _32, _64 = (np.uint64(n) for n in (13, 16, 17, 21, 32, 64))
_LOW = np.uint64((1 << 32) - 1)
_ENDS = np.uint64(0xFF)
_LENGTH = np.uint64(16 << 56)  # two words of message, in the last word's high byte
_V0 = np.uint64(0x736F6D6570736575)  # "somepseudorandomlygeneratedbytes"
_V1 = np.uint64(0x646F72616E646F6D)
_V2 = np.uint64(0x6C7967656E657261)
_V3 = np.uint64(0x7465646279746573)


@kernel
def _turned(word: np.uint64, bits: np.uint64) -> np.uint64:
    return (word << bits) | (word >> (_64 - bits))


@kernel
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0 += v1
    v2 += v3
    v1 = _turned(v1, _13) ^ v0
    v3 = _turned(v3, _16) ^ v2
    v0 = _turned(v0, _32)
    v2 += v1
    v0 += v3
    v1 = _turned(v1, _17) ^ v2
    v3 = _turned(v3, _21) ^ v0
    v2 = _turned(v2, _32)
    return v0, v1, v2, v3


@kernel
def siphash(k0: np.uint64, k1: np.uint64, first: np.uint64, second: np.uint64) -> np.uint64:
    """SipHash-2-4 of a message of two words."""
    v0, v1, v2, v3 = k0 ^ _V0, k1 ^ _V1, k0 ^ _V2, k1 ^ _V3
    for word in (first, second, _LENGTH):
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= _ENDS
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@kernel
def _fill(
    k0: np.uint64, k1: np.uint64, symbols: NDArray[np.uint32], hashed: NDArray[np.uint32]
) -> None:
    state = np.uint64(0)
    for i in range(len(symbols)):
        state = siphash(k0, k1, state, np.uint64(symbols[i]))
        hashed[i] = np.uint32(state & _LOW)


class KeyedHashes:
    """Names and tokens under one key (64 bytes)."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        of_tokens = hashlib.blake2b(b"tokens", key=key, digest_size=16).digest()
        self._k0, self._k1 = np.frombuffer(of_tokens, dtype="<u8").astype(np.uint64)

    def name(self, kind: str, value: str) -> str:
        """A name of one kind: equal names of other kinds have other hashes."""
        text = f"{kind}\0{value}".encode()
        return hashlib.blake2b(text, key=self._key, digest_size=_NAME_BYTES).hexdigest()

    def tokens(self, symbols: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Each symbol of a sequence as the hash of all up to it, uint32."""
        hashed = np.empty(len(symbols), dtype=np.uint32)
        _fill(self._k0, self._k1, np.ascontiguousarray(symbols), hashed)
        return hashed

    def stretches(self, parts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Each stretch of a sequence under the hash of its name and of all stretches before it,
        with their lengths. Its own length is not in it: stretches of one name that begin alike
        share the shorter one's tokens, as they did."""
        above, hashed = bytes(_STATE_BYTES + 8), []
        for name, length in parts:
            text = b"stretch\0" + above + name.encode()
            state = hashlib.blake2b(text, key=self._key, digest_size=_STATE_BYTES).digest()
            hashed.append((state[:_NAME_BYTES].hex(), length))
            above = state + length.to_bytes(8, "little")
        return hashed
