"""Whether two requests are of one application: by their instructions, tools and build, where what
they have in common from the beginning does not tell."""

import re
import string
from collections.abc import Iterator
from typing import Any

from hitpath.canonical.tools import tool_name
from hitpath.canonical.volatile import find_volatile
from hitpath.doctor.prompt import SYSTEM, TOOLS, Part, Prompt
from hitpath.doctor.shapes import overlap, words_of
from hitpath.doctor.textdiff import common_length, equal_runs
from hitpath.doctor.words_of_kinds import MARKER

_OF_ONE_APPLICATION, _OF_ANOTHER_BEGINNING, _OF_NO_CHUNKS = 0.5, 0.6, 0.75
"""Of the words of the shorter instructions: where both begin alike, where they do not, and where
chunks and session do not speak for it either: rules of a house may be most of what is told."""
_OF_ONE_AGENT = 0.9
_OF_ONE_TEMPLATE, _OF_OTHERS = 0.2, 0.1
_TELLING_CHARS, _STAMPED_CHARS = 12_000, 600
_FEW_WORDS = 16
"""Words of instructions that are too short to tell what it is."""
_BEGINNING_WORDS, _NEAR_WORDS, _LONG_RUN = 64, 14, 8
_LEAST_MARK, _LONGEST_MARKS = 5, 200
_VARIES = string.ascii_letters + string.digits
"""Characters by which lines of a frame are known: `- ` begins too many."""


def is_one_application(there: Prompt, here: Prompt, is_near: bool) -> bool:
    """Whether a good part of the instructions is the same, in one order: applications of one house
    share rules, but not all of what they are told. Of the tools too, where instructions are short
    or begin alike: agents of one framework have its tools. is_near: chunks or the session speak for
    it."""
    if there.is_flat or here.is_flat or are_built_otherwise(there, here):
        return False
    if _have_one_frame(there, here):
        return True
    one, other = _instructions(there), _instructions(here)
    is_told, is_begun = min(len(one), len(other)) >= _FEW_WORDS, _begin_alike(one, other)
    otherwise = _OF_ANOTHER_BEGINNING if is_near else _OF_NO_CHUNKS
    least = _OF_ONE_APPLICATION if is_begun else otherwise
    if is_told and _shared_words(one, other) >= least * min(len(one), len(other)):
        return True
    if is_told and not is_begun:
        return False
    runs = [_runs_of_words(p, (SYSTEM, TOOLS)) for p in (there, here)]
    return _shares(runs[0], runs[1], _OF_ONE_APPLICATION)


def _have_one_frame(there: Prompt, here: Prompt) -> bool:
    """Whether instructions begin with the same words, and part within a line that begins as others
    in both do: documents of one frame, of which these have others."""
    one, other = _text_of_instructions(there), _text_of_instructions(here)
    common = common_length(one, other)
    begin = one.rfind("\n", 0, common)
    mark = one[max(begin, 0) : common].rstrip(_VARIES)
    if begin < 0 or len(mark.strip()) < _LEAST_MARK or len(_words(one[:begin])) < _BEGINNING_WORDS:
        return False
    return min(one.count(mark), other.count(mark)) > 1


def shares_words(there: Prompt, here: Prompt) -> bool:
    """Whether a part of the whole prompts is the same, where the JSON around words does not count:
    instructions may stand in the first message, and documents among instructions. Where both have
    instructions, these begin alike; where one has them, they stand in the other's message."""
    if are_built_otherwise(there, here):
        return False
    one, other = _instructions(there), _instructions(here)
    if bool(one) != bool(other):
        told = _runs_of_words(there if one else here, (SYSTEM,))
        return _shares(told, _runs_of_words(here if one else there), _OF_ONE_APPLICATION)
    if min(len(one), len(other)) >= _FEW_WORDS and not _begin_alike(one, other):
        return False
    return _shares(_runs_of_words(there), _runs_of_words(here), _OF_ONE_TEMPLATE)


def _instructions(prompt: Prompt) -> list[str]:
    """The words of the instructions, numbers masked, as far as they tell what it is. Without what
    is stamped in front of them: every application of a client or a house begins with it."""
    text = _text_of_instructions(prompt)
    head = text[:_STAMPED_CHARS]
    for found in reversed(find_volatile(head)):
        head = f"{head[: found.start]} {head[found.stop :]}"
    return _words(head + text[_STAMPED_CHARS:])


def _text_of_instructions(prompt: Prompt) -> str:
    return _all_instructions(prompt)[:_TELLING_CHARS]


def _all_instructions(prompt: Prompt) -> str:
    texts = (p.text for p in prompt.parts if p.segment == SYSTEM and _is_telling(p))
    return "\n".join(texts)


def _is_telling(part: Part) -> bool:
    """Not what a template puts around messages, which may stand for instructions (`<bos>`)."""
    return part.form != "glue" and not (part.segment == SYSTEM and _is_mark(part.text))


def _is_mark(text: str) -> bool:
    return len(text) <= _LONGEST_MARKS and not MARKER.sub("", text).strip()


