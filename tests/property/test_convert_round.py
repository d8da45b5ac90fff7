"""Converting loses nothing that an analysis uses: the converted trace, plain or redacted, as JSON
lines or as Parquet, gives the same document and the same rows."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings

from conversions import KEY, SETTINGS, answers, own_traces
from hitpath.core import HitpathError
from hitpath.report.convert.run import Conversion, run_convert
from hitpath.traces import read_trace
from hitpath.traces.detect import FORMATS
from samples import SAMPLES, write_sample
from support import shared_data, write_jsonl


def check_all_ways(paths: list[str], folder: Path, formats=("jsonl", "parquet")) -> None:
    original = read_trace(paths, skip_bad_rows=True)
    expected = [answers(original, setting) for setting in SETTINGS]
    key = folder / "key"
    key.write_bytes(KEY)
    for redact in (None, str(key)):
        for ending in formats:
            out = str(folder / f"out-{redact is None}.{ending}")
            run_convert(Conversion(paths, out, redact=redact, skip_bad_rows=True))
            again = read_trace([out])
            for setting, told in zip(SETTINGS, expected, strict=True):
                assert answers(again, setting) == told


@settings(max_examples=150)
@given(own_traces())
def test_own_rows_of_every_kind_go_round(rows):
    with TemporaryDirectory() as name:
        path = str(write_jsonl(Path(name) / "t.jsonl", rows))
        try:
            read_trace([path], skip_bad_rows=True)
        except HitpathError:
            return  # not one row that can be read: nothing to convert
        check_all_ways([path], Path(name))


def test_there_is_a_sample_of_every_format(tmp_path):
    formats = set()
    for number, name in enumerate(SAMPLES):
        folder = tmp_path / str(number)
        folder.mkdir()
        formats.add(read_trace(write_sample(name, folder)).format)
    assert formats == {known.name for known in FORMATS}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_format_goes_round(name, tmp_path):
    check_all_ways(write_sample(name, tmp_path), tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "coding_agent_sessions",
        "ragpulse_sample",
        "lmcache_taubench",
        "claude_code_log",
        "otel_genai",
    ],
)
def test_real_traces_go_round(name, tmp_path):
    check_all_ways([str(shared_data(name))], tmp_path, formats=("jsonl",))
