"""Why a provider read less: our prefix, its rules, or itself. Bodies with usage, written by hand
from the documented shapes of Anthropic's and OpenAI's APIs."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from doctor.planting import paragraph
from hitpath.core import Setting
from hitpath.doctor.provider import ProviderView
from hitpath.doctor.provider_rules import rule_of
from hitpath.report.doctor_run import examine, open_subject
from support import write_jsonl

RNG = Random(5)
SYSTEM = "\n\n".join(paragraph(RNG, 6) for _ in range(30))
TURNS = [paragraph(RNG, 2) for _ in range(60)]
START = 1_764_400_000


def anthropic(
    turns: int, at_s: float, read: int, prompt: int, *, mark: bool = True, system: str = SYSTEM,
    model: str = "claude-opus-4-5", marks_at: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """A turn whose newest block has a breakpoint."""
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        role = "assistant" if number % 2 else "user"
        messages.append({"role": role, "content": [{"type": "text", "text": TURNS[number]}]})
    if mark:
        place = messages[-1 if marks_at is None else marks_at]["content"][-1]
        place["cache_control"] = {"type": "ephemeral"}
    usage = {"input_tokens": prompt - read, "cache_read_input_tokens": read,
             "cache_creation_input_tokens": 0}  # fmt: skip
    return {"model": model, "system": [{"type": "text", "text": system}], "messages": messages,
            "session_id": "s", "timestamp": START + at_s, "usage": usage}  # fmt: skip


def openai(turns: int, at_s: float, read: int, prompt: int, system: str = SYSTEM) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
    for number in range(turns):
        role = "assistant" if number % 2 else "user"
        messages.append({"role": role, "content": TURNS[number]})
    usage = {"prompt_tokens": prompt, "prompt_tokens_details": {"cached_tokens": read}}
    return {"model": "gpt-4o", "messages": messages, "session_id": "s",
            "timestamp": START + at_s, "usage": usage}  # fmt: skip


def view_of(folder: Path, rows: list[dict[str, Any]]) -> ProviderView:
    path = write_jsonl(folder / "t.jsonl", rows)
    found = examine(open_subject([str(path)], Setting()), what_ifs=False).provider
    assert found is not None
    return found


SIZE = 5_000  # tokens of a prompt


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([anthropic(1, 0, 0, SIZE), anthropic(3, 60, SIZE - 20, SIZE + 90)], "read"),
        ([anthropic(1, 0, 0, SIZE), anthropic(3, 60, 0, SIZE + 90)], "provider_missed"),
        ([anthropic(1, 0, 0, SIZE), anthropic(3, 900, 0, SIZE + 90)], "ttl_passed"),
        ([anthropic(1, 0, 0, SIZE), anthropic(3, 60, 0, SIZE + 90, mark=False)], "no_breakpoint"),
        ([anthropic(1, 0, 0, SIZE), anthropic(41, 60, 0, 2 * SIZE)], "breakpoint_missed"),
        ([anthropic(1, 0, 0, SIZE), anthropic(3, 60, 0, SIZE, system="Now! " + SYSTEM)],
         "prefix_broke"),
        ([anthropic(1, 0, 0, SIZE), anthropic(3, 60, 0, SIZE, model="claude-sonnet-4-5")],
         "other_model_or_host"),
        ([openai(1, 0, 0, SIZE), openai(3, 60, SIZE // 128 * 128, SIZE + 90)], "read"),
        ([openai(1, 0, 0, SIZE), openai(3, 60, 0, SIZE + 90)], "provider_missed"),
        ([openai(1, 0, 0, 700), openai(3, 60, 0, 790)], "below_minimum"),
        ([openai(1, 0, 0, SIZE), openai(3, 3_600, 0, SIZE + 90)], "ttl_passed"),
    ],
)  # fmt: skip
def test_each_reason(rows: list[dict[str, Any]], reason: str, tmp_path: Path) -> None:
    view = view_of(tmp_path, rows)
    assert view.reasons == {0: "first", 1: reason}
    assert (view.tokens[reason] == 0) == (reason == "read")


@pytest.mark.parametrize(("row", "reason"), [(0, "provider_missed"), (1, "ttl_passed")])
def test_a_long_breakpoint_lives_an_hour(row: int, reason: str, tmp_path: Path) -> None:
    """The lifetime is that which the request asked for that wrote the entry."""
    rows = [anthropic(1, 0, 0, SIZE), anthropic(3, 900, 0, SIZE + 90)]
    rows[row]["messages"][-1]["content"][-1]["cache_control"]["ttl"] = "1h"
    assert view_of(tmp_path, rows).reasons[1] == reason


def test_rows_without_usage_are_counted_apart(tmp_path: Path) -> None:
    rows = [openai(1, 0, 0, SIZE), openai(3, 60, 0, SIZE + 90)]
    del rows[1]["usage"]
    view = view_of(tmp_path, rows)
    assert view.not_told == 1
    assert set(view.reasons) == {0}


def test_providers_by_the_name_of_a_model() -> None:
    names = {"claude-opus-4-5-20251101": "anthropic", "openai/gpt-4o": "openai", "o3": "openai",
             "gemini-2.5-pro": "gemini", "deepseek-chat": "deepseek"}  # fmt: skip
    for model, provider in names.items():
        rule = rule_of(model)
        assert rule is not None
        assert rule.name == provider
    assert rule_of("llama-3-70b") is None
    opus = rule_of("claude-opus-4-5-20251101")
    assert opus is not None
    assert opus.least == 4096


def test_usage_of_a_provider_that_is_not_known_is_told(tmp_path: Path) -> None:
    rows = [openai(1 + 2 * n, 60 * n, 0, SIZE) | {"model": "acme-1"} for n in range(3)]
    view = view_of(tmp_path, rows)
    assert (view.requests, view.not_told, view.unknown) == ({}, 3, {"acme-1": 3})
    assert view.note == "3 requests report what was read; the provider of acme-1 is not known"


def test_without_usage_there_is_no_view(tmp_path: Path) -> None:
    rows = [openai(1 + 2 * n, 60 * n, 0, SIZE) for n in range(2)]
    for row in rows:
        del row["usage"]
    path = write_jsonl(tmp_path / "t.jsonl", rows)
    assert examine(open_subject([str(path)], Setting()), what_ifs=False).provider is None


@pytest.mark.parametrize(("name", "least"), [("gemini-2.5-pro", 2048), ("gemini-3-pro", 4096),
                                             ("gemini-4-argon", 4096)])  # fmt: skip
def test_minimums_of_gemini(name: str, least: int) -> None:
    rule = rule_of(name)
    assert rule is not None
    assert rule.least == least
