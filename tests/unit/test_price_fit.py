"""`hitpath price --fit`: the efficiencies of measured rows, used and told."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hitpath.cli import app
from hitpath.core import SettingError
from measured_rows import CASES, TRUTH, measured_rows

ROOT = Path(__file__).resolve().parents[2]
PRICE = ["price", "--model", "llama-3.1-8b", "--hardware", "h100-sxm"]


@pytest.fixture
def rows(tmp_path):
    return measured_rows(tmp_path / "rows.jsonl")


def document(*options):
    result = CliRunner().invoke(app, [*PRICE, *map(str, options), "--json", "-"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


def test_the_truth_is_found_and_used(rows):
    found = document("--fit", rows)
    fitted = found["fit"]["fitted"]
    assert fitted["compute"]["value"] == pytest.approx(0.6, rel=1e-3)
    assert fitted["memory"]["value"] == pytest.approx(0.75, rel=1e-3)
    assert fitted["overhead_s"]["value"] == pytest.approx(0.003, rel=1e-2)
    assert found["fit"]["errors"]["p90_frac"] < 1e-3
    assert found["fit"]["num_folds"] == len(CASES)
    assert found["fit"]["rows"][0]["place"] == f"{rows}:1"
    assert found["hardware"]["efficiency"] == "compute=0.6,memory=0.75,overhead_s=0.003"
    true = document("--efficiency", TRUTH)
    assert true["fit"] is None
    for path in ("miss", "hit"):
        assert found[path]["ttft_s"] == pytest.approx(true[path]["ttft_s"], rel=1e-3)


def test_the_setting_gives_the_same_again(rows):
    found = document("--fit", rows)
    again = document("--efficiency", found["fit"]["setting"])
    assert {**found, "fit": None} == again


def test_a_given_part_is_held(rows):
    held = document("--fit", rows, "--efficiency", "memory=0.9")["fit"]["fitted"]
    assert held["memory"] == {"value": pytest.approx(0.9), "std_error": None, "reason": "given"}
    assert held["compute"]["value"] != pytest.approx(0.6, rel=1e-6)


def test_what_the_rows_leave_open_has_to_be_given(rows):
    first = rows.read_text().splitlines(keepends=True)[:3]
    rows.write_text("".join(first))
    with pytest.raises(SettingError, match=r"is not told by these rows: .*; give it: --efficiency"):
        document("--fit", rows)


def test_two_efficiencies_are_refused(rows):
    with pytest.raises(SettingError, match="give one"):
        document("--fit", rows, "--efficiency", "achievable")


def test_the_page_tells_values_errors_and_rows(rows):
    page = CliRunner().invoke(app, [*PRICE, "--fit", str(rows)]).stdout
    for part in ("Fitted to", "share of the peak arithmetic", "left out of their fit", "TTFT off"):
        assert part in page


def test_every_key_is_documented(rows):
    def keys(value):
        if isinstance(value, dict):
            return set(value) | {key for inner in value.values() for key in keys(inner)}
        if isinstance(value, list):
            return {key for inner in value for key in keys(inner)}
        return set()

    section = (ROOT / "docs" / "hit-and-miss-path.md").read_text().split("## JSON")[1]
    told = keys(document("--fit", rows)["fit"]) - {"compute", "memory", "overhead_s"}
    assert sorted(key for key in told if f"`{key}`" not in section) == []
