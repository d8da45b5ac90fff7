"""`hitpath serve` beside vLLM-CPU and llama.cpp's server: all over HTTP, tokenizer included.

    python bench/engine_http.py --vllm-python PATH [--llama-server PATH] [--models small big]
                                [--rounds 3] [--threads 2] [--vllm-eager]

Text prompts of 2,000 shared tokens + 16 of each prompt's own, greedy, streamed. Miss and hit: time
from sending the request to the first event with a token, of a prompt that nobody knows and of one
whose shared part is cached; 64 sharers: all at once, the shared part cached, 16 tokens each,
requests/s until the last one has ended. Servers take turns within a round, with the same prompts,
and all but the one that is measured are stopped (SIGSTOP), so that each sees the same minutes and
both cores; figures are medians over rounds, ratios medians of the rounds' own ratios. Beside each
time stands what the server's processes used of the processors (Linux), which other work on the
machine changes far less than the time; with --threads 1 nobody spins in it, waiting for a thread.

Every answer is checked: so many prompt tokens, nothing cached where it must be a miss, all whole
blocks of the shared part where it must be a hit (hitpath, vLLM; llama.cpp keeps a prefix in each of
its slots, so of its sharers the hits are counted). Each hit prompt is asked once more with nothing
cached, and the two texts are compared; bfloat16 and random weights have near ties, so the share of
equal texts is told, and the bench fails where less than half of them begin alike.

Not like for like: blocks of 16 tokens (hitpath), 32 (vLLM), 1 (llama.cpp); llama.cpp computes in
fp16. The client runs on the same cores. --vllm-eager: vLLM without torch.compile. Last line: one
JSON object.
"""

import argparse
import asyncio
import json
import os
import random
import re
import signal
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from _measure import BenchError, machine
from engine_models import SIZES, model_folder
from engine_servers import NAME, Peers, Server, running

SHARED, OWN, SHARERS, OUTPUT = 2_000, 16, 64, 16
PAIRS = 2
FIGURES = ("miss_ms", "hit_ms", "sharers_per_s", "miss_cpu_ms", "hit_cpu_ms", "sharers_cpu_ms")
GOALS = {
    "miss_ms": ("at most", 1.0),
    "hit_ms": ("at most", 0.5),
    "sharers_per_s": ("at least", 1.5),
}
MakeText = Callable[[int], str]


@dataclass(frozen=True)
class Answer:
    """One streamed completion, as its client saw it."""

    ttft_ms: float
    text: str
    prompt_tokens: int
    cached_tokens: int


@dataclass
class Seen:
    """Of one server, over the rounds: figures a round, texts compared, sharers that hit."""

    rounds: list[dict[str, float]] = field(default_factory=list)
    num_texts: int = 0
    equal_texts: int = 0
    equal_beginnings: int = 0
    num_sharers: int = 0
    sharers_that_hit: int = 0


