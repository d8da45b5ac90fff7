"""Histories that are cut between two turns: messages dropped, old results cleared or cut short."""

import json
from random import Random

from doctor_planted.threads_forms import Plant, flat, form, groups, results
from doctor_planted.threads_sessions import App, Message, Step


@form(
    "cleared_results",
    "truncated_history/compacted_history",
    source="anomalyco/opencode prune; openclaw contextPruning.hardClear",
)
def cleared_results(app: App, rng: Random) -> Plant:
    keep = rng.choice((1, 2, 3))
    note = rng.choice(
        (
            "[Old tool result content cleared]",
            "[tool result cleared]",
            "(output pruned to save context)",
        )
    )

    def plant(s: Step) -> None:
        for m in results(s.messages)[:-keep]:
            m["content"] = note

    return plant


@form(
    "soft_trim",
    "truncated_history/compacted_history",
    shapes=("code",),
    source="openclaw agents.defaults.contextPruning softTrim",
)
def soft_trim(app: App, rng: Random) -> Plant:
    keep = rng.choice((1, 2))

    def plant(s: Step) -> None:
        for m in results(s.messages)[:-keep]:
            c = m["content"]
            if isinstance(c, str) and len(c) > 300:
                m["content"] = (
                    c[:100]
                    + "\n...\n"
                    + c[-100:]
                    + f"\n\n[Tool result trimmed: kept first 100 chars and last 100 chars "
                    f"of {len(c)} chars.]"
                )

    return plant


@form(
    "cline_truncate",
    "truncated_history/compacted_history/edited_message",
    source="cline ContextManager.ts, contextTruncationNotice",
)
def cline_truncate(app: App, rng: Random) -> Plant:
    limit = rng.choice((9, 11))
    note = (
        "[NOTE] Some previous conversation history with the user has been removed to "
        "maintain optimal context window length. "
        "The initial user task has been retained for continuity, while intermediate "
        "conversation history has been removed."
    )

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= limit:
            cut = (len(gs) - limit) // 4 * 4 + 4
            first = gs[1][0]
            if first["role"] == "assistant":
                first["content"] = note + "\n\n" + (first["content"] or "")
            s.messages = flat(gs[:2] + gs[2 + cut - 2 :] if len(gs) - cut > 4 else gs[:2] + gs[-4:])

    return plant


@form(
    "duplicate_read",
    "truncated_history/compacted_history/edited_message",
    shapes=("code",),
    source="cline responses.ts duplicateFileReadNotice",
)
def duplicate_read(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        seen = {}
        for m in s.messages:
            for c in m.get("tool_calls") or []:
                seen[c["id"]] = json.loads(c["function"]["arguments"]).get("path")
        last = {}
        for i, m in enumerate(s.messages):
            if m["role"] == "tool":
                last[seen[m["tool_call_id"]]] = i
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and last[seen[m["tool_call_id"]]] != i:
                m["content"] = (
                    "[[NOTE] This file read has been removed to save space in the context "
                    "window. Refer to the latest file read for the most up to date version "
                    "of this file.]"
                )

    return plant


@form(
    "recent_images",
    "truncated_history/compacted_history",
    styles=("openai", "anthropic", "anthropic_blocks"),
    shapes=("browser",),
    source="anthropic computer-use-demo loop.py only_n_most_recent_images",
)
def recent_images(app: App, rng: Random) -> Plant:
    n = rng.choice((1, 2))
    note = rng.choice((None, "[older screenshot omitted]", "[screenshot removed]"))
    step = rng.choice((1, 2))

    def plant(s: Step) -> None:
        blocks = [
            (m, b)
            for m in s.messages
            if isinstance(m.get("content"), list)
            for b in m["content"]
            if b["type"] == "image_url"
        ]
        cut = max(0, len(blocks) - n) // step * step
        for m, b in blocks[:cut]:
            at = m["content"].index(b)
            m["content"][at : at + 1] = [{"type": "text", "text": note}] if note else []

    return plant


@form(
    "trim_last",
    "truncated_history/compacted_history",
    shapes=("code", "service", "browser", "chat"),
    source="langchain_core trim_messages(strategy='last', start_on='human')",
)
def trim_last(app: App, rng: Random) -> Plant:
    keep = rng.choice((6, 8, 10))

    def plant(s: Step) -> None:
        ms = s.messages
        if len(ms) > keep:
            cut = len(ms) - keep
            while cut < len(ms) and ms[cut]["role"] != "user":
                cut += 1
            if cut >= s.last_user:
                cut = s.last_user if s.last_user < len(ms) else 0
            s.messages = ms[cut:]

    return plant


@form(
    "removed_count",
    "truncated_history/counter/compacted_history",
    source=(
        "'[... N early conversation turns removed for context window management ...]' "
        "(trajectory sanitizers)"
    ),
)
def removed_count(app: App, rng: Random) -> Plant:
    keep = rng.choice((5, 6, 7))
    t = rng.choice(
        (
            "[... {n} early conversation turns removed for context window management ...]",
            "[{n} messages omitted]",
            "[context truncated: {n} older messages omitted]",
        )
    )
    role = rng.choice(("user", "system"))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) > keep + 2:
            cut = len(gs) - keep
            s.messages = (
                gs[0]
                + [{"role": role, "content": t.format(n=len(flat(gs[1:cut])))}]
                + flat(gs[cut:])
            )

    return plant


