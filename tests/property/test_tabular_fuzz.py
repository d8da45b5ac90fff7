"""CSV and Parquet with bytes changed, and mappings of any words: a trace or an error of ours, in
one line, and what is accepted keeps the ledger's sum through the whole analysis."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from hitpath.core import InputError, Setting, SettingError
from hitpath.spine import analyze
from hitpath.traces import Trace, read_trace
from hitpath.traces.mapping import parse_mapping

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    "2023-11-16 18:17:03.9799600,4808,10\n2024-05-10 00:00:01+00:00,3180,8\n"
)
BURST = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "19440110.0,17-a,43,GPT-4,906,446,1352,Conversation log\n19440161.0,,2,ChatGPT,36,0,36,API\n"
)
OWN = (
    "id;arrival_s;block_keys;block_size;prompt_tokens;context.salt;reported.cached_tokens;turn\n"
    "a;0.5;x y z;16;40;s;16;1\nb;1;[1, 2];16;32;;;\nc;2;x y q;16;48;s;0;2.0\n"
)
CHAT = (
    'when,chat,reply,"the id"\n'
    '0,"[{""role"": ""user"", ""content"": ""hi""}]","one\n\ntwo",a\n'
    '1000,"[{""role"": ""user"", ""content"": ""ho""}]",,b\n'
)
CHAT_MAPPING = ("arrival_s=when:ms", "messages=chat", "id=the id")
CSVS = (AZURE, BURST, OWN, CHAT)

BASETEN: list[dict[str, Any]] = [
    {
        "timestamp_start_unix_ms": i * 1000,
        "prompt": f"hello {i}",
        "input_tokens": 128,
        "output_tokens": 5,
        "total_hashes": [1, i],
        "provided_session_id": "s",
        "duration_e2e_ms": 7.5,
        "block_size": 64,
    }
    for i in range(4)
]
OWN_ROWS: list[dict[str, Any]] = [
    {"id": f"r{i}", "arrival_s": float(i), "prompt": f"hello {i}", "context": {"salt": "a"}}
    for i in range(4)
]


def parquet(rows: list[dict[str, Any]], **options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, **options)
    return file.getvalue()


PARQUETS = tuple(
    parquet(
        rows,
        compression=compression,
        data_page_version=version,
        use_dictionary=dictionary,
        store_schema=schema,
    )
    for rows in (BASETEN, OWN_ROWS)
    for compression in ("none", "snappy", "zstd")
    for version in ("1.0", "2.0")
    for dictionary in (True, False)
    for schema in (True, False)
)

NASTY = st.sampled_from(
    [
        *(b"", b",", b";", b"\t", b'"', b'""', b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"-"),
        *(b"1e999", b"nan", b"9" * 40, b"{", b"[", b"]", b"=", b"PAR1", b"\xe2\x80\xa8", b"1_0"),
    ]
) | st.binary(max_size=3)
MAPPINGS = st.sampled_from(
    [
        (),
        (),
        CHAT_MAPPING,
        ("prompt_tokens==5",),
        ("prompt_tokens=ContextTokens", "arrival_s=TIMESTAMP:iso"),
        ("tokens=block_keys", "context.a.b=id", "reported.cached_by_tier.x=turn"),
        ("prompt=reply", "arrival_s=when:ns", "segments="),
        ("messages=total_hashes", "context=prompt", "reported=id"),
    ]
)


@st.composite
def changed(draw: st.DrawFn, bases: tuple[bytes, ...]) -> bytes:
    """One of the files after some bytes were replaced, left out or put in."""
    data = bytearray(draw(st.sampled_from(bases)))
    for _ in range(draw(st.integers(0, 4))):
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        length = draw(st.sampled_from([0, 1, 1, 1, 2, 30]))
        data[at : at + length] = draw(NASTY)
    return bytes(data)


def answer(data: bytes, name: str, mapping: tuple[str, ...], skip: bool) -> Trace | None:
    """The trace, or None where it is refused with an error that is fit to print."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            trace = read_trace([str(path)], skip_bad_rows=skip, mapping=mapping)
            analyze([str(path)], Setting(), skip_bad_rows=skip, mapping=mapping)
        except (InputError, SettingError) as error:
            told = str(error)
        else:
            return trace
    assert told.isprintable()
    assert len(told) < 1000
    return None


@given(data=changed(tuple(text.encode() for text in CSVS)), mapping=MAPPINGS, skip=st.booleans())
@settings(deadline=None, max_examples=300)
def test_changed_csv_is_read_or_refused(data, mapping, skip):
    trace = answer(data, "t.csv", mapping, skip)
    if trace is not None:
        assert len(trace) > 0
        assert len(trace) <= data.count(b"\n") + 1
        assert skip or not trace.skipped


@given(data=changed(PARQUETS), mapping=MAPPINGS, skip=st.booleans())
@settings(deadline=None, max_examples=300)
def test_changed_parquet_is_read_or_refused(data, mapping, skip):
    """Without its first four bytes it is text, and a mapping may make rows of any text."""
    trace = answer(data, "t.parquet", mapping, skip)
    most = 4 if data.startswith(b"PAR1") else data.count(b"\n") + 1
    assert trace is None or 0 < len(trace) <= most


@given(
    words=st.lists(
        st.text(max_size=12)
        | st.tuples(
            st.sampled_from(
                ["arrival_s", "turn", "prompt", "context.x", "reported.cost", "tokens"]
            ),
            st.sampled_from(["=", "==", "=a:ms", "=:iso", "==="]),
            st.text(max_size=5),
        ).map("".join),
        max_size=4,
    )
)
@settings(deadline=None, max_examples=300)
def test_a_mapping_of_any_words_is_one_or_is_refused(words):
    told, mapping = "", None
    try:
        mapping = parse_mapping(words)
    except SettingError as error:
        told = str(error)
    assert told.isprintable()
    assert (mapping is None) == (bool(told) or not words)
    if mapping is not None:
        names = [pair.ours for pair in mapping.pairs]
        assert len(names) + len(mapping.unread) == len(words)
        assert len(set(names)) == len(names)
