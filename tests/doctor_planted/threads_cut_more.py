"""Histories that are cut between two turns: messages dropped, old results cleared or cut short."""

import json
from random import Random

from doctor_planted.threads_forms import (
    OAI,
    Plant,
    coin,
    each_call,
    flat,
    form,
    groups,
    results,
    seed_of,
    stale,
)
from doctor_planted.threads_sessions import App, Step
from doctor_planted.threads_words import W

NOTES = (
    "[旧工具结果已清除]",
    "（为节省上下文，旧的工具输出已省略）",
    "[Contenu de l'ancien résultat supprimé]",
    "[Alte Werkzeugausgabe gelöscht]",
    "[Resultado antiguo eliminado para ahorrar contexto]",
    "[古いツール結果は削除されました]",
    "[старый результат удалён]",
)
DROPS = (
    "[更早的 {n} 条消息已被移除]",
    "[{n} messages antérieurs omis]",
    "（前面还有 {n} 轮对话，已省略）",
    "[{n} ältere Nachrichten ausgelassen]",
    "[過去のメッセージ {n} 件を省略]",
)


@form(
    "truncate_middle_text",
    "truncated_history/compacted_history",
    shapes=("code",),
    source="codex truncate_middle '…N tokens truncated…' on older outputs",
)
def truncate_middle_text(app: App, rng: Random) -> Plant:
    keep = rng.choice((1, 2))

    def plant(s: Step) -> None:
        for m in results(s.messages)[:-keep]:
            c = m["content"]
            if len(c) > 260:
                m["content"] = c[:120] + f"…{(len(c) - 200) // 4} tokens truncated…" + c[-80:]

    return plant


@form(
    "dropped_turns_system",
    "truncated_history/compacted_history/edited_message",
    styles=("openai", "rows"),
    shapes=("chat", "service"),
    source="a system message tells that earlier turns are gone (Zed, Copilot)",
)
def dropped_turns_system(app: App, rng: Random) -> Plant:
    keep = rng.choice((5, 6))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) > keep:
            s.messages = [
                {
                    "role": "system",
                    "content": "The earlier part of this conversation is no longer visible to you.",
                },
                *flat(gs[-keep:]),
            ]

    return plant


@form(
    "flat_trim",
    "truncated_history/compacted_history/position_shift",
    styles=("flat_llama", "flat_kimi", "flat_minimax"),
    shapes=("chat", "service"),
    source="trim_messages before a completion",
)
def flat_trim(app: App, rng: Random) -> Plant:
    k = rng.choice((2, 3))

    def plant(s: Step) -> None:
        users = [i for i, m in enumerate(s.messages) if m["role"] == "user"]
        if len(users) > k:
            s.messages = s.messages[users[-k] :]

    return plant


@form(
    "continue_assisting",
    "truncated_history/compacted_history/edited_message",
    source="cline processFirstUserMessageForTruncation '[Continue assisting the user!]'",
)
def continue_assisting(app: App, rng: Random) -> Plant:
    limit = rng.choice((9, 11))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= limit:
            s.messages = (
                [{"role": "user", "content": "[Continue assisting the user!]"}]
                + gs[1]
                + flat(gs[5:])
            )

    return plant


