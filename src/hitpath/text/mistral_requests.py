"""Requests as mistral-common takes them, and what is wrong with those that it does not.

Its own errors quote the request (and pydantic's its whole value), and it fetches pictures that a
message names; so what it would refuse or fetch is told before, by the place in the request.
mistral-common 1.13 (protocol/instruct/messages.py, chunk.py, validator.py).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from hitpath.text.tokenizer import RenderError, needed

_PACKAGE = "mistral-common"
_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
_TEXTS = frozenset(("text", "thinking"))
_KINDS = {
    "image_url": "a picture", "image": "a picture", "input_image": "a picture",
    "input_audio": "sound", "audio": "sound", "audio_url": "sound",
    "tool_use": "a call of a tool in Anthropic's form",
    "tool_result": "a result of a tool in Anthropic's form",
    "redacted_thinking": "reasoning that cannot be read",
}  # fmt: skip
_FUNCTION_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ANTHROPIC = frozenset(("name", "description", "input_schema", "type"))
_RESPONSES = frozenset(("name", "description", "parameters", "strict", "type"))
_PLAIN = ("InvalidMessageStructureException", "InvalidAssistantMessageException",
          "InvalidUserMessageException", "InvalidSystemPromptException",
          "InvalidToolMessageException")  # fmt: skip
"""Exceptions whose texts name roles and kinds of content only."""
_FIELDS = frozenset(
    ("role", "content", "str", "text", "thinking", "tool_calls", "tool_call_id", "function",
     "name", "arguments", "id", "type", "parameters", "description")
)  # fmt: skip
_MOST_TOOLS = 4_096
Message = dict[str, Any]


def as_mistral_messages(messages: Sequence[Message]) -> list[Message]:
    """The messages with short ids of calls. Raises RenderError for one whose role or content has no
    tokens here."""
    for number, message in enumerate(messages):
        _check(message, f"messages[{number}]")
    return [_with_short_ids(message) for message in messages]


def as_mistral_tools(tools: Sequence[Any]) -> list[Any]:
    """The tools in OpenAI's form for chats; those of Anthropic and of the responses API say the
    same in another one. Raises RenderError for any other."""
    return [_as_tool(tool, f"tools[{number}]") for number, tool in enumerate(tools)]


def remember_checked_tools(mistral: Any) -> None:
    """Have mistral-common check the JSON schema of a tool once: that takes nine tenths of the time
    of a rendering, and most requests of a trace have the tools of the one before. A tool that is
    refused is checked again."""
    validator: Any = getattr(mistral, "_chat_completion_request_validator", None)
    check = getattr(validator, "_validate_function", None)
    if check is None:
        return
    known: set[str] = set()

    def checked(function: Any) -> None:
        key = function.model_dump_json()
        if key not in known:
            check(function)
            if len(known) >= _MOST_TOOLS:
                known.clear()
            known.add(key)

    validator._validate_function = checked


def refusal(
    error: Exception,
    messages: Sequence[Message],
    tools: Sequence[Any],
    encode: Callable[[list[Message], list[Any]], object],
) -> RenderError:
    """What an exception of mistral-common says, where in the request, without quoting it. encode:
    what raised it."""
    for number, message in enumerate(messages):
        if (bad := _by_itself(message)) is not None:
            return RenderError(f"messages[{number}]", f"no message of a chat: {_told(bad)}")
    name = type(error).__name__
    if name.startswith("InvalidTool") and name not in _PLAIN:
        for number, tool in enumerate(tools):
            try:
                encode([{"role": "user", "content": "x"}], [tool])
            except Exception:  # what is wrong with all of them is with this one
                return RenderError(f"tools[{number}]", "its parameters are no JSON schema")
    if name == "InvalidAssistantMessageException" and (both := _with_both(messages)) is not None:
        cause = "has content and tool_calls: this version of Mistral's tokenizer takes one of them"
        return RenderError(f"messages[{both}]", cause)
    if name in _PLAIN:
        return RenderError("messages", " ".join(str(error).split()))
    return RenderError("messages", f"a Mistral tokenizer does not take them ({name})")


def _by_itself(message: Message) -> Exception | None:
    """Why one message is none, whatever stands around it."""
    convert = needed("mistral_common.protocol.instruct.converters", _PACKAGE)
    try:
        convert.convert_openai_messages([message])
    except Exception as error:  # pydantic's and bare ones
        return error
    return None


def _told(error: Exception) -> str:
    """Pydantic's words without values; of other errors their kind."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return type(error).__name__
    first = errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"] if str(step) in _FIELDS)
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def _check(message: Message, field: str) -> None:
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        known = ", ".join(sorted(_ROLES))
        raise RenderError(f"{field}.role", f"is none of {known}")
    content = message.get("content")
    if not isinstance(content, str | list | None):
        raise RenderError(f"{field}.content", "is neither text nor a list of blocks")
    for number, block in enumerate(content if isinstance(content, list) else ()):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str) or kind not in _TEXTS:
            what = _KINDS.get(str(kind), "a block of another kind")
            cause = f"{what}: a Mistral tokenizer has tokens for text here"
            raise RenderError(f"{field}.content[{number}]", cause)
    calls = message.get("tool_calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        _check_call(call, f"{field}.tool_calls[{number}]")


def _check_call(call: Any, field: str) -> None:
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not _FUNCTION_NAME.fullmatch(name):
        cause = "a Mistral tokenizer takes names of 1 to 64 letters, digits, _ and -"
        raise RenderError(f"{field}.function.name", cause)
    if not re.fullmatch(r"[a-zA-Z0-9]{9}", str(call.get("id", ""))[-9:]):
        cause = "a Mistral tokenizer takes ids that end in 9 letters and digits"
        raise RenderError(f"{field}.id", cause)


def _as_tool(tool: Any, field: str) -> Any:
    told = tool if isinstance(tool, dict) else {}
    function = told.get("function")
    if isinstance(function, dict):
        if told.get("type", "function") == "function" and _is_name(function.get("name")):
            return tool
    elif _is_name(told.get("name")) and told.get("type", "function") in ("function", "custom"):
        for schema, known in (("input_schema", _ANTHROPIC), ("parameters", _RESPONSES)):
            if isinstance(told.get(schema), dict) and told.keys() <= known:
                rest = {k: v for k, v in told.items() if k in ("name", "description", "strict")}
                return {"type": "function", "function": {**rest, "parameters": told[schema]}}
    raise RenderError(field, "a Mistral tokenizer takes tools of OpenAI's form (type, function)")


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _FUNCTION_NAME.fullmatch(name) is not None


def _with_both(messages: Sequence[Message]) -> int | None:
    """The first message that has content and calls."""
    both = (n for n, m in enumerate(messages) if m.get("content") and m.get("tool_calls"))
    return next(both, None)


def _with_short_ids(message: Message) -> Message:
    """Tool-call ids cut to their last nine characters, all that Mistral takes, as vLLM does."""
    short = dict(message)
    if isinstance(message.get("tool_call_id"), str):
        short["tool_call_id"] = message["tool_call_id"][-9:]
    if isinstance(message.get("tool_calls"), list):
        short["tool_calls"] = [
            {**call, "id": str(call.get("id", ""))[-9:]} if isinstance(call, dict) else call
            for call in message["tool_calls"]
        ]
    return short