def _begin_alike(one: list[str], other: list[str]) -> bool:
    """Whether a run of words begins near the beginning of both."""
    runs = equal_runs(one[:_BEGINNING_WORDS], other[:_BEGINNING_WORDS])
    if 2 * sum(n for _, _, n in runs if n >= _RUN) >= min(len(one), len(other), _BEGINNING_WORDS):
        return True
    return any(
        max(a, b) <= _NEAR_WORDS and sum(word != "0" for word in one[a : a + n]) >= _LONG_RUN
        for a, b, n in runs
    )


def _shared_words(one: list[str], other: list[str]) -> int:
    """Words in runs that stand in both, in one order."""
    return sum(n for _, _, n in equal_runs(one, other) if n >= _RUN)


def are_told_otherwise(there: Prompt, here: Prompt) -> bool:
    """Whether both have instructions, and as good as nothing of them is the same: an agent and one
    that it calls have their tools in common."""
    one, other = sorted((_instructions(there), _instructions(here)), key=len)
    if not one or _shared_words(one, other) >= _OF_OTHERS * len(one):
        return False
    if _begin_alike(one, other):
        return False  # and most of what follows is drawn anew, however long it is
    if len(one) >= _FEW_WORDS:
        return True
    few, many = ({word.casefold() for word in words} for words in (one, other))
    return 2 * len(few & many) < len(few)


def are_two_agents(there: Prompt, here: Prompt) -> bool:
    """Whether requests in which the same was said are of two agents for all that. With tools and
    not one in common the instructions tell: they stay where an agent's tools are renamed. Where
    these have nothing in common, one question may be asked of two (which topic is it? then: answer
    it); a reply that stands in both, or follows the question, shows that one goes on."""
    tools = [_names_of_tools(p) for p in (there, here)]
    if all(tools) and tools[0].isdisjoint(tools[1]):
        one, other = _instructions(there), _instructions(here)
        most = max(len(one), len(other))
        return min(len(one), len(other)) > 0 and _shared_words(one, other) < _OF_ONE_AGENT * most
    said = [[m for m in p.messages if m.segment not in (SYSTEM, TOOLS)] for p in (there, here)]
    known = {m.key for m in said[1]}
    if any(m.role != "user" for m in said[0] if m.key in known):
        return False
    is_asked = all(said) and said[0][-1].key == said[1][-1].key
    if not is_asked and bool(tools[0]) == bool(tools[1]):
        return False
    if not are_told_otherwise(there, here):
        return False
    words = [words_of(_all_instructions(p)) for p in (there, here)]
    return overlap(words[0], words[1]) < _OF_ONE_APPLICATION  # else the same in another order


def key_of_instructions(prompt: Prompt) -> int | None:
    """Equal for instructions that are the same but for numbers and stamps, with the same tools;
    None without any, or where they tell too little."""
    words, tools = _instructions(prompt), _names_of_tools(prompt)
    if not words or (len(words) < _FEW_WORDS and not tools):
        return None
    return hash((tuple(words), frozenset(tools)))


def are_built_otherwise(there: Prompt, here: Prompt) -> bool:
    """Whether both have tools and not one in common, or their instructions stand in another field
    of the request: two applications may share rules of their house, these they do not."""
    tools = [_names_of_tools(p) for p in (there, here)]
    if all(tools) and tools[0].isdisjoint(tools[1]):
        return True
    fields = [_field_of_instructions(p) for p in (there, here)]
    return all(fields) and fields[0] != fields[1]


def _names_of_tools(prompt: Prompt) -> set[str]:
    return {tool_name(prompt.parts[number].value) for number in prompt.tools}


def _field_of_instructions(prompt: Prompt) -> str:
    """`system`, `messages`, `instructions`; empty where no instructions are told as such."""
    paths = (part.path for part in prompt.parts if part.segment == SYSTEM and part.path)
    return _FIELD.split(next(paths, ""))[0]


Runs = set[tuple[str, ...]]


def _shares(one: Runs, other: Runs, frac: float) -> bool:
    least = min(len(one), len(other))
    return least > 0 and len(one & other) >= max(min(2, least), frac * least)


def _runs_of_words(prompt: Prompt, segments: tuple[str, ...] = ()) -> Runs:
    """Of these segments, of all where none is named; numbers masked. Tools are told by their names
    and words, not by the keys of a schema."""
    texts = [
        "\n".join(_words_of_tool(part.value, 0)) if part.segment == TOOLS else part.text
        for part in prompt.parts
        if _is_telling(part) and (not segments or part.segment in segments)
    ]
    return set().union(*map(_runs_of, texts))


def _words(text: str) -> list[str]:
    return _WORD.findall(_NUMBER.sub("0", text))


def _runs_of(text: str) -> Runs:
    words = _words(text)
    runs = {tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))}
    return runs - {()}


def _words_of_tool(value: Any, depth: int) -> Iterator[str]:
    """The strings of a tool, and the names of what it takes."""
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _words_of_tool(item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, item in value.items():
            if key not in _SCHEMA:
                yield key
            if key != "type":
                yield from _words_of_tool(item, depth + 1)


_SCHEMA = frozenset((
    "type", "function", "name", "description", "parameters", "input_schema", "inputSchema",
    "properties", "required", "items", "enum", "additionalProperties", "strict", "default",
    "cache_control", "title",
))  # fmt: skip
_DEEPEST = 32
_RUN = 4
_FIELD = re.compile(r"[\[.]")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
