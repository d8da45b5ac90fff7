"""`hitpath diff`: ledgers beside traces, what may not stand beside what, and the command."""

import json
import re
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli import call
from hitpath.core import CAUSES, InputError, Setting, SettingError
from hitpath.report.diff import diff_document
from hitpath.traces.synthetic import demo_rows
from support import write_jsonl
from unit.test_diff import DAY_A, LENGTHS, compared, page_of, prose

# Ledgers


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Two demos as traces, and as ledgers of the default setting."""
    folder = tmp_path_factory.mktemp("demo")
    for seed, name in enumerate("ab"):
        rows = demo_rows(seed)[:300]
        rows[5]["reported"] = {"cached_tokens": 10**7}  # contradicts itself: in no sum
        trace = write_jsonl(folder / f"{name}.jsonl", rows)
        assert call("analyze", trace, "--ledger", folder / f"{name}.parquet").code == 0
    return folder


@pytest.mark.parametrize("by", ["tenant", "session", "turn", "length", "model", "worker"])
def test_a_ledger_gives_what_its_trace_gives(demo, by):
    if by == "model":
        with pytest.raises(SettingError, match=r"--by model: A \(.*a\.jsonl\) names none"):
            compared(demo / "a.jsonl", demo / "b.jsonl", by)
        return
    traces = compared(demo / "a.jsonl", demo / "b.jsonl", by)
    mixed = compared(demo / "a.parquet", demo / "b.jsonl", by)
    ledgers = compared(demo / "a.parquet", demo / "b.parquet", by)
    assert traces.difference == mixed.difference == ledgers.difference
    assert traces.difference.effect.total != 0
    assert not any("ledger" in note for note in traces.warnings)
    assert not any("does not say its setting" in note for note in ledgers.warnings)


def test_the_sums_are_those_of_analyze(demo, tmp_path):
    assert call("analyze", demo / "a.jsonl", "--json", tmp_path / "a.json").code == 0
    told = json.loads((tmp_path / "a.json").read_text())
    side = diff_document(compared(demo / "a.jsonl", demo / "b.jsonl"), Setting())["a"]
    assert side["hit_rate"] == told["hit_rate"]["token_weighted"]
    assert side["prompt_tokens"] == told["tokens"]["prompt"]
    assert {name: side["tokens"][name] for name in CAUSES} == told["tokens"]["causes"]
    by_tenant = {g["name"]: g["hit_tokens"] for g in told["by"]["tenant"]["groups"]}
    groups = compared(demo / "a.jsonl", demo / "b.jsonl", "tenant").difference.groups
    assert {group.key.name: group.tokens_a["hit"] for group in groups} == by_tenant


def test_a_folder_of_ledgers_is_one_side(demo, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.parquet").write_bytes((demo / f"{name}.parquet").read_bytes())
    both = compared(tmp_path, tmp_path / "a.parquet", "length")
    assert both.difference.tokens_a["hit"] == sum(
        sum(pq.read_table(demo / f"{name}.parquet")["hit_tokens"].drop_null().to_pylist())
        for name in "ab"
    )


def test_options_that_a_ledger_cannot_honour(demo):
    for options in (
        "--engine lru --capacity-tokens 1000",
        "--block-size 32",
        "--last-token",
        "--outputs insert",
        "--workers 2",
        "--split-models",
    ):
        refused = call("diff", demo / "a.jsonl", demo / "b.parquet", *options.split())
        assert refused.code == 2
        option = options.split()[0]
        assert refused.err.startswith(f"hitpath: error: {option}: B (")
        assert refused.err.endswith(": the ledger was made under its own setting\n")
    refused = call("diff", demo / "a.parquet", demo / "b.parquet", "--skip-bad-rows")
    assert refused.err.endswith("--skip-bad-rows: is for reading traces; both sides are ledgers\n")


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        ("cold", 10**6, "l.parquet:4: prompt_tokens: hit, causes and unexplained are"),
        ("cold", -5, "l.parquet:4: cold: -5 is not from 0 to"),
        ("cold", None, "l.parquet:4: cold: null in a row that counts"),
        ("hit_tokens", None, "l.parquet:4: hit_tokens: null in a row that counts"),
        ("excluded", None, "l.parquet:4: excluded: null"),
        ("prompt_tokens", 2**50, "l.parquet:4: prompt_tokens: 1,125,899,906,842,624 is not"),
    ],
)
def test_a_ledger_whose_rows_do_not_add_up(demo, tmp_path, column, value, told):
    table = pq.read_table(demo / "a.parquet")
    values = table[column].to_pylist()
    values[3] = value
    wrong = pa.array(values, type=table[column].type)
    path = tmp_path / "l.parquet"
    pq.write_table(table.set_column(table.schema.get_field_index(column), column, wrong), path)
    with pytest.raises(InputError, match=re.escape(told)):
        compared(path, demo / "b.parquet")


def test_the_place_of_a_row_is_in_its_own_file(demo, tmp_path):
    table = pq.read_table(demo / "a.parquet")
    pq.write_table(table, tmp_path / "1.parquet")
    wrong = pa.array([*table["cold"].to_pylist()[:-1], 10**6])
    place = table.schema.get_field_index("cold")
    pq.write_table(table.set_column(place, "cold", wrong), tmp_path / "2.parquet")
    with pytest.raises(InputError, match=rf"2\.parquet:{len(table)}: prompt_tokens"):
        compared(tmp_path, demo / "b.parquet")


def test_ledgers_that_cannot_be_read(demo, tmp_path):
    table = pq.read_table(demo / "a.parquet")
    text = pa.array(["x"] * len(table))
    place = table.schema.get_field_index("cold")
    pq.write_table(table.set_column(place, "cold", text), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet: cold: cannot be read as a ledger"):
        compared(tmp_path / "t.parquet", demo / "b.parquet")
    binary = pa.array([b"\xff"] * len(table)).view(pa.string())
    place = table.schema.get_field_index("tenant")
    pq.write_table(table.set_column(place, "tenant", binary), tmp_path / "u.parquet")
    with pytest.raises(InputError, match=r"u\.parquet: tenant: cannot be read as a ledger"):
        compared(tmp_path / "u.parquet", demo / "b.parquet")
    whole = (demo / "a.parquet").read_bytes()
    for end in (4, 200, len(whole) // 2):
        (tmp_path / "cut.parquet").write_bytes(whole[:end])
        with pytest.raises(InputError, match=r"cut\.parquet"):
            compared(tmp_path / "cut.parquet", demo / "b.parquet")
    twice = pa.table([*table.columns, table["cold"]], names=[*table.schema.names, "cold"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(InputError, match="cold: two columns have this name"):
        compared(tmp_path / "twice.parquet", demo / "b.parquet")
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (mixed / "1.parquet").write_bytes(whole)
    pq.write_table(pa.table({"x": [1]}), mixed / "2.parquet")
    with pytest.raises(InputError, match=r"2\.parquet: is no ledger"):
        compared(mixed, demo / "b.parquet")


# Lengths only


def test_lengths_only_have_one_label_beside_the_hit(tmp_path):
    a = write_jsonl(tmp_path / "a.jsonl", LENGTHS)
    rows = [{**LENGTHS[0], "reported": {"cached_tokens": 90}}, LENGTHS[1]]
    b = write_jsonl(tmp_path / "b.jsonl", rows)
    found = compared(a, b)
    assert (found.difference.rate_a, found.difference.rate_b) == (
        Fraction(60, 400),
        Fraction(90, 400),
    )
    assert list(found.difference.causes) == ["missed_cause_not_known"]
    assert found.by == "length"
    assert found.difference.effect.mix == 0
    assert any("A: 1 of 3 requests do not report" in note for note in found.warnings)
    assert not any("modelled" in note for note in found.warnings)
    for trace in (a, b):
        assert call("analyze", trace, "--ledger", trace.with_suffix(".parquet")).code == 0
    ledgers = compared(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert ledgers.difference == found.difference
    assert any("A: 1 of 3 requests do not report" in note for note in ledgers.warnings)
    page = prose(page_of(found))
    assert "missed cause not known" in page
    assert "requests that report" in page
    assert "so counted in the next label" not in page


def test_lengths_beside_prompts_are_refused(tmp_path):
    lengths = write_jsonl(tmp_path / "l.jsonl", LENGTHS)
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    for pair in ((lengths, full), (full, lengths)):
        with pytest.raises(InputError, match=r"l\.jsonl: tells lengths and reported hits only"):
            compared(*pair)


def test_a_side_without_a_hit_rate_is_refused(tmp_path):
    silent = write_jsonl(tmp_path / "s.jsonl", LENGTHS[2:])
    told = write_jsonl(tmp_path / "t.jsonl", LENGTHS)
    with pytest.raises(InputError, match=r"s\.jsonl: no hit rate .* no request reports"):
        compared(told, silent)
    assert call("analyze", silent, "--ledger", tmp_path / "s.parquet").code == 0
    with pytest.raises(InputError, match=r"s\.parquet: no hit rate .* no request reports"):
        compared(tmp_path / "s.parquet", told)
    empty = write_jsonl(tmp_path / "e.jsonl", [{"id": "e", "arrival_s": 0, "tokens": []}])
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    with pytest.raises(InputError, match=r"e\.jsonl: no hit rate .* no prompt tokens"):
        compared(full, empty)


# What may stand beside what


def test_bytes_beside_tokens_are_refused(tmp_path):
    text = write_jsonl(tmp_path / "t.jsonl", [{"id": "t", "arrival_s": 0, "prompt": "abc"}])
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    with pytest.raises(InputError, match=r"t\.jsonl: is counted in bytes, .*f\.jsonl in tokens"):
        compared(full, text)
    assert "prompt bytes hit" in prose(page_of(compared(text, text)))


def chained(tmp_path, name, size):
    rows = [{"timestamp": i, "input_length": size, "hash_ids": [7, 8]} for i in range(3)]
    return write_jsonl(tmp_path / name, rows)


def test_block_ids_beside_tokens_is_a_warning(tmp_path):
    ids = chained(tmp_path, "m.jsonl", 1000)
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    notes = compared(ids, full).warnings
    assert any(note.startswith("blocks of 512 tokens on A, of 16 on B") for note in notes)
    assert any(note.startswith("A tells block ids, B what stands in them") for note in notes)
    assert not any("tells block ids" in note for note in compared(ids, ids).warnings)


def test_reported_beside_modelled_is_a_warning(tmp_path):
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    told = [{**row, "reported": {"cached_tokens": 16}} for row in DAY_A]
    reported = write_jsonl(tmp_path / "r.jsonl", told)
    found = compared(full, reported)
    assert "0 of 3 requests of A and 3 of 3 requests of B report their hit" in found.warnings[0]
    assert found.difference.causes["unexplained"].total < 0
    assert "unexplained" in page_of(found)
    assert not any("report their hit" in note for note in compared(reported, reported).warnings)
    assert "unexplained" not in page_of(compared(full, full))


def test_a_cause_known_on_one_side_is_a_warning(tmp_path):
    """Block keys made per context hide what is equal across contexts: isolation is not known."""
    rows = [
        {"id": i, "arrival_s": i, "block_keys": [7, 8], "block_size": 16, "prompt_tokens": 32}
        for i in range(2)
    ]
    salted = [{**row, "context": {"salt": f"s{i}"}} for i, row in enumerate(rows)]
    keys = write_jsonl(tmp_path / "k.jsonl", salted)
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    found = compared(full, keys, "length")
    notes = [note for note in found.warnings if "is known on" in note]
    assert notes == [
        "isolated is known on A only: on B its tokens stand in cold, so judge the two together"
    ]
    row = next(line for line in page_of(found).splitlines() if line.strip().startswith("isolated"))
    assert row.split()[1:4] == ["0.00", "%", "–"]


def test_both_sides_from_one_pipe(tmp_path):
    refused = call("diff", "-", "-")
    assert refused.code == 2
    assert refused.err == "hitpath: error: stdin: is both A and B, but can be read once\n"
    lines = "".join(json.dumps(row) + "\n" for row in DAY_A).encode()
    full = write_jsonl(tmp_path / "f.jsonl", DAY_A)
    assert "did not move" in call("diff", "-", full, stdin=lines).text


@pytest.mark.parametrize(("width", "room"), [(80, 99), (95, 99), (100, 300), (110, 300)])
def test_the_page_fits_its_terminal_and_no_number_is_cut(demo, width, room):
    """Under 100 columns the shares of groups are left out, whole."""
    found = compared(demo / "a.jsonl", demo / "b.jsonl", "tenant")
    page, wide = page_of(found, width), page_of(found, room)
    assert all(len(line) <= width for line in page.splitlines())
    numbers = re.compile(r"(?<![\w,.-])[+-]?\d[\d,.]*")
    assert sorted(numbers.findall(page)) == sorted(numbers.findall(wide))
    assert ("share A" in page.split("Groups by")[1]) == (width >= 100)


# The command


def test_the_command_prints_and_writes(demo, tmp_path):
    out = tmp_path / "d.json"
    ended = call("diff", demo / "a.jsonl", demo / "b.jsonl", "--by", "tenant", "--json", out)
    assert ended.code == 0, ended.err
    assert ended.text.lstrip().startswith("The hit rate ")
    document = json.loads(out.read_text())
    assert document["by_was_asked"] is True
    assert document["setting"]["engine"] == "unlimited"
    only = call("diff", demo / "a.jsonl", demo / "b.jsonl", "--by", "tenant", "--json", "-")
    assert json.loads(only.text) == document
    both = call("diff", demo / "a.parquet", demo / "b.parquet", "--json", "-")
    assert json.loads(both.text)["setting"]["engine"] == "unlimited"


def test_the_setting_holds_for_both_sides(demo):
    options = ("--engine", "lru", "--capacity-tokens", "30000", "--json", "-")
    ended = call("diff", demo / "a.jsonl", demo / "b.jsonl", *options)
    evicted = [json.loads(ended.text)[side]["tokens"]["evicted"] for side in ("a", "b")]
    for name, tokens in zip("ab", evicted, strict=True):
        told = json.loads(call("analyze", demo / f"{name}.jsonl", *options).text)
        assert told["tokens"]["causes"]["evicted"] == tokens > 0


def test_what_the_command_refuses(demo, tmp_path):
    for arguments, told in (
        (["a.jsonl"], "Missing argument 'B'"),
        (["a.jsonl", "nosuch.jsonl"], "nosuch.jsonl: no such file"),
        (["a.jsonl", "b.jsonl", "--by", "colour"], "--by colour: not one of tenant, model"),
        (["a.jsonl", "b.jsonl", "--engine", "vllm"], "--engine vllm"),
        (["a.jsonl", "b.jsonl", "--json", "b.jsonl"], "is an input"),
    ):
        paths = [demo / a if a.endswith("l") and "/" not in a else a for a in arguments]
        ended = call("diff", *paths)
        assert ended.code == 2
        assert ended.out == b""
        assert told in ended.err
        assert ended.err.count("\n") == 1


def test_ledgers_of_two_settings_do_not_stand_beside_each_other(demo, tmp_path):
    """The change would be that of the setting."""
    lru, plain = tmp_path / "lru.parquet", tmp_path / "plain.parquet"
    options = ("--engine", "lru", "--capacity-tokens", 4096)
    assert call("analyze", demo / "a.jsonl", "--ledger", lru, *options).code == 0
    assert call("analyze", demo / "a.jsonl", "--ledger", plain).code == 0
    for a, b in ((lru, plain), (lru, demo / "a.jsonl"), (demo / "a.jsonl", lru)):
        refused = call("diff", a, b)
        assert refused.code == 2
        assert "engine" in refused.err
        assert "there)" in refused.err
    assert call("diff", plain, demo / "a.jsonl").code == 0
    folder = tmp_path / "both"
    folder.mkdir()
    for path in (lru, plain):
        path.rename(folder / path.name)
    assert "was made with engine" in call("diff", f"{folder}/*.parquet", demo / "a.jsonl").err


def test_an_older_ledger_says_nothing_of_its_setting(demo, tmp_path):
    table = pq.read_table(demo / "a.parquet").replace_schema_metadata({})
    pq.write_table(table, tmp_path / "old.parquet")
    compared = call("diff", tmp_path / "old.parquet", demo / "b.parquet")
    assert compared.code == 0
    assert "a ledger does not say its setting" in compared.text.replace("\n", " ")
