"""How long do the tokens of growing chats take? hitpath's incremental way beside the plain one.

    python bench/tokenizing.py [--turns 2000 | --full] [--tokenizer llama3 | SPEC] [--sample 0.1]

Chat turns of about 8k tokens: a session opens with a system prompt that all sessions share (2k
tokens) and a document of its own (3.2k) and grows by about 300 tokens a turn for 20 turns; 64
sessions take turns in random order. The plain way tokenises each turn's text whole, by the library
that the tokenizer is from (tokenizers, mistral-common). It is timed on a random sample of the turns
(at least 100), where the tokens must also be equal; ours on every turn, first turns included. What
hitpath itself needs for the whole text is shown beside it: for Tekken that is quicker than
mistral-common. Rendering the chat template is the same work for both, and shown apart.
`llama3` is a byte-level BPE of 16k tokens with Llama 3's regex and header tokens, trained here on
the text that the chats are made of (Python's own help topics, every 16th word replaced by a random
number, so that a stretch comes twice only where a chat repeats it); SPEC is what hitpath's
--tokenizer takes. One process, one thread. Last line: one JSON object.
"""

import argparse
import json
import os
import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from pydoc_data.topics import topics

import numpy as np

from _measure import machine
from hitpath import __version__
from hitpath.text.chat_template import ChatTemplates
from hitpath.text.hugging_face import HuggingFaceTokenizer
from hitpath.text.incremental import TurnTokenizer
from hitpath.text.mistral import CONTROL, JOINT
from hitpath.text.tokenizer import MISTRAL, TextTokenizer, load_tokenizer

FULL_TURNS = 100_000
TURNS_A_SESSION = 20
OPEN_SESSIONS = 64
SYSTEM_TOKENS, DOCUMENT_TOKENS, GROWTH_TOKENS = 2000, 3200, 300
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content }}<|eot_id|>{% endfor %}<|start_header_id|>assistant<|end_header_id|>\n\n"
)
SPECIALS = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
SPECIALS += [f"<|reserved_special_token_{n}|>" for n in range(252)]


