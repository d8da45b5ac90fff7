"""Prices of hosted models: the package's fields in our buckets, offline, unknown kept unknown."""

import builtins
import socket
from datetime import UTC, datetime
from decimal import Decimal

import genai_prices
import numpy as np
import pytest

from hitpath.core import SettingError
from hitpath.cost.bill import bill, bill_rows
from hitpath.cost.prices import Rates
from hitpath.cost.provider_prices import load_prices
from hitpath.cost.usage import Usage


def column(*counts):
    return np.array(counts, dtype=np.int64)


def usage(fresh=0, read=0, written_5m=0, written_1h=0, output=0):
    return Usage(
        column(fresh), column(read), column(written_5m), column(written_1h), column(output)
    )


WHEN = datetime(2026, 11, 1, 2, 0, tzinfo=UTC)
MODELS = [
    "anthropic/claude-opus-4-5",
    "anthropic/claude-sonnet-4-5",
    "anthropic/claude-haiku-4-5",
    "openai/gpt-4o",
    "openai/gpt-5",
    "openai/gpt-5.6-sol",
    "openai/o3",
    "google/gemini-2.5-pro",
    "google/gemini-2.5-flash",
    "deepseek/deepseek-chat",
    "aws/anthropic.claude-sonnet-4-5-20250929-v1:0",
    "azure/gpt-4o",
    "x-ai/grok-4",
    "openrouter/anthropic/claude-sonnet-4.5",
]


@pytest.mark.parametrize("reference", MODELS)
@pytest.mark.parametrize("fresh", [1_000, 150_000, 190_000, 250_000])
def test_our_bill_is_the_package_s_where_all_prices_are_known(reference, fresh):
    """Against genai-prices' own calculation, which shares no code with ours; below, at and above
    its tiers, with hits, with writes where it prices them."""
    prices = load_prices(reference).at(WHEN.timestamp())
    writes = 2_000 if prices.written_5m is not None else 0
    hours = 3_000 if prices.written_1h is not None else 0
    own = bill(usage(fresh, 10_000, writes, hours, 700), prices)
    provider, _, model = reference.partition("/")
    theirs = genai_prices.calc_price(
        genai_prices.Usage(
            input_tokens=fresh + 10_000 + writes + hours,
            cache_read_tokens=10_000,
            cache_write_tokens=writes + hours,
            cache_write_5m_tokens=writes,
            cache_write_1h_tokens=hours,
            output_tokens=700,
        ),
        model,
        provider_id=provider,
        genai_request_timestamp=WHEN,
    )
    assert own.total_usd == pytest.approx(float(theirs.total_price), rel=1e-12)


@pytest.mark.parametrize(
    "reference", ["moonshotai/kimi-k2", "groq/llama-3.3-70b-versatile", "mistral/mistral-large"]
)
def test_a_missing_cache_price_stays_unknown(reference):
    """There the package charges cached tokens like fresh ones, without a word."""
    prices = load_prices(reference).at(WHEN.timestamp())
    assert prices.read is None
    assert bill(usage(1_000, 9_000, output=1), prices).total_usd is None
    assert any("read tokens have no price" in note for note in prices.notes)
    provider, _, model = reference.partition("/")
    theirs = genai_prices.calc_price(
        genai_prices.Usage(input_tokens=10_000, cache_read_tokens=9_000),
        model,
        provider_id=provider,
    )
    full = Decimal(str(prices.fresh.usd_per_mtok)) / 100
    assert theirs.total_price == full


def test_an_hour_s_write_without_its_own_price_stays_unknown():
    """OpenRouter's Claude has one write price; the package takes it for an hour's write too."""
    prices = load_prices("openrouter/anthropic/claude-sonnet-4.5").at(None)
    assert prices.written_5m is not None
    assert prices.written_1h is None
    assert bill(usage(written_1h=100), prices).total_usd is None


def test_published_factors():
    rates = load_prices("anthropic/claude-opus-4-5").at(None).rates(1_000)
    assert (rates.written / rates.fresh, rates.read / rates.fresh) == (1.25, 0.1)
    long = load_prices("anthropic/claude-opus-4-5").at(None).rates(1_000, "1h")
    assert long.written / long.fresh == 2
    sol = load_prices("openai/gpt-5.6-sol").at(WHEN.timestamp()).rates(1_000)
    assert sol.written / sol.fresh == 1.25


