"""The demo's workload: one hour of four applications on one fleet, as hitpath JSONL rows.

    chat        40 sessions of a support bot; one customer of it has a cache salt
    agent       6 coding-agent sessions with a long tool prompt and growing context
    retrieval   questions over a small set of popular passages, in the retriever's order
    clock       a form filler that puts the time of day in front of its instructions

Segments name the text, so who shares what can be read off the file. Same seed, same bytes.
"""

import random
from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]
Segments = list[tuple[str, int]]

_HOUR_S = 3600.0
_TOKENS_PER_S = 60.0  # of generation, for finish times


def demo_rows(seed: int) -> list[Row]:
    """All rows in order of arrival."""
    rng = random.Random(seed)
    rows = [*_chat(rng), *_agents(rng), *_retrieval(rng), *_clock(rng)]
    rows.sort(key=lambda row: (row["arrival_s"], row["id"]))
    return rows


def _row(
    name: str, tenant: str, at_s: float, segments: Segments, reply_tokens: int, **rest: Any
) -> Row:
    at_s = round(at_s, 3)
    return {
        "id": name,
        "arrival_s": at_s,
        "segments": list(segments),
        "output_tokens": reply_tokens,
        "reply": f"{name}/reply",
        "finish_s": round(at_s + reply_tokens / _TOKENS_PER_S, 3),
        "tenant": tenant,
        **rest,
    }


def _chat(rng: random.Random) -> Iterator[Row]:
    for number in range(40):
        session = f"chat-{number}"
        context = {"context": {"salt": "customer-7"}} if number % 8 == 7 else {}
        history: Segments = [("support/system", 1430)]
        at_s = rng.uniform(0, 0.8 * _HOUR_S)
        for turn in range(1, rng.randint(2, 9)):
            name = f"{session}/{turn}"
            history.append((f"{name}/user", rng.randint(15, 220)))
            reply_tokens = rng.randint(60, 420)
            yield _row(
                name, "support", at_s, history, reply_tokens, session=session, turn=turn, **context
            )
            history.append((f"{name}/reply", reply_tokens))
            at_s += reply_tokens / _TOKENS_PER_S + rng.expovariate(1 / 45)


def _agents(rng: random.Random) -> Iterator[Row]:
    for number in range(6):
        session = f"agent-{number}"
        history: Segments = [
            ("agent/system", 2770),
            ("agent/tools", 11310),
            (f"{session}/repo", 1900),
        ]
        at_s = rng.uniform(0, 0.5 * _HOUR_S)
        for turn in range(1, rng.randint(15, 40)):
            name = f"{session}/{turn}"
            history.append((f"{name}/tool-result", rng.randint(80, 2600)))
            reply_tokens = rng.randint(50, 500)
            yield _row(name, "agents", at_s, history, reply_tokens, session=session, turn=turn)
            history.append((f"{name}/reply", reply_tokens))
            at_s += reply_tokens / _TOKENS_PER_S + rng.expovariate(1 / 12)


def _retrieval(rng: random.Random) -> Iterator[Row]:
    popularity = [1 / rank for rank in range(1, 31)]
    for number in range(260):
        picked = rng.choices(range(30), popularity, k=5)
        passages = [(f"passage-{p}", 520 + 13 * p) for p in dict.fromkeys(picked)]
        name = f"question-{number}"
        segments = [("retrieval/system", 610), *passages, (f"{name}/question", rng.randint(12, 60))]
        yield _row(name, "retrieval", rng.uniform(0, _HOUR_S), segments, rng.randint(40, 250))


def _clock(rng: random.Random) -> Iterator[Row]:
    for number in range(180):
        at_s = rng.uniform(0, _HOUR_S)
        name = f"form-{number}"
        minute = int(at_s // 60)
        segments = [
            ("forms/greeting", 21),
            (f"forms/time 09:{minute:02d}", 14),
            ("forms/instructions", 3870),
            (f"{name}/form", rng.randint(100, 700)),
        ]
        yield _row(name, "forms", at_s, segments, rng.randint(30, 120))
