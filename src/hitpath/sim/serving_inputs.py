"""A trace as the serving simulator takes it: one forest of whole blocks for the engines, one in the
router's blocks for an index of its own, and each request's nodes, lengths and hashes.

What the forests hold depends on the trace, the block sizes and whether replies are kept, not on
the fleet: a sweep makes them once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hitpath.core import ABSENT, InputError, SettingError
from hitpath.index.forest import Forest, build_forest
from hitpath.keys import context_root, spread
from hitpath.sim.rungs import root_codes
from hitpath.sim.serving.inputs import MOST_OUTPUT_TOKENS
from hitpath.sim.serving.records import Requests
from hitpath.sim.serving_rows import take_rows
from hitpath.traces.blocking import Blocks, block_trace
from hitpath.traces.table import Ints, Runs, Symbols, Trace


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the forests depend on. router_block_tokens: 0 where the router keeps no index of its
    own. output_tokens: for requests that do not tell how long their
    output is, None where all must. prefix_tokens: leading tokens that `prefix_hash` is over."""

    block_size: int
    router_block_tokens: int
    prefix_tokens: int
    keep_outputs: bool
    output_tokens: int | None
    split_models: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ServingInputs:
    """`trace`: only the requests that are sent (rows: which of the whole), in their order. tree:
    the engines' forest; router_tree: the router's. num_assumed: requests whose output length was
    not told. made_with: what they depend on besides the trace."""

    made_with: Shapes
    rows: Ints
    trace: Trace
    roots: Ints
    blocks: Blocks
    tree: Forest
    router_tree: Forest | None
    requests: Requests
    num_assumed: int

    def serves(self, shapes: Shapes, rows: Ints) -> bool:
        """Whether these are the inputs of another fleet too."""
        return self.made_with == shapes and np.array_equal(self.rows, rows)


def serving_inputs(whole: Trace, rows: Ints, shapes: Shapes) -> ServingInputs:
    """Raises SettingError where the trace tells no output and neither do `shapes`."""
    trace = take_rows(whole, rows)
    lengths, num_assumed = _output_tokens(trace, shapes.output_tokens)
    roots = root_codes(trace, shapes.split_models)
    blocks = block_trace(trace, shapes.block_size, shapes.split_models)
    tree, ends, reply_ends = _forest(blocks, roots, trace, shapes.keep_outputs)
    router_tree = _router_forest(trace, roots, blocks, shapes)
    requests = Requests(
        end_node=ends,
        prompt_tokens=trace.prompt_tokens,
        whole_blocks=blocks.whole,
        output_tokens=lengths,
        output_end_node=reply_ends,
        router_end_node=ends if router_tree is None else router_tree.end,
        session=_session_hashes(trace),
        prefix_hash=_prefix_hashes(blocks, roots, shapes.prefix_tokens),
        expected_output_tokens=lengths,
    )
    return ServingInputs(
        shapes, rows, trace, roots, blocks, tree, router_tree, requests, num_assumed
    )


def _router_forest(trace: Trace, roots: Ints, blocks: Blocks, shapes: Shapes) -> Forest | None:
    """Over the prompts in the router's blocks, a partial last one with them."""
    size = shapes.router_block_tokens
    if not size:
        return None
    cut = blocks if size == blocks.block_size else block_trace(trace, size, shapes.split_models)
    prompts = cut.prompts
    return build_forest(prompts.flat, prompts.offsets[:-1], prompts.lengths, roots)


def _output_tokens(trace: Trace, assumed: int | None) -> tuple[Ints, int]:
    """(tokens that each request generates, at least one; how many were assumed)."""
    absent = trace.output_tokens == ABSENT
    if np.any(absent) and assumed is None:
        cause = f"needed: {int(absent.sum()):,} requests do not tell how long their output is"
        raise SettingError("--output-tokens", cause)
    filled = np.where(absent, assumed or 0, trace.output_tokens)
    if len(filled) and filled.max() > MOST_OUTPUT_TOKENS:
        row, cause = int(filled.argmax()), f"more than {MOST_OUTPUT_TOKENS:,}: each is a step"
        if absent[row]:
            raise SettingError(f"--output-tokens {assumed}", cause)
        place = trace.places[row] if trace.places else f"request {trace.ids[row]}"
        raise InputError(str(place), "output_tokens", f"{filled[row]:,} are {cause}")
    return np.maximum(filled, 1), int(absent.sum())


