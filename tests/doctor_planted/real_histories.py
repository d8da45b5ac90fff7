"""Histories as public applications rewrite them: cut, cleared, summarised, edited, and reasoning
that comes and goes, in own words where their notes are long.
"""

from typing import Any

from doctor_planted.bases import Message, Step
from doctor_planted.marks import mark
from doctor_planted.own_planters import Own, flipped, history_cut, reasoning
from doctor_planted.places import Site
from doctor_planted.plant_values import Plant
from doctor_planted.real_planters import on_last_user, rewritten

_CUT = "truncated_history/compacted_history"


def _reminded(text: str) -> str:
    return text + mark("edited_message", "\n\n<system-reminder>\nThe list of tasks was not used "
                       "for a while. Use it if it helps.\n</system-reminder>")  # fmt: skip


def _word_gone(text: str, instead: str, digits: bool) -> str:
    """A guard that masks something afterwards: the longest word, or the first with a digit."""
    words = text.split(" ")
    usable = [i for i, w in enumerate(words) if w.isalnum() and
              (not digits or any(c.isdigit() for c in w))]  # fmt: skip
    if not usable:
        return text
    place = usable[0] if digits else max(usable, key=lambda i: (len(words[i]), -i))
    masked = mark("edited_message", instead)
    return " ".join([*words[:place], masked, *words[place + 1 :]])


EDITED: tuple[Any, ...] = (
    _reminded,  # Claude Code
    lambda text: _word_gone(text, "[REDACTED]", digits=False),
    lambda text: text + mark("edited_message", " (edited)"),  # Slack
    lambda text: _word_gone(text, "[NUMBER]", digits=True),
    lambda text: mark(f"edited_message/{_CUT}", "[message deleted]"),
    lambda text: mark("edited_message", "User said: ") + text,
)


