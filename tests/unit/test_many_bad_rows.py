"""However many rows are bad, however many names there are: counted exactly, listed in bounds."""

import json

import pytest

import hitpath
from cli import call
from hitpath.core import InputError
from hitpath.traces import open_inputs, problems, read_trace
from hitpath.traces.engine_logs import observe
from hitpath.traces.problems import Problem, Skipped, SkippedSoFar
from hitpath.traces.rows import MOST_NAMED, MOST_TIERS

GOOD = {"id": "good", "arrival_s": 0, "tokens": [1, 2, 3]}


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "MOST_LISTED", 5)


def bad_file(tmp_path, num_bad):
    rows = [{**GOOD, "id": f"b{i}", "arrival_s": -1} for i in range(num_bad)]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, GOOD]))
    return path


def test_what_comes_is_counted_and_the_first_are_kept(five):
    so_far = SkippedSoFar()
    assert not so_far
    for i in range(12):
        so_far.append(Problem(f"t:{i}", "", "x"))
    assert (len(so_far), so_far.found().num) == (12, 12)
    assert [problem.place for problem in so_far.found()] == [f"t:{i}" for i in range(5)]
    assert (Skipped().num, Skipped(so_far.found()).num) == (0, 5)


def test_every_result_tells_the_true_number(tmp_path, five):
    path = bad_file(tmp_path, 12)
    arguments = {
        "analyze": ["analyze", path],
        "sample": ["analyze", path, "--sample", "0.5"],
        "explain": ["explain", "good", path],
    }
    for name, words in arguments.items():
        told = json.loads(call(*words, "--skip-bad-rows", "--json", "-").text)
        if name != "explain":
            assert told["trace"]["num_skipped_rows"] == 12
        else:
            assert told["num_skipped_rows"] == 12
        if name != "sample":
            assert [row["place"] for row in told["skipped_rows"]] == [
                f"{path}:{i}" for i in range(1, 6)
            ]
    assert "Skipped rows: 12" in call("analyze", path, "--skip-bad-rows").text
    told = json.loads(call("diff", path, path, "--skip-bad-rows", "--json", "-").text)
    assert [side["num_skipped_rows"] for side in (told["a"], told["b"])] == [12, 12]
    assert "Skipped rows of B: 12" in call("diff", path, path, "--skip-bad-rows").text
    page = tmp_path / "p.html"
    call("analyze", path, "--skip-bad-rows", "--html", page)
    assert "Skipped rows: 12" in page.read_text()
    wrote = call("convert", path, "--skip-bad-rows", "--out", tmp_path / "o.jsonl").text
    assert "12 bad rows left out" in wrote
    assert "t.jsonl:12" not in wrote


def test_rows_without_an_id_are_numbered_past_what_is_listed(tmp_path, five):
    rows = [{"timestamp": -1, "input_length": 512, "hash_ids": [1]}] * 9
    rows.append({"timestamp": 0, "input_length": 512, "hash_ids": [1]})
    path = tmp_path / "m.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    trace = read_trace([str(path)], skip_bad_rows=True)
    assert (trace.ids, trace.skipped.num, len(trace.skipped)) == (("9",), 9, 5)


def test_lines_of_logs_that_are_left_out_are_counted_too(tmp_path, five):
    path = tmp_path / "t.log"
    line = "INFO 11-10 11:42:50 Engine 000: Prefix cache hit rate: "
    path.write_text(line + "98.6%\n" + (line + "\n") * 12)
    found = observe(open_inputs([str(path)]))
    assert (found.skipped.num, len(found.skipped)) == (12, 5)
    assert hitpath.observe(path).document["num_skipped_rows"] == 12
    assert "Lines left out: 12" in call("analyze", path).text


# Names


def tier_rows(tmp_path, num_rows, names_of):
    rows = [
        {
            "id": str(i),
            "arrival_s": 0,
            "prompt_tokens": 1000,
            "reported": {"cached_by_tier": dict.fromkeys(names_of(i), 1)},
        }
        for i in range(num_rows)
    ]
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_tiers_are_few(tmp_path):
    """Each is a column of all rows: 1 MB of JSON was 1 GB."""
    path = tier_rows(tmp_path, 40, lambda i: [f"t{i}", f"u{i}"])
    with pytest.raises(InputError, match=f"more than {MOST_TIERS} tiers in one trace") as caught:
        read_trace([path])
    assert caught.value.place.endswith(f":{MOST_TIERS // 2 + 1}")
    assert caught.value.field == "reported.cached_by_tier"
    kept = read_trace([path], skip_bad_rows=True)
    assert (len(kept), len(kept.reported_tiers)) == (MOST_TIERS // 2, MOST_TIERS)
    again = tier_rows(tmp_path, 500, lambda i: [f"t{j}" for j in range(MOST_TIERS)])
    assert len(read_trace([again])) == 500


def test_fields_that_are_not_read_are_named_in_bounds(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [{**GOOD, "id": str(i), **{f"x{i:03}_{j}": 1 for j in range(9)}} for i in range(100)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    notes = read_trace([str(path)]).notes
    named = [note for note in notes if "is not one that hitpath reads" in note]
    assert len(named) == MOST_NAMED
    assert f"{900 - MOST_NAMED} more fields are not read" in notes
