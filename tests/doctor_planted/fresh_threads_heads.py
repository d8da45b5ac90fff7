"""What changes in instructions and tools between two requests: words that were edited once and look
like clocks, ids, counters and numbers; values that stand in tools.
"""

import unicodedata
from collections.abc import Callable
from random import Random

from doctor_planted.threads_forms import Plant, coin, form, seed_of
from doctor_planted.threads_sessions import App, Step


def _once(app: App, rng: Random, before: str, after: str) -> Plant:
    """From some request on a sentence of the instructions reads otherwise, for good."""
    total = sum(len(session.cuts) for session in app.sessions)
    at, place = rng.randrange(total // 3, 2 * total // 3 + 1), rng.randrange(len(app.system))

    def plant(s: Step) -> None:
        s.system[place] += " " + (after if s.number >= at else before)

    return plant


_ONCE = {
    "once_date": ("The spring offer ends on 31 March 2026.",
                  "The spring offer ends on 30 April 2026."),
    "once_hours": ("The desk is open from 09:00 to 17:00.",
                   "The desk is open from 08:00 to 18:30."),
    "once_price": ("A late fee is 12.50 euros a week.", "A late fee is 13.50 euros a week."),
    "once_phone": ("Complaints go to +49 30 5550142.", "Complaints go to +49 30 5550977."),
    "once_version": ("These rules are version 3.2 of the handbook.",
                     "These rules are version 3.3 of the handbook."),
    "once_name": ("Ask for Ms Berg in all doubtful cases.",
                  "Ask for Mr Ito in all doubtful cases."),
    "once_word": ("Refunds are paid within ten working days.",
                  "Refunds are paid within six working days."),
    "once_appointment": ("The next inspection is on Tuesday, 5 May 2026, at 10:30.",
                         "The next inspection is on Thursday, 7 May 2026, at 14:00."),
}  # fmt: skip


def _maker(name: str) -> Callable[[App, Random], Plant]:
    return lambda app, rng: _once(app, rng, *_ONCE[name])


for _name in _ONCE:
    form(_name, "edited_message", scope="system", source="a rule that its owner edited")(
        _maker(_name)
    )


def _told(app: App, rng: Random, write: Callable[[Step], str]) -> Plant:
    """A sentence at the end of a tool's description."""
    at = rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        s.tools[at]["function"]["description"] += " " + write(s)

    return plant


@form("tool_clock", "clock", scope="tools", source="web search tools that tell the present time")
def tool_clock(app: App, rng: Random) -> Plant:
    return _told(app, rng, lambda s: f"Results are as of {s.time:%H:%M} today ({s.time:%d %b %Y}).")


@form("tool_quota", "counter", scope="tools", source="a quota of calls told in a description")
def tool_quota(app: App, rng: Random) -> Plant:
    return _told(app, rng, lambda s: f"Quota: {4_120 - 3 * s.number:,} calls left this month.")


@form("tool_sender", "per_user_field", scope="tools", source="a mail tool that tells its sender")
def tool_sender(app: App, rng: Random) -> Plant:
    def write(s: Step) -> str:
        name = s.session.user
        return (
            f"Mails go out as {name} {s.session.name[-3:].upper()} <{name.lower()}@desk.example>."
        )

    return _told(app, rng, write)


@form(
    "tool_ticket", "request_id", scope="tools", source="a case's number in the tool that closes it"
)
def tool_ticket(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def write(s: Step) -> str:
        own = Random(f"{seed}{s.number}")
        return f"Idempotency token of this request: {own.getrandbits(96):024x}."

    return _told(app, rng, write)


@form(
    "tool_bom", "hidden_characters", scope="tools", source="one of two servers keeps a file's BOM"
)
def tool_bom(app: App, rng: Random) -> Plant:
    seed, at = seed_of(rng), rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=0.4):
            function = s.tools[at]["function"]
            function["description"] = "\ufeff" + function["description"]

    return plant


@form(
    "tool_nfd", "unicode_form", scope="tools", source="descriptions read from files on two systems"
)
def tool_nfd(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    told = "Größe und Straße, café, Ångström: Ruhezeiten gelten überall."

    def write(s: Step) -> str:
        return unicodedata.normalize("NFD" if coin(seed, s.number, p=0.4) else "NFC", told)

    return _told(app, rng, write)


@form(
    "tool_last_used", "clock", scope="tools", source="a connector that tells when it synchronised"
)
def tool_last_used(app: App, rng: Random) -> Plant:
    return _told(app, rng, lambda s: f"(last synchronised {s.time:%Y-%m-%dT%H:%M:%SZ})")


@form(
    "tool_spaces", "white_space", scope="tools", source="YAML folded by one loader, kept by another"
)
def tool_spaces(app: App, rng: Random) -> Plant:
    seed, at = seed_of(rng), rng.randrange(len(app.tools))

    def plant(s: Step) -> None:
        if coin(seed, s.number, p=0.4):
            function = s.tools[at]["function"]
            function["description"] = function["description"].replace(". ", ".\n")

    return plant
