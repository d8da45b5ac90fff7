"""What changes for good reason: each turn brings times, codes, counts and documents of its own,
which stay where they were said.
"""

from collections.abc import Callable
from random import Random

from doctor_planted.threads_clean import plain, retried, rewound
from doctor_planted.threads_sessions import App, Message, Step


def _each_question(write: Callable[[Step, int, Random], str]) -> Callable[..., list[Step]]:
    """Adds to each question of the user, the same in all requests. write: (step, place, draw)."""

    def change(app: App, steps: list[Step], rng: Random) -> list[Step]:
        seed = rng.getrandbits(32)
        for step in steps:
            for i, message in enumerate(step.messages):
                if message["role"] == "user":
                    own = Random(f"{seed}:{step.session.name}:{i}")
                    message["content"] = write(step, i, own).replace("%", message["content"], 1)
        return steps

    return change


def _call_clock(s: Step, i: int, r: Random) -> str:
    return f"[00:{i:02d}:{r.randrange(60):02d}] %"


def _game(s: Step, i: int, r: Random) -> str:
    return f"Turn {i + 1} | HP {r.randrange(10, 99)}/100 | gold {r.randrange(400)}\n%"


def _retrieved(s: Step, i: int, r: Random) -> str:
    told = "\n".join(f"[{r.randrange(900)}] ({2020 + r.randrange(6)}-0{r.randrange(1, 9)}-1"
                     f"{r.randrange(9)}) score 0.{r.randrange(100, 999)}: {r.getrandbits(32):x}"
                     for _ in range(3))  # fmt: skip
    return f"Context:\n{told}\n\nQuestion: %"


def _mailed(s: Step, i: int, r: Random) -> str:
    return (f"%\n\n--\nSent from my phone on {1 + i % 28} April 2026, 0{r.randrange(6, 9)}:"
            f"{r.randrange(60):02d}\nMessage-ID: <{r.getrandbits(64):x}@mail.example>")  # fmt: skip


def _in_group(s: Step, i: int, r: Random) -> str:
    return f"{r.choice(('Ines', 'Bram', 'Noor', 'Pavel'))} (#{r.randrange(1000, 9999)}): %"


def _asks_for_code(s: Step, i: int, r: Random) -> str:
    return f"% My code is {r.randrange(10**5, 10**6)}, request {r.getrandbits(48):012x}."


def other_house(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """Every other session belongs to another house, whose instructions share no sentence."""
    own = [f"Vous êtes le guide du petit musée « {app.name} »; parlez bref et clair.",
           "Le musée ferme le mardi. Les groupes passent par la cour.",
           "Pour toute vente, renvoyez à la boutique; ne citez aucun tarif."]  # fmt: skip
    own += [
        f"Salle {i}: {len(app.name) * i} pièces, dont {app.name[i % 7]}{i}." for i in range(1, 6)
    ]
    names = [session.name for session in app.sessions[1::2]]
    for step in steps:
        if step.session.name in names:
            step.system, step.tools = list(own), []
            step.dialogue = f"sub-{step.session.name}"
    return steps


def late_facts(app: App, steps: list[Step], rng: Random) -> list[Step]:
    """What the host learnt is appended as a message of its own, and stays."""
    for step in steps:
        out: list[Message] = []
        for i, message in enumerate(step.messages):
            if message["role"] == "user" and i:
                text = f'<facts time="10:{i:02d}">open cases: {3 * i + 1}; queue {i}</facts>'
                out.append({"role": "user", "content": text})
            out.append(message)
        step.messages = out
    return steps


CLEAN = (
    plain, retried, rewound, other_house, late_facts, _each_question(_call_clock),
    _each_question(_game), _each_question(_retrieved), _each_question(_mailed),
    _each_question(_in_group), _each_question(_asks_for_code),
)  # fmt: skip
