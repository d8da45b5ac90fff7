"""The recogniser of volatile text: whole stretches of known shapes, and hard negatives.

The shapes are written by hand from the documented forms (ISO 8601, RFC 2822, ctime, W3C trace
context, ULID) and from public threads about prefixes that broke.
"""

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitpath.canonical import find_volatile, volatile
from support import shared_data

SURE = [
    ("clock", "Current time: ", "2025-03-03 14:22:31", ". You are"),
    ("clock", "The current date is ", "Monday, March 3, 2025", "."),
    ("clock", "Today is ", "March 3rd, 2025", ", be brief."),
    ("clock", "It is ", "2:22 PM PST", " on"),
    ("clock", "<timestamp>", "2025-03-03T14:22:31.123456+00:00", "</timestamp>"),
    ("clock", '"now": "', "2025-03-03T14:22:31Z", '"'),
    ("clock", "Session started ", "Mon, 03 Mar 2025 14:22:31 GMT", "\n"),
    ("clock", "Date: ", "Mon Mar  3 14:22:31 UTC 2025", "\n"),
    ("clock", "time=", "1741011751", " x"),
    ("clock", "time=", "1741011751123", " x"),
    ("clock", "time: ", "1741011751.123", " x"),
    ("clock", "Aktuelles Datum: ", "Montag, 3. März 2025, 14:22 Uhr", "."),
    ("clock", "Date : ", "lundi 3 mars 2025 à 14:22", "."),
    ("clock", "Fecha: ", "3 de marzo de 2025", "."),
    ("clock", "今天是", "2025年3月3日 星期一", "。"),
    ("clock", "現在", "2025年3月3日(月) 14:22", "。"),
    ("clock", "오늘은 ", "2025년 3월 3일 월요일", "입니다"),
    ("clock", "Сейчас ", "3 марта 2025, 14:22", "."),
    ("clock", "Now: ", "Mon Mar 03 2025 14:22:31 GMT+0000 (Coordinated Universal Time)", "."),
    ("clock", "Now: ", "2025-03-03 14:22:31.123456789 +0000 UTC m=+0.000012", "\n"),
    ("clock", "date ", "03/Mar/2025:14:22:31 +0000", " x"),
    ("clock", "Current month: ", "March 2025", "."),
    ("clock", "Current hour: ", "2025-03-03T14", "\n"),
    ("clock", "Today's date: ", "03-Mar-2025", ". Be"),
    ("clock", "Local time: ", "11/29/2026, 11:11:42 PM", "\n"),
    ("clock", "Now: ", "2025-03-03 14:22:31 Europe/Berlin", "\n"),
    ("clock", "", "2025-03-03 14:22:31", "\nYou are a helper."),
    ("clock", "[", "2025-03-03T14:22:31Z", "]\nYou are a helper."),
    ("request_id", "id ", "0b9c2f7e-1111-4222-8333-123456789abc", ", x"),
    (
        "request_id",
        "traceparent: ",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "\n",
    ),
    ("request_id", "Request ID: ", "99812", "\n"),
    ("request_id", "session_id=", "ab12-xy9", ","),
    ("request_id", "Session: ", "3f2a9c81", ", go"),
    ("request_id", "nonce: ", "f83jf0", " x"),
    ("counter", "[", "step 12", "] go"),
    ("counter", "", "Turn: 5/10", "\n"),
    ("counter", "(", "turn 5 of 10", ")"),
    ("counter", "This is ", "request #512", " today."),
    ("counter", "", "Requests served so far: 1,204", "\n"),
    ("counter", "You have ", "12,345 tokens left", "."),
    ("counter", "<", "budget: 1234", ">"),
    ("attribution", "", "x-anthropic-billing-header: cc_version=2.1.3; cch=ab12f;", "\nYou are"),
    ("attribution", "You are.\n", "Current branch: fix/cache-miss", "\nMain"),
    ("attribution", "", "Working directory: /home/u/project", "\n"),
    ("attribution", "see ", "/tmp/run-8f2k/out.txt", " for"),
]


@pytest.mark.parametrize(("kind", "before", "stretch", "behind"), SURE)
def test_a_sure_stretch_is_found_whole(kind: str, before: str, stretch: str, behind: str) -> None:
    text = before + stretch + behind
    found = [(one.kind, text[one.start : one.stop], one.is_sure) for one in find_volatile(text)]
    assert found == [(kind, stretch, True)]


SEEN = [
    ("clock", "flights after ", "2024-05-15 15:00:00 EST", " only"),
    ("clock", "such as '", "2024-05-01", "'"),
    ("clock", "open from ", "9:30 AM", " daily"),
    ("clock", "Updated ", "3 March 2025", "."),
    ("request_id", "see ", "req_011CSHoEeqs5C35K2UUqR7Fy", "."),
    ("request_id", "see ", "chatcmpl-AbC123xyz987", "."),
    ("request_id", "see ", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "."),
    ("request_id", "see ", "4bf92f3577b34da6a3ce929d0e0e4736", "."),
    ("request_id", "token ", "xK9fQ2mZ7pL4vB8nR3tY", "."),
    ("counter", "", "Step 3", ": read the policy"),
]