def test_prices_over_time():
    """DeepSeek's off-peak hours and o3's cut of June 2025, by the package's own rule."""
    chat = load_prices("deepseek/deepseek-chat")
    day = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
    clocks = np.array([0, 1_799, 1_800, 59_399, 59_400, 86_399]) + day
    prices, which = chat.at_times(clocks)
    found = [prices[i].fresh.usd_per_mtok for i in which]
    assert found == [0.135, 0.135, 0.27, 0.27, 0.135, 0.135]
    o3 = load_prices("openai/o3")
    june = datetime(2025, 6, 10, tzinfo=UTC).timestamp()
    prices, which = o3.at_times(np.array([june - 1, june, june + 1e7]))
    assert [prices[i].fresh.usd_per_mtok for i in which] == [10, 2, 2]
    rows = Usage(*(np.repeat(c, 3) for c in (column(10**6), *[column(0)] * 4)))
    made = bill_rows(rows, prices, which)
    assert made.row_usd.tolist() == [10, 2, 2]
    assert made.total_usd == 14
    assert o3.at_times(np.zeros(0))[0] == []
    for undated in (None, 12.5, float("nan")):
        with pytest.raises(SettingError, match="needs the dates of the requests"):
            o3.at(undated)
    with pytest.raises(SettingError, match="needs the dates"):
        o3.at_times(np.array([june, 5.0]))


def test_tiers_of_service():
    flex = load_prices("openai/gpt-5", {"service_tier": "flex"})
    assert flex.at(WHEN.timestamp()).rates(10) == Rates(0.625, 0.0625, None, 5.0)
    before = flex.at(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
    assert before.fresh is None  # the package would say the standard price
    assert "no price of service_tier=flex is recorded for 2026-01-01." in before.notes
    batch = load_prices("anthropic/claude-opus-4-5", {"processing": "batch"})
    assert batch.at(WHEN.timestamp()).rates(10) == Rates(2.5, 0.25, 3.125, 12.5)
    year = np.array([datetime(2026, m, 1, tzinfo=UTC).timestamp() for m in (1, 11)])
    prices, which = flex.at_times(year)
    rows = Usage(*(np.repeat(c, 2) for c in (column(10**6), *[column(0)] * 4)))
    made = bill_rows(rows, prices, which)
    assert (made.total_usd, made.known_usd) == (None, 0.625)
    assert made.buckets["fresh"].unpriced_tokens == 10**6
    assert np.isnan(made.row_usd).tolist() == [True, False]
    with pytest.raises(SettingError, match="no price for service_tier=turbo"):
        load_prices("openai/gpt-5", {"service_tier": "turbo"})
    with pytest.raises(SettingError, match="whose tiers do not apply"):
        load_prices("azure/gpt-4o", {"service_tier": "priority"})


def test_how_a_model_was_found_is_said():
    assert (
        "openai/gpt-5.6 was read as gpt-5.6-sol of openai." in load_prices("openai/gpt-5.6").notes
    )
    assert any("azure has no price of its own" in n for n in load_prices("azure/gpt-4o").notes)
    sonar = load_prices("perplexity/sonar").at(None)
    assert "requests_kcount" in sonar.unpriced
    deep = load_prices("perplexity/sonar-deep-research").at(None)
    assert deep.output is None
    assert any("output_reasoning_mtok is another" in note for note in deep.notes)
    assert "genai-prices 0" in deep.source


@pytest.mark.parametrize(
    ("reference", "cause"),
    [
        ("claude-opus-4-5", "not of the form provider/model"),
        ("anthropic/", "not of the form provider/model"),
        ("nobody/x", "has no provider nobody"),
        ("opneai/gpt-5", "nearest: openai"),
        ("anthropic/gpt-5", "has no price of gpt-5 at anthropic"),
        ("openai/gtp-5\nx", "has no price of"),
    ],
)
def test_models_that_are_not_there(reference, cause):
    with pytest.raises(SettingError, match=cause) as caught:
        load_prices(reference)
    assert "\n" not in str(caught.value)


def test_nothing_is_fetched(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert load_prices("openai/gpt-4o").at(None).fresh.usd_per_mtok == 2.5


def test_without_the_package(monkeypatch):
    real = builtins.__import__

    def absent(name, *rest, **named):
        if name.startswith("genai_prices"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(SettingError, match=r"pip install 'hitpath\[prices\]'"):
        load_prices("openai/gpt-4o")
