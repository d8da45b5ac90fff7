"""A provider's bill of a trace, against sums by hand (rows written by hand)."""

import numpy as np
import pytest

import hitpath
from hitpath.cost.provider_prices import load_prices

OPUS = "anthropic/claude-opus-4-5"  # 5 fresh, 0.5 read, 6.25 and 10 written, 25 output
GPT = "openai/gpt-4o"


def row(name, prompt, read=None, output=10, **reported):
    counts = {"cached_tokens": read, **reported}
    return {
        "id": name,
        "arrival_s": 0,
        "prompt_tokens": prompt,
        "output_tokens": output,
        "reported": {key: value for key, value in counts.items() if value is not None},
    }


def billed(rows, prices=OPUS):
    return hitpath.analyze(rows, prices=prices).analysis.billed


def test_the_prices_that_these_sums_use():
    prices = load_prices(OPUS).at(None)
    shown = [prices.of(name).usd_per_mtok for name in ("fresh", "read", "written_5m", "output")]
    assert shown == [5, 0.5, 6.25, 25]
    assert prices.written_1h.usd_per_mtok == 10


def test_by_hand():
    found = billed([
        row("a", 1000, 600, 20, cache_write_tokens=300),
        row("b", 500, 0, 10, cache_write_tokens=400, cache_write_1h_tokens=100),
    ])  # fmt: skip
    fresh, read, short, hour, output = 100 + 100, 600, 300 + 300, 100, 30
    usd = (5 * fresh + 0.5 * read + 6.25 * short + 10 * hour + 25 * output) / 1e6
    assert found.bill.total_usd == pytest.approx(usd, rel=1e-12)
    assert found.without_cache_usd == pytest.approx((5 * 1500 + 25 * 30) / 1e6, rel=1e-12)
    assert found.saved_usd == pytest.approx(found.without_cache_usd - usd, rel=1e-9)
    assert found.read_frac == 600 / 1300
    assert found.break_even_read_frac == pytest.approx(1.25 / 5.75, rel=1e-12)
    assert any("300 written tokens do not say for how long" in note for note in found.notes)


def test_what_is_not_told_is_not_known_and_never_free():
    found = billed([row("a", 1000, 600, cache_write_tokens=0), row("b", 500)])
    assert found.bill.total_usd is None
    assert (
        found.bill.known_usd
        < billed([row("a", 1000, 600, cache_write_tokens=0)]).bill.total_usd + 0.001
    )
    assert found.bill.buckets["read"].absent_rows == 1
    assert found.saved_usd is None


def test_a_provider_without_writes_needs_none_told():
    found = billed([row("a", 1000, 600)], GPT)
    prices = load_prices(GPT).at(None)
    usd = 400 * prices.fresh.usd_per_mtok + 600 * prices.read.usd_per_mtok
    usd += 10 * prices.output.usd_per_mtok
    assert found.bill.total_usd == pytest.approx(usd / 1e6, rel=1e-12)


def test_nothing_reported_is_refused():
    with pytest.raises(hitpath.SettingError, match="no request reports"):
        billed([row("a", 1000)])


def test_the_reported_bill_beside_it():
    told = [
        row("a", 1000, 600, cache_write_tokens=0, cost=0.00255),
        row("b", 1000, 600, cache_write_tokens=0, cost=0.01, currency="USD"),
        row("c", 1000, 600, cache_write_tokens=0, cost=0.01, currency="EUR"),
    ]
    found = hitpath.analyze(told, prices=OPUS)
    apart = found.analysis.billed.difference
    assert (apart.num_rows, apart.num_rows_left_out, apart.num_rows_differing) == (2, 1, 1)
    assert apart.reported_usd == pytest.approx(0.01255, rel=1e-12)
    assert apart.difference_usd == pytest.approx(0.01 - 0.00255, rel=1e-9)
    assert found.document["bill"]["reported"]["farthest_id"] == "b"
    assert any("not in USD in 1 rows" in note for note in found.warnings)


def test_each_model_has_its_prices():
    rows = [row("a", 1000, 0, cache_write_tokens=0), row("b", 1000, 0), row("c", 1000, 0)]
    for one, model in zip(rows, ("opus", "gpt", "mine"), strict=True):
        one["model"] = model
    found = billed(rows, [f"opus={OPUS}", f"gpt={GPT}"])
    assert [(used.label, used.num_rows) for used in found.used] == [("opus", 1), ("gpt", 1)]
    assert found.bill.total_usd is None
    assert "mine (no --prices for it)" in " ".join(found.bill.reasons)
    assert np.isnan(found.bill.row_usd[2])
    whole = billed(rows, [f"opus={OPUS}", GPT])
    assert [used.num_rows for used in whole.used] == [1, 2]
    assert whole.bill.total_usd is not None


