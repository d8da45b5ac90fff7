"""Fitting efficiencies to measured rows: the truth is found, and what rows cannot tell is None.

Rows are made with the paths' own functions from efficiencies that the fit does not see.
"""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.core import InputError, SettingError
from hitpath.cost.efficiency import load_efficiency
from hitpath.cost.fit import Errors, fit, fit_file
from hitpath.cost.fit_rows import MeasuredRow, read_measured_rows
from hitpath.cost.fit_search import LEAST, best_fit, error_of
from hitpath.cost.fit_terms import terms_of
from hitpath.cost.formats import Formats
from hitpath.cost.hardware import load_hardware
from hitpath.cost.model_table import load_shape
from hitpath.cost.paths import hit_path, replica_of, tpot_s

H100 = load_hardware("h100-sxm")
TRUTH = "compute=0.55,memory=0.72,overhead_s=0.004"
ON_FOUR = "compute=0.4,memory=0.8,link=0.3,overhead_s=0.001"


def replica(setting="ideal", model="llama-3.1-8b", tp=1, **formats):
    return replica_of(load_shape(model), H100, tp, Formats(**formats), setting)


def rows_of(real, requests, noise_frac=0.0, chunk_tokens=None):
    """(prompt, cached, batch, output) each; output 0: no TPOT."""
    random = np.random.default_rng(7)

    def measured(seconds):
        return seconds * (1 + noise_frac * random.standard_normal())

    rows = []
    for prompt, cached, batch, output in requests:
        path = hit_path(real, prompt, cached, batch=batch, chunk_tokens=chunk_tokens)
        rows.append(
            MeasuredRow(
                prompt_tokens=prompt,
                cached_tokens=cached,
                ttft_s=measured(path.ttft_s),
                tpot_s=measured(tpot_s(real, prompt, output, batch)) if output else None,
                output_tokens=output or None,
                batch=batch,
            )
        )
    return rows


VARIED = [
    (prompt, int(prompt * share), batch, output)
    for (prompt, share), (batch, output) in zip(
        itertools.product((300, 1000, 4000, 16000), (0, 0.5, 0.9, 0.99, 1)),
        itertools.cycle([(1, 0), (1, 64), (8, 0), (2, 7)]),
        strict=False,
    )
]
MISSES = [(prompt, 0, 1, 0) for prompt in (2048, 4096, 8192, 16384, 32768)]


def values(found):
    return {name: one.value for name, one in found.fitted.items()}


@pytest.mark.parametrize("chunk_tokens", [None, 700])
@pytest.mark.parametrize("tp", [1, 4])
@pytest.mark.parametrize(
    ("model", "formats"),
    [
        ("llama-3.1-8b", {}),
        ("qwen3-30b-a3b", {"weights": "fp8", "kv": "fp8"}),
        ("deepseek-v2-lite", {}),
        ("gemma-3-12b", {"weights": "int4"}),
        ("qwen3-next-80b-a3b", {}),
    ],
)
def test_terms_are_the_seconds_of_the_paths(model, formats, tp, chunk_tokens):
    if tp == 4:
        x, setting = np.array([1 / 0.4, 1 / 0.8, 1 / 0.3, 0.001]), ON_FOUR
    else:
        x, setting = np.array([1 / 0.55, 1 / 0.72, 1.0, 0.004]), TRUTH
    rows = rows_of(replica(setting, model, tp, **formats), VARIED, 0.0, chunk_tokens)
    terms = terms_of(replica("ideal", model, tp, **formats), rows, chunk_tokens)
    assert len(terms.figures_s) > len(rows)
    assert terms.predicted_s(x) == pytest.approx(terms.figures_s, rel=1e-12)


@pytest.mark.parametrize(("tp", "setting"), [(1, TRUTH), (4, ON_FOUR)])
def test_exact_rows_give_the_truth(tp, setting):
    found = fit(rows_of(replica(setting, tp=tp), VARIED), replica(tp=tp))
    truth = load_efficiency(setting, H100, "bf16")
    again = load_efficiency(found.setting, H100, "bf16")
    for part in ("compute_frac", "memory_frac", "link_frac", "step_overhead_s"):
        assert getattr(again, part) == pytest.approx(getattr(truth, part), rel=1e-6), part
    assert found.errors.p90_frac < 1e-9
    assert found.held_out.p90_frac < 1e-9
    assert found.num_folds == len(VARIED)


