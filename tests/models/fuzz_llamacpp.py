"""Drive llama.cpp's own server and the model side by side, request by request.

    python tests/models/fuzz_llamacpp.py --server PATH/llama-server --requests 3000

Compared for each request: the slot it goes to, and the cached tokens that the server reports.
Settings are drawn: slots, one cache for each or for all, thresholds of similarity, no host cache,
one that is too small, one without a limit. Prompts share beginnings and go on as chats; some read
no cache; some come while another one runs for long. Prints one JSON object; exits 1 at the first
difference, with its seed. The model is made on the spot.
"""

import argparse
import http.client
import json
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from hitpath.sim.models.contract import Request
from hitpath.sim.models.llamacpp import LlamaModel, LlamaSettings
from models.tiny_gguf import KV_BYTES_PER_TOKEN, write_tiny_gguf

CELL_BYTES = 12
"""Of a token in a saved prompt, beside its KV: position, number of sequences, sequence. What is the
same for each saved prompt (some 130 bytes) is less than a token for the few that fit here."""

MIB_TOKENS = (1 << 20) // (KV_BYTES_PER_TOKEN + CELL_BYTES)
LONG = 400
WAIT_S = 60


class Server:
    """The process; `ask` gives (slot, cached tokens, tokens of the answer)."""

    def __init__(self, port):
        self.port = port

    def open(self, prompt, count, stream, **more):
        body = {"prompt": prompt, "n_predict": count, "return_tokens": True, "temperature": 0}
        body |= {"ignore_eos": True, "stream": stream, **more}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        connection.request("POST", "/completion", json.dumps(body))
        response = connection.getresponse()
        assert response.status == 200, response.read()
        return connection, response

    def ask(self, prompt, count, **more):
        connection, response = self.open(prompt, count, False, **more)
        answer = json.loads(response.read())
        connection.close()
        return answer["id_slot"], answer["timings"]["cache_n"], answer["tokens"]


class Held(threading.Thread):
    """A request that runs for long; `began` is set with its first token."""

    def __init__(self, server, prompt):
        super().__init__(daemon=True)
        self.server, self.prompt = server, prompt
        self.began, self.tokens, self.last = threading.Event(), [], None

    def run(self):
        connection, response = self.server.open(self.prompt, LONG, True)
        for line in response:
            if line.startswith(b"data: {"):
                self.last = json.loads(line[6:])
                self.tokens += self.last["tokens"]
                self.began.set()
        connection.close()