def _noted(role: str, note: str, step: int, least: int = 2) -> Own:
    """The first message stays, a note follows, then the last five or more; step: how many go at
    once. A call and its result stay together."""

    def change(messages: list[Message]) -> tuple[list[Message], object]:
        cut = max(0, (len(messages) - 5) // step * step)
        while cut and messages[cut]["role"] == "tool":
            cut -= 1
        if cut < least:
            return messages, 0
        told = {"role": role, "content": note.format(n=cut - 1)}
        return [messages[0], told, *messages[cut:]], cut

    return history_cut(_CUT, change)


def _cline(messages: list[Message]) -> tuple[list[Message], object]:
    """The task stays, with a notice as its reply; half of the rest goes."""
    if len(messages) < 9:
        return messages, 0
    cut = (len(messages) - 3) // 4 * 2
    while messages[cut]["role"] == "tool":
        cut -= 1
    if cut < 4:
        return messages, 0
    note = {"role": "assistant", "content": "[NOTE] Some of the earlier conversation with the user "
            "was removed to keep the context short. The task and the latest exchanges remain; what "
            "lay between them is gone."}  # fmt: skip
    return [messages[0], note, *messages[cut:]], cut


def _slice(messages: list[Message]) -> tuple[list[Message], object]:
    """messages.slice(-6), and no result without its call."""
    cut = max(0, len(messages) - 6)
    while cut and messages[cut]["role"] == "tool":
        cut -= 1
    return messages[cut:], cut


def _result(form: str, least: int) -> Any:
    """An old result gives way. form: {a} its beginning, {z} its end, {n} its length."""

    def change(message: Message) -> bool:
        text = message["content"]
        if message["role"] != "tool" or len(text) <= least:
            return False
        message["content"] = form.format(a=text[:40], z=text[-20:], n=len(text))
        return True

    return change


TRUNCATED: tuple[Any, ...] = (
    history_cut(_CUT, _cline),
    rewritten(_CUT, _result("[[NOTE] This read of a file was removed to save space. See the latest "
                            "read of the file.]", 60), 5),  # Cline
    rewritten(_CUT, _result("[Omitted]", 0), 4),  # NovaCore.AgentKit
    rewritten(_CUT, _result("[Old tool result cleared — original size: {n} chars]", 60), 4),
    _noted("user", "Part of the history was trimmed to save tokens. Some messages \nof this part "
           "were removed.", 2),  # flock
    _noted("system", "[{n} MESSAGES TRUNCATED FOR BREVITY]", 3, 3),
    history_cut("truncated_history", _slice),
    rewritten(_CUT, _result("{a}<response clipped><NOTE>Only a part of this file is shown, to save "
                            "context.</NOTE>", 200), 4),  # Anthropic's editor
    rewritten(_CUT, _result("{a}\n[...{n} characters, the middle is omitted...]\n{z}", 160), 4),
    _noted("system", "[Earlier messages truncated for brevity]", 2),
)  # fmt: skip


def _summary_in_system(site: Site) -> Plant:
    """A memory that writes its summary into the instructions and drops what it tells of."""

    def plant(step: Step) -> None:
        cut = (len(step.messages) - 4) // 4 * 4
        while cut > 0 and step.messages[cut]["role"] == "tool":
            cut -= 1
        if cut >= 2:
            told = "; ".join(str(m["content"])[:30] for m in step.messages[:cut] if m["content"])
            head = "\n## Compressed Context\n[Earlier messages were compressed. Key points:]\n"
            step.system[-1] += mark("compacted_history", head + told)
            step.messages = step.messages[cut:]
        step.owners.append(("compacted_history/truncated_history", "messages", None, cut))

    return plant


COMPACTED: tuple[Any, ...] = (
    ("user", "Another language model started on this and left a summary of its thinking. Build on "
     "it, and do not do its work again. Here is the summary: {a} ({n} messages)"),  # Codex
    ("user", "<state_snapshot>\n    <overall_goal>{a}</overall_goal>\n    <task_state>\n        "
     "1. [DONE] {n} steps\n    </task_state>\n</state_snapshot>"),  # Gemini CLI
    ("user", '{{"type": "system_alert", "message": "Note: earlier messages are hidden to save '
     'memory.\\nA summary of them:\\n {a}", "time": "2026-01-20 02:13:45 PM", "n": {n}}}'),  # Letta
    ("assistant", "Goal\n{a}\n\nProgress\n- {n} messages were worked through\n\n--- END OF SUMMARY "
     "— answer the message below ---"),
    ("system", "Summary of the conversation so far: {a} [{n}]", "rolling"),  # LangGraph
    ("system", "之前的对话摘要：{a}，共{n}条", "rolling"),
    ("user", "[Zusammenfassung des bisherigen Gesprächs]\n\n{a}\n({n} Nachrichten)"),
    ("assistant", "[Zusammenfassung des bisherigen Gesprächs: {a}; {n} Nachrichten]", "rolling"),
    ("user", "=== BEGIN SUMMARY ===\n[User]: {a}\n... ({n} earlier messages truncated) ...\n"
     "=== END SUMMARY ==="),
    ("user", "[summary_id: 3f2a91] {n} earlier messages were compressed to free context:\n{a}"),
    ("system", "[CONTEXT NOTE] {n} earlier messages were compressed into a summary.\n{a}"),
    ("user", "[SYSTEM: Context compacted. {n} earlier messages were compressed and trimmed. Go on "
     "with the task.] {a}"),
    ("user", "[Note: {n} earlier messages were compressed]\n\nSummary of what was found: {a}",
     "rolling"),
    ("user", "[通知] 之前的对话摘要：{a}（{n}）"),
    Own(_summary_in_system, ("service", "code", "browser", "tau")),
)  # fmt: skip


def _blocks(message: Message, thought: str) -> None:
    """LiteLLM."""
    message["reasoning_content"] = thought
    message["thinking_blocks"] = [{"type": "thinking", "thinking": thought, "signature": "Er8B"}]


def _chunks(message: Message, thought: str) -> None:
    """Mistral."""
    told = [{"type": "text", "text": message["content"]}] if message["content"] else []
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
    message["content"] = [thinking, *told]


def _ollama(message: Message, thought: str) -> None:
    message["thinking"] = thought


def _copilot(message: Message, thought: str) -> None:
    message["reasoning_text"] = thought
    message["reasoning_opaque"] = "b3BhcXVl"


_REMINDER = ("\n\n<system-reminder>\nFor the user's questions, know this:\n# important\nDo what "
             "was asked, and no more.\n</system-reminder>")  # fmt: skip

FLIPS: tuple[Any, ...] = (
    "[THINK]{t}[/THINK]{m}",  # Magistral
    "◁think▷{t}◁/think▷{m}",  # Kimi
    "<seed:think>{t}</seed:think>{m}",  # Seed-OSS
    "Here is my thought process: {t}\n\nHere is my response: {m}",  # Granite
    "Here are my reasoning steps:\n{t}\n[BEGIN FINAL RESPONSE]\n{m}\n[END FINAL RESPONSE]",
    "<thought>\n{t}\n</thought>\n\n{m}",  # EXAONE
    "<|channel|>analysis<|message|>{t}<|end|><|start|>assistant<|channel|>final<|message|>{m}",
    "<antThinking>{t}</antThinking>\n{m}",
    "<reasoning>{t}</reasoning>\n<output>{m}</output>",
    reasoning(_blocks),
    reasoning(_chunks),
    flipped("nothink"), flipped("cohere"), flipped("brace"),
    # aider's reminder, SillyTavern's instructions behind the history, Claude Code's reminders
    on_last_user("template_flip/moved_block/edited_message", _REMINDER),
    "Thought: {t}\nFinal Answer: {m}",  # LangChain's ReAct
    "<unused94>thought\n{t}<unused95>{m}",  # MedGemma
    "[REASONING]{t}[/REASONING]\n{m}",
    "<inner_monologue>{t}</inner_monologue>\n{m}",
    '<details type="reasoning" done="true">\n<summary>Thought for 3 seconds</summary>\n> {t}\n'
    "</details>\n{m}",  # Open WebUI
    reasoning(_ollama),
    reasoning(_copilot),
)  # fmt: skip

HISTORIES: dict[str, tuple[Any, ...]] = {
    "edited_message": EDITED, "truncated_history": TRUNCATED, "compacted_history": COMPACTED,
    "template_flip": FLIPS,
}  # fmt: skip
