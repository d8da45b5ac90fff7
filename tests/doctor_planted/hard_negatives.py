"""What looks like a change and costs nothing, for applications without a planted kind: marks for a
provider's cache that move with the end of the prompt, text as a string or as its one block, the
same request sent twice, another last question, sessions that two agents share, messages of the
user that bear the time at which they were sent.
"""

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

from doctor_planted.bases import START, Step


def extra_steps(steps: list[Step], rng: random.Random, questions: list[str]) -> list[Step]:
    """Retries (equal prompts) and branches (the same history, another last question)."""
    more = []
    for step in steps:
        later = timedelta(seconds=round(rng.uniform(0.5, 3.0), 3))
        if rng.random() < 0.12:
            more.append(replace(step, time=step.time + later))
        elif rng.random() < 0.12 and step.messages[-1]["role"] == "user":
            last = {"role": "user", "content": rng.choice(questions)}
            more.append(replace(step, time=step.time + later, messages=[*step.messages[:-1], last]))
    return sorted([*steps, *more], key=lambda step: step.time)


def stamp(steps: list[Step]) -> None:
    """In some applications every message of the user bears its own time or number, for good."""
    own = random.Random(steps[0].app.name)
    form = own.choice((None, None, "[{t:%Y-%m-%d %H:%M:%S}] ", "Message {n} (id {i:032x}): "))
    if form is None:
        return
    for step in steps:
        for n, message in enumerate(step.messages):
            if message["role"] == "user" and isinstance(message["content"], str):
                fixed = random.Random(f"{step.session}:{n}")
                time = START + timedelta(seconds=fixed.randrange(90_000) + 90 * n)
                head = form.format(t=time, n=n + 1, i=fixed.getrandbits(128))
                message["content"] = head + message["content"]


def vary(body: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The same prompt with other marks and other short forms."""
    if "messages" not in body:
        return body
    messages = [dict(message) for message in body["messages"]]
    for message in messages:
        content = message.get("content")
        short = isinstance(content, str) and content and message["role"] != "tool"
        if short and rng.random() < 0.3:
            message["content"] = [{"type": "text", "text": content}]
    if "system" in body:
        last = messages[-1]
        if isinstance(last["content"], str):
            last["content"] = [{"type": "text", "text": last["content"]}]
        marked = {**last["content"][-1], "cache_control": {"type": "ephemeral"}}
        last["content"] = [*last["content"][:-1], marked]
    return {**body, "messages": messages}
