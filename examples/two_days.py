"""What changed since yesterday? Two traces against each other, and a ledger in Arrow.

$ python examples/two_days.py
72.0% yesterday, 35.3% today: -36.7 points
largest cause: cold
forms: mix -0.0017, behaviour -0.3635
shop: mix -0.0018, behaviour +0.0000
forms: 4,160 cold of 4,160
"""

import pyarrow.compute as pc

import hitpath


def day(clock_in_prompt: bool) -> list[dict]:
    """Twenty requests of two tenants; on the second day one of them puts the time in front."""
    rows = []
    for number in range(20):
        tenant = ("shop", "forms")[number % 2]
        head = [[f"time {number}", 16]] if clock_in_prompt and tenant == "forms" else []
        rows.append(
            {
                "id": number,
                "arrival_s": number,
                "tenant": tenant,
                "segments": [*head, [f"system of {tenant}", 320], [f"question {number}", 80]],
            }
        )
    return rows


yesterday, today = hitpath.analyze(day(False)), hitpath.analyze(day(True))
moved = hitpath.diff(yesterday, today, by="tenant").difference
points = 100 * float(moved.rate_b - moved.rate_a)
print(f"{yesterday.hit_rate:.1%} yesterday, {today.hit_rate:.1%} today: {points:+.1f} points")
print(f"largest cause: {moved.largest_cause}")
for group in moved.groups:
    print(f"{group.key.name}: mix {float(group.effect.mix):+.4f}, "
          f"behaviour {float(group.effect.behaviour):+.4f}")  # fmt: skip

ledger = today.ledger
worst = ledger.filter(pc.equal(ledger["tenant"], "forms"))
print(
    f"forms: {pc.sum(worst['cold']).as_py():,} cold of {pc.sum(worst['prompt_tokens']).as_py():,}"
)