def llama3_like(text: str) -> TextTokenizer:
    """A tokenizer of Llama 3's kind, trained on the text."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=16_000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    tokenizer.add_special_tokens(SPECIALS)
    templates = ChatTemplates({"default": TEMPLATE}, {"bos_token": SPECIALS[0]})
    return HuggingFaceTokenizer("llama3-like", tokenizer, templates, "<|eot_id|>")


class Chats:
    """Sessions whose turns come in random order."""

    def __init__(self, source: str, chars_a_token: float, seed: int = 1) -> None:
        self._words = re.findall(r"\S+\s*", source)
        self._chars_a_token = chars_a_token
        self._rng = random.Random(seed)
        self._system = self.text(SYSTEM_TOKENS)
        self._open: dict[str, list[dict]] = {}
        self._num_opened = 0

    def text(self, tokens: int) -> str:
        """A stretch of the source of about so many tokens, from anywhere."""
        chars, at, parts = tokens * self._chars_a_token, self._rng.randrange(len(self._words)), []
        while chars > 0:
            word = self._words[at % len(self._words)]
            if at % 16 == 0:  # no two texts are the same, though their source is
                word = f"{self._rng.randrange(10**9)} "
            parts.append(word)
            chars -= len(word)
            at += 1
        return "".join(parts)

    def next(self) -> tuple[str, list[dict]]:
        """Which session, and its messages up to now."""
        if len(self._open) < OPEN_SESSIONS:
            name = str(self._num_opened)
            self._num_opened += 1
            self._open[name] = [
                {"role": "system", "content": self._system},
                {"role": "user", "content": self.text(DOCUMENT_TOKENS)},
            ]
            return name, self._open[name]
        name = self._rng.choice(list(self._open))
        messages = self._open[name]
        answer = self._rng.randrange(50, GROWTH_TOKENS - 50)
        messages.append({"role": "assistant", "content": self.text(answer)})
        messages.append({"role": "user", "content": self.text(GROWTH_TOKENS - answer)})
        if len(messages) >= 2 * TURNS_A_SESSION:
            del self._open[name]
        return name, messages


def by_library(tokenizer: TextTokenizer, spec: str) -> Callable[[str], Sequence[int]] | None:
    """The whole text as mistral-common's users tokenise it: piece by piece, for it has no text with
    control tokens in it. None for tokenizers, which hitpath calls as anybody does."""
    if not spec.startswith(MISTRAL):
        return None
    import mistral_common
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    data, name = Path(mistral_common.__file__).parent / "data", spec.removeprefix(MISTRAL)
    path = next(path for path in (data / f"{name}.json", data / name) if path.exists())
    base = MistralTokenizer.from_file(str(path)).instruct_tokenizer.tokenizer

    def encode(text: str) -> list[int]:
        ids: list[int] = []
        for piece in re.split(f"(?={CONTROL})", text):
            control = tokenizer.cuts.added.match(piece)
            if control is not None:
                if control[0] != JOINT:
                    ids.append(base.get_special_token(control[0][1:]))
                piece = piece[control.end() :]
            ids += base.encode(piece, bos=False, eos=False) if piece else []
        return ids

    return encode


def measure(
    tokenizer: TextTokenizer,
    library: Callable[[str], Sequence[int]] | None,
    chats: Chats,
    num_turns: int,
    sample: float,
) -> dict:
    """Seconds of each way, and what was reused. Raises AssertionError where tokens differ."""
    turns = TurnTokenizer(tokenizer)
    rng = random.Random(2)
    render_s = ours_s = 0.0
    ours_there_s, tokens = [], []
    ways = {"library": library, "whole": tokenizer.encode}
    sampled_s = {name: [] for name, way in ways.items() if way is not None}
    for _ in range(num_turns):
        session, messages = chats.next()
        start = time.perf_counter()
        text = tokenizer.render_chat(messages, None)
        rendered = time.perf_counter()
        ids = turns.encode(text, session)
        done = time.perf_counter()
        render_s += rendered - start
        ours_s += done - rendered
        tokens.append(len(ids))
        if rng.random() < sample:
            for name, its_s in sampled_s.items():
                start = time.perf_counter()
                whole = ways[name](text)
                its_s.append(time.perf_counter() - start)
                assert np.array_equal(ids, whole), "tokens differ"
            ours_there_s.append(done - rendered)
    whole_s = sampled_s["whole"]
    plain_s = sampled_s.get("library", whole_s)
    ours_ms, plain_ms = 1e3 * ours_s / num_turns, 1e3 * statistics.mean(plain_s)
    render_ms = 1e3 * render_s / num_turns
    counts = turns.incremental
    return {
        "tokenizer": tokenizer.name,
        "turns": num_turns,
        "sampled_turns": len(plain_s),
        "mean_tokens": statistics.mean(tokens),
        "ours_ms_per_turn": ours_ms,
        "plain_ms_per_turn": plain_ms,
        "whole_ms_per_turn": 1e3 * statistics.mean(whole_s),
        "render_ms_per_turn": render_ms,
        "plain_over_ours": plain_ms / ours_ms,
        "whole_over_ours": 1e3 * statistics.mean(whole_s) / ours_ms,
        "plain_over_ours_in_sample": statistics.mean(plain_s) / statistics.mean(ours_there_s),
        "plain_over_ours_with_rendering": (plain_ms + render_ms) / (ours_ms + render_ms),
        "reused_frac": 1 - counts.encoded_chars / counts.seen_chars,
    }


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--full", action="store_true", help=f"{FULL_TURNS:,} turns")
    parser.add_argument("--tokenizer", default="llama3")
    parser.add_argument("--sample", type=float, default=0.1, help="share of turns, the plain way")
    given = parser.parse_args()
    if given.full:
        given.turns = FULL_TURNS
    given.sample = max(given.sample, min(1.0, 200 / given.turns))
    return given


def main() -> None:
    given = options()
    source = "\n".join(topics[name] for name in sorted(topics))
    tokenizer = (
        llama3_like(source) if given.tokenizer == "llama3" else load_tokenizer(given.tokenizer)
    )
    drawn = Chats(source, 1.0).text(200_000)
    chars_a_token = len(drawn) / len(tokenizer.encode(drawn))
    library = by_library(tokenizer, given.tokenizer)
    row = measure(tokenizer, library, Chats(source, chars_a_token), given.turns, given.sample)
    print(f"{row['tokenizer']}: {row['turns']:,} turns, {row['mean_tokens']:,.0f} tokens each")
    print(f"  plain   {row['plain_ms_per_turn']:8.3f} ms a turn ({row['sampled_turns']:,} sampled)")
    if library is not None:
        print(
            f"  whole   {row['whole_ms_per_turn']:8.3f} ms a turn (the same by hitpath's own call)"
        )
    print(f"  ours    {row['ours_ms_per_turn']:8.3f} ms a turn (all, first turns included)")
    print(f"  render  {row['render_ms_per_turn']:8.3f} ms a turn (both ways)")
    print(f"  plain / ours {row['plain_over_ours']:.1f}x", end="")
    if library is not None:
        print(f", whole / ours {row['whole_over_ours']:.1f}x", end="")
    print(f", with rendering in both {row['plain_over_ours_with_rendering']:.1f}x", end="")
    print(f", text reused {row['reused_frac']:.1%}")
    packages = ("tokenizers", "mistral-common", "jinja2", "numpy")
    row["versions"] = {"hitpath": __version__, **{name: version(name) for name in packages}}
    print(json.dumps({"bench": "tokenizing", **row, "machine": machine()}))


if __name__ == "__main__":
    main()
