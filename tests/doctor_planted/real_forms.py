"""The forms of public applications, by kind: some 330 lines of prompt builders of agents, coding
tools, chat apps, voice agents and bots in ten languages, gathered from their public sources.
"""

from typing import Any

from doctor_planted.real_clocks import CLOCKS
from doctor_planted.real_histories import HISTORIES
from doctor_planted.real_orders import ORDERS
from doctor_planted.real_texts import TEXTS
from doctor_planted.real_values import ATTRIBUTION, COUNTERS, IDS, SAMPLES, USERS

FORMS: dict[str, tuple[Any, ...]] = {
    "clock": CLOCKS, "request_id": IDS, "counter": COUNTERS, "per_user_field": USERS,
    "random_sample": SAMPLES, "attribution": ATTRIBUTION, **TEXTS, **HISTORIES, **ORDERS,
}  # fmt: skip
