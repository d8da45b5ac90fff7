"""A trace in blocks of one size: which ids each prompt, and each prompt with its output, has.

Tokens are hashed to chained keys; chained ids are taken as they are, or every k-th of them for
a block k times larger. A finer block than the ids' own cannot be had: what two prompts share
inside a block is not in the file.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.core import SettingError
from hitpath.keys import block_keys_batch, context_root
from hitpath.traces.partial_ids import mark_partial_ids
from hitpath.traces.rows import DEFAULT_BLOCK_SIZE
from hitpath.traces.table import Context, Ints, Runs, Trace


@dataclass(frozen=True, slots=True)
class Blocks:
    """prompts: ids of each prompt, the last one possibly of a partial block.

    whole: whole blocks with an id. partial_tokens: tokens behind the partial last id, 0 where
    there is none. sequences: ids of prompt + output, empty rows where the trace has no output;
    own_sequences: the same in the symbols that the file has.
    """

    block_size: int
    prompts: Runs
    whole: Ints
    partial_tokens: Ints
    sequences: Runs
    own_sequences: Runs

    def tokens_of(self, matched: Ints) -> Ints:
        """Tokens behind `matched` leading ids of each prompt (the partial one by its rest)."""
        complete = matched > self.whole
        return np.minimum(matched, self.whole) * self.block_size + complete * self.partial_tokens


def choose_block_size(trace: Trace, asked: int | None) -> int:
    """The trace's own size, the asked one, or 16. Raises SettingError where ids forbid it."""
    own = trace.block_size
    if own is None:
        return asked or DEFAULT_BLOCK_SIZE
    if asked is None or asked == own:
        return own
    if trace.identity == "content":
        cause = f"ids of content cannot be joined: only their own blocks of {own} can be had"
        raise SettingError(f"--block-size {asked}", cause)
    if asked % own:
        cause = f"the trace has ids of {own}-token blocks: only multiples of {own} can be had"
        raise SettingError(f"--block-size {asked}", cause)
    return asked


def with_outputs(trace: Trace) -> Runs:
    """Symbols of prompt + output for rows that have an output (chained: whole blocks of the
    prompt, then the output's); empty rows elsewhere."""
    prompts, outputs = trace.prompts, trace.outputs
    kept = np.where(trace.has_output, _own_whole(trace), 0)
    offsets = np.zeros(len(trace) + 1, dtype=np.int64)
    np.cumsum(kept + outputs.lengths, out=offsets[1:])
    flat = np.empty(int(offsets[-1]), dtype=prompts.flat.dtype)
    flat[_places(offsets[:-1], kept)] = prompts.flat[_places(prompts.offsets[:-1], kept)]
    flat[_places(offsets[:-1] + kept, outputs.lengths)] = outputs.flat
    joined = Runs(flat, offsets)
    if trace.block_size is not None:
        mark_partial_ids(joined, _total_tokens(trace), trace.block_size)
    return joined


def _places(starts: Ints, lengths: Ints) -> Ints:
    """The positions start, start + 1, … of each run, one run behind the other."""
    before = np.cumsum(lengths) - lengths
    places: Ints = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
    return places


def _total_tokens(trace: Trace) -> Ints:
    """Tokens of prompt + output, 0 for rows without an output."""
    return np.where(trace.has_output, trace.prompt_tokens + trace.output_tokens, 0)


def _own_whole(trace: Trace) -> Ints:
    """Leading symbols of each prompt that an output can follow: all tokens, or whole blocks."""
    if trace.block_size is None:
        return trace.prompts.lengths
    return np.minimum(trace.prompts.lengths, trace.prompt_tokens // trace.block_size)


def block_trace(trace: Trace, block_size: int, split_models: bool = False) -> Blocks:
    """Cut the trace into blocks of `block_size` tokens (from `choose_block_size`)."""
    own_sequences = with_outputs(trace)
    totals = _total_tokens(trace)
    if trace.block_size is None:
        contexts = trace.isolating_contexts(split_models)
        roots = np.array([context_root(_fields(c)) for c in contexts], dtype=np.uint64)
        seeds = roots[trace.context] if len(trace) else np.zeros(0, dtype=np.uint64)
        prompts = _keys(trace.prompts, block_size, seeds)
        sequences = _keys(own_sequences, block_size, seeds)
    else:
        times = block_size // trace.block_size
        prompts = _coarser(trace.prompts, trace.prompt_tokens, trace.block_size, times)
        sequences = _coarser(own_sequences, totals, trace.block_size, times)
    whole = np.minimum(prompts.lengths, trace.prompt_tokens // block_size)
    partial = np.where(prompts.lengths > whole, trace.prompt_tokens - whole * block_size, 0)
    return Blocks(block_size, prompts, whole, partial, sequences, own_sequences)


def _keys(runs: Runs, block_size: int, roots: NDArray[np.uint64]) -> Runs:
    tokens = runs.flat.astype(np.uint32, copy=False)
    return Runs(*block_keys_batch(tokens, runs.offsets, block_size, roots, True))


def _fields(context: Context) -> dict[str, str | int | None]:
    told = {name: getattr(context, name) for name in ("model", "salt", "adapter", "media_salt")}
    return {**told, **{f"other.{name}": value for name, value in context.others}}


def _coarser(runs: Runs, tokens: Ints, own: int, times: int) -> Runs:
    """Every `times`-th id; the last id too, where it stands for all that the prompt has."""
    if times == 1:
        return runs
    lengths = runs.lengths
    to_the_end = lengths * own >= tokens  # a floor row's unnamed tail has no id
    whole = np.minimum(lengths // times, tokens // (own * times))
    partial = to_the_end & (tokens > whole * own * times)
    new_lengths = whole + partial
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(new_lengths, out=offsets[1:])
    row = np.repeat(np.arange(len(lengths)), new_lengths)
    nth = np.arange(int(offsets[-1])) - offsets[row]
    within = np.minimum((nth + 1) * times, lengths[row]) - 1
    return Runs(runs.flat[runs.offsets[row] + within], offsets)