@pytest.mark.parametrize("noise_frac", [0.02, 0.08])
def test_noise_leaves_the_truth_within_its_errors(noise_frac):
    found = fit(rows_of(replica(TRUTH), VARIED, noise_frac), replica())
    for name, truth in (("compute", 0.55), ("memory", 0.72), ("overhead_s", 0.004)):
        one = found.fitted[name]
        assert abs(one.value - truth) < 3 * one.std_error, name
        assert one.std_error < 0.25 * truth
    assert 0.2 * noise_frac < found.errors.median_frac < 2 * noise_frac
    assert found.held_out.median_frac > found.errors.median_frac


def test_the_same_rows_give_the_same_fit():
    rows = rows_of(replica(TRUTH), VARIED, 0.05)
    assert fit(rows, replica()) == fit(rows, replica())


def test_no_grid_point_is_better():
    rows = rows_of(replica(TRUTH), VARIED[::2], 0.2)
    terms = terms_of(replica(), rows)
    free = np.array([True, True, False, True])
    least = error_of(terms, best_fit(terms, LEAST, free))
    shares = np.geomspace(1, 20, 30)
    grid = itertools.product(shares, shares, np.linspace(0, 0.01, 30))
    assert least <= min(error_of(terms, np.array([c, m, 1, o])) for c, m, o in grid)


def test_row_errors_are_predicted_over_measured():
    rows = rows_of(replica(TRUTH), VARIED, 0.05)
    found = fit(rows, replica())
    fitted = replica(found.setting)
    for row, error in zip(rows, found.rows, strict=True):
        path = hit_path(fitted, row.prompt_tokens, row.cached_tokens, batch=row.batch)
        assert error.ttft_frac == pytest.approx(path.ttft_s / row.ttft_s - 1, abs=1e-9)
        assert (error.tpot_frac is None) == (row.tpot_s is None)
    both = [e for r in found.rows for e in (r.ttft_frac, r.tpot_frac) if e is not None]
    median, p90 = np.quantile(np.abs(both), (0.5, 0.9))
    assert found.errors == Errors(pytest.approx(median), pytest.approx(p90), len(both))


def test_a_row_left_out_is_predicted_from_the_others():
    rows = rows_of(replica(TRUTH), VARIED[:9], 0.01)
    errors = []
    for i, row in enumerate(rows):
        others = fit(rows[:i] + rows[i + 1 :], replica())
        real = replica(others.setting)
        path = hit_path(real, row.prompt_tokens, row.cached_tokens, batch=row.batch)
        errors.append(path.ttft_s / row.ttft_s - 1)
        if row.tpot_s is not None:
            seconds = tpot_s(real, row.prompt_tokens, row.output_tokens, row.batch)
            errors.append(seconds / row.tpot_s - 1)
    found = fit(rows, replica())
    median, p90 = np.quantile(np.abs(errors), (0.5, 0.9))
    assert found.held_out.median_frac == pytest.approx(median, rel=1e-4)
    assert found.held_out.p90_frac == pytest.approx(p90, rel=1e-4)


def test_what_one_row_alone_tells_is_not_known_when_it_is_left_out():
    requests = [(prompt, 0, 2048, 0) for prompt in (4096, 8192, 16384, 32768)]
    rows = rows_of(replica("compute=0.5,memory=0.3,overhead_s=0.01"), [*requests, (99, 99, 1, 0)])
    found = fit(rows, replica(), known={"overhead_s": 0.01})
    assert values(found) == pytest.approx({"compute": 0.5, "memory": 0.3, "overhead_s": 0.01})
    assert found.errors.p90_frac < 1e-9
    left_out = hit_path(replica("overhead_s=0.01"), 99, 99).ttft_s / rows[-1].ttft_s - 1
    assert left_out < -0.3
    assert found.held_out == Errors(
        pytest.approx(0, abs=1e-9), pytest.approx(np.quantile([0, 0, 0, 0, -left_out], 0.9)), 5
    )


def test_many_rows_are_held_out_in_ten_parts():
    rows = rows_of(replica(TRUTH), VARIED * 3, 0.05)
    found = fit(rows, replica())
    assert len(rows) == 60
    assert found.num_folds == 10
    assert found.held_out.num_figures == found.errors.num_figures


def test_one_row_tells_nothing_apart():
    found = fit(rows_of(replica(TRUTH), [(4096, 0, 1, 0)]), replica())
    assert set(values(found).values()) == {None}
    assert found.held_out is None
    assert found.num_folds == 0
    assert found.errors.num_figures == 1


