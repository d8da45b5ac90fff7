"""`--fit`: the steps of a simulated worker from measured rows."""

import json

import pytest

import hitpath
from hitpath.core import InputError, SettingError
from hitpath.cost.pricing import load_pricing
from measured_rows import TRUTH, measured_rows

ON = {"model": "llama-3.1-8b", "hardware": "h100-sxm"}
ROWS = [
    {
        "id": str(i),
        "arrival_s": 9.0 * i,
        "tokens": [7 * i + n for n in range(900)],
        "output_tokens": 9,
    }
    for i in range(4)
]


@pytest.fixture
def rows(tmp_path):
    return measured_rows(tmp_path / "rows.jsonl")


def latency(**options):
    return hitpath.simulate(ROWS, **ON, capacity_tokens=50_000, **options).latency


def test_a_fitted_worker_takes_the_times_that_were_measured(rows, tmp_path):
    true, fitted, ideal = latency(efficiency=TRUTH), latency(fit=str(rows)), latency()
    for metric in ("ttft_s", "tpot_s", "e2e_s"):
        assert fitted[metric]["p50"] == pytest.approx(true[metric]["p50"], rel=2e-3)
        assert fitted[metric]["p50"] > 1.1 * ideal[metric]["p50"]
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(
        f'[worker]\nmodel = "{ON["model"]}"\nhardware = "{ON["hardware"]}"\nfit = "{rows}"\n'
        "capacity_tokens = 50_000\n"
    )
    assert hitpath.simulate(ROWS, str(fleet)).latency == fitted
    found = hitpath.simulate(ROWS, str(fleet)).document["fleet"]["groups"][0]["efficiency"]
    assert found.startswith("compute=0.6,memory=0.75,overhead_s=0.003")


def test_given_parts_are_held(rows):
    priced = load_pricing(**ON, fit=str(rows), efficiency="memory=0.5")
    assert "memory=0.5," in priced.replica.roofline.efficiency


def test_what_cannot_be_fitted_is_one_line(rows, tmp_path):
    with pytest.raises(SettingError, match="two efficiencies; give one"):
        latency(fit=str(rows), efficiency="achievable")
    with pytest.raises(InputError, match=r"none\.jsonl"):
        latency(fit=str(tmp_path / "none.jsonl"))
    few = tmp_path / "few.jsonl"
    few.write_text(rows.read_text().splitlines()[1] + "\n")
    with pytest.raises(
        SettingError, match=r"few\.jsonl: .* is not told by these rows.*--efficiency"
    ):
        latency(fit=str(few))


def test_the_command_takes_it_and_keeps_it(rows, tmp_path):
    from typer.testing import CliRunner

    from hitpath.cli import app

    trace = tmp_path / "t.jsonl"
    trace.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    typed = ["simulate", trace, "--model", ON["model"], "--hardware", ON["hardware"], "--fit", rows]
    done = CliRunner().invoke(app, [*map(str, typed), "--json", "-"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)["latency"]["ttft_s"]["p50"]
    assert told == pytest.approx(latency(efficiency=TRUTH)["ttft_s"]["p50"], rel=2e-3)
    before = rows.read_text()
    done = CliRunner().invoke(app, [*map(str, typed), "--json", str(rows)])
    assert done.exit_code != 0
    assert rows.read_text() == before


def test_an_interval_that_no_run_ends_with_is_refused():
    for seconds in (1e-300, 9e-7):
        with pytest.raises(SettingError, match="scrape"):
            latency(step_s=None, efficiency=TRUTH, scrape_interval_s=seconds, router="llmd-load")
    assert latency(efficiency=TRUTH, scrape_interval_s=0.0, router="llmd-load")
