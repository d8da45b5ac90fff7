"""Whatever a Python program passes is taken as it is meant, or refused by name: no traceback from
within, nothing that is asked is ignored. Rows are written by hand from the documented shape."""

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hitpath
from hitpath import HitpathError, InputError, SettingError
from support import write_jsonl

ROWS: list[dict[str, Any]] = [
    {"id": i, "arrival_s": i, "tokens": [1] * 32 + [i] * 8, "tenant": f"t{i % 2}"} for i in range(4)
]
LENGTHS = [{"id": 1, "arrival_s": 0, "prompt_tokens": 9, "reported": {"cached_tokens": 3}}]
IDS = [{"id": 1, "arrival_s": 0, "block_keys": [7], "block_size": 16, "prompt_tokens": 16}]


class Hostile:
    """Cannot be shown, counted or compared."""

    def __repr__(self) -> str:
        raise ZeroDivisionError

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    __hash__ = None  # type: ignore[assignment]


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"t.jsonl"


def itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    return value


VALUES = [
    None, True, -1, 16, 10**5000, 1.5, float("nan"), "", "x", "x" * 5000, "a\0b", "\ud800", b"x",
    [], ["x"], [1], {}, {"a": 1}, deep(), itself(), np.int64(16), np.array([1, 2]),
    decimal.Decimal(1), BytesPath(), Hostile(), Path("x"), Path(), len, 1j, iter([]),
]  # fmt: skip
SETTINGS = [
    "engine", "capacity_tokens", "block_size", "last_token", "outputs", "workers", "router",
    "seed", "split_models", "tokenizer", "mapping", "skip_bad_rows", "prices", "pricing",
]  # fmt: skip
CONVERTING = [
    "to", "block_size", "every_s", "redact", "hash_labels", "tokenizer", "mapping", "skip_bad_rows",
]  # fmt: skip
OF_ROWS = [
    "id", "arrival_s", "tokens", "block_keys", "block_size", "prompt_tokens", "messages", "tools",
    "prompt", "segments", "output_tokens", "output_ids", "reply", "finish_s", "session", "parent",
    "turn", "tenant", "model", "worker", "context", "unit", "id_scope", "clock", "reported",
    "excluded",
]  # fmt: skip