def test_where_all_is_bound_by_computing_memory_is_not_told():
    requests = [(prompt, 0, 512, 0) for prompt in (512, 1024, 2048, 8192)]
    found = fit(rows_of(replica("compute=0.5,overhead_s=0.01"), requests, 0.01), replica())
    assert found.fitted["compute"].value == pytest.approx(0.5, rel=0.02)
    assert found.fitted["memory"].value is None
    assert found.fitted["memory"].reason == "memory bounds no part of any row"
    with pytest.raises(SettingError, match="memory is not told by these rows: memory bounds no"):
        assert found.setting


def test_where_all_is_bound_by_memory_computing_is_not_told():
    requests = [(prompt, prompt, 1, 16) for prompt in (512, 4096, 32768)]
    found = fit(rows_of(replica("memory=0.6,overhead_s=0.001"), requests, 0.01), replica())
    assert found.fitted["memory"].value == pytest.approx(0.6, rel=0.05)
    assert found.fitted["compute"].value is None
    assert found.fitted["compute"].reason == "computing bounds no part of any row"


def test_two_that_move_together_are_both_not_told():
    found = fit(rows_of(replica(TRUTH), MISSES, 0.01), replica())
    assert found.fitted["compute"].value == pytest.approx(0.55, rel=0.05)
    assert found.fitted["memory"].value is None
    assert found.fitted["memory"].reason == "the rows cannot tell it from overhead_s"
    assert found.fitted["overhead_s"].value is None
    assert found.fitted["overhead_s"].reason == "the rows cannot tell it from memory"


def test_what_is_known_frees_the_other():
    found = fit(rows_of(replica(TRUTH), MISSES, 0.01), replica(), known={"memory": 0.72})
    assert found.fitted["memory"].reason == "given"
    assert found.fitted["overhead_s"].value == pytest.approx(0.004, rel=0.25)
    assert found.setting.startswith("compute=0.5")


def test_equal_rows_tell_nothing_apart():
    found = fit(rows_of(replica(TRUTH), [(4096, 0, 1, 0)] * 6, 0.02), replica())
    assert set(values(found).values()) == {None}
    assert found.errors.median_frac < 0.05


def test_no_link_on_one_gpu():
    found = fit(rows_of(replica(TRUTH), VARIED), replica())
    assert set(found.fitted) == {"compute", "memory", "overhead_s"}


def test_rows_faster_than_the_hardware_end_at_its_peak():
    rows = [
        MeasuredRow(
            prompt_tokens=row.prompt_tokens,
            cached_tokens=row.cached_tokens,
            ttft_s=row.ttft_s / 2,
            tpot_s=None if row.tpot_s is None else row.tpot_s / 2,
            output_tokens=row.output_tokens,
            batch=row.batch,
        )
        for row in rows_of(replica("compute=0.9,memory=0.95,overhead_s=0"), VARIED)
    ]
    found = fit(rows, replica())
    assert found.fitted["compute"].value == 1
    assert "reach the hardware's peak or more" in found.fitted["compute"].reason
    assert found.fitted["compute"].std_error is None
    assert found.errors.median_frac > 0.2


def test_requests_that_waited_are_pointed_out():
    rows = rows_of(replica(TRUTH), VARIED)
    waited = MeasuredRow(prompt_tokens=1000, cached_tokens=0, ttft_s=9.0)
    assert fit(rows, replica()).notes == ()
    assert "did those requests wait for others?" in fit([*rows, waited], replica()).notes[0]


@pytest.mark.parametrize(
    ("known", "cause"),
    [
        ({"computing": 0.5}, "not one of compute, memory, link, overhead_s"),
        ({"compute": 0.0}, "not above 0"),
        ({"memory": 1.5}, "at most 1"),
        ({"overhead_s": -1.0}, "no overhead"),
        ({"link": float("nan")}, "not above 0"),
    ],
)
def test_known_values_that_are_none(known, cause):
    with pytest.raises(SettingError, match=cause):
        fit(rows_of(replica(), MISSES), replica(), known=known)


def test_too_many_steps_are_refused():
    row = MeasuredRow(prompt_tokens=10**9, cached_tokens=0, ttft_s=1.0)
    with pytest.raises(SettingError, match="rows make 1,000,000,000 steps"):
        fit([row], replica(), chunk_tokens=1)


# Files


def records_of(rows):
    return [
        {name: v for name in row.__struct_fields__ if (v := getattr(row, name)) is not None}
        for row in rows
    ]


def write_csv(path, records):
    names = list(MeasuredRow.__struct_fields__)
    lines = [",".join(names)]
    lines += [",".join(str(record.get(name, "")) for name in names) for record in records]
    path.write_text("\r\n".join(lines) + "\r\n")
    return path


