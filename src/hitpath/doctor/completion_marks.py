"""Prompts of code completion (fill in the middle): their marks, and the stretches between them.

A prompt holds what stands before the cursor and what stands behind it, in either order ("PSM":
prefix, suffix, middle; "SPM": the suffix first), perhaps behind other files of the repository. The
marks are those of

    <|fim_prefix|>      Qwen2.5-Coder (README, examples/Qwen2.5-Coder-repolevel-fim.py), CodeGemma
                        (ai.google.dev/gemma/docs/codegemma/prompt-structure), Granite 4
    <fim_prefix>        StarCoder and StarCoder 2 (arXiv 2402.19173, 5.1), StableCode, Granite Code,
                        CodeQwen1.5, Mellum
    <fim-prefix>        SantaCoder (bigcode/santacoder)
    <[fim-prefix]>      Seed-Coder (ByteDance-Seed/Seed-Coder-8B-Base), suffix first
    <|fim_begin|>       DeepSeek-Coder (README, "Code Insertion"): begin, hole, end
    <PRE> <SUF> <MID>   Code Llama (facebookresearch/codellama, llama/generation.py:
                        infilling_prompt_tokens), both orders
    [SUFFIX] [PREFIX]   Codestral (mistral-common, tokens/tokenizers/instruct.py: encode_fim)
    <|code_prefix|>     CodeGeeX4, GLM-4.5

as llama.cpp (src/llama-vocab.cpp, special_fim_*) and Continue (core/autocomplete/templating/
AutocompleteTemplate.ts) list them, and marks of the cursor that editors put into the prompts of
models without such tokens (Zed, minuet, Continue, Code Llama's <FILL_ME>).
"""

import re
from typing import Literal, NamedTuple

Mark = Literal["", "prefix", "suffix", "middle"]
"""Before the text that stands before the cursor; before the text behind it; before what the model
writes, or, where the suffix stands first, before what it goes on from."""

_FAMILIES = (
    ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    ("<fim-prefix>", "<fim-suffix>", "<fim-middle>"),
    ("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"),
    ("<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>", "<\uff5cfim\u2581end\uff5c>"),
    ("<|fim\u2581begin|>", "<|fim\u2581hole|>", "<|fim\u2581end|>"),  # as many clients write it
    ("<|fim_begin|>", "<|fim_hole|>", "<|fim_end|>"),
    ("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"),
    ("<PRE>", "<SUF>", "<MID>"),
    ("[PREFIX]", "[SUFFIX]", "[MIDDLE]"),
)
_CLOSED = _FAMILIES[:-1]
"""Those with a mark behind both texts; Codestral's are known by their place at the beginning."""
_CURSORS = ("<|user_cursor_is_here|>", "<|user_cursor|>", "<|cursor|>", "<cursorPosition>",
            "{{FILL_HERE}}", "<FILL_ME>", "[BLANK]")  # fmt: skip
_HINT = re.compile(r"(?i)fim[-_\u2581]|<SUF>|\[SUFFIX\]|code_suffix|cursor|FILL_")
FILE = re.compile(
    r"<\|?(?:file_sep|file_separator|repo_name|reponame|fim_repo|fim-repo|filename)\|?>"
    r"|(?:^|(?<=\n))(?:\+{5} |###(?:PATH|REFERENCE):"
    r"|(?:#|//|--|;|%|/\*|<!--) ?(?:(?i:file ?)?(?i:path|name|file):"
    r"|Compare this snippet from ))"
)
"""What stands before a file of the repository: marks of StarCoder 2, Qwen, CodeGemma, Granite, Seed
and Mellum; Codestral's and CodeGeeX4's; the comments of editors."""
_TAIL = re.compile(
    r"(?:\s|</?s>|\[/INST\]|<[|\uff5c][^<>\n]{1,40}[|\uff5c]>(?:assistant|model)?"
    r"|<end_of_turn>|<start_of_turn>model)*"
)
"""What a chat template puts behind the last mark."""
_BEGINS = re.compile(r"(?:\s|<s>|<[|\uff5c][^<>\n]{1,40}[|\uff5c]>|<bos>)*")
_TELLING = re.compile(r"(?i)\b(?:fill|replace|complete|task|marked|hole)\b")
_MOST_MARKS, _LONGEST_LINE = 64, 400
_BORDER = re.compile(r"(?:^|(?<=\n))(?:```[^\n`]*|<[A-Za-z_]{1,20}>|#{1,3} [^\n]{1,60})\n")
"""Before a document whose cursor alone is marked."""


Marks = tuple[str, str, str]
Found = list[tuple[Mark, int]]
"""Marks in their order, and where each stands."""


class Stretch(NamedTuple):
    """Characters [start, stop) of a prompt, behind the mark that begins at `at`; mark "": what
    stands before all marks."""

    mark: Mark
    at: int
    start: int
    stop: int