def text_maker(model: str, rng: random.Random) -> MakeText:
    """Texts of random words, each of which is one token behind a space."""
    path = model_folder(model) / "tokenizer.json"
    known = json.loads(path.read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(" " + token[1:] for token in known if re.fullmatch("Ġ[A-Za-z]+", token))
    return lambda count: "".join(rng.choice(words) for _ in range(count))


async def ask(
    session: aiohttp.ClientSession, url: str, prompt: str, num_tokens: int, **more: Any
) -> Answer:
    """Events are only read while the clock runs, and understood afterwards."""
    body = {"model": NAME, "prompt": prompt, "max_tokens": num_tokens, "temperature": 0}
    body |= {"stream": True, "stream_options": {"include_usage": True}, "ignore_eos": True, **more}
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    pieces: list[tuple[float, bytes]] = []
    started = time.perf_counter()
    async with session.post(f"{url}/v1/completions", data=data, headers=headers) as response:
        async for piece in response.content.iter_any():
            pieces.append((time.perf_counter() - started, piece))
    if response.status != 200:
        raise BenchError(f"{url}: {response.status} {b''.join(p for _, p in pieces)[:500]!r}")
    return understood(pieces)


def understood(pieces: Sequence[tuple[float, bytes]]) -> Answer:
    """Server-sent events, with the times at which their bytes came."""
    ttft_s, text, usage, rest = None, "", None, b""
    for at, piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if not line.startswith(b"data: ") or line.strip() == b"data: [DONE]":
                continue
            event = json.loads(line[6:])
            usage = event.get("usage") or usage
            for choice in event.get("choices") or ():
                ttft_s = at if ttft_s is None else ttft_s
                text += choice.get("text") or ""
    if ttft_s is None or usage is None:
        raise BenchError("a stream without tokens or without usage")
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens") or 0
    return Answer(1e3 * ttft_s, text, usage["prompt_tokens"], cached)


async def one_round(server: Server, seed: int, model: str, seen: Seen) -> dict[str, float]:
    """The same prompts for every server of a round; the shapes of a first request warm it up.
    The slow server has its sharers in round 1 only."""
    make = text_maker(model, random.Random(seed))
    apart: dict[str, Any] = {"cache_prompt": False}
    if server.takes_salt:
        apart = {"cache_salt": f"round {seed}"}
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    timeout = aiohttp.ClientTimeout(total=300)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:

        async def asked(prompt: str, num_tokens: int, is_hit: bool, **more: Any) -> Answer:
            answer = await ask(session, server.url, prompt, num_tokens, **more)
            check(server, answer, is_hit)
            return answer

        async def timed(prompt: str, is_hit: bool) -> tuple[float, float]:
            before = server.cpu_s()
            answer = await asked(prompt, 1, is_hit)
            return answer.ttft_ms, 1e3 * (server.cpu_s() - before)

        await asked(make(SHARED + OWN), OUTPUT, False)
        miss, hit = [], []
        for _ in range(PAIRS):
            shared, own = make(SHARED), make(OWN)
            miss.append(await timed(shared + make(OWN), False))
            hit.append(await timed(shared + make(OWN), True))
            warm = await asked(shared + own, OUTPUT, True)
            compare(seen, warm.text, (await asked(shared + own, OUTPUT, False, **apart)).text)
        found = {}
        for name, each in {"miss": miss, "hit": hit}.items():
            found[f"{name}_ms"], found[f"{name}_cpu_ms"] = map(
                statistics.median, zip(*each, strict=True)
            )
        if server.is_slow and seed != 1:
            return found
        shared = make(SHARED)
        await asked(shared + make(OWN), OUTPUT, False)
        prompts = [shared + make(OWN) for _ in range(SHARERS)]
        before, started = server.cpu_s(), time.perf_counter()
        sharers = await asyncio.gather(
            *(ask(session, server.url, prompt, OUTPUT) for prompt in prompts)
        )
        taken_s, cpu_s = time.perf_counter() - started, server.cpu_s() - before
    for answer in sharers:
        seen.num_sharers += 1
        seen.sharers_that_hit += answer.cached_tokens >= most_cached(server)
        if server.takes_salt:
            check(server, answer, True)
    return {**found, "sharers_per_s": SHARERS / taken_s, "sharers_cpu_ms": 1e3 * cpu_s}


def most_cached(server: Server) -> int:
    """Whole blocks of the shared part."""
    return SHARED // server.block_size * server.block_size


def check(server: Server, answer: Answer, is_hit: bool) -> None:
    """Raises BenchError where an answer is not what it is counted as."""
    if answer.prompt_tokens != SHARED + OWN:
        raise BenchError(f"{server.name}: {answer.prompt_tokens} prompt tokens")
    least, most = (most_cached(server), SHARED + OWN - 1) if is_hit else (0, 0)
    if not least <= answer.cached_tokens <= most:
        kind = "hit" if is_hit else "miss"
        raise BenchError(f"{server.name}: a {kind} with {answer.cached_tokens} cached tokens")


def compare(seen: Seen, hit: str, cold: str) -> None:
    seen.num_texts += 1
    seen.equal_texts += hit == cold
    seen.equal_beginnings += hit[:2] == cold[:2]


def compare_servers(model: str, peers: Peers, rounds: int, threads: int) -> dict[str, Any]:
    """Each round: the servers in turns, the first one last in every other round."""
    with running(model, peers, threads) as servers:
        seen = {server.name: Seen() for server in servers}
        for number in range(rounds + 1):
            for server in servers if number % 2 else servers[::-1]:
                record = seen[server.name]
                with server.awake():
                    figures = asyncio.run(one_round(server, number, model, record))
                cells = " ".join(f"{name} {value:.1f}" for name, value in figures.items())
                told = "warm-up" if number == 0 else f"round {number}"
                print(
                    f"  {told} {server.name}: {cells} (load {os.getloadavg()[0]:.1f})", flush=True
                )
                if number:
                    record.rounds.append(figures)
    return {name: summary(record, seen["hitpath"]) for name, record in seen.items()}


def summary(record: Seen, ours: Seen) -> dict[str, Any]:
    """`hitpath_over`: hitpath's figure over this server's, round by round. Raises BenchError for
    texts that hits got wrong."""
    if 2 * record.equal_beginnings < record.num_texts:
        raise BenchError(f"hits and misses begin alike {record.equal_beginnings} times only")
    pairs = list(zip(ours.rounds, record.rounds, strict=True))
    medians, ratios = {}, {}
    for name in FIGURES:
        both = [(one[name], other[name]) for one, other in pairs if name in other]
        medians[name] = round(statistics.median(other for _, other in both), 2)
        ratios[name] = round(statistics.median(one / other for one, other in both), 3)
    return {
        **medians,
        "hitpath_over": ratios,
        "rounds": [
            {name: round(value, 2) for name, value in each.items()} for each in record.rounds
        ],
        "equal_texts": f"{record.equal_texts} of {record.num_texts}",
        "sharers_that_hit": f"{record.sharers_that_hit} of {record.num_sharers}",
    }


def show(model: str, found: dict[str, Any]) -> None:
    heads = [name.replace("_", " ") for name in FIGURES]
    print(f"{model:6} {'':11} {' '.join(f'{head:>14}' for head in heads)}")
    for name, row in found.items():
        cells = " ".join(f"{row[figure]:>14.1f}" for figure in FIGURES)
        print(f"{'':6} {name:11} {cells}")
    for name, row in found.items():
        if name != "hitpath":
            cells = " ".join(f"{row['hitpath_over'][figure]:>14.3f}" for figure in FIGURES)
            print(f"{'':6} {'/ ' + name:11} {cells}")
    for name, row in found.items():
        told = f"{row['equal_texts']}; sharers that hit: {row['sharers_that_hit']}"
        print(f"{'':6} {name:11} texts of hits that are those of a cold run: {told}", flush=True)
    if "vllm" in found:
        show_goals(found["vllm"]["hitpath_over"])


def show_goals(ratios: dict[str, float]) -> None:
    """On the clock, and by the processor time of the same requests."""
    by_cpu = {
        "miss_ms": ratios["miss_cpu_ms"],
        "hit_ms": ratios["hit_cpu_ms"],
        "sharers_per_s": 1 / ratios["sharers_cpu_ms"],
    }
    for figure, (side, goal) in GOALS.items():
        told = []
        for ratio in (ratios[figure], by_cpu[figure]):
            is_met = ratio <= goal if side == "at most" else ratio >= goal
            told.append(f"{'met' if is_met else 'MISSED'} ({ratio:.2f})")
        print(f"{'':6} goal {figure} {side} {goal} x vLLM: {told[0]}; by processor time {told[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vllm-python", help="a Python with vllm-cpu")
    parser.add_argument("--vllm-eager", action="store_true", help="vLLM without torch.compile")
    parser.add_argument("--llama-server", help="llama.cpp's server")
    options = parser.parse_args()
    peers = Peers(options.vllm_python, options.llama_server, options.vllm_eager)
    started, results = time.monotonic(), {}
    for model in options.models:
        results[model] = compare_servers(model, peers, options.rounds, options.threads)
        show(model, results[model])
    print(f"took {time.monotonic() - started:.0f} s")
    told = {"bench": "engine_http", "threads": options.threads, "vllm_eager": options.vllm_eager}
    print(json.dumps({**told, "machine": machine(), "results": results}))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and the servers with it
    try:
        main()
    except BenchError as error:
        sys.exit(str(error))
