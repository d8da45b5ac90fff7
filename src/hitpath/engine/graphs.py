"""Captured steps: buckets of fixed shape for decodes and short hits, static buffers, padding.

A step of up to 64 sequences with up to 16 new tokens each is padded to a bucket (sequences x new
tokens x pages of context, each a power of two), copied into that bucket's buffers, and replayed.
Rows of padding are token 0 at position 0, written into a block that the pool does not know, so that
they can disturb nobody. Any other step (long chunks, int8 contexts) is run as it comes.
"""

from dataclasses import dataclass

import numpy as np
import torch

from hitpath.engine.batch import Batch, Span
from hitpath.engine.capture import Buffers, Capture, Captured
from hitpath.engine.decoder import Decoder
from hitpath.engine.kv_tensors import KVTensors, Slots
from hitpath.engine.padded import Padded

MOST_SEQUENCES = 64
MOST_NEW = 16


@dataclass(frozen=True, slots=True)
class Bucket:
    """The shape of a captured step."""

    num_sequences: int
    num_new: int
    num_pages: int


def bucket_of(spans: list[Span], block_size: int) -> Bucket | None:
    """The smallest bucket that holds a step; None where none does."""
    wide = max(span.num_new for span in spans)
    if len(spans) > MOST_SEQUENCES or wide > MOST_NEW:
        return None
    pages = max(-(-span.num_context // block_size) for span in spans)
    return Bucket(*(1 << (size - 1).bit_length() for size in (len(spans), wide, pages)))


class CapturedSteps:
    """Runs a batch by replaying its bucket, captured when it is first met."""

    def __init__(self, decoder: Decoder, kv: KVTensors, capture: Capture) -> None:
        self._decoder = decoder
        self._kv = kv
        self._capture = capture
        self._known: dict[Bucket, tuple[Buffers, Captured]] = {}
        self.num_replays = 0

    def run(self, batch: Batch) -> torch.Tensor | None:
        """Hidden states [T, hidden] in the batch's own order of rows, or None: run it otherwise."""
        spans = batch.spans
        bucket = bucket_of(spans, self._kv.block_size)
        if bucket is None or any(self._kv.is_compact(span.blocks).any() for span in spans):
            return None
        if bucket not in self._known:
            buffers = self._new_buffers(bucket)
            captured = self._capture.capture(lambda: self._body(buffers), buffers)
            self._known[bucket] = buffers, captured
        buffers, captured = self._known[bucket]
        rows = self._fill(buffers, bucket, batch)
        self.num_replays += 1
        return captured.replay().index_select(0, rows)

    def _body(self, buffers: Buffers) -> torch.Tensor:
        plan = Padded(self._kv, buffers["tables"], buffers["positions"])
        slots = Slots(buffers["slots"], None)
        return self._decoder.run(buffers["tokens"], buffers["positions"], slots, plan)

    def _new_buffers(self, bucket: Bucket) -> Buffers:
        rows = bucket.num_sequences * bucket.num_new
        shapes = dict.fromkeys(("tokens", "positions", "slots"), (rows,))
        device = self._kv.device
        buffers = {n: torch.zeros(s, dtype=torch.int64, device=device) for n, s in shapes.items()}
        tables = (bucket.num_sequences, bucket.num_pages)
        padding = self._kv.padding_block
        buffers["tables"] = torch.full(tables, padding, dtype=torch.int64, device=device)
        buffers["slots"].fill_(padding * self._kv.block_size)
        return buffers

    def _fill(self, buffers: Buffers, bucket: Bucket, batch: Batch) -> torch.Tensor:
        """Put a batch into its bucket, padding around it; where its rows stand."""
        padding = self._kv.padding_block
        tables = np.full((bucket.num_sequences, bucket.num_pages), padding, dtype=np.int64)
        rows = []
        for i, span in enumerate(batch.spans):
            pages = -(-span.num_context // self._kv.block_size)
            tables[i, :pages] = span.blocks[:pages]
            rows.append(np.arange(span.num_new) + i * bucket.num_new)
        places = self._kv.tensor(np.concatenate(rows))
        buffers["tables"].copy_(self._kv.tensor(tables))
        for name, values in (("tokens", batch.tokens), ("positions", batch.positions)):
            buffers[name].zero_()
            buffers[name].index_copy_(0, places, values)
        buffers["slots"].fill_(padding * self._kv.block_size)
        buffers["slots"].index_copy_(0, places, batch.slots.numbers)
        return places
