"""What agents of the threads are told, asked and answer: words of their own, so that no rule can
have been fitted to those of the other sets.
"""

from random import Random
from typing import Any


def _words(text: str) -> list[str]:
    return text.split()


APPS = (
    ("harbour pilot desk", "code"), ("seed bank curator", "service"),
    ("tram depot planner", "service"), ("glass studio helper", "chat"),
    ("alpine hut booking", "service"), ("bee keeper's log", "chat"),
    ("kernel patch triage", "code"), ("museum loan office", "service"),
    ("ferry timetable bot", "browser"), ("payroll migration agent", "code"),
    ("recipe scaler", "chat"), ("wind farm monitor", "browser"),
    ("court transcript indexer", "code"), ("orchestra stage crew", "service"),
    ("cave survey notes", "chat"), ("print shop quoting", "service"),
    ("peat bog census", "browser"), ("radio play archive", "code"),
)  # fmt: skip
NOUNS = _words(
    "ledger crate valve lantern rota permit gasket ballast manifest sluice turbine anchor parcel "
    "folio hinge bracket spool archive cistern girder mast kiln loom furnace buoy pallet hatch "
    "rudder beacon cable docket relay sensor tariff voucher trench gantry hopper kettle lathe "
    "quarry saddle trellis"
)
VERBS = _words(
    "check move repair count label weigh replace inspect reroute archive confirm reopen seal drain "
    "align"
)
ADJ = _words(
    "north spare damp early brass narrow second late upper frozen idle worn outer hollow plain"
)
RULES = (
    "Before you {v} the {n}, say which {m} you mean and wait for an answer.",
    "A {a} {n} is never handed over without the {m} that belongs to it.",
    "When two records disagree about the {n}, the one with the {m} wins.",
    "Prices of the {n} are told without tax unless the person asks for the {m}.",
    "Do not promise a {n}; offer to {v} the {m} instead.",
    "If the {n} is {a}, write one line into the {m} and go on.",
    "Keep answers under six sentences, and name the {n} first.",
    "Nobody but the office may {v} a {n}; say so kindly and point to the {m}.",
    "Use the tools for every fact about a {n}, also where the {m} seems clear.",
    "The {m} is counted on Fridays, the {n} on any other day.",
    "A request to {v} the {a} {n} needs a second voice, usually that of the {m} keeper.",
    "Quote numbers of a {n} as they stand in the {m}, without rounding.",
)
ASKS = (
    "Can somebody {v} the {a} {n} that came with the {m}?",
    "I was told the {n} would be there by 4 May 2026 at 14:30. Is the {m} with it?",
    "Why does the {n} stand twice in the {m}? I only ordered one, number {k}.",
    "Please {v} the {n}, then tell me what is left of the {m}.",
    "My colleague says that the {a} {n} was lost. What does the {m} say?",
    "How long would it take to {v} a {n} and its {m}? We have {k} of them.",
)
SAYS = (
    "The {n} is where it should be, and the {m} was signed this morning.",
    "I looked at the {a} {n}: {k} entries, none of them open.",
    "Two of the {m}s match. Shall I {v} the {n} for you?",
    "The {n} cannot be moved before the {m} is {a}; I left a note.",
    "That is done. The {n} now has the number {k}.",
    "I found the {m} but not the {n}; somebody has to {v} it by hand.",
)
THINK = (
    "The person wants the {n}, not the {m}.", "First the record, then the answer.",
    "I may {v} it only if the {m} is there.", "The number {k} looks like an order.",
    "Nothing in the rules forbids a {a} {n}.", "Let me look once more before I speak.",
)  # fmt: skip
FIRST = _words("Ines Bram Oskar Noor Tilde Pavel Yuki Amara Lorcan Freya Dov Milan")
_TOOLS = {
    "code": _words("read_file list_dir grep_search run_shell apply_patch write_file fetch_url"),
    "service": _words("find_record update_record send_note open_case list_dates price_of"),
    "browser": _words("click type_text navigate screenshot scroll read_page"),
    "chat": [],
}
_PARAMETERS = _words("target limit since until verbose reason unit owner depth format")


class W:
    """Fills templates with the words of one draw."""

    def __init__(self, rng: Random) -> None:
        self.r = rng

    def __call__(self, template: str) -> str:
        n, m = self.r.sample(NOUNS, 2)
        return template.format(
            n=n, m=m, v=self.r.choice(VERBS), a=self.r.choice(ADJ), k=self.r.randrange(1000, 99999)
        )

    def pick(self, templates: tuple[str, ...]) -> str:
        return self(self.r.choice(templates))

    def some(self, templates: tuple[str, ...], count: int) -> str:
        return " ".join(self(t) for t in self.r.sample(templates, min(count, len(templates))))


def system_of(w: W, name: str) -> list[str]:
    """The instructions as paragraphs."""
    paragraphs = [f"You are the assistant of the {name}. " + w.some(RULES, 2)]
    for _ in range(w.r.randrange(3, 7)):
        paragraphs.append(w.some(RULES, w.r.randrange(1, 4)))
    return paragraphs


def tool(w: W, name: str, what: str) -> dict[str, Any]:
    kinds = ("string", "integer", "number", "boolean")
    names = w.r.sample(_PARAMETERS, 4)
    properties: dict[str, Any] = {}
    for i, parameter in enumerate(names):
        kind = kinds[(i * 7 + len(parameter)) % 4]
        properties[parameter] = {
            "type": kind,
            "description": w("The {n} or the {m} to look at."),
        }
    properties[names[3]] = {
        "type": "string",
        "enum": w.r.sample(NOUNS, 4),
        "description": "One of these.",
    }
    parameters = {"type": "object", "properties": properties, "required": names[:2]}
    function = {
        "name": name,
        "description": f"{what} {w.some(RULES, 2)}",
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


def tools_of(w: W, shape: str) -> list[dict[str, Any]]:
    names = list(_TOOLS[shape])
    w.r.shuffle(names)
    if not names:
        return []
    return [
        tool(w, name, f"Use {name.replace('_', ' ')} for this.")
        for name in names[: w.r.randrange(4, len(names) + 1)]
    ]