def is_told(make: Any) -> None:
    """Whatever `make` does, it ends well or in one line of ours."""
    try:
        make()
    except HitpathError as error:
        line = str(error)
    else:
        return
    assert len(line.splitlines()) == 1
    assert len(line) < 1_500
    assert line.isprintable()


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_no_argument_ends_in_a_traceback(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    trace, found = hitpath.read(ROWS), hitpath.analyze(ROWS)
    for name in SETTINGS:
        is_told(lambda name=name: hitpath.analyze(ROWS, **{name: value}))
        is_told(lambda name=name: hitpath.analyze(trace, **{name: value}))
    for name in CONVERTING:
        is_told(lambda name=name: hitpath.convert(ROWS, "o.jsonl", **{name: value}))
        other = {"to": "mooncake", name: value}
        is_told(lambda other=other: hitpath.convert(ROWS, "o.jsonl", **other))
    is_told(lambda: hitpath.analyze(ROWS, engine="lru", capacity_tokens=value))
    is_told(lambda: hitpath.analyze(ROWS, workers=2, router=value))
    is_told(lambda: hitpath.convert(ROWS, value))
    is_told(lambda: hitpath.diff(found, ROWS, by=value))
    is_told(lambda: found.hit_rate_at(value))
    is_told(lambda: found.explain(value))
    for call in (hitpath.analyze, hitpath.read, hitpath.observe):
        is_told(lambda call=call: call(value))
        is_told(lambda call=call: call([value]))
        is_told(lambda call=call: call([ROWS[0], value]))


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_no_value_of_a_row_ends_in_a_traceback(tmp_path, value):
    prompts = {"tokens": [1], "messages": [], "prompt": "x", "segments": [["a", 1]]}
    for name in OF_ROWS:
        for prompt, content in prompts.items():
            row = {"id": "a", "arrival_s": 0, prompt: content, name: value}
            is_told(lambda row=row: hitpath.convert([row], tmp_path / "o.jsonl"))
            is_told(lambda row=row: hitpath.analyze([row]).ledger)
    for row in (
        {"id": "a", "arrival_s": 0, "prompt_tokens": 1, "context": {"salt": value}},
        {"id": "a", "arrival_s": 0, "messages": [{"role": value, "content": value}]},
        {"id": "a", "arrival_s": 0, "messages": [{"role": "user", "content": "x", "y": value}]},
    ):
        is_told(lambda row=row: hitpath.convert([row], tmp_path / "o.jsonl"))
        is_told(lambda row=row: hitpath.analyze([row]).ledger)


@pytest.mark.parametrize(
    ("setting", "cause"),
    [
        ({"block_size": 16.5}, "--block-size: 16.5 is no whole number"),
        ({"block_size": "16"}, "--block-size: '16' is no whole number"),
        ({"block_size": True}, "--block-size: True is no whole number"),
        ({"workers": 2.5}, "--workers: 2.5 is no whole number"),
        ({"seed": None}, "--seed: None is no whole number"),
        ({"capacity_tokens": 100.5, "engine": "lru"}, "--capacity-tokens: 100.5 is no whole"),
        ({"tokenizer": 5}, "--tokenizer: a value of type int is no name of a file"),
        ({"last_token": "no"}, "--last-token: 'no' is neither True nor False"),
        ({"split_models": 0}, "--split-models: a value of type int is neither"),
        ({"engine": ["lru"]}, "--engine: a value of type list is not one of unlimited, lru"),
        ({"block_size": 10**5000}, "--block-size: a number of 16,610 bits is not from 1 to"),
        ({"mapping": "id=name"}, "mapping: a value of type str is not a list of texts"),
        ({"mapping": [1]}, "mapping: a value of type int is not a list of texts"),
        ({"skip_bad_rows": "yes"}, "skip_bad_rows: 'yes' is neither True nor False"),
        ({"pricing": "h100"}, "pricing: is made by hitpath.load_pricing"),
    ],
)
def test_a_setting_of_another_type_says_so(setting, cause):
    with pytest.raises(SettingError) as caught:
        hitpath.analyze(ROWS, **setting)
    assert str(caught.value).startswith(cause)


def test_numbers_of_numpy_are_numbers():
    found = hitpath.analyze(
        ROWS,
        engine="lru",
        capacity_tokens=np.int64(64),
        block_size=np.uint32(16),
        last_token=np.bool_(True),
        seed=np.uint8(3),
    )
    plain = hitpath.analyze(
        ROWS, engine="lru", capacity_tokens=64, block_size=16, last_token=True, seed=3
    )
    assert found.document == plain.document
    assert type(found.document["setting"]["capacity_tokens"]) is int
    rows = [
        {k: np.array(v) if k == "tokens" else np.asarray(v)[()] for k, v in row.items()}
        for row in ROWS
    ]
    assert hitpath.analyze(rows).ledger.equals(hitpath.analyze(ROWS).ledger)


def test_an_id_may_be_a_number_again():
    found = hitpath.analyze(ROWS)
    assert found.explain(1) == found.explain("1")


@pytest.mark.parametrize(
    ("traces", "cause"),
    [
        (ROWS[0], "one row alone"),
        (5, "neither files nor rows"),
        ([], "neither files nor rows"),
        ([ROWS[0], "t.jsonl"], "neither files nor rows"),
        (BytesPath(), "no name of a file"),
    ],
    ids=range(5),
)
def test_what_is_no_trace_says_what_it_is(traces, cause):
    with pytest.raises(HitpathError, match=cause):
        hitpath.analyze(traces)


def test_tables_and_open_files_are_told_how_to_be_given(tmp_path):
    import pyarrow as pa

    with pytest.raises(InputError, match=r"to_pylist"):
        hitpath.analyze(pa.Table.from_pylist(ROWS))
    path = write_jsonl(tmp_path / "t.jsonl", ROWS)
    with path.open() as file, pytest.raises(InputError, match="an open file: give its name"):
        hitpath.analyze(file)


@pytest.mark.parametrize("field", ["model", "id", "tenant", "session", "worker", "clock", "prompt"])
def test_half_a_character_is_an_error_of_its_row(tmp_path, field):
    """JSON and Parquet have no bytes for it: it failed when results were written."""
    row = {"id": "1", "arrival_s": 0, "prompt": "x", field: "a\ud800"}
    for call in (hitpath.analyze, lambda rows: hitpath.convert(rows, tmp_path / "o")):
        with pytest.raises(InputError, match="half a character") as caught:
            call([ROWS[0] | {"tokens": None, "prompt": "y"}, row])
        assert (caught.value.place, caught.value.field) == ("rows[1]", field)
    with pytest.raises(InputError, match="half a character"):
        hitpath.analyze([{**row, field: "x", "context": {"salt": "\udcff"}}])
    path = write_jsonl(tmp_path / "t.jsonl", ROWS)
    with pytest.raises(SettingError, match="is not UTF-8"):
        hitpath.analyze(path, mapping=["tenant==\udcff"])


# Nothing that is asked is ignored


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        ({"engine": "lru", "capacity_tokens": 64}, "--engine lru"),
        ({"block_size": 16}, "--block-size"),
        ({"last_token": True}, "--last-token"),
        ({"outputs": "insert"}, "--outputs insert"),
        ({"workers": 2}, "--workers"),
        ({"split_models": True}, "--split-models"),
        ({"tokenizer": "mistral:tekken_240911"}, "--tokenizer"),
    ],
)
def test_what_lengths_cannot_honour_is_refused(setting, option):
    with pytest.raises(SettingError, match="nothing to model here") as caught:
        hitpath.analyze(LENGTHS, **setting)
    assert caught.value.option == option


