"""Histories that give way to a summary between two turns."""

from random import Random

from doctor_planted.threads_forms import Plant, flat, form, groups, topic
from doctor_planted.threads_sessions import App, Step

SUMS = (
    "以下是之前对话的摘要：{t}。请继续。",
    "[上下文压缩] 早前的内容：{t}",
    "Voici le résumé de la conversation jusqu'ici : {t}.",
    "Zusammenfassung des bisherigen Gesprächs: {t}.",
    "これまでの会話の要約：{t}",
    "Resumen de la conversación anterior: {t}",
    "Краткое содержание предыдущего разговора: {t}",
    "이전 대화 요약: {t}",
)


@form("claude_compact", "compacted_history", needs_session=True, source="claude code /compact")
def claude_compact(app: App, rng: Random) -> Plant:
    at = rng.choice((8, 10))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            text = (
                "This session is being continued from a previous conversation that ran out "
                "of context. The conversation is summarized below:\nAnalysis:\n"
                f"1. Primary request: {topic(gs[: at - 1])}\n2. Pending tasks: "
                f"none.\nPlease continue the conversation from where we left it off without "
                f"asking the user any further questions."
            )
            s.messages = [{"role": "user", "content": text}, *flat(gs[at - 1 :])]

    return plant


@form(
    "codex_compact",
    "compacted_history/truncated_history",
    source="openai/codex SUMMARY_PREFIX, user messages kept",
)
def codex_compact(app: App, rng: Random) -> Plant:
    at = rng.choice((7, 9))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            users = [m for g in gs[: at - 2] for m in g if m["role"] == "user"]
            text = (
                "Another language model started to solve this problem and produced a "
                "summary of its thinking process. You also have access to the state of the "
                "tools that were used by that language model. "
                "Use this to build on the work that has already been done and avoid "
                "duplicating work. Here is the summary produced by the other language model:\n"
                + topic(gs[: at - 2])
            )
            s.messages = [*users, {"role": "user", "content": text}, *flat(gs[at - 2 :])]

    return plant


@form(
    "gemini_compress",
    "compacted_history",
    source="google-gemini/gemini-cli chatCompressionService <state_snapshot>",
)
def gemini_compress(app: App, rng: Random) -> Plant:
    at = rng.choice((8, 9))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            snap = (
                f"<state_snapshot>\n    <overall_goal>{topic(gs[:3])}</overall_goal>\n   "
                f" <task_state>{at - 3} steps [DONE]</task_state>\n</state_snapshot>"
            )
            s.messages = [
                {"role": "user", "content": snap},
                {
                    "role": "assistant",
                    "content": "Got it. Thanks for the additional context!",
                    "_thought": "",
                },
                *flat(gs[at - 3 :]),
            ]

    return plant


@form(
    "aider_summary",
    "compacted_history",
    shapes=("chat", "code", "service"),
    source="Aider-AI/aider prompts.summary_prefix",
)
def aider_summary(app: App, rng: Random) -> Plant:
    at = rng.choice((6, 8))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            s.messages = [
                {
                    "role": "user",
                    "content": "I spoke to you previously about a number of things.\nI asked you "
                    + topic(gs[: at - 3]),
                },
                {"role": "assistant", "content": "Ok.", "_thought": ""},
                *flat(gs[at - 3 :]),
            ]

    return plant


@form(
    "middleware_summary",
    "compacted_history/truncated_history",
    source="langchain SummarizationMiddleware 'Here is a summary of the conversation to date:'",
)
def middleware_summary(app: App, rng: Random) -> Plant:
    trig = rng.choice((8, 9))
    keep = rng.choice((4, 5))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= trig:
            cut = trig - keep + (len(gs) - trig) // 5 * 5
            s.messages = [
                {
                    "role": "user",
                    "content": "Here is a summary of the conversation to date:\n\n"
                    + topic(gs[:cut]),
                },
                *flat(gs[cut:]),
            ]

    return plant


@form(
    "running_summary",
    "compacted_history/truncated_history",
    shapes=("chat", "service"),
    styles=("openai", "rows", "responses"),
    source="langmem SummarizationNode; ConversationSummaryBufferMemory",
)
def running_summary(app: App, rng: Random) -> Plant:
    keep = rng.choice((4, 5))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) > keep + 2:
            cut = len(gs) - keep
            s.messages = [
                {
                    "role": "system",
                    "content": "Summary of the conversation so far: " + topic(gs[:cut]),
                },
                *flat(gs[cut:]),
            ]

    return plant


@form(
    "summary_in_system",
    "compacted_history/truncated_history/edited_message",
    scope="both",
    source="<CONVERSATION SUMMARY> appended to the system prompt",
)
def summary_in_system(app: App, rng: Random) -> Plant:
    at = rng.choice((7, 8))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            s.system[-1] += (
                "\n\n<CONVERSATION SUMMARY>\n" + topic(gs[: at - 4]) + "\n</CONVERSATION SUMMARY>"
            )
            s.messages = flat(gs[at - 4 :])

    return plant


