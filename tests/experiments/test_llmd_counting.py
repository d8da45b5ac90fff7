"""The report's own way of counting, the checks and the fit's loss, on figures made by hand."""

import csv
import math

import pytest
from llmd_73.measured import Measured, read_measured
from llmd_73.report import StageRow, medians_of, summary_of
from llmd_73.settings import load_experiment

from llmd_73 import fit, judge


def row(rate, p90=1.0, out=1000.0, served=100.0, queue=0.5, kv=0.6, send=10.0, mean=0.5):
    return StageRow(
        rate=rate,
        num_served=served,
        output_tokens_per_s=out,
        ttft_p90_s=p90,
        ttft_mean_s=mean,
        itl_mean_s=0.02,
        hit_rate=0.5,
        send_s=send,
        queue_mean=queue,
        kv_use_mean=kv,
        whole_queue_mean=2 * queue,
        first_queue_mean=queue,
        whole_kv_use_mean=kv,
    )


def test_a_summary_weighs_ttft_by_successes_and_the_output_rate_not_at_all():
    stages = (
        row(15, p90=99, queue=4, kv=0.2, send=50),  # the warm-up
        row(3, p90=1, out=1000, served=60, queue=0, kv=0.4, send=20),
        row(40, p90=41, out=5000, served=1024, queue=10, kv=0.9, send=30),
    )
    found = summary_of(stages)
    assert found.output_tokens_per_s == 3000
    assert found.ttft_p90_s == pytest.approx((60 * 1 + 1024 * 41) / 1084)
    assert found.queue_mean == pytest.approx((50 * 4 + 20 * 0 + 30 * 10) / 100)
    assert found.kv_use_mean == pytest.approx((50 * 0.2 + 20 * 0.4 + 30 * 0.9) / 100)


def test_medians_are_taken_figure_by_figure():
    runs = [(row(15), row(40, p90=p90, out=out)) for p90, out in ((1, 30), (5, 10), (9, 20))]
    found = medians_of("precise", runs)
    assert len(found.rows) == 1
    assert (found.rows[0].ttft_p90_s, found.rows[0].output_tokens_per_s) == (5, 20)
    assert found.summary.ttft_p90_s == 5
    assert len(found.runs) == 3


def test_the_reports_summary_follows_from_its_rows_by_these_weights():
    """Half of the stages: the other half's mean must make up the rest, and be a TTFT."""
    weights = {3: 60, 15: 300, 22: 748, 30: 750, 40: 1024, 46: 1024, 52: 1024, 57: 1024}
    rest = {10: 200, 20: 760, 25: 750, 35: 735, 43: 1024, 49: 1024, 55: 1024, 60: 1024}
    for name, (_, p90, mean, _, _) in judge.SUMMARY_OVER_ALL_RATES.items():
        for figure, whole in (("ttft_p90_s", p90), ("ttft_mean_s", mean)):
            known = sum(
                weights[int(r.offered_qps)] * getattr(r, figure)
                for (who, _), r in read_measured().items()
                if who == name
            )
            others = (whole * (sum(weights.values()) + sum(rest.values())) - known) / sum(
                rest.values()
            )
            half = known / sum(weights.values())
            assert others == pytest.approx(half, rel=0.12), (name, figure)


def measured_at(factor=1.0, **figures):
    """The CSV's rows as simulated ones, each figure multiplied."""
    medians = {}
    measured = read_measured()
    for name in ("precise", "estimated", "load", "random"):
        rows = [
            row(
                m.offered_qps,
                p90=m.ttft_p90_s * figures.get("p90", factor),
                mean=m.ttft_mean_s * figures.get("mean", factor),
                out=m.output_tokens_per_s * figures.get("out", factor),
                queue=judge.SUMMARY_OVER_ALL_RATES[name][3],
                kv=judge.SUMMARY_OVER_ALL_RATES[name][4] / 100,
            )
            for (who, _), m in sorted(measured.items(), key=lambda item: item[0][1])
            if who == name
        ]
        medians[name] = medians_of(name, [(rows[0], *rows)])
    return medians, measured


def test_the_measured_rows_meet_all_criteria_themselves():
    found = judge.checks(*measured_at())
    assert [check.name for check in found if not check.met] == []
    assert len(found) == 15


@pytest.mark.parametrize(
    ("figures", "broken"),
    [
        ({"out": 1.16}, {"output rate within 15 % in 90 % of the rows"}),
        (
            {"out": 0.74},
            {
                "output rate within 15 % in 90 % of the rows",
                "output rate of no row beyond 25 %",
            },
        ),
        ({"mean": 1.31}, {"TTFT mean of those within 1.3x"}),
        (
            {"p90": 1.51},
            {
                "TTFT p90 of precise within 1.5x in 7 of 8 rows",
                "TTFT p90 within 1.5x: random and load saturated, estimated from 43/s",
            },
        ),
    ],
)
def test_each_criterion_can_fail(figures, broken):
    found = judge.checks(*measured_at(**figures))
    assert {check.name for check in found if not check.met} == broken


def test_one_row_of_precise_may_be_off():
    medians, measured = measured_at()
    rows = medians["precise"].rows
    off = (rows[0]._replace(ttft_p90_s=10 * rows[0].ttft_p90_s), *rows[1:])
    medians["precise"] = medians_of("precise", [(off[0], *off)])
    names = {check.name for check in judge.checks(medians, measured) if not check.met}
    assert "TTFT p90 of precise within 1.5x in 7 of 8 rows" not in names


def test_the_loss_counts_tolerances():
    assert fit.loss(*measured_at()) == pytest.approx(0.3 * _itl_alone(), rel=1e-6)
    more = fit.loss(*measured_at(out=1.15)) - fit.loss(*measured_at())
    assert more == pytest.approx(2 * 32)


def _itl_alone():
    """The rows made by hand all have 20 ms."""
    return sum(
        min((math.log(0.02 / m.itl_mean_s) / math.log(1.15)) ** 2, 9)
        for m in read_measured().values()
    )


def test_other_measured_rows_can_be_given(tmp_path):
    path = tmp_path / "kept_back.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Measured._fields)
        writer.writerow([43.0, "precise", 10000.0, 42.5, 0.5, 0.3, 0.028])
    rows = read_measured(path)
    assert rows["precise", 43.0].ttft_p90_s == 0.5


def test_there_are_five_fitted_numbers():
    fitted = load_experiment().fitted
    assert len(fitted.__struct_fields__) == 5