@pytest.mark.parametrize(
    ("prices", "cause"),
    [
        ("nobody=" + OPUS, "no such model"),
        (["a/b", "c/d"], "no provider"),
        ("=" + OPUS, "names no model"),
        ([OPUS, GPT], "second price"),
    ],
)
def test_prices_that_are_none(prices, cause):
    with pytest.raises(hitpath.SettingError, match=cause):
        billed([row("a", 1000, 600)], prices)


def test_a_cause_costs_the_difference_to_a_read():
    shared = list(range(64))
    rows = [
        {
            "id": i,
            "arrival_s": i,
            "tokens": [*shared, 1000 + i],
            "context": {"salt": str(i)},
            "reported": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 1,
        }
        for i in range(2)
    ]
    found = hitpath.analyze(rows, prices=OPUS)
    assert found.causes["isolated"] == 64
    usd = found.analysis.billed.missed_usd
    assert usd["isolated"] == pytest.approx(64 * 4.5 / 1e6, rel=1e-12)
    assert usd["cold"] == pytest.approx(66 * 4.5 / 1e6, rel=1e-12)
    assert usd["diverged"] is None


def test_bytes_have_no_price_but_reported_tokens_do():
    rows = [
        {
            "id": "a",
            "arrival_s": 0,
            "prompt": "x" * 4000,
            "reported": {
                "prompt_tokens": 1000,
                "counting": "inclusive",
                "cached_tokens": 600,
                "cache_write_tokens": 0,
                "output_tokens": 10,
            },
        }
    ]
    found = billed(rows)
    assert found.bill.total_usd == pytest.approx((5 * 400 + 0.5 * 600 + 25 * 10) / 1e6, rel=1e-12)
    assert set(found.missed_usd.values()) == {None}


def test_a_lifetime_that_is_told_needs_no_note():
    short, hour, untold = (
        billed([row("a", 1000, 600, cache_write_tokens=300, **ttl)])
        for ttl in ({"cache_write_ttl_s": 300}, {"cache_write_ttl_s": 3600}, {})
    )
    assert short.bill.total_usd == untold.bill.total_usd
    assert not any("how long" in note for note in (*short.notes, *hour.notes))
    assert any("how long" in note for note in untold.notes)
    assert (hour.bill.buckets["written_5m"].tokens, hour.bill.buckets["written_1h"].tokens) == (
        0,
        300,
    )


def test_a_model_named_none_is_not_a_request_that_names_none():
    rows = [row("a", 1000, 0, cache_write_tokens=0), row("b", 1000, 0, cache_write_tokens=0)]
    rows[0]["model"] = "None"
    found = billed(rows, [f"None={OPUS}", GPT])
    assert [used.num_rows for used in found.used] == [1, 1]
    assert found.bill.total_usd is not None


def test_what_is_assumed_is_said():
    rows = [row(name, 1000, 0, cache_write_tokens=0) for name in "abc"]
    for one, model in zip(rows, ("opus", "haiku", "mine"), strict=True):
        one["model"] = model
    shared = "2 models of the trace have the same prices here: haiku, mine"
    assert any("standard price" in note for note in billed(rows[:1]).notes)
    assert not any("same prices" in note for note in billed(rows[:1]).notes)
    assert shared in billed(rows, [f"opus={OPUS}", OPUS]).notes
    told = {"cached_tokens": 0, "cache_write_tokens": 0}
    held = {"id": 0, "arrival_s": 0, "tokens": [1, 2], "output_ids": [3, 4, 5], "reported": told}
    found = billed([held])
    assert found.bill.buckets["output"].tokens == 3
    assert any("1 rows report no output" in note for note in found.notes)


def test_a_miss_that_the_model_does_not_explain_has_a_cost_too():
    prompt = list(range(64))
    rows = [
        {
            "id": i,
            "arrival_s": i,
            "tokens": prompt,
            "reported": {"cached_tokens": 0, "cache_write_tokens": 0},
        }
        for i in range(2)
    ]
    found = hitpath.analyze(rows, prices=OPUS)
    usd = found.analysis.billed.missed_usd["unexplained"]
    tokens = int(found.analysis.ledger.unexplained.sum())
    assert tokens > 0
    assert usd == pytest.approx(tokens * 4.5 / 1e6, rel=1e-12)


def test_rows_that_are_not_billed_are_counted():
    rows = [row("a", 1000, 600, cache_write_tokens=0), row("b", 1000, 1200, cache_write_tokens=0)]
    found = billed(rows)
    assert found.bill.num_rows == 1
    assert "1 rows are left out of all sums, so of the bill too" in found.notes
