"""Requests of OpenTelemetry's spans, with the place of every text in its attribute or event."""

from collections.abc import Iterator, Sequence
from typing import Any

from hitpath.doctor.build_prompt import Said
from hitpath.doctor.in_row import InRow, Steps, path_steps, unfolded
from hitpath.doctor.requests import Request, Row, built_of, flat_request
from hitpath.traces.conversations import Message
from hitpath.traces.otel_blocks import as_chat, as_tool, sorted_blocks, text_of
from hitpath.traces.otel_messages import INPUT, SYSTEM, TOOLS, Call, call_of
from hitpath.traces.otel_older import older_call_of
from hitpath.traces.otel_spans import Span, decode_span, spans_of

_INDEXED = "gen_ai.prompt."
_FUNCTIONS = "llm.request.functions"
_IN_CALL = {"tool_call": "arguments", "tool_use": "input"}
_IN_RESULT = ("response", "result", "content")


def otel_row(row: Row) -> Request | None:
    """The span of the row's id among those of a document."""
    for path, raw, decoded in spans_of(row.text, ""):
        span = decode_span(raw, path, "", decoded)
        if row.id in (span.span_id, f"{span.trace_id}/{span.span_id}"):
            call = call_of(span) or older_call_of(span)
            return None if call is None else _request(row, span, call)
    return None


def _request(row: Row, span: Span, call: Call) -> Request:
    places = _Places(span)
    if call.text is not None:
        where = InRow({("prompt",): places.steps(call.names[0])})
        return flat_request(call.text, "prompt", raw=row.text, in_row=where)
    names: dict[Steps, Steps] = dict(places.of_tools(call))
    said: list[Said] = []
    for message, name in zip(call.messages, call.names, strict=True):
        for told, its in places.of_message(message, name, row.in_bytes):
            at = len(said)
            path = f"messages[{at}]"
            names[("messages", at)] = places.steps(name)
            names.update({("messages", at, *old): new for old, new in its.items()})
            said.append(Said(told, path, f"{path}.content"))
    tools = call.tools if row.in_bytes else [as_tool(tool) for tool in call.tools]
    numbered = [(f"tools[{i}]", tool) for i, tool in enumerate(tools)]
    replies = tuple(call.replies[:1])
    return built_of(said, numbered, raw=row.text, replies=replies, in_row=InRow(names))


class _Places:
    """Where the pieces of one span's messages stand in its row."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self._above = tuple(path_steps(span.path))

    def steps(self, name: str) -> Steps:
        """Of a name as readers have it (`attributes.gen_ai.input.messages[0]`): keys of attributes
        have dots."""
        rest = name.removeprefix(self._span.path)
        before, found, key = rest.partition("attributes")
        at = (*self._above, *path_steps(before), "attributes")
        key, bracket, index = key.removeprefix(".").partition("[")
        steps = (*at, key) if found and key else at
        return (*steps, int(index[:-1])) if bracket else steps

    def of_tools(self, call: Call) -> Iterator[tuple[Steps, Steps]]:
        """Of the list of tools, and of each."""
        if call.names and call.names[0].startswith(f"{self._span.at}{_INDEXED}"):
            above = (*self._above, "attributes")
            yield ("tools",), (*above, _FUNCTIONS)
            for i in range(len(call.tools)):
                yield ("tools", i), (*above, f"{_FUNCTIONS}.{i}")
            return
        holder = call.names[-1].rpartition(INPUT)[0] if call.names else self._span.at
        yield ("tools",), self.steps(f"{holder}{TOOLS}")

    def of_message(
        self, message: Message, name: str, in_bytes: bool
    ) -> Iterator[tuple[Message, dict[Steps, Steps]]]:
        """(message, steps in it -> steps in the row) for each that a template gets of it."""
        where = self.steps(name)
        content = message.get("content")
        if _INDEXED in name:
            head, tail = where[:-1], str(where[-1])
            yield from _indexed(message, head, tail, in_bytes)
            return
        recorded = self._recorded(where)
        blocks = _blocks_of(recorded, where, name.endswith(SYSTEM))
        if in_bytes or not isinstance(content, list):
            told = message if in_bytes else as_chat(message)[0]
            yield told, dict(_of_content(content, blocks))
            return
        yield from _of_chat(message, content, blocks)

    def _recorded(self, where: Steps) -> Any:
        """What stands there, as it was recorded."""
        own = where[len(self._above) :]
        if own[0] == "events":
            found: Any = self._span.events()[int(own[1])][1]
            own = own[3:]
        else:
            found, own = self._span.attributes, own[1:]
        for step in own:
            found = unfolded(found[step])
        return found


class _Blocks:
    """The blocks of a message's content as recorded. where: of the list, or of the one text."""

    def __init__(self, where: Steps, blocks: Sequence[Any] | None) -> None:
        self.where = where
        self.blocks = blocks

    def text(self, number: int) -> Steps:
        """Where the text of a block stands."""
        if self.blocks is None:
            return self.where
        block = self.blocks[number] if number < len(self.blocks) else None
        if isinstance(block, dict) and block.get("type") == "text" and "content" in block:
            return (*self.where, number, "content")
        return (*self.where, number, "text")

    def inner(self, number: int, *names: str) -> Steps:
        """Where one of these stands in a block, else the block."""
        block: Any = self.blocks[number] if self.blocks and number < len(self.blocks) else None
        at: Steps = (*self.where, number)
        for held in ("toolUse", "toolResult"):
            if isinstance(block, dict) and held in block:
                block, at = block[held], (*at, held)
        name = next((n for n in names if isinstance(block, dict) and n in block), None)
        return at if name is None else (*at, name)


