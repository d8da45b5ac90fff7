"""Histories as clients rewrite them: cut, cleared, summarised, edited; reasoning that comes and
goes; blocks that move; other models, adapters and salts. In front of a form: where it comes from;
those without are written by hand in the manner of such clients.
"""

import json
from collections.abc import Callable
from typing import Any

from doctor_planted.bases import Message
from doctor_planted.marks import mark
from doctor_planted.own_planters import history_cut, reasoning
from doctor_planted.real_planters import rewritten

_CUT = "truncated_history/compacted_history"
Cut = tuple[list[Message], object]


def _tail(text: str) -> Callable[[str], str]:
    return lambda old: old + mark("edited_message", text)


def _swapped(pairs: tuple[tuple[str, str], ...]) -> Callable[[str], str]:
    """The first of these words that a text has is written as the other one."""

    def change(text: str) -> str:
        words = text.split(" ")
        for old, new in pairs:
            if old in words:
                place = words.index(old)
                return " ".join([*words[:place], mark("edited_message", new), *words[place + 1 :]])
        return text + mark("edited_message", f" ({pairs[0][1]})")

    return change


def _starred(text: str) -> str:
    """A filter for rude words that grew."""
    words = text.split(" ")
    usable = [i for i, w in enumerate(words) if w.isalpha() and w.isascii() and len(w) > 4]
    if not usable:
        return text
    at, word = usable[len(usable) // 2], words[usable[len(usable) // 2]]
    starred = word[0] + mark("edited_message", "*" * (len(word) - 1))
    return " ".join([*words[:at], starred, *words[at + 1 :]])


EDITED: dict[str, Any] = {
    "reactions": _tail(" [reactions: 👍×2]"),
    "link_preview": _tail("\n[link preview: 'Opening hours' — a page with three paragraphs]"),
    "translated": _tail(" (translated by the app)"),
    # A second pass of speech recognition.
    "heard_again": _swapped((("the", "their"), ("is", "was"), ("to", "too"), ("for", "four"))),
    "starred": _starred,
    "from_voice": lambda text: mark("edited_message", "[voice message, transcribed] ") + text,
    "sentiment": _tail("\n<sentiment>neutral</sentiment>"),
    "reply_quote": lambda text: mark("edited_message", "> earlier message\n\n") + text,
    "spelled": _swapped((("ok", "okay"), ("Please", "please"), ("can't", "cannot"), ("a", "one"))),
}  # fmt: skip


def _safe(messages: list[Message], cut: int) -> int:
    while cut > 0 and messages[cut]["role"] == "tool":
        cut -= 1
    return cut


def _head_tail(messages: list[Message]) -> Cut:
    """AutoGen's HeadAndTailChatCompletionContext."""
    cut = _safe(messages, max(0, len(messages) - 5))
    if cut < 3:
        return messages, 0
    note = {"role": "user", "content": f"Skipped {cut - 1} messages."}
    return [messages[0], note, *messages[cut:]], cut


def _by_size(messages: list[Message]) -> Cut:
    """The oldest go until the rest is short enough; no note."""
    cut = 0
    while len(messages) - cut > 5 and sum(len(json.dumps(m)) for m in messages[cut:]) > 1_100:
        cut += 2
    cut = _safe(messages, min(cut, max(0, len(messages) - 5)))
    return messages[cut:], cut


def _zh_note(messages: list[Message]) -> Cut:
    cut = _safe(messages, max(0, (len(messages) - 5) // 2 * 2))
    if not cut:
        return messages, 0
    return [{"role": "system", "content": "（较早的消息已省略）"}, *messages[cut:]], cut


def _result(form: str, least: int = 50) -> Callable[[Message], bool]:
    """An old result gives way. form: {a} its beginning, {z} its end, {n} its length, {l} lines."""

    def change(message: Message) -> bool:
        text = message["content"]
        if message["role"] != "tool" or len(text) <= least:
            return False
        message["content"] = form.format(
            a=text[:40], z=text[-20:], n=len(text), l=text.count("\n") + 1
        )
        return True

    return change


TRUNCATED: dict[str, Any] = {
    "head_tail": history_cut(_CUT, _head_tail),
    "by_size": history_cut("truncated_history", _by_size),
    "zh_note": history_cut(_CUT, _zh_note),
    # SWE-agent's LastNObservations.
    "swe_omitted": rewritten(_CUT, _result("Old environment output: ({l} lines omitted)"), 4),
    # smolagents.
    "smolagents": rewritten(_CUT, _result(
        "{a}\n..._This content has been truncated to stay below 60 characters_...\n{z}", 220), 4),
    # mini-swe-agent.
    "elided_chars": rewritten(_CUT, _result(
        "<output_head>\n{a}\n</output_head>\n<elided_chars>\n{n} characters elided\n"
        "</elided_chars>\n<output_tail>\n{z}\n</output_tail>", 240), 4),
    # ranxianglei/opencode-acp#26.
    "pruned": rewritten(_CUT, _result("[pruned]"), 5),
    # context-labs/whip#55.
    "superseded": rewritten(_CUT, _result(
        "⟨read of main.go superseded by newer read ({l} lines)⟩"), 4),
    # lobehub/lobehub#19777.
    "stale": rewritten(_CUT, _result("[stale tool result trimmed, re-read if needed]"), 5),
    "fr_cut": rewritten(_CUT, _result("{a}… [résultat abrégé, {n} caractères au total]", 140), 4),
}  # fmt: skip

COMPACTED: dict[str, Any] = {
    # Auto-GPT's early memory.
    "autogpt": ("system", "This reminds you of these events from your past:\n{a}\n({n})"),
    "zed_thread": ("user", "# Thread summary\n\n{a}\n\n{n} messages of the earlier thread are not "
                   "shown."),
    "lobe": ("user", "<chat_history_summary>\n{a} ({n})\n</chat_history_summary>"),
    "pt_summary": ("system", "Resumo da conversa até agora: {a}. Mensagens: {n}.", "rolling"),
    "ar_summary": ("system", "ملخص المحادثة السابقة: {a} ({n})"),
    "tr_summary": ("user", "[Önceki konuşmanın özeti] {a} — {n} mesaj"),
    "it_summary": ("assistant", "Riassunto della conversazione precedente: {a} ({n} messaggi)."),
    "vi_summary": ("user", "Tóm tắt cuộc trò chuyện trước: {a} ({n} tin nhắn)", "rolling"),
    "checkpoint": ("user", "<checkpoint messages=\"{n}\">\nDone so far: {a}\n"
                   "</checkpoint>\nGo on."),
    "handover": ("assistant", "## Handover note\nWhat was agreed: {a}\nMessages folded: {n}"),
    "tavern_summary": ("system", "[Summary of the story up to this point ({n} messages): {a}]",
                       "rolling"),
}  # fmt: skip


def _bedrock(message: Message, thought: str) -> None:
    told = [{"type": "text", "text": message["content"]}] if message["content"] else []
    inside = {"reasoningText": {"text": thought, "signature": "EqQBCg=="}}
    message["content"] = [{"type": "reasoningContent", "reasoningContent": inside}, *told]


def _gemini(message: Message, thought: str) -> None:
    """Signatures of thoughts, which stand at calls; a reply without calls has a field."""
    signed = {"google": {"thought_signature": "CpEB" + thought[:9].encode().hex()}}
    for call in message.get("tool_calls") or []:
        call["extra_content"] = signed
    if not message.get("tool_calls"):
        message["extra_content"] = signed


def _plan(message: Message, thought: str) -> None:
    """Cohere."""
    message["tool_plan"] = thought


def _summary_of_thought(message: Message, thought: str) -> None:
    message["reasoning_summary"] = thought


FLIPS: dict[str, Any] = {
    "reflection": "<reflection>{t}</reflection>\n\n{m}",
    "analysis": "<analysis>\n{t}\n</analysis>\n{m}",
    "cot": "<cot>{t}</cot>{m}",
    "zh_inner": "[内心独白]{t}[/内心独白]\n{m}",
    "bars": "<|think|>{t}<|/think|>{m}",
    "plan_tag": "<plan>\n{t}\n</plan>\n\n<reply>\n{m}\n</reply>",
    "ja_tag": "<思考過程>{t}</思考過程>\n{m}",
    "bedrock": reasoning(_bedrock),
    "gemini": reasoning(_gemini),
    "tool_plan": reasoning(_plan),
    "summary_field": reasoning(_summary_of_thought),
    "es_tag": "<pensamiento>\n{t}\n</pensamiento>\n{m}",
}  # fmt: skip

MOVED: dict[str, str] = {
    "chevrons": "<<< {p} >>>\n{t}",
    "llms_txt": "- [{p}](https://docs.example/{p}): {t}",
    "search_result": "<search_result title='{p}'>{t}</search_result>",
    "comment": "// {p}\n{t}",
    "faq": "Q: What does {p} say?\nA: {t}",
    "org_mode": "#+begin_quote {p}\n{t}\n#+end_quote",
    "json_line": '{{"file": "{p}", "text": "{t}"}}',
    "html_item": "<li><b>{p}</b>: {t}</li>",
    "lore": "[ {p}: {t} ]",
    "zh_source": "来源：{p}\n内容：{t}",
}

CONTEXTS: dict[str, tuple[str, str, str]] = {
    "sonnet": ("model", "anthropic.claude-sonnet-4-v1:0", "eu.anthropic.claude-sonnet-4-v1:0"),
    "gguf": ("model", "qwen3-30b-a3b-q4_k_m.gguf", "qwen3-30b-a3b-q8_0.gguf"),
    "router": ("model", "auto/cheap", "auto/smart"),
    "dated": ("model", "gpt-4o-2024-08-06", "gpt-4o-2024-11-20"),
    "salt_hash": ("salt", "9f2c41aa", "77b0e1d3"),
    "salt_none": ("salt", "team-blue", ""),
    "salt_tenant": ("salt", "tenant:acme:eu", "tenant:acme:us"),
    "lora": ("adapter", "intent-lora-r16", "intent-lora-r32"),
    "kv": ("kv_dtype", "fp8_e4m3", "auto"),
    "tokenizer": ("tokenizer", "llama3-base", "llama3-ext"),
}
