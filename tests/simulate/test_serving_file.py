"""fleet.toml: what is not known, of another type or out of range has place, field and cause."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.core import HitpathError, InputError
from hitpath.sim.serving_file import FleetFile, fleet_of, read_fleet

WHOLE = """
outputs = "insert"
slo = "ttft_p90<0.5"
seed = 3
[worker]
model = "qwen3-32b"
hardware = "h100-sxm"
tp = 2
capacity_tokens = 307328
[[workers]]
count = 8
[router]
name = "round-robin"
scrape_interval_s = 0.05
[load]
arrivals = "poisson"
drain = true
[[load.stages]]
rate_per_s = 3
duration_s = 20.0
[[changes]]
time_s = 10
worker = 0
change = "fail"
"""


def test_a_whole_file(tmp_path):
    path = tmp_path / "fleet.toml"
    path.write_text(WHOLE)
    fleet = read_fleet(str(path))
    assert fleet.worker.tp == 2
    assert fleet.workers[0].count == 8
    assert fleet.load.stages[0].rate_per_s == 3
    assert fleet.changes[0].change == "fail"
    assert (fleet.outputs, fleet.slo, fleet.seed) == ("insert", "ttft_p90<0.5", 3)


def test_an_empty_file_is_a_fleet_of_defaults():
    assert fleet_of({}, "f") == FleetFile()


@pytest.mark.parametrize(
    ("text", "field", "cause"),
    [
        ("[worker]\ncount = 0", "worker.count", ">= 1"),
        ("[worker]\ncores = 1", "worker.cores", "no field of a fleet"),
        ("[worker]\nrole = 'x'", "worker.role", "'x' is not one of both, prefill, decode"),
        ("[[workers]]\ncount = 'a'", "workers[0].count", "got `str`"),
        ("[load]\nstages = [{}]", "load.stages[0].rate_per_s", "missing"),
        ("[load]\nscale = inf", "load.scale", "<="),
        ("[load]\nrate_per_s = nan", "load.rate_per_s", "> 0"),
        ("[[changes]]\ntime_s = nan\nworker = 0\nchange = 'fail'", "changes[0].time_s", ">= 0"),
        ("seed = -1", "seed", ">= 0"),
        ("x =", "", "no TOML"),
        ("a = 1\na = 2", "", "no TOML"),
        ("a = " + "[" * 5000, "", "TOML"),
    ],
)
def test_errors_name_place_field_and_cause(tmp_path, text, field, cause):
    path = tmp_path / "fleet.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_fleet(str(path))
    assert caught.value.place == str(path)
    assert caught.value.field == field
    assert cause in caught.value.cause


@given(st.binary(max_size=200))
def test_any_bytes_are_a_fleet_or_one_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("f") / "fleet.toml"
    path.write_bytes(data)
    told = ""
    try:
        read_fleet(str(path))
    except HitpathError as error:
        told = str(error)
    assert "\n" not in told


@pytest.mark.parametrize("name", ["missing.toml", ".", "a\0b"])
def test_what_is_no_file(tmp_path, name):
    with pytest.raises(InputError):
        read_fleet(str(tmp_path / name) if "\0" not in name else name)


def test_a_file_as_large_as_a_trace_is_not_read(tmp_path):
    path = tmp_path / "big.toml"
    path.write_bytes(b"# x\n" * 400_000)
    with pytest.raises(InputError, match="no fleet"):
        read_fleet(str(path))