@pytest.mark.parametrize(("kind", "before", "stretch", "behind"), SEEN)
def test_what_may_be_constant_is_seen_but_not_sure(
    kind: str, before: str, stretch: str, behind: str
) -> None:
    text = before + stretch + behind
    found = [(one.kind, text[one.start : one.stop], one.is_sure) for one in find_volatile(text)]
    assert found == [(kind, stretch, False)]


@pytest.mark.parametrize(
    "text",
    [
        "You are a helpful assistant with 3 tools and 12 rules.",
        "Knowledge cutoff: 2024-06",
        "run: fast, build: release, session: 2 hours, thread: main-loop",
        "Version 1.2.3, build with python3.11 and 100% care",
        "call get_user_profile_by_identifier or book_reservation_v2",
        "Costs $1,234.56 in 2025, or 10.000,00 EUR",
        "Phone +1 555 123 4567, room 12-34, ratio 3/4",
        "may the sun rise in march; mon ami, sat down",
        "https://example.org/docs/api/v2/reference#section-12",
        "The session is important. A request id is needed for each call.",
        "HAT001 flies SFO to JFK; confirm with yes",
        "aaaaaaaaaaaaaaaaaaaaaaaa 000000000000000000000000",
        "thread_pool_executor, message_handler, run_in_background",
        "",
    ],
)
def test_what_is_no_volatile_text(text: str) -> None:
    assert find_volatile(text) == ()


def test_several_in_one_text_are_in_order_and_apart() -> None:
    text = (
        "x-anthropic-billing-header: cc_version=2; cch=a1\nNow: 2025-03-03 14:22:31 [step 2] "
        "id 0b9c2f7e-1111-4222-8333-123456789abc, time 10:30"
    )
    found = find_volatile(text)
    assert [one.kind for one in found] == [
        "attribution", "clock", "counter", "request_id", "clock",
    ]  # fmt: skip
    assert all(one.stop <= other.start for one, other in pairwise(found))


FORMS = [
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%a, %d %b %Y %H:%M:%S GMT", "%A, %B %d, %Y",
    "%B %d, %Y at %I:%M %p", "%d.%m.%Y %H:%M", "%m/%d/%Y, %I:%M:%S %p", "%Y/%m/%d %H:%M", "%c",
    "%d %B %Y", "%Y%m%dT%H%M%SZ", "%H:%M:%S", "%I:%M %p",
]  # fmt: skip
MOMENTS = st.integers(0, 40 * 365 * 86_400).map(
    lambda s: datetime(1998, 1, 1, tzinfo=UTC) + timedelta(seconds=s)
)


@given(MOMENTS, st.sampled_from(FORMS))
def test_a_clock_of_any_moment_is_one_stretch(moment: datetime, form: str) -> None:
    told = moment.strftime(form)
    text = f"Current time: {told}. You are a helper with 3 tools."
    (one,) = find_volatile(text)
    assert (one.kind, text[one.start : one.stop].rstrip("."), one.is_sure) == ("clock", told, True)


@given(st.uuids(), st.sampled_from(["id {}.", "<{}>", "session {}\n", '{{"id": "{}"}}']))
def test_a_uuid_is_one_stretch(value: object, form: str) -> None:
    text = form.format(value)
    assert [(one.kind, text[one.start : one.stop]) for one in find_volatile(text)] == [
        ("request_id", str(value))
    ]


@given(st.text(max_size=60))
def test_any_text_gives_stretches_apart_and_within(text: str) -> None:
    at = 0
    for one in find_volatile(text):
        assert at <= one.start < one.stop <= len(text)
        at = one.stop


def test_real_policies_and_tools_have_one_clock_that_is_sure() -> None:
    policy = shared_data("tau_bench/airline_wiki.md").read_text()
    sure = [policy[v.start : v.stop] for v in find_volatile(policy) if v.is_sure]
    assert sure == ["2024-05-15 15:00:00 EST"]
    tools = shared_data("tau_bench/airline_tools.json").read_text()
    assert [tools[v.start : v.stop] for v in find_volatile(tools) if v.is_sure] == []


def test_windows_of_a_long_text_find_what_the_whole_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = ["Current time: 2026-03-09 10:15:07", "[step 12]", "req_8f3a2b1c9d", "on 9 March 2026",
              "7f9c24e8-3b1a-4c5d-9e2f-1a2b3c4d5e6f", "tokens left: 1,200", "no clock here",
              "x-anthropic-billing-header: cc_version=2.1.3; cch=00a1f;"]  # fmt: skip
    rng = random.Random(5)
    for _ in range(40):
        text = "".join(
            rng.choice(pieces) + rng.choice(["\n", " ", ". ", "\n\n"]) for _ in range(60)
        )
        whole = find_volatile(text)
        with monkeypatch.context() as patch:
            patch.setattr(volatile, "_WINDOW", rng.randrange(150, 700))
            patch.setattr(volatile, "_AHEAD", 300)
            assert find_volatile(text) == whole
