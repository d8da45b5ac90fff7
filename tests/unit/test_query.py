"""SQL over ledgers gives the analysis' own numbers; what cannot be asked ends in one line."""

import json

import pytest

from cli import call
from hitpath.core import InputError, SettingError
from hitpath.report.query import ask
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledgers")
    for seed in (0, 1):
        trace = write_jsonl(folder / f"t{seed}.jsonl", demo_rows(seed)[:200])
        out, result = folder / f"day{seed}.parquet", folder / f"day{seed}.json"
        ended = call("analyze", trace, "--ledger", out, "--json", result)
        assert ended.code == 0, ended.err
    return folder


def test_sums_are_those_of_the_document(ledgers):
    for seed in (0, 1):
        told = json.loads((ledgers / f"day{seed}.json").read_text())["tokens"]
        sql = "SELECT sum(hit_tokens), sum(prompt_tokens), sum(cold), count(in_flight) FROM ledger"
        _, [row] = ask(str(ledgers / f"day{seed}.parquet"), sql)
        assert row == (told["hit"], told["prompt"], told["causes"]["cold"], 0)


@pytest.mark.parametrize("name", ["", "/*.parquet"])
def test_many_ledgers_are_one_table(ledgers, name):
    sql = "SELECT file, count(*) FROM ledger GROUP BY file ORDER BY file"
    columns, rows = ask(f"{ledgers}{name}", sql)
    assert columns == ["file", "count_star()"]
    assert [n for _, n in rows] == [200, 200]


def test_the_command_prints_and_writes(ledgers):
    sql = "SELECT tenant, sum(prompt_tokens) AS prompt FROM ledger GROUP BY tenant ORDER BY tenant"
    path = ledgers / "day0.parquet"
    page = call("query", path, sql).text
    written = json.loads(call("query", path, sql, "--json", "-").text)
    assert [row["tenant"] for row in written] == ["agents", "forms", "retrieval", "support"]
    for row in written:
        assert row["tenant"] in page
        assert f"{row['prompt']:,}" in page


def test_the_ledger_alone_can_be_read(ledgers):
    with pytest.raises(SettingError, match="SQL"):
        ask(str(ledgers), "SELECT * FROM read_text('/etc/passwd')")
    with pytest.raises(SettingError, match="SQL"):
        ask(str(ledgers), f"COPY ledger TO '{ledgers}/stolen.csv'")


def test_what_cannot_be_asked(ledgers, tmp_path):
    with pytest.raises(SettingError, match="nosuch"):
        ask(str(ledgers), "SELECT nosuch FROM ledger")
    with pytest.raises(InputError, match="no Parquet ledger"):
        ask(str(tmp_path), "SELECT 1")
    (tmp_path / "x.parquet").write_text("not parquet")
    with pytest.raises(InputError, match=r"x\.parquet"):
        ask(str(tmp_path / "x.parquet"), "SELECT 1")
    ended = call("query", ledgers, "SELECT")
    assert ended.code == 2
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("sql", ["", ";", " ; ;", "-- a comment", "/* one */"])
def test_a_query_without_a_statement_is_one_line(ledgers, sql):
    with pytest.raises(SettingError, match="SQL: no statement"):
        ask(str(ledgers), sql)


def test_two_columns_of_one_name_are_printed_and_not_lost_in_json(ledgers):
    """An object has a name once: the first value was gone."""
    sql = "SELECT 1 AS a, 2 AS a, 3 AS b"
    assert "1   2   3" in call("query", ledgers, sql).text
    ended = call("query", ledgers, sql, "--json", "-")
    assert (ended.code, ended.out) == (2, b"")
    assert "two columns are named 'a': name one with AS" in ended.err


def test_a_ledger_is_its_name_whatever_stands_in_it(ledgers, tmp_path):
    """DuckDB takes brackets and stars for patterns."""
    for name in ("l[1].parquet", "l1.parquet", "l*.parquet", "l?.parquet"):
        (tmp_path / name).write_bytes((ledgers / "day0.parquet").read_bytes())
        _, [row] = ask(str(tmp_path / name), "SELECT count(*), count(DISTINCT file) FROM ledger")
        assert row == (200, 1)
    _, [row] = ask(str(tmp_path), "SELECT count(*), count(DISTINCT file) FROM ledger")
    assert row == (800, 4)


def test_values_that_python_or_json_lack(ledgers):
    sql = (
        "SELECT 170141183460469231731687303715884105727::HUGEINT x, 'infinity'::DATE d, "
        "MAP([1], ['a']) m, 'nan'::DOUBLE n, INTERVAL 1 DAY i, 'a'::BLOB b, 1.5::DECIMAL(5, 2) e"
    )
    [row] = json.loads(call("query", ledgers, sql, "--json", "-").text)
    assert row["x"] == 2**127 - 1
    assert (row["n"], row["e"]) == (None, "1.50")
    assert call("query", ledgers, sql).code == 0
