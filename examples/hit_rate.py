"""Why did these prompts miss? Rows in memory, one cause for every token.

$ python examples/hit_rate.py
48 of 150 prompt tokens hit (32.00%)
rounding      2
isolated     40
cold         60
not known: ineligible, in_flight, diverged
"""

import hitpath

rows = [
    {"id": "a", "arrival_s": 0, "segments": [["system", 40], ["question 1", 10]]},
    {"id": "b", "arrival_s": 1, "segments": [["system", 40], ["question 1", 10]]},
    {
        "id": "c",
        "arrival_s": 2,
        "segments": [["system", 40], ["question 2", 10]],
        "context": {"salt": "x"},
    },
]

found = hitpath.analyze(rows)
print(f"{found.hit_tokens} of {found.prompt_tokens} prompt tokens hit ({found.hit_rate:.2%})")
for cause, tokens in found.causes.items():
    if tokens:
        print(f"{cause:<10}{tokens:>5}")
print("not known:", ", ".join(found.not_known))
