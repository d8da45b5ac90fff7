"""Messages that stand otherwise once they are history: edited, moved, under other ids."""

import re
from random import Random

from doctor_planted.threads_forms import Plant, coin, form, images_of, results, seed_of, texts
from doctor_planted.threads_sessions import App, Step
from doctor_planted.threads_words import ASKS, RULES, SAYS, W

REM = (
    "<system-reminder>\nThe todo tool has not been used lately. If it helps, write the "
    "tasks down; do not mention this to the user.\n</system-reminder>",
    "<system-reminder>\nThe following skills are available: crate-audit, ledger-export, "
    "tram-map. Use them by name.\n</system-reminder>",
    "<system-reminder>\nPlan mode is on: make no edits and run no tool that changes "
    "anything.\n</system-reminder>",
)


@form(
    "reminder_blocks",
    "edited_message/moved_block/truncated_history",
    styles=("openai", "anthropic", "anthropic_blocks"),
    source="anthropics/claude-agent-sdk-typescript#269",
)
def reminder_blocks(app: App, rng: Random) -> Plant:
    k = rng.choice((1, 2))
    head = rng.random() < 0.6
    rem = rng.sample(REM, k)

    def plant(s: Step) -> None:
        m = s.messages[s.last_user]
        blocks = [{"type": "text", "text": r} for r in rem]
        own = [{"type": "text", "text": m["content"]}]
        m["content"] = blocks + own if head else own + blocks

    return plant


@form(
    "reminder_tail",
    "edited_message/moved_block/truncated_history",
    shapes=("chat", "service", "code"),
    source="miurla/morphic#969",
)
def reminder_tail(app: App, rng: Random) -> Plant:
    rem = rng.choice(
        (
            "\n\nReminder: end your answer with two related questions.",
            "\n\n<system-reminder>Answer in the language of the user.</system-reminder>",
        )
    )

    def plant(s: Step) -> None:
        s.messages[s.last_user]["content"] += rem

    return plant


@form(
    "reminder_message",
    "moved_block/edited_message/truncated_history/counter",
    styles=("openai", "rows", "responses"),
    source="morphic#969 placement 2; claude-code#96101 trailing system message",
)
def reminder_message(app: App, rng: Random) -> Plant:
    t = rng.choice(
        (
            "Remember: one question at a time, and no promises.",
            "<total_tokens>{n} tokens left</total_tokens>",
        )
    )

    def plant(s: Step) -> None:
        s.messages = [*s.messages, {"role": "system", "content": t.format(n=180000 - 613 * s.turn)}]

    return plant