@form(
    "prune_calls",
    "truncated_history/compacted_history",
    shapes=("code", "service", "browser"),
    source="vercel/ai pruneMessages({toolCalls:'before-last-2-messages', emptyMessages:'remove'})",
)
def prune_calls(app: App, rng: Random) -> Plant:
    n = rng.choice((2, 4))

    def plant(s: Step) -> None:
        ms = s.messages
        keep = ms[-n:]
        if keep and keep[0]["role"] == "tool":
            k = len(ms) - n
            while ms[k]["role"] == "tool":
                k -= 1
            keep = ms[k:]
        head = []
        for m in ms[: len(ms) - len(keep)]:
            if m["role"] == "tool":
                continue
            if m.get("tool_calls"):
                m = {k: v for k, v in m.items() if k != "tool_calls"}
                if not m.get("content"):
                    continue
            head.append(m)
        s.messages = head + keep

    return plant


@form(
    "clear_inputs",
    "truncated_history/compacted_history/edited_message",
    source=(
        "anthropic context editing clear_tool_uses_20250919 with clear_tool_inputs, done by a proxy"
    ),
)
def clear_inputs(app: App, rng: Random) -> Plant:
    keep = rng.choice((1, 2))

    def plant(s: Step) -> None:
        old = {m["tool_call_id"] for m in results(s.messages)[:-keep]}
        for m in s.messages:
            for c in m.get("tool_calls") or []:
                if c["id"] in old:
                    c["function"]["arguments"] = "{}"
            if m["role"] == "tool" and m["tool_call_id"] in old:
                m["content"] = "[cleared to save context]"

    return plant


@form(
    "condensed_observations",
    "truncated_history/compacted_history",
    source="OpenHands BrowserOutputCondenser (#6578)",
)
def condensed_observations(app: App, rng: Random) -> Plant:
    keep = rng.choice((1, 2))

    def plant(s: Step) -> None:
        for i, m in enumerate(results(s.messages)[:-keep]):
            m["content"] = f"Visited URL https://intra.example/p/{i}\nContent omitted"

    return plant


@form(
    "window_k",
    "truncated_history/compacted_history",
    shapes=("chat", "service"),
    source="langchain ConversationBufferWindowMemory(k)",
)
def window_k(app: App, rng: Random) -> Plant:
    k = rng.choice((3, 4))

    def plant(s: Step) -> None:
        users = [i for i, m in enumerate(s.messages) if m["role"] == "user"]
        if len(users) > k:
            s.messages = s.messages[users[-k] :]

    return plant


@form(
    "drop_oldest_pair",
    "truncated_history/compacted_history",
    shapes=("chat", "service", "code"),
    source="LibreChat, open-webui, Continue: oldest messages dropped until it fits",
)
def drop_oldest_pair(app: App, rng: Random) -> Plant:
    budget = rng.choice((900, 1400, 2500))

    def plant(s: Step) -> None:
        gs = groups(s.messages)

        def size(g: list[Message]) -> int:
            return sum(len(json.dumps(m)) for m in g)

        while len(gs) > 3 and sum(map(size, gs)) > budget:
            gs = gs[1:]
        s.messages = flat(gs)

    return plant
