"""Time one reader on one file, under the interpreter that has it: one JSON line.

    PYTHON _reader_driver.py READER SMALL FILE

Only the reader's own call is timed: imports come before it, and a first call on SMALL, a file of
the same format with a few rows. What each call gives is named beside it; nothing is written.
"""

import contextlib
import io
import json
import resource
import sys
import time
from importlib import metadata
from pathlib import Path


def hitpath(mapping=()):
    """A `Trace`: checked columns, prompts as symbols."""
    from hitpath.traces import read_trace

    return lambda path: len(read_trace([path], mapping=mapping))


def hitpath_statistics():
    """`Observed`: what a log of statistics tells."""
    from hitpath.traces import open_inputs
    from hitpath.traces.engine_logs import observe

    return lambda path: observe(open_inputs([path])).num_used_lines


def floor_json():
    """No reader: every line through the standard library's `json.loads`, nothing kept."""

    def load(path):
        with open(path, encoding="utf-8") as file:
            return sum(1 for line in file if json.loads(line))

    return load


def llmtrafficlens():
    """Requests with lists of ids."""
    from llmtrafficlens.adapters import read_hashed_jsonl

    return lambda path: len(read_hashed_jsonl(path, 512))


def kvcache_simulator(block_size):
    """Its TraceData: flat arrays of ids that are already numbered."""
    from kvcache_sim.trace import parse_trace_file

    return lambda path: parse_trace_file(path, block_size=block_size).request_count


def kvlint(kind):
    """Requests with messages, no tokens yet."""
    from kvlint.ingest import load

    return lambda path: len(load(Path(path), kind))


def cachelint():
    """Canonical requests."""
    from cachelint._ingest import read_jsonl

    return lambda path: len(read_jsonl(path, provider="openai"))


class _Tokenizer:
    """Counts characters."""

    resolved_name = "none"
    block_separation_token_id = 0

    @staticmethod
    def encode_lengths_batch(texts):
        return [len(text) for text in texts]


class _Random:
    seed = 0

    @staticmethod
    def set_trace_id(_):
        """Scopes generated text to a file."""


class _Prompts:
    """Stands for AIPerf's prompt generator, which loading alone does not ask for text."""

    def __init__(self):
        self.tokenizer = _Tokenizer
        self._hash_id_corpus_rng = _Random
        self._cache = {}


def aiperf_trace(module, name):
    """`load_dataset`: its typed rows by session; prompts are not made yet."""
    loader = _aiperf(module, name)
    return lambda path: sum(
        map(len, loader(filename=path, prompt_generator=_Prompts()).load_dataset().values())
    )


def aiperf_weka():
    """`load_dataset`: its typed sessions."""
    loader = _aiperf("weka_trace", "WekaTraceLoader")
    return lambda path: sum(
        len(t.requests) for [t] in loader(filename=path).load_dataset().values()
    )


def aiperf_tracelab():
    """`load_dataset`: sessions with made-up ids of blocks."""
    loader = _aiperf("tracelab_trace", "TraceLabTraceDatasetLoader")
    return lambda path: sum(
        len(t.requests) for [t] in loader(filename=path).load_dataset().values()
    )


def aiperf_bodies():
    """`load_dataset`: the bodies as dictionaries."""
    loader = _aiperf("raw_payload", "RawPayloadDatasetLoader")
    return lambda path: len(loader(filename=path).load_dataset())


def aiperf_sharegpt():
    """`load_dataset` and its conversations of lengths; its tokenizer replaced by `len`."""
    import asyncio

    loader = _aiperf("sharegpt", "ShareGPTLoader")

    async def load(path):
        found = loader(tokenizer=_Tokenizer)
        found.cache_filepath = Path(path)
        return len(await found.convert_to_conversations(await found.load_dataset()))

    return lambda path: asyncio.run(load(path))


def aiperf_results():
    """The table that `aiperf plot` makes of a run's records."""
    from aiperf.plot.core.data_loader import DataLoader

    loader = DataLoader()
    return lambda path: len(loader._load_jsonl(Path(path)))


def guidellm(column):
    """The rows that its trace formats get: a table of Hugging Face `datasets`, row by row as
    dictionaries, without prompts. column: lists whose entries are the requests."""
    return lambda path: sum(len(row[column]) if column else 1 for row in _table(path))


def guidellm_otel():
    """Its replay rows of all spans; messages are parsed later."""
    from guidellm.data.deserializers.trace_otel import _llm_replay_spans, iter_raw_span_groups
    from guidellm.schemas.data.deserializers.trace_otel import OTELTraceFormatArgs

    config = OTELTraceFormatArgs(source={"kind": "json_file", "path": "unused"})
    return lambda path: sum(
        len(_llm_replay_spans(spans, config))
        for spans in iter_raw_span_groups(_table(path), config)
    )


def _table(path):
    import tempfile

    import datasets

    datasets.disable_progress_bars()
    files = sorted(map(str, Path(path).iterdir())) if Path(path).is_dir() else path
    with tempfile.TemporaryDirectory() as cache:  # else it would read what it read before
        return datasets.load_dataset("json", data_files=files, split="train", cache_dir=cache)


def _aiperf(module, name):
    import importlib

    from aiperf.common import random_generator

    random_generator.init(1)
    return getattr(importlib.import_module(f"aiperf.dataset.loader.{module}"), name)


READERS = {
    "hitpath": hitpath,
    "hitpath statistics": hitpath_statistics,
    "json.loads": floor_json,
    "llmtrafficlens": llmtrafficlens,
    "kvcache-simulator 512": lambda: kvcache_simulator(512),
    "kvcache-simulator 16": lambda: kvcache_simulator(16),
    "kvlint openai": lambda: kvlint("openai"),
    "kvlint sharegpt": lambda: kvlint("sharegpt"),
    "cachelint": cachelint,
    "aiperf mooncake": lambda: aiperf_trace("mooncake_trace", "MooncakeTraceDatasetLoader"),
    "aiperf bailian": lambda: aiperf_trace("bailian_trace", "BailianTraceDatasetLoader"),
    "aiperf burstgpt": lambda: aiperf_trace("burst_gpt", "BurstGPTTraceDatasetLoader"),
    "aiperf baseten": lambda: aiperf_trace("baseten_trace", "BasetenTraceDatasetLoader"),
    "aiperf weka": aiperf_weka,
    "aiperf tracelab": aiperf_tracelab,
    "aiperf raw_payload": aiperf_bodies,
    "aiperf sharegpt": aiperf_sharegpt,
    "aiperf plot": aiperf_results,
    "guidellm": lambda: guidellm(None),
    "guidellm weka": lambda: guidellm("requests"),
    "guidellm otel": guidellm_otel,
}


def main() -> None:
    reader, small, path, *mapping = sys.argv[1:]
    make = READERS[reader]
    with contextlib.redirect_stdout(io.StringIO()):
        load = make(mapping) if mapping else make()
        load(small)
        wall, cpu = time.perf_counter(), time.process_time()
        num = load(path)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    name = reader.split()[0]
    version = "" if name == "json.loads" else metadata.version(name)
    print(
        json.dumps(
            {
                "cpu_s": cpu,
                "wall_s": wall,
                "num": num,
                "peak_mb": round(peak_mb),
                "version": version,
            }
        )
    )


if __name__ == "__main__":
    main()