@contextmanager
def running(program, settings):
    """A server of the small model."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "tiny.gguf")
        write_tiny_gguf(model)
        host = -1 if settings.host_tokens is None else settings.host_tokens // MIB_TOKENS
        command = [program, "-m", model, "--host", "127.0.0.1", "--port", port, "--no-warmup"]
        command += ["-np", settings.num_slots, "-c", settings.context_tokens, "-t", 1, "-tb", 1]
        command += ["-cram", host, "-sps", settings.similarity]
        command += ["-kvu" if settings.unified else "--no-kv-unified"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen([str(part) for part in command], **quiet) as process:
            try:
                _wait(port, process)
                yield Server(port)
            finally:
                process.terminate()


def _wait(port, process):
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        assert process.poll() is None, "the server has ended"
        with (
            suppress(OSError),
            closing(http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as connection,
        ):
            connection.request("GET", "/health")
            with connection.getresponse() as response:
                if response.status == 200:
                    return
        time.sleep(0.05)
    raise AssertionError("the server does not answer")


def settings_of(rng):
    slots, unified = rng.choice([1, 2, 3, 4]), rng.random() < 0.5
    return LlamaSettings(
        num_slots=slots,
        context_tokens=rng.choice([512, 1024]) if unified else 1024 * slots,
        host_tokens=rng.choice([0, MIB_TOKENS, MIB_TOKENS, None]),
        similarity=rng.choice([0.0, 0.1, 0.1, 0.3, 0.5]),
        unified=unified,
    )


class Pair:
    """The server and the model, in step."""

    def __init__(self, server, settings, seed):
        self.server, self.model = server, LlamaModel(settings)
        self.place = {"seed": seed, "settings": asdict(settings)}
        self.counts = dict.fromkeys(
            ["requests", "hit_tokens", "prompt_tokens", "evicted", "held"], 0
        )

    def begin(self, request):
        hit = self.model.admit(request)
        assert hit is not None, "the model has no room"
        return self.model.slot_of(request.number), hit.tokens

    def end(self, request, tokens):
        for i, token in enumerate(tokens):
            self.model.processed(request.number)
            self.model.generate(request.number, [token])
            if i < len(tokens) - 1:
                assert self.model.extend(request.number, 1)
        self.model.finish(request.number)
        self.model.check()
        self.counts["evicted"] += sum(e.num_tokens for e in self.model.take_evictions())

    def same(self, request, mine, theirs):
        if mine != theirs:
            told = f"request {request.number}: (slot, hit): model {mine}, llama.cpp {theirs}"
            raise AssertionError(json.dumps({**self.place, "mismatch": told}))
        self.counts["requests"] += 1
        self.counts["hit_tokens"] += mine[1]
        self.counts["prompt_tokens"] += len(request.tokens)

    def ask(self, request, count):
        slot, cached, tokens = self.server.ask(
            list(request.tokens), count, cache_prompt=request.reads_cache
        )
        mine = self.begin(request)
        self.end(request, tokens)
        self.same(request, mine, (slot, cached))


class Talks:
    """Chats that go on, and prompts that share a beginning with one of them."""

    def __init__(self, rng):
        self.rng, self.number = rng, 0
        self.stems = [self._fresh(rng.randint(40, 90)) for _ in range(5)]
        self.talks = [list(stem) for stem in self.stems]

    def _fresh(self, count):
        return [self.rng.randrange(256) for _ in range(count)]

    def next(self):
        rng, at = self.rng, self.rng.randrange(5)
        if len(self.talks[at]) > 150:
            self.talks[at] = list(self.stems[at])
        if rng.random() < 0.3:
            stem = self.stems[at]
            tokens = stem[: rng.randint(1, len(stem))] + self._fresh(rng.randint(1, 30))
        else:
            self.talks[at] += self._fresh(rng.randint(1, 20))
            tokens = list(self.talks[at])
        self.number += 1
        return Request(self.number, tokens, reads_cache=rng.random() > 0.1)


def one_run(program, seed, count):
    """`count` requests at most: fewer where a long one ended while another was under way."""
    rng = random.Random(f"{seed} llama.cpp")
    settings = settings_of(rng)
    holds = settings.num_slots > 1 and not settings.unified  # else room goes as tokens come
    talks = Talks(rng)
    with running(program, settings) as server:
        pair = Pair(server, settings, seed)
        while pair.counts["requests"] < count:
            if not holds or rng.random() > 0.1:
                pair.ask(talks.next(), rng.randint(1, 5))
                continue
            long = Request(talks.number + 1, talks.next().tokens)
            held = Held(server, list(long.tokens))
            held.start()
            assert held.began.wait(WAIT_S)
            mine = pair.begin(long)
            for _ in range(rng.randint(1, 3)):
                pair.ask(talks.next(), rng.randint(1, 3))
                if not held.is_alive():
                    return pair.counts  # which of the two ended first cannot be told
            held.join(WAIT_S)
            pair.end(long, held.tokens)
            pair.same(long, mine, (held.last["id_slot"], held.last["timings"]["cache_n"]))
            pair.counts["held"] += 1
    return pair.counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    total, seed = {"requests": 0}, args.seed
    while total["requests"] < args.requests:
        try:
            counts = one_run(args.server, seed, 80)
        except AssertionError as error:
            print(error)
            return 1
        total = {name: total.get(name, 0) + n for name, n in counts.items()}
        seed += 1
    print(json.dumps({"engine": "llama.cpp", **total, "seeds": seed - args.seed, "mismatches": 0}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
