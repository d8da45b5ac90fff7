"""Messages that stand otherwise once they are history: edited, moved, under other ids."""

from random import Random

from doctor_planted.threads_forms import Plant, coin, form, results, seed_of, stale, thinks
from doctor_planted.threads_sessions import App, Step
from doctor_planted.threads_words import NOUNS, SAYS, W


@form(
    "calls_split",
    "edited_message/template_flip/moved_block/truncated_history",
    styles=("openai", "rows"),
    source="text and calls of a reply sent as two messages on replay",
)
def calls_split(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        out = []
        for i, m in enumerate(s.messages):
            if (
                m["role"] == "assistant"
                and m.get("tool_calls")
                and m["content"]
                and i < s.last_user
            ):
                out += [
                    {"role": "assistant", "content": m["content"], "_thought": ""},
                    {**m, "content": None},
                ]
            else:
                out.append(m)
        s.messages = out

    return plant


@form(
    "mood_line_moves",
    "moved_block/edited_message/truncated_history",
    shapes=("chat", "service"),
    styles=("openai", "rows"),
    source="author's note at a depth (SillyTavern)",
)
def mood_line_moves(app: App, rng: Random) -> Plant:
    d = rng.choice((2, 3))

    def plant(s: Step) -> None:
        if len(s.messages) >= d:
            s.messages.insert(
                max(0, len(s.messages) - d)
                if s.messages[max(0, len(s.messages) - d)]["role"] != "tool"
                else s.last_user,
                {
                    "role": "system",
                    "content": "[Note: keep the tone calm, and leave the weather out.]",
                },
            )

    return plant


@form(
    "todo_block",
    "edited_message/moved_block/truncated_history/counter",
    shapes=("code", "service"),
    styles=("openai", "anthropic", "anthropic_blocks"),
    source="current todo list appended to the last user message (qwen-code, claude code)",
)
def todo_block(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        m = s.messages[s.last_user]
        todo = (
            "<system-reminder>\nYour todo list:\n"
            + "\n".join(
                f"{i + 1}. [{'x' if i < s.turn // 2 else ' '}] {n}" for i, n in enumerate(NOUNS[:5])
            )
            + "\n</system-reminder>"
        )
        m["content"] = [{"type": "text", "text": m["content"]}, {"type": "text", "text": todo}]

    return plant


@form(
    "deferred_listing",
    "edited_message/array_order/tool_set/truncated_history",
    styles=("anthropic", "anthropic_blocks"),
    source="cnighswonger/claude-code-cache-fix#29: deferred tools listing shrinks on resume",
)
def deferred_listing(app: App, rng: Random) -> Plant:
    at = rng.choice((2, 3))
    full = ["CronCreate", "CronDelete", "TaskCreate"] + [f"mcp__depot__{n}" for n in NOUNS[:8]]

    def plant(s: Step) -> None:
        names = full[:3] if s.turn == at else full
        t = (
            "<system-reminder>\nThe following deferred tools are now available via ToolSearch:\n"
            + "\n".join(names)
            + "\n</system-reminder>"
        )
        m = s.messages[0]
        m["content"] = [{"type": "text", "text": t}, {"type": "text", "text": m["content"]}]

    return plant


@form(
    "results_swapped",
    "moved_block/array_order/edited_message",
    styles=("openai", "rows"),
    shapes=("service", "code"),
    source="results of parallel calls in the order in which they came",
)
def results_swapped(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        out, i, ms = [], 0, s.messages
        while i < len(ms):
            if (
                ms[i]["role"] == "tool"
                and i + 1 < len(ms)
                and ms[i + 1]["role"] == "tool"
                and i < s.last_user
            ):
                out += [ms[i + 1], ms[i]]
                i += 2
            else:
                out.append(ms[i])
                i += 1
        s.messages = out

    return plant


@form(
    "kimi_ids",
    "request_id",
    styles=("flat_kimi",),
    shapes=("service", "code"),
    source="call ids made anew behind a template (Kimi-K2 '## Return of functions.x:0')",
)
def kimi_ids(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        for m in s.messages:
            if m["role"] == "tool":
                m["tool_call_id"] = (
                    f"call_{Random(f'{seed}{s.number}' + m['tool_call_id']).getrandbits(80):020x}"
                )

    return plant


@form(
    "corrected_turn",
    "edited_message",
    shapes=("chat", "service"),
    source="a user corrects an earlier question; the rest is kept (ChatGPT-like forks with replay)",
)
def corrected_turn(app: App, rng: Random) -> Plant:
    at = rng.choice((3, 4))

    def plant(s: Step) -> None:
        if s.turn >= at and len(s.messages) > 3:
            s.messages[0]["content"] = s.messages[0]["content"].replace("the ", "that blue ", 1)

    return plant


@form(
    "long_edit",
    "edited_message",
    shapes=("code",),
    source="a file in the first message is kept current (aider, Continue @file)",
)
def long_edit(app: App, rng: Random) -> Plant:
    w = W(Random(seed_of(rng)))
    lines = [w("{n}_{m} = {v}({k})") for _ in range(300)]
    at = rng.randrange(40, 260)
    new = w("{n} = changed_{m}({k})")
    turn = rng.choice((2, 3, 4))

    def plant(s: Step) -> None:
        ls = list(lines)
        if s.turn >= turn:
            ls[at] = new
        s.messages[0]["content"] = (
            "*Trust this message as the true contents of these files!*\n\nsrc/main.py\n```\n"
            + "\n".join(ls)
            + "\n```\n\n"
            + s.messages[0]["content"]
        )

    return plant


@form(
    "ids_and_clearing",
    "request_id/truncated_history/compacted_history",
    source="mixture: ids anew and cleared results",
)
def ids_and_clearing(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)

    def plant(s: Step) -> None:
        for m in results(s.messages)[:-1]:
            m["content"] = "[Old tool result content cleared]"
        for m in s.messages:
            for c in m.get("tool_calls") or []:
                c["id"] = "call_" + f"{Random(f'{seed}{s.number}' + c['id']).getrandbits(96):024x}"
        ids = [c["id"] for m in s.messages for c in m.get("tool_calls") or []]
        for m, i in zip(results(s.messages), ids, strict=True):
            m["tool_call_id"] = i

    return plant


@form(
    "reminder_and_reasoning",
    "edited_message/moved_block/template_flip/truncated_history",
    styles=("openai", "anthropic", "rows"),
    source="mixture: claude code with thinking",
)
def reminder_and_reasoning(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.messages[s.last_user]["content"] += "\n\n<system-reminder>\nBe brief.\n</system-reminder>"
        thinks(
            s,
            lambda i: i > s.last_user,
            lambda m: m.__setitem__("reasoning_content", m["_thought"]),
        )

    return plant


@form(
    "rare_edit",
    "edited_message",
    shapes=("chat", "service", "code"),
    source="5 %: one request in twenty has another first message (a plugin that runs now and then)",
)
def rare_edit(app: App, rng: Random) -> Plant:
    seed = seed_of(rng)
    add = rng.choice((" (translated from Dutch)", " Regards, the office.", " cc: second floor"))

    def plant(s: Step) -> None:
        if s.turn > 1 and coin(seed, s.number, p=0.12):
            s.messages[0]["content"] += add

    return plant


@form(
    "masked_person",
    "edited_message/per_user_field",
    shapes=("service", "chat"),
    source="PII filter on history only (presidio in a gateway, LiteLLM guardrails)",
)
def masked_person(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "user":
                m["content"] += (
                    " I am "
                    + (s.session.user + " Weller" if i == s.last_user else "<PERSON>")
                    + ", second floor."
                )

    return plant


@form(
    "markdown_stripped",
    "edited_message/white_space/unicode_form",
    shapes=("chat", "service"),
    source="markup taken out when a reply is stored (Slack, Teams bots)",
)
def markdown_stripped(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "assistant" and m["content"] and not m.get("tool_calls"):
                ws = m["content"].split(" ")
                k = min(4, len(ws) - 1)
                ws[k] = f"**{ws[k]}**" if i >= s.last_user - 1 else ws[k]
                m["content"] = " ".join(ws)

    return plant


@form(
    "wrapped_results",
    "edited_message/template_flip",
    shapes=("code", "service"),
    source="old results wrapped on replay (<tool_result>, 'Result:'), litellm, XML agents",
)
def wrapped_results(app: App, rng: Random) -> Plant:
    a, z = rng.choice(
        (
            ("<tool_result>\n", "\n</tool_result>"),
            ("Result: ", ""),
            ("```\n", "\n```"),
            ("[tool output]\n", ""),
        )
    )

    def plant(s: Step) -> None:
        for i, m in enumerate(s.messages):
            if m["role"] == "tool" and stale(s, i):
                m["content"] = a + m["content"] + z

    return plant


@form(
    "query_tags",
    "edited_message/template_flip/moved_block",
    shapes=("chat", "service", "code"),
    source="Cursor <user_query>, Copilot <userRequest> around the last question only",
)
def query_tags(app: App, rng: Random) -> Plant:
    t = rng.choice(("user_query", "userRequest", "task"))

    def plant(s: Step) -> None:
        s.messages[s.last_user]["content"] = f"<{t}>\n{s.messages[s.last_user]['content']}\n</{t}>"

    return plant


@form(
    "attachments_gone",
    "edited_message/truncated_history/moved_block",
    shapes=("chat", "code"),
    source="Copilot <attachments> of the last question only",
)
def attachments_gone(app: App, rng: Random) -> Plant:
    w = W(Random(seed_of(rng)))
    body = [w.some(SAYS, 5) for _ in range(6)]

    def plant(s: Step) -> None:
        m = s.messages[s.last_user]
        inside = f"<attachment id='notes.md'>\n{body[s.last_user % 6]}\n</attachment>"
        m["content"] = f"<attachments>\n{inside}\n</attachments>\n" + m["content"]

    return plant


@form(
    "text_and_call_swapped",
    "moved_block/edited_message/array_order/key_order",
    styles=("anthropic", "anthropic_blocks"),
    source="text behind the call on replay",
)
def text_and_call_swapped(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        s.extra["swap"] = True

    return plant
