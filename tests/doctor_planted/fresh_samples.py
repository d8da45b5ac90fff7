"""Examples, facts, cards and dice that are drawn anew: evaluation harnesses, makers of synthetic
data, games, tutors. Behind or in front of a form: where it comes from; those without are written
by hand in the manner of such applications.
"""

import json
import random
from typing import Any

from doctor_planted.real_planters import by_draw
from doctor_planted.surface_values import CITIES, FIRST, SHOTS, TIPS

_REVIEWS = (
    ("The hinge broke on the second day.", "negative"), ("My daughter adores it.", "positive"),
    ("Arrived as described.", "positive"), ("Too loud for a bedroom.", "negative"),
    ("The manual is in Dutch only.", "negative"), ("Ten years old and still fine.", "positive"),
    ("It smells of glue.", "negative"), ("I bought a second one.", "positive"),
    ("Colour fades in the sun.", "negative"), ("Light, quiet and cheap.", "positive"),
)  # fmt: skip
_QUIZ = (
    ("Which gas do plants take in?", "oxygen carbon-dioxide helium argon", "B"),
    ("How many faces has a cube?", "four five six eight", "C"),
    ("What melts at 0 degrees?", "iron ice salt lead", "B"),
    ("Which is a prime?", "nine fifteen twenty-one seventeen", "D"),
    ("Where is the Douro?", "Portugal Norway Chile Japan", "A"),
    ("What does a luthier build?", "boats violins clocks ovens", "B"),
    ("Which metal is liquid?", "mercury zinc tin copper", "A"),
    ("What is the square of twelve?", "124 140 144 148", "C"),
)  # fmt: skip
_SQL = (
    ("How many parcels were late in March?", "SELECT COUNT(*) FROM parcels WHERE late = 1"),
    ("Names of all depots", "SELECT name FROM depots ORDER BY name"),
    ("Mean weight by customer", "SELECT customer, AVG(weight) FROM parcels GROUP BY customer"),
    ("The oldest open case", "SELECT * FROM cases WHERE open = 1 ORDER BY created LIMIT 1"),
    ("Drop-offs in Lyon", "SELECT * FROM stops WHERE city = 'Lyon' AND kind = 'drop'"),
    ("Drivers without a van", "SELECT d.name FROM drivers d LEFT JOIN vans v ON v.driver = d.id "
     "WHERE v.id IS NULL"),
    ("Revenue per week", "SELECT week, SUM(total) FROM invoices GROUP BY week"),
)  # fmt: skip
_RUMOURS = (
    "The miller has not been seen since the flood.", "There is a second cellar below the inn.",
    "Wolves came as far as the bridge.", "The bell rang by itself last night.",
    "A stranger pays in old silver.", "The well tastes of iron again.",
    "Nobody crosses the moor after dusk.", "The captain's dog follows a new master.",
)  # fmt: skip
_WORDS = (
    "la manzana (apple)", "el perro (dog)", "la ventana (window)", "el puente (bridge)",
    "la llave (key)", "el horno (oven)", "la nieve (snow)", "el reloj (clock)",
    "la aguja (needle)", "el barco (ship)",
)  # fmt: skip
_PEOPLE = ("a retired teacher who mends radios", "a nurse on night shifts", "a beekeeper's son",
           "a tax clerk who paints", "an exchange student short of money",
           "a farmer who hates phones", "a pilot between two jobs")  # fmt: skip
_TASKS = ("Rank these hotels by the noise that guests report.", "Write a limerick on a kettle.",
          "Turn this recipe into a shopping list.", "Find the bug in a loop.",
          "Explain tides to a child.", "Shorten this notice to one line.",
          "Name three uses of beeswax.", "Draft a polite refusal.",
          "Convert the table to CSV.")  # fmt: skip
_FACTS = ("Honey does not spoil.", "Octopuses have three hearts.", "Venus turns backwards.",
          "Bamboo may grow a metre a day.", "The Eiffel tower grows in summer.",
          "A day on Mercury outlasts its year.", "Wombats leave cubes.")  # fmt: skip


def _quiz(r: random.Random) -> str:
    told = []
    for question, options, answer in r.sample(_QUIZ, 3):
        lines = [f"{letter}. {option}"
                 for letter, option in zip("ABCD", options.split(), strict=True)]  # fmt: skip
        told.append("\n".join([question, *lines, f"Answer: {answer}"]))
    return "The following are multiple choice questions (with answers).\n\n" + "\n\n".join(told)


def _hand(r: random.Random) -> str:
    cards = r.sample([f"{suit}{rank}" for suit in "♠♥♦♣" for rank in "A23456789TJQK"], 5)
    return f"Your hand: {' '.join(cards)}"


def _messages(r: random.Random) -> str:
    """Demonstrations as lines of messages."""
    return "\n".join(
        json.dumps({"messages": [{"role": "user", "content": q},
                                 {"role": "assistant", "content": a}]})
        for q, a in r.sample(SHOTS, 3))  # fmt: skip


def _similar(r: random.Random) -> str:
    told = "\n".join(f"- Problem: {q} | Solved by: {a}" for q, a in r.sample(SHOTS, 3))
    return f"Similar solved tickets:\n{told}"


SAMPLES: dict[str, Any] = {
    "mmlu": _quiz,  # hendrycks/test, lm-evaluation-harness
    "sentiment": lambda r: "\n\n".join(f"Review: {t}\nSentiment: {s}"
                                       for t, s in r.sample(_REVIEWS, 4)),
    "sql_pairs": lambda r: "\n\n".join(f"-- {q}\n{s};" for q, s in r.sample(_SQL, 3)),
    "rumours": lambda r: "Rumours that you have heard:\n" + "\n".join(
        f"~ {x}" for x in r.sample(_RUMOURS, 3)),
    # A tutor of languages.
    "vocabulary": lambda r: f"Work these words in: {', '.join(r.sample(_WORDS, 4))}.",
    # yizhongw/self-instruct.
    "self_instruct": lambda r: "Come up with a series of tasks:\n" + "\n".join(
        f"Task {i}: {t}" for i, t in enumerate(r.sample(_TASKS, 4), 1)) + "\nTask 5:",
    "personas": lambda r: "Write from the view of these people:\n" + "\n".join(
        f"* {p}" for p in r.sample(_PEOPLE, 3)),
    "dice": lambda r: "Dice for this scene (d20): " + ", ".join(
        str(r.randrange(1, 21)) for _ in range(5)),
    "hand": _hand,
    "float_seed": lambda r: f"shuffle_seed: {r.random():.16f}",
    "facts": lambda r: f"Did you know? {' '.join(r.sample(_FACTS, 2))}",
    "message_lines": _messages,
    "similar": _similar,
    "reviewers": by_draw(lambda r: "Reviewers on the panel today: " + ", ".join(
        f"{n} of {c}" for n, c in zip(r.sample(FIRST, 3), r.sample(CITIES, 3), strict=True)),
        "random_sample/per_user_field", ("every", "nth")),
    "style_table": lambda r: "<style>\n" + "".join(
        f"<line>{t}</line>\n" for t in r.sample(TIPS, 3)) + "</style>",
}  # fmt: skip