def test_csv_and_jsonl_are_the_same_rows(tmp_path):
    rows = rows_of(replica(TRUTH), VARIED)
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(record) + "\n\n" for record in records_of(rows)))
    table = write_csv(tmp_path / "rows.csv", records_of(rows))
    assert read_measured_rows(lines).rows == read_measured_rows(table).rows == tuple(rows)
    shape = load_shape("llama-3.1-8b")
    from_lines, from_table = fit_file(lines, shape, H100), fit_file(table, shape, H100)
    assert values(from_lines) == values(from_table) == values(fit(rows, replica()))
    assert from_lines.rows[1].place == f"{lines}:3"
    assert from_table.rows[1].place == f"{table}:3"


def test_fields_that_are_not_used_are_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("prompt_tokens,cached_tokens,ttft_s,tpot,when\n4096,0,0.2,0.01,now\n")
    found = fit_file(path, load_shape("llama-3.1-8b"), H100)
    assert found.notes[0] == "fields that are not used: tpot, when"


GOOD = {"prompt_tokens": 10, "cached_tokens": 0, "ttft_s": 0.5}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"prompt_tokens": None}, "prompt_tokens"),
        ({"prompt_tokens": 0}, "prompt_tokens"),
        ({"prompt_tokens": "ten"}, "prompt_tokens"),
        ({"prompt_tokens": 2**60}, "prompt_tokens"),
        ({"cached_tokens": -1}, "cached_tokens"),
        ({"cached_tokens": 11}, "cached_tokens"),
        ({"ttft_s": 0}, "ttft_s"),
        ({"ttft_s": True}, "ttft_s"),
        ({"tpot_s": 0.1}, "tpot_s"),
        ({"tpot_s": 0.1, "output_tokens": 1}, "tpot_s"),
        ({"output_tokens": 1.5}, "output_tokens"),
        ({"batch": 0}, "batch"),
    ],
)
def test_rows_that_are_none(tmp_path, change, field):
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{json.dumps(GOOD | change)}\n")
    with pytest.raises(InputError) as error:
        read_measured_rows(path)
    assert error.value.place == f"{path}:2"
    assert error.value.field == field


@pytest.mark.parametrize("field", sorted(GOOD))
def test_a_field_that_is_missing_is_named_and_is_not_zero(tmp_path, field):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({name: v for name, v in GOOD.items() if name != field}))
    with pytest.raises(InputError, match=f"rows.jsonl:1: {field}: missing"):
        read_measured_rows(path)
    table = write_csv(tmp_path / "rows.csv", [{n: v for n, v in GOOD.items() if n != field}])
    with pytest.raises(InputError, match=f"rows.csv:2: {field}: missing"):
        read_measured_rows(table)


@pytest.mark.parametrize(
    ("name", "data", "cause"),
    [
        ("rows.csv", b"", "no rows"),
        ("rows.csv", b"prompt_tokens,cached_tokens,ttft_s\n", "no rows"),
        ("rows.csv", b"ttft_s,ttft_s\n1,2\n", "ttft_s: two columns of this name"),
        ("rows.csv", b"ttft_s\n1,2\n", "rows.csv:2: 2 cells, the header has 1"),
        ("rows.csv", b"prompt_tokens,cached_tokens,ttft_s\n5,0,nan\n", "rows.csv:2: ttft_s"),
        ("rows.csv", b"prompt_tokens,cached_tokens,ttft_s\n5,0,inf\n", "rows.csv:2: ttft_s"),
        ("rows.csv", b'a,"b\n', "no CSV"),
        ("rows.jsonl", b"[]", "rows.jsonl:1: no JSON object"),
        ("rows.jsonl", b"\xff\xfe", "not valid UTF-8"),
        ("rows.jsonl", b"[" * 100_000, "rows.jsonl:1: "),
    ],
)
def test_files_that_are_none(tmp_path, name, data, cause):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=cause):
        read_measured_rows(path)


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_measured_rows(tmp_path / "rows.csv")


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from(["prompt_tokens", ",", "\n", '"', "1", "-", "{", "}", ":"])).map(
        lambda parts: "".join(parts).encode()
    ),
    st.sampled_from(["rows.csv", "rows.jsonl"]),
)
def test_any_bytes_are_rows_or_one_error(tmp_path_factory, data, name):
    path = tmp_path_factory.mktemp("rows") / name
    path.write_bytes(data)
    try:
        rows = read_measured_rows(path)
    except InputError:
        return
    assert rows.rows