def _forest(
    blocks: Blocks, roots: Ints, trace: Trace, keep_outputs: bool
) -> tuple[Forest, Ints, Ints]:
    """(forest over whole blocks, end of each prompt, end of prompt + reply or ABSENT)."""
    prompts = _whole_prompts(blocks, trace)
    tokens = trace.prompt_tokens + trace.output_tokens
    replied = np.zeros(0, dtype=np.int64)
    if keep_outputs:
        named = blocks.sequences.lengths * blocks.block_size >= tokens - blocks.block_size
        full = blocks.whole == trace.prompt_tokens // blocks.block_size
        replied = np.flatnonzero(trace.has_output & named & full)
    flat, starts, lengths = prompts.flat, prompts.offsets[:-1], prompts.lengths
    if len(replied):
        sequences = blocks.sequences
        whole = np.minimum(sequences.lengths, tokens // blocks.block_size)[replied]
        starts = np.r_[starts, len(flat) + sequences.offsets[replied]]
        flat = np.concatenate([flat, sequences.flat.astype(np.uint64, copy=False)])
        lengths = np.r_[lengths, whole]
    forest = build_forest(flat, starts, lengths, np.r_[roots, roots[replied]])
    reply_ends = np.full(len(roots), ABSENT, dtype=np.int64)
    reply_ends[replied] = forest.end[len(roots) :]
    return forest, forest.end[: len(roots)], reply_ends


def _whole_prompts(blocks: Blocks, trace: Trace) -> Runs:
    """Every prompt in all its whole blocks. Blocks that the trace has no id for (it names a
    prompt's beginning only) get ids of their own, that no other prompt has."""
    prompts, whole = blocks.prompts, trace.prompt_tokens // blocks.block_size
    offsets = np.zeros(len(whole) + 1, dtype=np.int64)
    np.cumsum(whole, out=offsets[1:])
    row = np.repeat(np.arange(len(whole)), whole)
    nth = np.arange(int(offsets[-1])) - offsets[row]
    named = nth < blocks.whole[row]
    flat = np.empty(len(row), dtype=np.uint64)
    flat[named] = prompts.flat[prompts.offsets[row[named]] + nth[named]]
    flat[~named] = _unused(prompts.flat, int(np.count_nonzero(~named)))
    return Runs(flat, offsets)


def _unused(taken: Symbols, count: int) -> NDArray[np.uint64]:
    """So many ids that none of those is; from the largest number downwards."""
    if not count:
        return np.zeros(0, dtype=np.uint64)
    made = np.uint64(2**64 - 1) - np.arange(count + len(taken), dtype=np.uint64)
    return made[~np.isin(made, taken)][:count]


def _session_hashes(trace: Trace) -> NDArray[np.uint64]:
    """One a session's name, 0 for a request without one."""
    names = [context_root({"session": name}) or 1 for name in trace.session.names]
    table = np.array([*names, 0], dtype=np.uint64)
    return table[trace.session.codes]  # ABSENT is the last


def _prefix_hashes(blocks: Blocks, roots: Ints, prefix_tokens: int) -> NDArray[np.uint64]:
    """Of the blocks that `prefix_tokens` begin (at least one), with the context. A prompt that is
    shorter: of all that it has."""
    prompts: Runs = blocks.prompts
    hashes = spread(roots.astype(np.uint64))
    for place in range(max(1, -(-prefix_tokens // blocks.block_size))):
        longer = np.flatnonzero(prompts.lengths > place)
        symbols = prompts.flat[prompts.offsets[longer] + place].astype(np.uint64)
        hashes[longer] = spread(hashes[longer] ^ symbols)
    return np.maximum(hashes, np.uint64(1))
