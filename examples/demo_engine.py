"""Both paths of a prompt on a real engine: cold and warm requests to `hitpath serve --tiny`.

$ python examples/demo_engine.py [--url http://127.0.0.1:8000]
"""

import argparse
import http.client
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table

ROUNDS = 5
OUTPUT_TOKENS = 16
PARTS = ("tokenise_s", "queue_s", "lookup_s", "prefill_s", "ttft_s", "decode_s")
NAMES = ("tokenise", "queue", "lookup", "prefill", "time to first token", "decode")
DOCUMENT = "\n".join(f"{n}. A prefix that was computed once can be used again." for n in range(70))
COMMAND = [sys.executable, "-m", "hitpath", "serve", "--tiny", "--port", "0"]


class Server:
    """Requests to a running server, over one connection."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._connection = http.client.HTTPConnection(place.hostname, place.port, timeout=120)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        text = response.read().decode()
        if response.status != 200:
            sys.exit(f"{method} {path}: {response.status}: {text}")
        return json.loads(text) if text.startswith("{") else text

    def question(self, text: str, salt: str) -> Any:
        """An answer about the document; requests share KV only under one salt."""
        messages = [{"role": "system", "content": DOCUMENT}, {"role": "user", "content": text}]
        body = {"messages": messages, "max_tokens": OUTPUT_TOKENS, "temperature": 0}
        return self.ask(
            "POST", "/v1/chat/completions", {**body, "cache_salt": salt, "ignore_eos": True}
        )

    def counters(self) -> dict[str, float]:
        """What Prometheus would scrape."""
        lines = self.ask("GET", "/metrics").splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def close(self) -> None:
        self._connection.close()


def measure(server: Server) -> tuple[list[Any], list[Any]]:
    """Answers of the miss path and of the hit path: each salt's first request, and its second."""
    for _ in range(2):
        server.question("What is this about?", "warming up")
    misses, hits = [], []
    for number in range(ROUNDS):
        misses.append(server.question("Which line is the third?", f"tenant {number}"))
        hits.append(server.question("Which line is the third?", f"tenant {number}"))
    return misses, hits


def show(misses: list[Any], hits: list[Any], counted: dict[str, float], console: Console) -> None:
    """The table, and what follows from it."""
    table = Table(title=f"One prompt on both paths, median of {ROUNDS}", title_justify="left")
    for heading in ("", "miss path", "hit path", "hit / miss"):
        table.add_column(heading, justify="right" if heading else "left")
    prompt, cached = (
        [tokens(one, name) for one in (misses, hits)] for name in ("prompt", "cached")
    )
    table.add_row("prompt tokens", *(f"{one:,}" for one in prompt))
    table.add_row("  hit tokens", *(f"{one:,}" for one in cached))
    table.add_row("  hit rate", *(percent(c / p) for c, p in zip(cached, prompt, strict=True)))
    table.add_row("  computed", *(f"{p - c:,}" for c, p in zip(cached, prompt, strict=True)))
    table.add_section()
    for name, part in zip(NAMES, PARTS, strict=True):
        cold, warm = (seconds(answers, part) for answers in (misses, hits))
        style = "bold" if part == "ttft_s" else None
        share = f"{warm / cold:.3f}" if part in ("prefill_s", "ttft_s", "decode_s") else ""
        indent = "" if part in ("ttft_s", "decode_s") else "  "
        ms = (f"{value * 1e3:,.2f} ms" for value in (cold, warm))
        table.add_row(indent + name, *ms, share, style=style)
    console.print(table)
    same = all(text(a) == text(b) for a, b in zip(misses, hits, strict=True))
    rate = counted["hitpath_hit_tokens_total"] / counted["hitpath_prompt_tokens_total"]
    console.print(f"same text on both paths (greedy): {'yes' if same else 'NO'}")
    console.print(f"hit rate of all that this server ran, by /metrics: {percent(rate)}")
    console.print("a hit shortens prefill, not decode; the model is small, its text means nothing")


def tokens(answers: list[Any], name: str) -> int:
    """Prompt tokens or cached ones: the same in all of one path."""
    usage = [one["usage"] for one in answers]
    found = {
        u["prompt_tokens"] if name == "prompt" else u["prompt_tokens_details"]["cached_tokens"]
        for u in usage
    }
    (count,) = found
    return int(count)


def percent(rate: float) -> str:
    return f"{rate:.2%}".replace("%", " %")


def seconds(answers: list[Any], part: str) -> float:
    return statistics.median(one["timings"][part] for one in answers)


def text(answer: Any) -> str:
    return str(answer["choices"][0]["message"]["content"])


def run(url: str, console: Console) -> None:
    """Measure a running server and print."""
    server = Server(url)
    misses, hits = measure(server)
    show(misses, hits, server.counters(), console)
    server.close()


def main() -> None:
    """Without --url: start a server, and end it as a service manager would."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="of a running hitpath serve")
    asked = parser.parse_args()
    if asked.url:
        return run(asked.url, Console(soft_wrap=True))
    started = time.monotonic()
    with subprocess.Popen(COMMAND, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            url = ready_url(process.stderr)
            if url is None:
                sys.exit(process.wait())
            run(url, Console(soft_wrap=True))
        finally:
            process.send_signal(signal.SIGTERM)
        print(process.stderr.read(), end="")
        code = process.wait()
    print(f"server ended with code {code}; {time.monotonic() - started:.1f} s in all")


def ready_url(lines: Iterable[str]) -> str | None:
    """Where the server is, once it says so; None where it ended instead."""
    for line in lines:
        print(line, end="", flush=True)
        if " at http" in line:
            return line.split(" at ")[1].split("/v1")[0]
    return None


if __name__ == "__main__":
    main()