class Completion(NamedTuple):
    """A prompt in stretches that, with their marks, leave nothing out. family: number of its marks;
    several for those that mark a cursor alone."""

    stretches: tuple[Stretch, ...]
    family: int

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks in their order."""
        return tuple(one.mark for one in self.stretches[1:])

    def begin_of_files(self, text: str) -> int:
        """Where the first file of the repository begins, or the document."""
        first = self.stretches[1]
        found = FILE.search(text, 0, first.at)
        return first.at if found is None else found.start()

    def is_suffix_first(self, text: str) -> bool | None:
        """Whether the text behind the cursor stands first, though the order of the marks does not
        show it: what stands before the cursor is behind the last mark (Code Llama's SPM). None
        where nothing stands before the cursor, or the marks show it."""
        if self.marks != ("prefix", "suffix", "middle"):
            return None
        filled = [bool(text[one.start : one.stop].strip()) for one in self.stretches]
        return filled[3] if filled[1] != filled[3] else None


def completion_of(text: str, may_lack: bool = False) -> Completion | None:
    """The stretches of a prompt of code completion; None of any other text, one that quotes the
    marks too. may_lack: one of the marks may be missing."""
    if not _HINT.search(text):
        return None
    for number, marks in enumerate(_FAMILIES):
        found = _with_marks(text, marks, may_lack)
        if found is not None:
            return Completion(found, number)
    for number, mark in enumerate(_CURSORS, len(_FAMILIES)):
        if mark in text:
            return Completion(_with_cursor(text, mark), number)
    return None


def _with_marks(text: str, marks: Marks, may_lack: bool) -> tuple[Stretch, ...] | None:
    prefix, suffix, middle = (_places(text, mark) for mark in marks)
    if sum(map(bool, (prefix, suffix, middle))) < (2 if may_lack else 2 + (marks in _CLOSED)):
        return None
    end = next((at for at in middle[:-4:-1] if _TAIL.fullmatch(text, at + len(marks[2]))), None)
    if end is not None:
        prefix, suffix = ([at for at in places if at < end] for places in (prefix, suffix))
        return _ended(text, marks, prefix, suffix, end)
    if not (prefix and suffix):
        return None
    is_first = [bool(_BEGINS.fullmatch(text, 0, places[0])) for places in (prefix, suffix)]
    if middle and _is_empty(text, prefix[0] + len(marks[0]), suffix[0]):
        found: Found = [("prefix", prefix[0]), ("suffix", suffix[0]), ("middle", middle[-1])]
        return _cut(text, marks, found)
    if is_first[1] and prefix[-1] > suffix[0] and (may_lack or marks not in _CLOSED):
        at = next(at for at in prefix if at > suffix[0])
        return _cut(text, marks, [("suffix", suffix[0]), ("prefix", at)])
    if is_first[0] and suffix[-1] > prefix[0] and may_lack:
        at = suffix[-1]
        return _cut(text, marks, [("prefix", prefix[0]), ("suffix", at)])
    return None


def _ended(
    text: str, marks: Marks, prefix: list[int], suffix: list[int], end: int
) -> tuple[Stretch, ...] | None:
    """One whose last mark stands at its end. A document may hold the marks too: a prompt's own
    begin a line, or stand behind another mark."""
    prefix = [at for at in prefix if _is_free(text, at)] or prefix
    last: tuple[Mark, int] = ("middle", end)
    if not suffix:
        return _cut(text, marks, [("prefix", prefix[-1]), last])
    if not prefix:
        return _cut(text, marks, [("suffix", suffix[-1]), last])
    start = max((at for at in prefix if at < suffix[-1]), default=None)
    own = [at for at in suffix if _is_free(text, at) and at < prefix[0]]
    if start is None or own:  # the suffix first
        at = (own or suffix)[0]
        begin = next(one for one in prefix if one > at)
        return _cut(text, marks, [("suffix", at), ("prefix", begin), last])
    return _cut(text, marks, [("prefix", start), ("suffix", suffix[-1]), last])


def _is_free(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in "\n>"


def _cut(text: str, marks: Marks, found: Found) -> tuple[Stretch, ...]:
    names: dict[Mark, str] = dict(zip(("prefix", "suffix", "middle"), marks, strict=True))
    ends = [at for _, at in found[1:]] + [len(text)]
    stretches = [Stretch("", 0, 0, found[0][1])]
    for (mark, at), end in zip(found, ends, strict=True):
        stretches.append(Stretch(mark, at, at + len(names[mark]), end))
    return tuple(stretches)


def _is_empty(text: str, start: int, stop: int) -> bool:
    return start <= stop and not text[start:stop].strip()


def _with_cursor(text: str, mark: str) -> tuple[Stretch, ...]:
    """A document whose cursor alone is marked, the last time where the mark is told of before."""
    at = text.rfind(mark)
    if at > 0 and text.find(mark) != at:
        told = [one for one in _places(text, mark)[-_MOST_MARKS:] if not _is_told(text, one, mark)]
        at = told[-1] if told else at
    begin = max((one.end() for one in _BORDER.finditer(text, 0, at)), default=0)
    return (
        Stretch("", 0, 0, begin),
        Stretch("prefix", begin, begin, at),
        Stretch("suffix", at, at + len(mark), len(text)),
    )


def _is_told(text: str, at: int, mark: str) -> bool:
    """Whether a sentence names the mark (`Fill the {{FILL_HERE}} hole.`)."""
    begin = text.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1
    line = text[max(begin, at - _LONGEST_LINE) : at + _LONGEST_LINE].partition("\n")[0]
    return _TELLING.search(line.replace(mark, "")) is not None


def _places(text: str, mark: str) -> list[int]:
    found: list[int] = []
    at = text.find(mark)
    while at >= 0:
        found.append(at)
        at = text.find(mark, at + 1)
    return found
