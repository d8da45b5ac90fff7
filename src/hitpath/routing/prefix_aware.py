"""`production-stack`: prefixaware of the vLLM production stack.

Formula: a trie of chunks of 128 characters, each node with the workers that were sent it; walk
while some worker alive owns the next chunk, and choose at random among the owners of the deepest
node reached (nobody owns even the first chunk: among all). A match shorter than `min` goes by the
lowest rate of requests instead. Nothing is ever evicted, so the trie believes more than is there.

Source: vllm-project/production-stack src/vllm_router/routers/routing_logic.py and
prefix/hashtrie.py at 008a23b and 35e4ad3; `--prefix-min-match-length` (0) from its tests. 128
characters are taken as `block` 32 tokens (4 characters a token); `min` is in tokens. The rate of
requests over a window is not in the view: requests ever sent stand for it.
"""

import numpy as np

from hitpath._jit import kernel
from hitpath.routing import kinds
from hitpath.routing.draws import any_of
from hitpath.routing.longest_prefix import holders
from hitpath.routing.rule import Option, Rule
from hitpath.routing.view import Ask, Floats, IndexSettings, View

RULE = Rule(
    "production-stack",
    kinds.PREFIX_AWARE,
    "any owner of the deepest chunk of 128 characters; shorter than min: the fewest sent",
    "vllm-project/production-stack routers/routing_logic.py at 008a23b, prefix/hashtrie.py",
    (Option("min", 0, "tokens that a match must have", whole=True),),
    IndexSettings("history", block_tokens=32),
)


@kernel
def pick(params: Floats, ask: Ask, view: View, seed: np.uint64) -> int:
    """Draw 0 chooses among owners."""
    longest, among = holders(view.match, view.alive)
    if longest < params[0]:
        best = -1
        for w in range(len(view.alive)):
            if view.alive[w] and (best < 0 or view.sent[w] < view.sent[best]):
                best = w
        return best
    return any_of(among, seed, ask.row, 0)