@form(
    "half_dropped",
    "truncated_history/compacted_history",
    shapes=("chat", "code", "service"),
    source="Roo-Code sliding window: half of the messages in pairs, the first stays",
)
def half_dropped(app: App, rng: Random) -> Plant:
    limit = rng.choice((8, 10))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= limit:
            s.messages = gs[0] + flat(gs[limit // 2 // 2 * 2 + 1 :])

    return plant


@form(
    "stored_output",
    "truncated_history/compacted_history/edited_message",
    shapes=("code",),
    source="<persisted-output> pointer in place of an old output",
)
def stored_output(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for j, m in enumerate(results(s.messages)[:-1]):
            c = m["content"]
            m["content"] = (
                f"<persisted-output>\nOutput too large ({len(c)} characters). Full output "
                f"saved to: /tmp/out/{j}.txt\n\nPreview:\n{c[:60]}\n</persisted-output>"
            )

    return plant


@form(
    "failed_calls_removed",
    "truncated_history/compacted_history",
    shapes=("service", "code"),
    source="pairs of failed calls taken out of the history (pi, dcp plugins)",
)
def failed_calls_removed(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        s.messages = flat(
            [
                g
                for i, g in enumerate(gs)
                if not (
                    g[0].get("tool_calls")
                    and i < len(gs) - 2
                    and coin(seed, s.session.name, i, p=0.35)
                )
            ]
        )

    return plant


@form(
    "cleared_abroad",
    "truncated_history/compacted_history",
    source="cleared results, other languages (qwen-agent, Trae, Cherry Studio)",
)
def cleared_abroad(app: App, rng: Random) -> Plant:
    note = rng.choice(NOTES)
    keep = rng.choice((1, 2))

    def plant(s: Step) -> None:
        for m in results(s.messages)[:-keep]:
            m["content"] = note

    return plant


@form(
    "dropped_abroad",
    "truncated_history/counter/compacted_history",
    source="notes that count, other languages",
)
def dropped_abroad(app: App, rng: Random) -> Plant:
    t = rng.choice(DROPS)
    keep = rng.choice((4, 5))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) > keep + 2:
            cut = len(gs) - keep
            s.messages = gs[0] + [{"role": "user", "content": t.format(n=cut - 1)}] + flat(gs[cut:])

    return plant


@form(
    "long_results_cut",
    "truncated_history/compacted_history",
    shapes=("code",),
    source="read_file of 20 kB cut to head and tail on replay (gemini-cli, codex)",
)
def long_results_cut(app: App, rng: Random) -> Plant:
    w = W(Random(seed_of(rng)))
    big = "\n".join(f"{i:>4}\t" + w("{n}_{m} = {v}({k})") for i in range(1, 420))
    t = rng.choice(
        (
            "\n... [{n} lines truncated] ...\n",
            "\n\n[... omitted {n} of 419 lines ...]\n\n",
            "\n<...{n} lines hidden...>\n",
        )
    )

    def plant(s: Step) -> None:
        rs = results(s.messages)
        for j, m in enumerate(rs):
            body = f"# file {j}\n" + big
            if j < len(rs) - 2:
                ls = body.split("\n")
                body = "\n".join(ls[:60]) + t.format(n=len(ls) - 90) + "\n".join(ls[-30:])
            m["content"] = body

    return plant


@form(
    "errors_short",
    "truncated_history/compacted_history/edited_message",
    shapes=("code",),
    source="old failed results reduced to one line (pi, crush)",
)
def errors_short(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and stale(s, i):
                m["content"] = "Error: exit 1 (details omitted)"

    return plant


@form(
    "written_file_elided",
    "truncated_history/compacted_history/edited_message",
    shapes=("code",),
    styles=(*OAI, "responses"),
    source="content of old write_file calls elided (Roo-Code, opencode plugins)",
)
def written_file_elided(app: App, rng: Random) -> Plant:
    w = W(Random(seed_of(rng)))
    body = "\n".join(w("{n} = {v}({k})") for _ in range(20))
    t = rng.choice(("[content elided: {n} characters]", "... {n} chars omitted ...", "<omitted/>"))

    def plant(s: Step) -> None:
        def f(a: str, i: int) -> str:
            d = json.loads(a)
            d["content"] = t.format(n=len(body)) if stale(s, i) else body
            return json.dumps(d)

        each_call(s, f)

    return plant


@form(
    "half_results",
    "truncated_history/compacted_history",
    shapes=("service", "code"),
    source="first half of old results only, no note (token trimmers)",
)
def half_results(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and stale(s, i):
                m["content"] = m["content"][: len(m["content"]) // 2]

    return plant
