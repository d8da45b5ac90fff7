"""Reasoning in the messages of an assistant: blocks of content, fields, tags within a text."""

import re
from collections.abc import Sequence

from hitpath.doctor.prompt import Part
from hitpath.doctor.words_of_kinds import THINK, THOUGHT

_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "signature", "thought", "tool_plan")
_FIELD = re.compile(
    rf"{'|'.join(_THOUGHTS)}|[a-z]+_(?:thinking|reasoning|thought)|[a-z]+(?:Thinking|Reasoning|Thought)"
)
"""`reasoning_content`, `encrypted_reasoning`, `thoughtSignature`."""
_NAMES = r"(?:think|thought|reason|reflect|analysis|deliberat|scratchpad|monologue|working_out)"
_TAGGED = re.compile(
    r"(?s)\s*(?:<(?!(?i:[\w:-]{0,20}tool_?(?:call|use)|function|invoke))(?P<tag>[^\W\d][\w:.-]{0,40})(?:\s[^<>]{0,80})?>.*?</(?P=tag)>"
    r"|\[(?P<mark>[A-Z_]{2,24})\].*?\[/(?P=mark)\]"
    r"|\u25c1(?P<name>\w{1,24})\u25b7.*?\u25c1/(?P=name)\u25b7"
    r"|\u3010(?P<word>[^\u3011\n]{1,8})\u3011.*?\u3010/(?P=word)\u3011"
    r"|<\|?channel\|?>\s*(?:analysis|thought|commentary)"
    r".*?(?:<\|(?:end|return|start)\|>|<channel\|>|\Z)"  # gpt-oss, Gemma 4
    r"|<unused\d{1,3}>\s*thought.*?(?:<unused\d{1,3}>|\Z)"  # Gemma
    rf"|(?i:<\|(?!/|end)(?:[\w:-]{{0,20}}{_NAMES}\w{{0,16}}|inner_prefix)\|>"  # special tokens
    rf"|<(?:start|begin)_\w{{0,12}}{_NAMES}\w{{0,16}}>"
    rf"|<(?:[\w-]{{1,12}}:)?(?:{_NAMES}(?:ing|s|_content|ion|ation)?)(?:\s\w+=[^<>]{{0,80}})?>)"
    rf".*?(?:<(?i:\|/\w{{1,40}}|\|?end\w{{0,40}}|\|\w{{0,40}}(?:end|suffix)"
    rf"|/[\w:-]{{0,20}}{_NAMES}\w{{0,16}})\|?>|\Z)"  # or what was cut off within its reasoning
    r"|(?i:(?:here (?:is|are) my (?:thought process|thoughts|reasoning(?: steps)?)|"
    r"\**(?:thoughts?|reasoning|thinking)\**)\s*:.*?(?:(?:\n|\A)\s*(?:here is my (?:final )?"
    r"(?:response|answer)|\**(?:final )?(?:answer|response)\**)\s*:\**"
    r"|\[begin (?:final )?(?:response|answer)\](?:\s*\[end (?:final )?(?:response|answer)\])?)))\s*"
)
"""What stands in a tag at the beginning of a reply, whatever the tag is called; behind a mark of
reasoning of any model, to its end; or between words that announce it and the answer."""
_BLOCK = re.compile(r"\w+\[\d+\]\.\w+\[\d+\]")
_MOST_BLOCKS = 8


def without_thoughts(text: str) -> str:
    """What an assistant says besides its reasoning."""
    for _ in range(_MOST_BLOCKS):
        match = _TAGGED.match(text)
        if match is None:
            break
        text = text[match.end() :]
    return THOUGHT.sub("", text).strip() if THINK.search(text) else text.strip()


def are_one_without(one: str, other: str) -> bool:
    """Whether two replies differ in their reasoning alone, which one of them may lack."""
    bare = without_thoughts(one), without_thoughts(other)
    thinks = bare != (one.strip(), other.strip())
    return one != other and bare[0] == bare[1] and thinks


def is_thought(text: str) -> bool:
    """Whether a text is blocks of reasoning, perhaps empty, and nothing else."""
    return bool(text.strip()) and not without_thoughts(text)


def thoughts_of(parts: Sequence[Part], role: str) -> list[list[int]]:
    """The numbers of the parts that are reasoning, a list a block or field of it: with what else
    its block says, as its type and signature."""
    found: dict[str, list[int]] = {}
    blocks = {_block_of(p): n for n, p in enumerate(parts) if is_reasoning(p, role)}
    for number, part in enumerate(parts):
        block = _block_of(part)
        if block in blocks:
            found.setdefault(block, []).append(number)
    return list(found.values())


def spoken(parts: Sequence[Part], role: str) -> str:
    """What a message says besides its reasoning, and besides what blocks of text say of
    themselves."""
    silent = {number for block in thoughts_of(parts, role) for number in block}
    texts = [
        part.text
        for number, part in enumerate(parts)
        if part.form != "glue" and number not in silent and not part.path.endswith("].type")
    ]
    return without_thoughts("\n".join(texts))


def _block_of(part: Part) -> str:
    """The path of the block of content that a part stands in, else its own."""
    block = _BLOCK.match(part.path)
    return part.path if block is None else block[0]


def is_reasoning(part: Part, role: str) -> bool:
    """Whether a part is a field or a block of reasoning, or a text that is nothing else."""
    name = part.path.rpartition(".")[2]
    if _FIELD.match(name):
        return True
    if part.form == "json":
        kind = part.value.get("type") if isinstance(part.value, dict) else part.value
        return isinstance(kind, str) and kind in (*_THOUGHTS, "reasoningContent")
    return role == "assistant" and is_thought(part.text)
