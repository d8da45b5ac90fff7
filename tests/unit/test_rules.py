"""`hitpath rules`: a provider's cache rules in money, by hand and on the page."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from hitpath.cli import app
from hitpath.core import SettingError
from hitpath.cost.cache_rules import (
    NEVER,
    long_lifetime_break_even_lapses,
    long_lifetime_saves_usd,
)
from hitpath.cost.prices import Rates

OPUS = "anthropic/claude-opus-4-5"  # 5 fresh, 0.5 read, 6.25 and 10 written, 25 output
ROOT = Path(__file__).resolve().parents[2]
USD = st.floats(0.01, 100, allow_nan=False)


def document(*options):
    result = CliRunner().invoke(app, ["rules", *map(str, options), "--json", "-"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


def test_by_hand():
    found = document(OPUS, "--prompt", 1000, "--cached", 800, "--output", 100)
    usd = found["request_usd"]
    assert usd["fresh"] == pytest.approx((1000 * 5 + 100 * 25) / 1e6)
    assert usd["read"] == pytest.approx((800 * 0.5 + 200 * 5 + 100 * 25) / 1e6)
    assert usd["written_5m"] == pytest.approx((800 * 6.25 + 200 * 5 + 100 * 25) / 1e6)
    assert usd["written_1h"] == pytest.approx((800 * 10 + 200 * 5 + 100 * 25) / 1e6)
    short, hour = found["lifetimes"]["5m"], found["lifetimes"]["1h"]
    assert short["write_pays_from_reads"] == pytest.approx(1.25 / 4.5)
    assert hour["write_pays_from_reads"] == pytest.approx(5 / 4.5)
    assert short["pays_above_read_frac"] == pytest.approx(1.25 / 5.75)
    assert short["lapse_usd"] == pytest.approx(800 * 5.75 / 1e6)
    assert short["lapse_is_worth_pings"] == pytest.approx(11.5)
    assert found["hour_pays_from_lapses"] == pytest.approx(3.75 / 5.75)
    assert found["edit"] is found["compaction"] is None


def test_an_edit_and_a_compaction_by_hand():
    found = document(
        OPUS, "--prompt", 1000, "--requests", 4, "--edit-at", 300, "--remove", 200,
        "--keep", 100, "--summary", 50,
    )  # fmt: skip
    edit, compaction = found["edit"], found["compaction"]
    assert edit["rewritten_tokens"] == 500
    assert edit["saves_usd"] == pytest.approx((4 * 200 * 0.5 - 500 * 5.75) / 1e6)
    assert edit["pays_from_requests"] == pytest.approx(500 * 5.75 / (200 * 0.5))
    call = 1000 * 0.5 + 50 * 25
    saved = 4 * 850 * 0.5 - 50 * 5.75 - call
    assert compaction["while_cached"]["saves_usd"] == pytest.approx(saved / 1e6)


def test_writes_that_are_not_billed_apart():
    found = document("openai/gpt-4o", "--prompt", 1000, "--cached", 800)
    assert found["usd_per_mtok"]["written_1h"] is None
    assert found["lifetimes"]["5m"]["write_pays_from_reads"] == 0
    assert found["lifetimes"]["5m"]["lapse_usd"] == pytest.approx(
        800 * (found["usd_per_mtok"]["fresh"] - found["usd_per_mtok"]["read"]) / 1e6
    )
    assert "not billed apart" in found["prices"]["notes"][-1]


def test_prices_of_a_day():
    # Long prompts had a price of their own until 2026-03-13.
    model, long = "anthropic/claude-opus-4-6", ("--prompt", 300_000)
    early = document(model, *long, "--date", "2026-03-12")
    late = document(model, *long, "--date", "2026-03-13")
    assert early["usd_per_mtok"] != late["usd_per_mtok"]


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (["--edit-at", 5], "needed together"),
        (["--keep", 5], "needed together"),
        (["--prompt", 10, "--cached", 11], "of 10 prompt tokens"),
        (["--prompt", 10, "--edit-at", 5, "--remove", 6], "not within 10"),
        (["--prompt", 10, "--keep", 11, "--summary", 1], "no compaction"),
        (["--prompt", -1], "is not from 0"),
        (["--date", "2026-13-01"], "no date"),
    ],
)
def test_what_cannot_be_is_one_line(options, cause):
    with pytest.raises(SettingError, match=cause):
        document(OPUS, *options)


def test_the_page():
    page = CliRunner().invoke(
        app,
        ["rules", OPUS, "--edit-at", "20000", "--remove", "15000", "--keep", "1", "--summary", "2"],
    )
    for part in ("When a write pays", "an hour", "compaction, while cached", "21.74 %"):
        assert part in page.stdout


def test_every_key_is_documented():
    found = document(OPUS, "--edit-at", 1, "--remove", 1, "--keep", 1, "--summary", 1)
    text = (ROOT / "docs" / "hit-and-miss-path.md").read_text()
    keys = set(found) | set(found["lifetimes"]["5m"]) | {"saves_usd", "pays_from_requests"}
    assert sorted(key for key in keys - {"schema"} if f"`{key}`" not in text) == []
    assert found["schema"] in text


@given(read=USD, short=USD, long=USD, turns=st.integers(1, 50))
def test_an_hour_pays_exactly_above_its_lapses(read, short, long, turns):
    def rates(written):
        return Rates(1.0, read, written, None)

    lapses = long_lifetime_break_even_lapses(rates(short), rates(long))
    saved = [
        long_lifetime_saves_usd(1_000_000, turns, n, 0, rates(short), rates(long))
        for n in range(turns + 1)
    ]
    if lapses == NEVER:
        assert short <= read
        return
    for n, usd in enumerate(saved):
        if n > lapses + 1e-6:
            assert usd > -1e-9
        if n < lapses - 1e-6:
            assert usd < 1e-9
