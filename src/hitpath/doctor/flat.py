"""Prompts that are one text: cut into messages where a chat template's markers say so.

The markers are those of common templates (ChatML, Llama, Gemma, Mistral, DeepSeek), a role's name
right behind a special token of any other (gpt-oss, Kimi, MiniMax), and those of plain "Human:" and
"User:" dialogues, where they begin a line. Without any the prompt is one message. What looks like
one in the files and the document of a code completion is code.
"""

import re

from hitpath.doctor.completion_marks import completion_of
from hitpath.doctor.prompt import ASSISTANT, GLUE, SYSTEM, TOOLS, Message, Part, Prompt

_MARKERS = re.compile(
    r"<\|im_start\|>(?P<chatml>[a-z_]{1,20})\n"
    r"|<\|start_header_id\|>(?P<llama>[a-z_]{1,20})<\|end_header_id\|>\n\n"
    r"|<start_of_turn>(?P<gemma>[a-z_]{1,20})\n"
    r"|<\|(?P<plain>system|user|assistant|tool|tools|developer|observation)\|>\n?"
    r"|<\uff5c(?P<deepseek>User|Assistant)\uff5c>"
    r"|<[|\uff5c][^|\uff5c<>\n]{1,30}[|\uff5c]>"  # of any template: a role behind a special token
    r"(?P<any>system|developer|user|human|assistant|model|tool|observation)(?: [^<\n]{1,60})?"
    r"(?:<[|\uff5c][^|\uff5c<>\n]{1,30}[|\uff5c]>(?:[a-z]{1,12}<\|message\|>)?)?\n?"
    r"|(?P<inst>\[INST\]) ?|(?P<reply>\[/INST\])"
    r"|(?:^|(?<=\n)|(?<=>))\[(?P<bracket>(?i:system|user|assistant|tool))\] ?"
    r"|(?:^|(?<=\n))(?:### )?(?P<dialogue>System|Human|User|Assistant|AI)(?: ?: ?\n?)"
    r"|(?:^|(?<=\n))(?P<lower>system|human|user|assistant|ai):(?: \n?|\n|$)"
    r"|(?:^|(?<=\n))#{1,3} (?P<head>(?i:system|human|user|assistant))[ \t]*\n"
)
_HEAD = re.compile(
    r"\s*(?:<\|channel\|>\w{1,20}(?:<\|[a-z_]{1,20}\|>)?"
    r"|<(?:think|thinking|reasoning)>\s*(?:</(?:think|thinking|reasoning)>)?"
    r"|</?[a-z][a-z_-]{1,23}>"
    r"|◁think▷\s*(?:◁/think▷)?|\[THINK\]\s*(?:\[/THINK\])?)?\s*"
)
"""What a template puts before the reply: it belongs to the head."""
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "[inst]": "user",
          "[/inst]": "assistant"}  # fmt: skip


def flat_prompt(text: str, path: str) -> Prompt:
    """A prompt of one string. All its parts have that string's path."""
    found = _outside_of_code(text, _markers(text))
    of_template = [marker for marker in found if marker.lastgroup not in _PLAIN]
    if len(of_template) >= 2:  # "User:" within is an example that somebody wrote
        found = of_template
    elif found and found[0].start() == 0:  # likewise, of heads that are written otherwise
        alike = [marker for marker in found if marker.lastgroup == found[0].lastgroup]
        found = alike if len(alike) >= 2 else found
    if len(found) < 2:
        return _whole(text, path)
    return _Cutting(text, path).prompt(found)


def _outside_of_code(text: str, found: list[re.Match[str]]) -> list[re.Match[str]]:
    """Without those between the first mark of a code completion and the last."""
    completion = completion_of(text) if found else None
    if completion is None:
        return found
    begin, end = completion.begin_of_files(text), completion.stretches[-1].start
    if completion.is_suffix_first(text) or completion.marks[-1] != "middle":
        end = len(text)
    return [marker for marker in found if not begin <= marker.start() < end]


def as_one_text(prompt: Prompt) -> Prompt:
    """A prompt of one string as one message; any other as it is."""
    if prompt.is_flat or not prompt.is_one_text:
        return prompt
    return _whole("".join(part.text for part in prompt.parts), prompt.messages[0].path)


def _whole(text: str, path: str) -> Prompt:
    part = Part(path, "message 0", "string", text, 0)
    whole = Message(path, "", "message 0", 0, 1, hash(text))
    return Prompt((part,), (whole,), is_flat=True)


def _markers(text: str) -> list[re.Match[str]]:
    """Where messages begin. `user: ` in small letters and `### user` are fields and headings of
    anybody's text unless an assistant's (of headings, the system's) stands there too."""
    found = list(_MARKERS.finditer(text))
    for group in ("lower", "head"):
        said = {marker[group].casefold() for marker in found if marker.lastgroup == group}
        others = {"assistant", "ai"} if group == "lower" else {"assistant", "ai", "system"}
        if not (said & {"user", "human"} and said & others):
            found = [marker for marker in found if marker.lastgroup != group]
    return found


_PLAIN = ("dialogue", "lower", "head")


class _Cutting:
    """Cuts one text into parts."""

    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path
        self._parts: list[Part] = []
        self._messages: list[Message] = []

    def prompt(self, markers: list[re.Match[str]]) -> Prompt:
        """The text at the head of the coming reply is no message."""
        first = markers[0].start()
        if first:
            self._add("system", SYSTEM, 0, 0, first)
        ends = [*(m.start() for m in markers[1:]), len(self._text)]
        in_head = True
        for number, (marker, end) in enumerate(zip(markers, ends, strict=True)):
            told = marker[marker.lastgroup or 0].casefold()
            role = _ROLES.get(told, told)
            is_last = number == len(markers) - 1
            if is_last and role == "assistant" and _HEAD.fullmatch(self._text, marker.end(), end):
                self._glue(marker.start(), end)
                break
            in_head = in_head and role in ("system", "developer", "tools")
            segment = SYSTEM if in_head else f"message {len(self._messages)}"
            segment = {"assistant": ASSISTANT, "tools": TOOLS}.get(role, segment)
            self._add(role, segment, marker.start(), marker.end(), end)
        return Prompt(tuple(self._parts), tuple(self._messages))

    def _glue(self, start: int, stop: int) -> None:
        if stop > start:
            text = self._text[start:stop]
            self._parts.append(Part("", GLUE, "glue", text, len(self._messages), base=start))

    def _add(self, role: str, segment: str, start: int, content: int, stop: int) -> None:
        """A message: its marker is glue, the rest its text."""
        begin = len(self._parts)
        self._glue(start, content)
        text = self._text[content:stop]
        self._parts.append(
            Part(self._path, segment, "string", text, len(self._messages), base=content)
        )
        key = hash((role, self._text[start:stop]))
        self._messages.append(Message(self._path, role, segment, begin, len(self._parts), key))
