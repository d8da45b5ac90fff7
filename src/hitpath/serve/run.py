"""`hitpath serve`: from its job to a running server, and the exit code."""

import asyncio
import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from hitpath import __version__
from hitpath.core import SettingError, one_line
from hitpath.engine.events import Observe, Record
from hitpath.serve.job import ServeJob, as_typed, check_job

if TYPE_CHECKING:
    from hitpath.engine.engine import Engine
    from hitpath.serve.metrics import Metrics
    from hitpath.serve.publisher import EventPublisher
    from hitpath.serve.server import ServerSettings
    from hitpath.serve.state import ModelFacts

T = TypeVar("T")

EXTRAS = "pip install -c constraints.txt -e '.[live]'"


def run_serve(job: ServeJob) -> None:
    """Serve until a signal; ends with SystemExit and the code of server.py. Raises SettingError."""
    started = time.monotonic()
    check_job(job)
    gc.enable()  # the command line turns it off, for commands that end soon
    # Read when torch is loaded. Its helpers spin between two products, 300,000 turns by default,
    # which takes the cores from the thread that sends what was computed (bench/engines.md).
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")
    try:
        import prometheus_client
        import torch  # noqa: F401
        import zmq  # noqa: F401

        from hitpath.serve.server import ServerSettings, bind
    except ImportError as error:
        cause = f"needs {error.name}, which is not installed: {EXTRAS}"
        raise SettingError("hitpath serve", cause) from error
    prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
    settings = ServerSettings(job.drain_s, job.max_body_mib << 20)
    with bind(job.host, job.port) as bound:
        sys.exit(_serve(job, settings, bound, started))


def _serve(job: ServeJob, settings: "ServerSettings", bound: socket.socket, started: float) -> int:
    """Load, then serve. Raises SettingError."""
    from hitpath.serve.log import say
    from hitpath.serve.metrics import Metrics
    from hitpath.serve.publisher import EventPublisher

    metrics, publisher = Metrics(), None
    if job.kv_events is not None:
        publisher = EventPublisher(job.kv_events, job.kv_events_replay, job.kv_events_topic)
        replay = publisher.replay_endpoint
        say(f"KV events at {publisher.endpoint}" + (f", replay at {replay}" if replay else ""))
    try:
        say(f"loading {'a small random model' if job.tiny else one_line(job.model or '')}")
        engine = _load(job, _observer(metrics, publisher))
        metrics.describe(_labels(job, engine))
        gc.collect()
        gc.freeze()  # what stands now never becomes garbage
        return _run(job, engine, metrics, settings, bound, started)
    finally:
        if publisher is not None:
            publisher.close()


def _observer(metrics: "Metrics", publisher: "EventPublisher | None") -> Observe:
    if publisher is None:
        return metrics.observe
    events = publisher.observe

    def observe(record: Record) -> None:
        metrics.observe(record)
        events(record)

    return observe


def _load(job: ServeJob, observe: Observe) -> "Engine":
    from hitpath.engine.load import load_engine, tiny_engine

    try:
        if job.model is None:
            return _in_a_passing_thread(lambda: tiny_engine(job.engine, observe))
        folder = job.model
        engine = _in_a_passing_thread(lambda: load_engine(folder, job.engine, observe))
    except SettingError as error:
        raise as_typed(error) from error
    if engine.tokenizer is None:
        raise SettingError(one_line(job.model), "has no tokenizer.json, which serving needs")
    return engine


def _in_a_passing_thread(make: Callable[[], T]) -> T:
    """`make()` in a thread that ends with it. torch keeps a pool of helpers for each thread that
    computes. Were the main thread's left over from loading, the engine's own would make more
    threads than there are cores, and GNU's OpenMP then lets them sleep between two products: every
    step took half as long again (bench/engines.md)."""
    made: Future[T] = Future()

    def run() -> None:
        try:
            made.set_result(make())
        except BaseException as error:
            made.set_exception(error)

    thread = threading.Thread(target=run, name="hitpath-load", daemon=True)
    thread.start()
    value = made.result()
    thread.join()
    return value


def _labels(job: ServeJob, engine: "Engine") -> dict[str, str]:
    settings = engine.settings
    return {
        "version": __version__,
        "model": _facts(job, engine).name,
        "index": settings.index if settings.prefix_cache else "none",
        "block_size": str(settings.block_size),
        "eviction": settings.eviction,
    }


def _facts(job: ServeJob, engine: "Engine") -> "ModelFacts":
    from hitpath.serve.state import ModelFacts

    name = job.name or engine.model_name
    try:
        name.encode()
    except UnicodeEncodeError:
        raise SettingError("--name", "is not UTF-8; call the model by another name") from None
    return ModelFacts(
        name=name,
        max_model_len=engine.max_model_len,
        most_waiting=engine.settings.max_waiting,
        created=int(time.time()),
    )


def _run(
    job: ServeJob,
    engine: "Engine",
    metrics: "Metrics",
    settings: "ServerSettings",
    bound: socket.socket,
    started: float,
) -> int:
    from hitpath.engine.async_engine import AsyncEngine
    from hitpath.serve.log import say
    from hitpath.serve.server import Server
    from hitpath.serve.state import ServerState

    assert engine.tokenizer is not None  # _load sees to it
    facts, size = _facts(job, engine), _kv_size(engine)

    def ready(url: str) -> None:
        took_s = time.monotonic() - started
        say(f"{one_line(facts.name)} at {url}/v1 · {size} · ready in {took_s:.1f} s")

    async def serve() -> int:
        assert engine.tokenizer is not None
        state = ServerState(AsyncEngine(engine), facts, engine.tokenizer, metrics)
        return await Server(state, bound, settings).run(ready)

    return asyncio.run(serve())


def _kv_size(engine: "Engine") -> str:
    stats = engine.stats()
    num_tokens = stats.total_blocks * stats.block_size
    mib = num_tokens * stats.kv_bytes_per_token / 2**20
    blocks = f"{stats.total_blocks:,} blocks of {stats.block_size}"
    return f"KV cache {num_tokens:,} tokens ({blocks}, {mib:,.0f} MiB)"