def test_a_tokenizer_is_for_text():
    with pytest.raises(SettingError, match="the trace has block ids: there is nothing to tokenise"):
        hitpath.analyze(IDS, tokenizer="mistral:tekken_240911")
    rows = [{"id": 1, "arrival_s": 0, "segments": [["a", 9]], "unit": "bytes"}]
    with pytest.raises(SettingError, match="bytes in stretches without their text"):
        hitpath.analyze(rows, tokenizer="mistral:tekken_240911")


def test_reading_takes_what_reading_needs(tmp_path):
    trace = hitpath.read(ROWS)
    for options in (
        {"tokenizer": "mistral:tekken_240911"},
        {"mapping": ["id=name"]},
        {"skip_bad_rows": True},
        {"block_size": 16},
    ):
        with pytest.raises(SettingError):
            hitpath.read(trace, **options)
    with pytest.raises(SettingError, match="belongs to the analysis"):
        hitpath.read(ROWS, block_size=16)
    path = write_jsonl(tmp_path / "t.jsonl", ROWS)
    with pytest.raises(SettingError, match="belongs to the analysis"):
        hitpath.read(path, block_size=16)
    mooncake = {"timestamp": 0, "input_length": 30, "hash_ids": [1, 2]}
    blocks = write_jsonl(tmp_path / "m.jsonl", [mooncake])
    assert hitpath.read(blocks, block_size=16).block_size == 16
    assert hitpath.analyze(trace, block_size=8).document["trace"]["block_size"] == 8


def test_results_of_two_settings_are_not_compared():
    small = hitpath.analyze(ROWS, engine="lru", capacity_tokens=16)
    with pytest.raises(InputError, match=r"engine unlimited \(lru there\)"):
        hitpath.diff(small, hitpath.analyze(ROWS))
