"""What must hold of a simulation's input. Each failure is a ValueError: a caller's mistake."""

import numpy as np

from hitpath._jit import kernel
from hitpath.index.forest import Tree
from hitpath.sim.serving.layout import Ints
from hitpath.sim.serving.records import Arrivals, FleetSettings, Requests

MOST_OUTPUT_TOKENS = 1 << 24
"""Each token of a reply is a step: more is no reply that anybody reads, and runs for hours."""


def check_inputs(
    tree: Tree,
    router_tree: Tree | None,
    requests: Requests,
    arrivals: Arrivals,
    fleet: FleetSettings,
) -> None:
    """Raise ValueError for what does not fit together."""
    _check_requests(tree, requests, fleet.block_size)
    _check_arrivals(arrivals, len(requests))
    if fleet.router.index.source == "history":
        if router_tree is None:
            raise ValueError("a router with an index of history needs the tree of its blocks")
        _check_nodes("router_end_node", requests.router_end_node, router_tree)


def _check_nodes(name: str, nodes: Ints, tree: Tree) -> None:
    if np.any((nodes < 0) | (nodes >= len(tree.parent))):
        raise ValueError(f"{name} has numbers of no node")


def _check_requests(tree: Tree, requests: Requests, block: int) -> None:
    lengths = {len(getattr(requests, name)) for name in requests.__slots__}
    if lengths != {len(requests)}:
        raise ValueError(f"the columns of the requests have {sorted(lengths)} rows")
    if np.any(requests.prompt_tokens < 1) or np.any(requests.output_tokens < 1):
        raise ValueError("prompts and outputs have at least one token")
    if np.any(requests.output_tokens > MOST_OUTPUT_TOKENS):
        raise ValueError(f"outputs have at most {MOST_OUTPUT_TOKENS:,} tokens")
    _check_nodes("end_node", requests.end_node, tree)
    whole = requests.prompt_tokens // block
    path = (tree.depth + tree.length)[requests.end_node]
    if not np.array_equal(whole, requests.whole_blocks) or not np.array_equal(whole, path):
        raise ValueError(f"a prompt's path has not its whole blocks of {block} tokens")
    replies = np.flatnonzero(requests.output_end_node >= 0)
    ends = requests.output_end_node[replies]
    if np.any(ends >= len(tree.parent)):
        raise ValueError("output_end_node has numbers of no node")
    if not _all_above(tree, requests.end_node[replies], ends):
        raise ValueError("the path of a prompt and its reply does not begin with the prompt's")
    tokens = requests.prompt_tokens[replies] + requests.output_tokens[replies]
    paths = (tree.depth + tree.length)[ends]
    if np.any(paths < (tokens - 1) // block) or np.any(paths > tokens // block):
        raise ValueError("the path of a prompt and its reply has not their whole blocks")


@kernel
def _all_above(tree: Tree, nodes: Ints, ends: Ints) -> bool:
    for i in range(len(ends)):
        node = ends[i]
        while node >= tree.num_roots and node != nodes[i]:
            node = tree.parent[node]
        if node != nodes[i]:
            return False
    return True


def _check_arrivals(arrivals: Arrivals, num: int) -> None:
    columns = (arrivals.time_s, arrivals.follows, arrivals.think_s, arrivals.stage)
    if any(len(column) != num for column in columns):
        raise ValueError("the columns of the arrivals have not a row a request")
    follows = arrivals.follows >= 0
    if np.any(arrivals.follows >= np.arange(num)):
        raise ValueError("a request follows an earlier row")
    times, thinks = arrivals.time_s[~follows], arrivals.think_s[follows]
    if not np.all(np.isfinite(times) & (times >= 0)):
        raise ValueError("times are finite and not below 0")
    if not np.all(np.isfinite(thinks) & (thinks >= 0)):
        raise ValueError("think times are finite and not below 0")
    staged = arrivals.stage >= 0
    if (np.any(staged) or arrivals.drain) and not np.all(staged):
        raise ValueError("either all requests have a stage or none")
    num_stages = int(arrivals.stage.max(initial=-1)) + 1
    lengths = arrivals.stage_length_s
    if lengths is not None and (len(lengths) != num_stages or not np.all(np.isfinite(lengths))):
        raise ValueError("stage_length_s has not a finite time a stage")