@form(
    "roo_condense",
    "compacted_history/truncated_history",
    source="RooCodeInc/Roo-Code condense: first message, summary, last three",
)
def roo_condense(app: App, rng: Random) -> Plant:
    at = rng.choice((8, 9))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            s.messages = (
                gs[0]
                + [
                    {
                        "role": "assistant",
                        "content": (
                            "## Condensing conversation context summary\n1. Previous conversation: "
                        )
                        + topic(gs[1 : at - 3])
                        + "\n2. Current work: as above.\n3. Pending tasks: none.",
                        "_thought": "",
                    }
                ]
                + flat(gs[at - 3 :])
            )

    return plant


@form(
    "opencode_compact",
    "compacted_history",
    source="anomalyco/opencode session/compaction 'What did we do so far?'",
)
def opencode_compact(app: App, rng: Random) -> Plant:
    at = rng.choice((7, 9))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            s.messages = [
                {"role": "user", "content": "What did we do so far?"},
                {
                    "role": "assistant",
                    "content": "**Goal**\n"
                    + topic(gs[: at - 2])
                    + "\n\n**Next steps**\nGo on with the last question.",
                    "_thought": "",
                },
                *flat(gs[at - 2 :]),
            ]

    return plant


@form(
    "keep_first_condenser",
    "compacted_history/truncated_history",
    source="OpenHands LLMSummarizingCondenser keep_first",
)
def keep_first_condenser(app: App, rng: Random) -> Plant:
    mx = rng.choice((8, 9))
    keep = 2

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) > mx:
            half = mx // 2
            cut = keep + ((len(gs) - mx - 1) // half + 1) * half
            cut = min(cut, len(gs) - 2)
            s.messages = [
                *flat(gs[:keep]),
                {
                    "role": "user",
                    "content": "USER_CONTEXT: "
                    + topic(gs[keep:cut])
                    + "\nCOMPLETED: the steps up to here\nPENDING: the rest",
                },
                *flat(gs[cut:]),
            ]

    return plant


@form(
    "tool_pair_summary",
    "compacted_history/truncated_history/edited_message/moved_block",
    shapes=("service", "code"),
    source="aaif-goose/goose tool-pair summarization",
)
def tool_pair_summary(app: App, rng: Random) -> Plant:
    def plant(s: Step) -> None:
        gs = groups(s.messages)
        out = []
        for i, g in enumerate(gs):
            if g[0].get("tool_calls") and i < len(gs) - 3:
                name = g[0]["tool_calls"][0]["function"]["name"]
                out.append(
                    [
                        {
                            "role": "user",
                            "content": (
                                f"A call to {name} was made and returned what was asked for."
                            ),
                        }
                    ]
                )
            else:
                out.append(g)
        s.messages = flat(out)

    return plant


@form(
    "memento",
    "compacted_history",
    shapes=("chat", "service", "code"),
    source="'<conversation_summary>' of a host (VS Code Copilot Chat)",
)
def memento(app: App, rng: Random) -> Plant:
    at = rng.choice((7, 8))

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            s.messages = [
                {
                    "role": "user",
                    "content": "The following is a compressed version of the preceding "
                    "history in the current conversation.\n<conversation-summary>\n"
                    + topic(gs[: at - 2])
                    + "\n</conversation-summary>",
                },
                *flat(gs[at - 2 :]),
            ]

    return plant


@form(
    "recap_rewritten",
    "compacted_history/truncated_history",
    shapes=("chat", "service"),
    source="a recap as the assistant's message, told again each few turns",
)
def recap_rewritten(app: App, rng: Random) -> Plant:
    keep = 4

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) > 7:
            cut = len(gs) - keep
            s.messages = [
                {"role": "user", "content": "Recap please."},
                {
                    "role": "assistant",
                    "content": f"So far: {topic(gs[:cut])}. That makes {cut} steps.",
                    "_thought": "",
                },
                *flat(gs[cut:]),
            ]

    return plant


@form(
    "summary_abroad",
    "compacted_history",
    shapes=("chat", "service", "code"),
    source="summaries in other languages (NextChat, LobeChat, Cherry Studio)",
)
def summary_abroad(app: App, rng: Random) -> Plant:
    t = rng.choice(SUMS)
    at = rng.choice((7, 8))
    role = rng.choice(("user", "system"))
    if app.style.startswith("anthropic"):
        role = "user"

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= at:
            s.messages = [
                {"role": role, "content": t.format(t=topic(gs[: at - 3]))},
                *flat(gs[at - 3 :]),
            ]

    return plant


@form(
    "compacted_twice",
    "compacted_history/truncated_history",
    source="a second compaction summarises the first (codex, claude code)",
)
def compacted_twice(app: App, rng: Random) -> Plant:
    a, step = 6, 4

    def plant(s: Step) -> None:
        gs = groups(s.messages)
        if len(gs) >= a:
            cut = a - 3 + (len(gs) - a) // step * step
            s.messages = [
                {
                    "role": "user",
                    "content": f"Summary no. {1 + (len(gs) - a) // step} of our work so far:\n"
                    + topic(gs[:cut])
                    + "\nContinue.",
                },
                *flat(gs[cut:]),
            ]

    return plant