@form(
    "background_result",
    "edited_message",
    shapes=("code",),
    source="a shell's placeholder filled in later (claude code background tasks)",
)
def background_result(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    p = rng.choice((0.3, 0.6))

    def plant(s: Step) -> None:
        rs = results(s.messages)
        for i, m in enumerate(rs):
            if (
                coin(seed, s.session.name, i, p=p)
                and isinstance(m["content"], str)
                and i == len(rs) - 1
            ):
                m["content"] = (
                    f"Command running in background with ID: bash_{i}. Output will follow."
                )

    return plant


@form(
    "citation_marks",
    "edited_message",
    shapes=("chat", "service"),
    source="citations rewritten when a thread is stored (LibreChat, open-webui)",
)
def citation_marks(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "assistant" and m["content"]:
                mark = (
                    "【4:0†ledger】"
                    if i > s.last_user - 3
                    else " [1](https://files.example/ledger)"
                )
                m["content"] = (
                    m["content"].replace(". ", f"{mark}. ", 1)
                    if ". " in m["content"]
                    else m["content"] + mark
                )

    return plant


@form(
    "rules_file",
    "edited_message",
    shapes=("code",),
    source="AGENTS.md or CLAUDE.md in the first message, changed by the agent itself",
)
def rules_file(app: App, rng: Random) -> Plant:
    at = rng.choice((3, 4))
    w = W(Random(seed_of(rng)))
    lines = [w.pick(RULES) for _ in range(6)]
    new = w.pick(SAYS)

    def plant(s: Step) -> None:
        body = list(lines)
        if s.turn >= at:
            body[3] = new
        s.messages[0]["content"] = (
            "# AGENTS.md instructions for /srv/app\n\n<INSTRUCTIONS>\n"
            + "\n".join("- " + x for x in body)
            + "\n</INSTRUCTIONS>\n\n"
            + s.messages[0]["content"]
        )

    return plant


@form(
    "merged_users",
    "edited_message/moved_block/template_flip/white_space/truncated_history",
    shapes=("chat", "service"),
    styles=("openai", "rows", "anthropic"),
    source="consecutive user messages merged for a provider (litellm, anthropic)",
)
def merged_users(app: App, rng: Random) -> Plant:
    w = W(Random(seed_of(rng)))
    adds = [w.pick(ASKS) for _ in range(40)]

    def plant(s: Step) -> None:
        out = []
        for i, m in enumerate(s.messages):
            if m["role"] != "user":
                out.append(m)
                continue
            extra = adds[i % 40]
            if i == s.last_user:
                out += [m, {"role": "user", "content": extra}]
            else:
                out.append({"role": "user", "content": m["content"] + "\n\n" + extra})
        s.messages = out

    return plant


@form("call_ids_anew", "request_id", source="router-for-me/CLIProxyAPI#5107")
def call_ids_anew(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    pre = rng.choice(("call_", "toolu_", "chatcmpl-tool-"))

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            for c in m.get("tool_calls") or []:
                own = Random(f"{seed}{s.number}{c['id']}")
                new = pre + f"{own.getrandbits(96):024x}"
                for r in s.messages[i:]:
                    if r.get("tool_call_id") == c["id"]:
                        r["tool_call_id"] = new
                c["id"] = new

    return plant


@form(
    "rag_block_moves",
    "moved_block/edited_message",
    shapes=("chat", "service"),
    source="retrieved context put before the last question each turn",
)
def rag_block_moves(app: App, rng: Random) -> Plant:
    w = W(Random(seed_of(rng)))
    docs = "\n".join(f"[{i}] " + w.some(SAYS, 3) for i in range(1, 5))
    role = rng.choice(("user", "system"))

    def plant(s: Step) -> None:
        s.messages.insert(
            s.last_user, {"role": role, "content": "Context for the next question:\n" + docs}
        )

    return plant


@form(
    "info_msg",
    "edited_message/clock/moved_block/truncated_history",
    styles=("openai", "anthropic", "responses", "rows"),
    shapes=("chat", "code", "service"),
    source="aaif-goose/goose MOIM <info-msg> put into the last user message",
)
def info_msg(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.messages[s.last_user]["content"] = (
            f"<info-msg>\nIt is currently {s.time:%Y-%m-%d %H:%M:00}\nWorking directory: "
            f"/srv/app\n</info-msg>\n" + s.messages[s.last_user]["content"]
        )

    return plant


@form(
    "skills_migrate",
    "moved_block/edited_message/truncated_history",
    styles=("anthropic", "anthropic_blocks", "openai"),
    source=(
        "anthropics/claude-code#43657: the skill block moves from messages[0] to the "
        "newest user message on resume"
    ),
)
def skills_migrate(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 3))
    text = (
        "<system-reminder>\nThe following skills are available for use with the Skill "
        "tool:\n\n- crate-audit: weighs crates and writes the ledger\n- tram-map: draws "
        "the map of a depot\n- night-rota: plans who is on at night\n</system-reminder>"
    )

    def plant(s: Step) -> None:
        users = [i for i, m in enumerate(s.messages) if m["role"] == "user"]
        i = users[0] if len(users) < at else users[at - 1]
        m = s.messages[i]
        m["content"] = [{"type": "text", "text": text}, {"type": "text", "text": m["content"]}]

    return plant


@form(
    "late_output",
    "edited_message",
    shapes=("code", "service"),
    source="a result written again when the process has ended (exit code, duration)",
)
def late_output(app: App, rng: Random) -> Plant:
    tail = rng.choice(("\n[exit code: 0]", "\n(no further output)", "\nProcess finished."))

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if (
                m["role"] == "tool"
                and isinstance(m["content"], str)
                and i < len(s.messages) - 1
                and i < s.last_user
            ):
                m["content"] += tail

    return plant


@form(
    "secret_hidden",
    "edited_message",
    shapes=("code", "service", "chat"),
    source="OpenHands SecretRegistry mask '<secret-hidden>'; applied to all history from then on",
)
def secret_hidden(app: App, rng: Random) -> Plant:
    at = rng.choice((3, 4))

    def plant(s: Step) -> None:
        if s.turn < at:
            return
        words = re.findall(r"\b[a-z]{6,}\b", texts(s.messages[0]) or "")
        if not words:
            return
        w = words[len(words) // 2]
        for m in s.messages:
            if isinstance(m["content"], str):
                m["content"] = m["content"].replace(w, "<secret-hidden>")

    return plant


@form(
    "image_pointer",
    "edited_message/truncated_history/image_encoding/compacted_history",
    styles=("openai", "anthropic"),
    shapes=("browser",),
    source="anthropics/claude-code#91705",
)
def image_pointer(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m, b in list(images_of(s)):
            if i < s.last_user:
                m["content"][m["content"].index(b)] = {
                    "type": "text",
                    "text": f"[Image: source: ~/.claude/image-cache/{s.session.name}/{i}.png]",
                }

    return plant


@form(
    "short_ids",
    "request_id/edited_message",
    styles=("openai", "rows"),
    source="ids cut to nine characters once the provider is Mistral",
)
def short_ids(app: App, rng: Random) -> Plant:
    at = rng.choice((4, 5))

    def plant(s: Step) -> None:
        if s.turn < at:
            return
        for m in s.messages:
            for c in m.get("tool_calls") or []:
                c["id"] = c["id"][-9:]
            if "tool_call_id" in m:
                m["tool_call_id"] = m["tool_call_id"][-9:]

    return plant


@form(
    "names_added",
    "edited_message/template_flip/per_user_field/attribution",
    styles=("openai", "rows"),
    shapes=("chat", "service"),
    source="name on messages of the history only (autogen, agents)",
)
def names_added(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "user" and i < s.last_user:
                m["name"] = "visitor"

    return plant