def _blocks_of(recorded: Any, where: Steps, is_system: bool) -> _Blocks:
    """The content of what was recorded as a message, or as instructions."""
    if is_system:
        return _Blocks(where, recorded if isinstance(recorded, list) else None)
    for name in ("gen_ai.event.content", "message"):
        inner = unfolded(recorded.get(name)) if isinstance(recorded, dict) else None
        if isinstance(inner, dict):
            return _blocks_of(inner, (*where, name), False)
        if isinstance(inner, str):
            return _Blocks((*where, name), None)
    name = "parts" if isinstance(recorded, dict) and "parts" in recorded else "content"
    held = unfolded(recorded.get(name)) if isinstance(recorded, dict) else recorded
    if not isinstance(recorded, dict):
        return _Blocks(where, None)
    return _Blocks((*where, name), held if isinstance(held, list) else None)


def _of_content(content: Any, blocks: _Blocks) -> Iterator[tuple[Steps, Steps]]:
    """Of content as one text, or as blocks."""
    if not isinstance(content, list):
        yield ("content",), blocks.text(0)
        return
    yield ("content",), blocks.where
    for number, block in enumerate(content):
        if text_of(block) is not None:
            yield ("content", number, "text"), blocks.text(number)


def _of_chat(
    message: Message, content: list[Any], blocks: _Blocks
) -> Iterator[tuple[Message, dict[Steps, Steps]]]:
    """The messages that a template gets, see as_chat."""
    found, chats = sorted_blocks(content), as_chat(message)
    for (number, _), told in zip(found.results, chats, strict=False):
        yield told, {("content",): blocks.inner(number, *_IN_RESULT)}
    if found.is_results_alone:
        return
    names: dict[Steps, Steps] = {("content",): blocks.where}
    for at, (number, text) in enumerate(found.texts):
        if len(found.texts) == 1 and text_of(text) is not None:
            names[("content",)] = blocks.text(number)
        elif text_of(text) is not None:
            names[("content", at, "text")] = blocks.text(number)
        else:
            names[("content", at)] = (*blocks.where, number)
    for at, (number, _) in enumerate(found.calls):
        call: Steps = ("tool_calls", at)
        names[call] = (*blocks.where, number)
        names[(*call, "function")] = blocks.inner(number)
        names[(*call, "function", "arguments")] = blocks.inner(number, *_IN_CALL.values())
    for number, _ in found.thoughts[:1]:
        names[("reasoning_content",)] = blocks.inner(number, "content", "thinking")
    yield chats[-1], names


def _indexed(
    message: Message, above: Steps, name: str, in_bytes: bool
) -> Iterator[tuple[Message, dict[Steps, Steps]]]:
    """OpenLLMetry's `gen_ai.prompt.0.content`: a key a field."""
    content = message.get("content")
    for told in [message] if in_bytes else as_chat(message):
        names: dict[Steps, Steps] = {("content",): (*above, f"{name}.content")}
        for at in range(len(message.get("tool_calls") or ())):
            call: Steps = ("tool_calls", at)
            key = f"{name}.tool_calls.{at}"
            names[call] = (*above, key)
            names[(*call, "function", "arguments")] = (*above, f"{key}.arguments")
            names[(*call, "function", "name")] = (*above, f"{key}.name")
        if isinstance(content, list):
            names.update(
                {("content", n): (*above, f"{name}.content", n) for n in range(len(content))}
            )
        yield told, names
