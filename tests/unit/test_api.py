"""The public Python API, its examples, and what importing it costs."""

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import numpy as np
import pyarrow as pa
import pytest

import hitpath
from hitpath.core import CAUSES
from support import write_jsonl

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ("hit_rate", "cache_size", "two_days", "engine_log")
ROWS = [
    {"id": i, "arrival_s": i, "tokens": [1] * 32 + [i] * 8, "tenant": f"t{i % 2}", "session": "s"}
    for i in range(4)
]


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin"},
        cwd="/",
    )
    return done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_it_says(name):
    path = ROOT / "examples" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    told = path.read_text().split(f"$ python examples/{name}.py\n")[1].split('"""')[0]
    assert done.stdout == dedent(told.rstrip() + "\n")
    assert done.stderr == ""


def test_importing_loads_nothing_until_it_is_used():
    code = (
        "import hitpath, sys; hitpath.Setting; print({'numba', 'pyarrow', 'rich'} & {*sys.modules})"
    )
    assert run(code) == "set()\n"


def test_every_public_name_is_there_and_documented():
    page = (ROOT / "docs" / "python.md").read_text()
    for name in hitpath.__all__:
        assert getattr(hitpath, name) is not None
        assert name == "__version__" or name in page, name
    public = [*dir(hitpath.Result), *dir(hitpath.Observed), *dir(hitpath.Diagnosed)]
    public = [name for name in public if not name.startswith("_")]
    assert not [name for name in public if not re.search(rf"\b{name}\b", page)]
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        hitpath.analyse  # noqa: B018


def test_the_result_is_the_commands(tmp_path):
    path = write_jsonl(tmp_path / "t.jsonl", ROWS)
    found = hitpath.analyze(path, block_size=16)
    assert found.hit_rate == 96 / 160
    assert (found.hit_tokens, found.prompt_tokens) == (96, 160)
    assert list(found.causes) == list(CAUSES)
    known = sum(tokens or 0 for tokens in found.causes.values())
    assert found.hit_tokens + known == found.prompt_tokens
    assert set(found.not_known) == {c for c, tokens in found.causes.items() if tokens is None}
    assert found.rates["token_weighted"] == found.hit_rate
    assert isinstance(found.ledger, pa.Table)
    assert found.ledger["hit_tokens"].to_pylist() == [0, 32, 32, 32]
    assert found.by("tenant")["name"].to_pylist() == ["t0", "t1"]
    assert found.by("tenant")["hit_tokens"].to_pylist() == [32, 64]
    assert sum(found.over_time["num_requests"].to_pylist()) == 4
    assert found.curve["hit_rate"].to_pylist()[-1] == found.hit_rate
    assert (found.hit_rate_at(0), found.hit_rate_at(16)) == (0, 48 / 160)
    assert found.hit_rate_at(10**9) == found.hit_rate
    assert found.explain("1").relative.id == "0"
    with pytest.raises(KeyError):
        found.by("colour")


def test_rows_in_memory_are_rows_of_the_format(tmp_path):
    arrays = [{**row, "tokens": np.array(row["tokens"], dtype=np.uint32)} for row in ROWS]
    path = str(write_jsonl(tmp_path / "t.jsonl", ROWS))
    ledgers = [hitpath.analyze(x).ledger for x in (path, ROWS, arrays, iter(ROWS), [path])]
    assert all(ledger.equals(ledgers[0]) for ledger in ledgers)
    trace = hitpath.read(ROWS)
    assert hitpath.analyze(trace).ledger.equals(ledgers[0])


def test_errors_name_the_row(tmp_path):
    with pytest.raises(hitpath.InputError, match=r"rows\[1\]: tokens\[0\]: 'x'|rows\[1\]: tokens"):
        hitpath.analyze([ROWS[0], {**ROWS[1], "tokens": ["x"]}])
    with pytest.raises(hitpath.InputError, match="neither files nor rows"):
        hitpath.analyze([ROWS[0], "t.jsonl"])
    with pytest.raises(hitpath.InputError, match="neither files nor rows"):
        hitpath.analyze([])
    with pytest.raises(hitpath.SettingError, match="--engine lruu: not one of unlimited, lru"):
        hitpath.analyze(ROWS, engine="lruu")
    with pytest.raises(hitpath.SettingError, match="colour: not one of engine, "):
        hitpath.analyze(ROWS, colour="red")
    with pytest.raises(hitpath.SettingError, match="sample_frac: not one of"):
        hitpath.analyze(ROWS, sample_frac=0.1)
    skipped = hitpath.read([ROWS[0], {**ROWS[1], "tokens": ["x"]}], skip_bad_rows=True)
    assert (len(skipped), skipped.skipped[0].place) == (1, "rows[1]")


def test_nothing_that_is_asked_is_ignored():
    trace, found = hitpath.read(ROWS), hitpath.analyze(ROWS)
    with pytest.raises(hitpath.SettingError, match="tokenizer: is for reading"):
        hitpath.read(trace, tokenizer="mistral:tekken_240911")
    with pytest.raises(hitpath.SettingError, match="tokenizer: is for reading"):
        hitpath.analyze(trace, tokenizer="mistral:tekken_240911")
    with pytest.raises(hitpath.SettingError, match="mapping: is for files"):
        hitpath.read(ROWS, mapping=["id=name"])
    for size, cause in (
        (-1, "below 0"),
        (16.5, "no whole"),
        (None, "no whole"),
        (True, "no whole"),
    ):
        with pytest.raises(hitpath.SettingError, match=cause):
            found.hit_rate_at(size)
    assert found.hit_rate_at(np.int64(16)) == found.hit_rate_at(16)
    assert found.hit_rate_at(10**400) == found.hit_rate
    assert repr(found) == "Result(60.00% hit, 160 prompt tokens, 4 requests)"


def test_lengths_only_has_no_curve_and_no_causes():
    rows = [{"id": 1, "arrival_s": 0, "prompt_tokens": 9, "reported": {"cached_tokens": 3}}]
    found = hitpath.analyze(rows)
    assert found.hit_rate == 1 / 3
    assert set(found.causes.values()) == {None}
    assert found.hit_rate_at(100) is None
    assert found.curve.num_rows == 0
    assert found.ledger["reported_hit_tokens"].to_pylist() == [3]
    with pytest.raises(hitpath.InputError, match="nothing to explain"):
        found.explain("1")


def test_diff_and_convert(tmp_path):
    moved = hitpath.diff(ROWS, ROWS[:2], by="tenant").difference
    assert moved.rate_b - moved.rate_a == Fraction(32, 80) - Fraction(96, 160)
    assert moved.effect.total == moved.rate_b - moved.rate_a
    found = hitpath.analyze(ROWS)
    assert hitpath.diff(found, ROWS[:2]).difference.rate_a == moved.rate_a
    with pytest.raises(hitpath.SettingError, match="has its setting already"):
        hitpath.diff(found, ROWS, block_size=8)
    out, key = tmp_path / "o.parquet", tmp_path / "key"
    key.write_bytes(b"0123456789abcdef")
    notes = hitpath.convert(ROWS, out, redact=key)
    assert any("keyed hashes" in note for note in notes)
    assert hitpath.analyze(out).causes == found.causes
    with pytest.raises(hitpath.OutputError, match="is an input"):
        hitpath.convert(ROWS, key, redact=key)
    assert key.read_bytes() == b"0123456789abcdef"
    with pytest.raises(hitpath.SettingError, match="not one of hitpath, mooncake"):
        hitpath.convert(ROWS, out, to="vidur")
