"""Coverage-guided fuzzing of every reader and of the analysis behind it, with atheris.

    python bench/fuzz.py [--seconds 600] [--out FOLDER]

Needs an interpreter with hitpath's `text` extra, `atheris` and `coverage`. An input is two bytes
of choices (file name, options, setting) and the content of the file; the seeds are the samples of
all formats (tests/samples.py). Only a HitpathError may escape. An input that takes 10 s or
2 GiB counts as a finding, too. Findings and the corpus stay in FOLDER; what the corpus covers of
hitpath/traces is measured afterwards, by replaying it. Last line: one JSON object; exit code 1
with findings.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
TIMEOUT_S = 10
RSS_MB = 2048
MAX_BYTES = 8192
TURN_S = 100
NAMES = ("t.jsonl", "t.jsonl.gz", "t.csv", "t.parquet")
TOKENIZER = "mistral:tekken_240911"
MAPPINGS = ((), ("arrival_s=when:ms", "block_keys=keys", "id=request"), ("prompt_tokens=a.b",))
_STATS_EVERY = 500


class Harness:
    """What one input goes through, and what it left."""

    def __init__(self, out: Path, quiet: bool = False) -> None:
        from hitpath.core import HitpathError, Setting
        from hitpath.spine import analyze_trace
        from hitpath.summary import sum_up_lengths
        from hitpath.text.tokenizer import load_tokenizer
        from hitpath.traces import (
            files,
            json_array,
            json_document,
            open_inputs,
            read_trace,
            sources,
        )
        from hitpath.traces.detect import statistics_in
        from hitpath.traces.engine_logs import observe
        from hitpath.traces.sampling import Sampler

        self._ours = HitpathError
        self._open, self._read, self._analyze = open_inputs, read_trace, analyze_trace
        self._statistics_in, self._observe, self._lengths = statistics_in, observe, sum_up_lengths
        self._settings = (
            Setting(),
            Setting(last_token=True, outputs="insert"),
            Setting(engine="lru", capacity_tokens=2048, workers=2, router="prefix"),
            Setting(split_models=True, outputs="insert", engine="lru", capacity_tokens=600),
            Setting(block_size=1024),
        )
        self._tokenizer = load_tokenizer(TOKENIZER)
        self._modules = (json_array, json_document, files, sources)
        self._samplers = (None, None, None, Sampler(2, 0))
        self._folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self._out = out
        self._quiet = quiet
        self.answers: Counter[str] = Counter()
        self.findings: set[str] = set()
        self.executions = 0

    def __call__(self, data: bytes) -> None:
        """One input; a fault is written down and fuzzing goes on."""
        self.executions += 1
        try:
            self.answers[self._answer(data)] += 1
        except self._ours as error:
            self.answers["refused"] += 1
            if not str(error).isprintable():
                self._tell(error, data)
        except Exception as error:
            self._tell(error, data)
        if self.executions % _STATS_EVERY == 0 and not self._quiet:
            (self._out / "answers.json").write_text(json.dumps(self.answers))

    def _answer(self, data: bytes) -> str:
        """Read and analyse; the name of the format."""
        choice, other = (*data[:2], 0, 0)[:2]
        content = data[2:]
        path = self._folder / NAMES[choice % 4]
        if path.suffix == ".gz" and choice & 64:
            content = gzip.compress(content, 1)
        path.write_bytes(content)
        skip = bool(choice & 16)
        self._cut_into(1 << 20 if choice & 128 else 64, 256 if other & 16 else 1 << 20)
        inputs = self._open([str(path)])
        if self._statistics_in(inputs):
            self._observe(inputs, skip_bad_rows=skip)
            return "engine-statistics"
        setting = self._settings[other % len(self._settings)]
        trace = self._read(
            [str(path)],
            block_size=setting.block_size,
            skip_bad_rows=skip,
            sampler=self._samplers[other >> 6],
            tokenizer=self._tokenizer if other & 32 else None,
            mapping=MAPPINGS[(choice >> 2) % 4 % len(MAPPINGS)] if choice & 32 else (),
            inputs=inputs,
        )
        if trace.identity == "lengths_only":
            self._lengths(trace, setting)
        elif trace.thinned is None:
            self._analyze(trace, setting).ledger.check()
        return trace.format

    def _cut_into(self, chunk_bytes: int, large_bytes: int) -> None:
        """How much is read at once, and from where on an object is large."""
        arrays, documents, files, sources = self._modules
        arrays._CHUNK_BYTES = documents._CHUNK_BYTES = chunk_bytes
        files._CHUNK_BYTES = sources._DOCUMENT_BYTES = large_bytes

    def _tell(self, error: Exception, data: bytes) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        at = next((f for f in reversed(frames) if "hitpath" in f.filename), frames[-1])
        key = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}"
        if key in self.findings:
            return
        self.findings.add(key)
        name = hashlib.sha1(key.encode()).hexdigest()[:10]
        (self._out / f"finding-{name}").write_bytes(data)
        text = f"{key}\n{traceback.format_exc(limit=-6)}"
        (self._out / f"finding-{name}.txt").write_text(text)
        print(f"FINDING {key}: {str(error)[:200]}", file=sys.stderr, flush=True)


NASTY: tuple[Any, ...] = (
    None, True, False, -1, 0, 1, 2, 2**31, 2**32, 2**40, 2**63 - 1, 2**63, 2**64, 10**400, 0.5,
    -0.0, 1e308, 5e-324, "", "a\nb", "\x1b[2J", "\ud800", "\x00", [], {}, [[]], "512", "NaN", 1e17,
    "2024", "2023-11-16 18:17:03.97", "0001-01-01T00:00:00+23:59",
)  # fmt: skip


class RowMutator:
    """Changes rows as rows: libFuzzer's own mutations seldom keep JSON whole."""

    def __init__(self, seeds: list[bytes]) -> None:
        self._lines = [line for seed in seeds for line in seed[2:].split(b"\n") if line]

    def __call__(self, data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        data = data.ljust(2, b"\0")
        if rng.random() < 0.1:
            data = bytes([rng.randrange(256), rng.randrange(256)]) + data[2:]
        lines = data[2:].split(b"\n")
        at = rng.randrange(len(lines))
        what = rng.randrange(8)
        if what == 0:
            lines.insert(at, lines[rng.randrange(len(lines))])
        elif what == 1:
            lines.insert(at, rng.choice(self._lines))
        elif what == 2 and len(lines) > 1:
            del lines[at]
        else:
            lines[at] = self._row(lines[at], rng)
        changed = data[:2] + b"\n".join(lines)
        return changed[:max_size]

    def _row(self, line: bytes, rng: random.Random) -> bytes:
        """A JSON row with a few values changed; a line of a table with another cell."""
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            cells = re.split(rb"([,;\t ])", line)
            cells[rng.randrange(len(cells))] = str(_nasty(rng)).encode(errors="replace")
            return b"".join(cells)
        if rng.random() < 0.1:  # a row that is no object, or one inside arrays
            row = rng.choice((_nasty(rng), [], [row], [row, _nasty(rng)], [[row]]))
        for _ in range(rng.randint(0 if isinstance(row, list) else 1, 3)):
            _change(row, rng)
        return json.dumps(row).encode()


def _nasty(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(NASTY))


def _change(row: Any, rng: random.Random) -> None:
    """One deletion, doubling, replacement, addition or exchange somewhere inside."""
    slots = _slots(row, [])
    if not slots:
        return
    container, key = rng.choice(slots)
    what = rng.randrange(6)
    if what == 0:
        del container[key]
    elif what == 1 and isinstance(container, list):
        container.insert(key, copy.deepcopy(container[key]))
    elif what == 1:
        container[rng.choice(slots)[1] if rng.random() < 0.5 else "zz"] = _nasty(rng)
    elif what == 2:
        other, its_key = rng.choice(slots)
        container[key] = copy.deepcopy(other[its_key])
    elif what == 3 and type(container[key]) is int:
        container[key] += rng.randint(-2, 2)
    else:
        container[key] = _nasty(rng)


def _slots(value: Any, found: list[tuple[Any, Any]], depth: int = 0) -> list[tuple[Any, Any]]:
    """(container, key) of everything inside `value`."""
    if isinstance(value, dict | list) and depth < 50:
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            found.append((value, key))
            _slots(item, found, depth + 1)
    return found


def seeds() -> list[bytes]:
    """Every sample of the tests, and three rows of each format of readers.py (and small files of
    real traffic, where they are), under every setting."""
    sys.path.insert(0, str(ROOT / "tests"))
    from _formats import FORMATS
    from samples import SAMPLES
    from support import SHARED

    files = [file for sample in SAMPLES.values() for file in sample.items()]
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in FORMATS.items():
            kind.write(path := Path(folder) / f"{name}{kind.ending}", 3, 7)
            parts = sorted(path.iterdir()) if path.is_dir() else [path]
            files += [(part.name, part.read_bytes()) for part in parts]
    real = [path for path in sorted(SHARED.rglob("*")) if path.is_file()]
    files += [(path.name, path.read_bytes()) for path in real if path.stat().st_size < MAX_BYTES]
    found = []
    for name, content in files:
        kind = {"csv": 2, "parquet": 3}.get(name.rsplit(".", 1)[-1], 0)
        found += [bytes([kind | choice, other]) + content[:MAX_BYTES] for choice in (0, 144)
                  for other in (0, 1, 2, 3, 16, 36, 193)]  # fmt: skip
    return found


def fuzz_here(out: Path, by_rows: bool, arguments: list[str]) -> None:
    """The process that fuzzes, until libFuzzer ends it. by_rows: with our mutations instead of
    libFuzzer's, which the binding cannot mix."""
    import atheris

    kernels = [
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in (ROOT / "src" / "hitpath").rglob("*.py")
        if "import kernel" in path.read_text(encoding="utf-8")
    ]
    # numba compiles what it sees: kernels must stay as they are written.
    with atheris.instrument_imports(include=["hitpath"], exclude=kernels):
        harness = Harness(out)
    more = {"custom_mutator": RowMutator(seeds())} if by_rows else {}
    harness(bytes(2) + b'{"id":1,"arrival_s":0,"tokens":[1]}')  # kernels compiled before the clock
    atheris.Setup([sys.argv[0], *arguments], harness, **more)
    atheris.Fuzz()


def replay_here(out: Path) -> None:
    """The whole corpus once more, for whoever measures coverage."""
    harness = Harness(out, quiet=True)
    for path in sorted((out / "corpus").iterdir()):
        harness(path.read_bytes())


def fuzz(out: Path, seconds: int) -> dict[str, Any]:
    """Fuzz in processes of their own: rows and bytes are changed in turns, on one corpus."""
    corpus = out / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in seeds():
        (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    words = {w for seed in seeds() for w in re.findall(rb'"[A-Za-z_][\w.]{1,40}"', seed)}
    escaped = [w.decode()[1:-1] for w in sorted(words)]
    (out / "words.dict").write_text("".join(f'"\\"{w}\\":"\n' for w in escaped))
    end, executions, last, ended = time.monotonic() + seconds, 0, "", Counter[str]()
    answers: Counter[str] = Counter()
    turn = 0
    while (left := int(end - time.monotonic())) > 0:
        turn += 1
        way = "--by-rows" if turn % 2 else "--by-bytes"
        arguments = [str(corpus), f"-max_total_time={min(left, TURN_S)}", f"-timeout={TIMEOUT_S}",
                     f"-rss_limit_mb={RSS_MB}", f"-max_len={MAX_BYTES}", "-print_final_stats=1",
                     f"-dict={out / 'words.dict'}", f"-artifact_prefix={out}/fatal-"]  # fmt: skip
        command = [sys.executable, str(BENCH / "fuzz.py"), way, "--out", str(out), *arguments]
        with (out / "log.txt").open("w") as log:
            code = subprocess.run(command, stdout=log, stderr=log, check=False).returncode
        text = (out / "log.txt").read_text(errors="replace")
        numbers = re.findall(r"^#(\d+)\t.*?cov: (\d+) ft: (\d+) corp: (\d+)", text, re.MULTILINE)
        if numbers:
            executions += int(numbers[-1][0])
            last = f"{numbers[-1][1]} edges, {numbers[-1][3]} inputs in the corpus"
            answers.update(json.loads((out / "answers.json").read_text()))
        if code:
            ended[f"exit code {code}"] += 1
            print(text[-1500:], flush=True)
        if not numbers:
            break
    told = {"executions": executions, "coverage_guided": last, "answers": dict(answers)}
    return {**told, "processes_ended": dict(ended), **findings_in(out)}


def findings_in(out: Path) -> dict[str, Any]:
    """What was found: faults by their place, and inputs that ended a process."""
    faults = [path.read_text().splitlines()[0] for path in sorted(out.glob("finding-*.txt"))]
    fatal = [path.name for path in sorted(out.glob("fatal-*"))]
    return {"findings": faults, "fatal": fatal}


def line_coverage(out: Path) -> dict[str, float]:
    """Percent of the lines of hitpath/traces that the corpus runs, all and by file."""
    data = out / "coverage.json"
    environment = {**os.environ, "COVERAGE_FILE": str(out / ".coverage")}
    source = str(ROOT / "src" / "hitpath" / "traces")
    for command in (
        ["run", f"--include={source}/*", str(BENCH / "fuzz.py"), "--replay", "--out", str(out)],
        ["json", "-q", "-o", str(data)],
    ):
        coverage = [sys.executable, "-m", "coverage", *command]
        subprocess.run(coverage, cwd=out, env=environment, check=True)
    told = json.loads(data.read_text())
    by_file = {
        name.split("traces/")[-1]: round(file["summary"]["percent_covered"], 1)
        for name, file in told["files"].items()
    }
    return {"all": round(told["totals"]["percent_covered"], 1), **by_file}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--out", type=Path, default=BENCH / "data" / "fuzz")
    parser.add_argument("--by-rows", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--by-bytes", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--replay", action="store_true", help=argparse.SUPPRESS)
    args, rest = parser.parse_known_args()
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.by_rows or args.by_bytes:
        fuzz_here(args.out, args.by_rows, rest)
    if args.replay:
        replay_here(args.out)
        return 0
    result = fuzz(args.out, args.seconds)
    result["line_coverage"] = line_coverage(args.out)
    for name, percent in sorted(result["line_coverage"].items(), key=lambda item: item[1]):
        print(f"{percent:6.1f} %  {name}")
    for fault in result["findings"] + result["fatal"]:
        print(fault)
    print(json.dumps(result))
    return 1 if result["findings"] or result["fatal"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
