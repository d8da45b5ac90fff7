"""Lines of vLLM's request log (`--enable-log-requests`), one at a time.

From the source of vLLM 0.3 to 0.32 (engine/async_llm_engine.py; entrypoints/logger.py; from 0.20
entrypoints/serve/utils/request_logger.py):

* to 0.11.0, one line at INFO: `Received request ID: prompt: 'text', params: ...,
  prompt_token_ids: [1, 2], ..., lora_request: None.`; chat requests have None for the ids, and
  completions of 0.10.2 and 0.11.0 for both;
* from 0.11.1, at DEBUG: `Request ID details: prompt: 'text', prompt_token_ids: [1, 2],
  prompt_embeds shape: None.`, then at INFO: `Received request ID: params: ..., lora_request: ...`;
* with `--enable-log-outputs`, from 0.10.1: `Generated response ID: output: ...`, token ids behind
  it or (DEBUG) in a line of their own; `Finished request ID.` is V0's.

Text is a Python literal, so that a line holds it whole; `--max-log-len N` cuts ids and text.
"""

import re
from dataclasses import dataclass

import msgspec
import numpy as np

from hitpath.core import InputError
from hitpath.traces.decode import as_input_error
from hitpath.traces.rows import Symbols, symbols_from

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_EVENT = re.compile(
    r"^(?P<head>[^'\"]*?)(?:"
    r"Received request (?P<received>\S+): (?=params: |prompt: )"
    r"|Request (?P<details>\S+) details: (?=prompt: )"
    r"|Generated response (?P<generated>\S+?)(?: \(streaming complete\))?"
    r"(?:: | details: )(?=output)"
    r"|Finished request (?P<finished>\S+)\.$)"
)
_MARKS = (b"Received request ", b" details: ", b"Generated response ", b"Finished request ")
_ARGUMENTS = re.compile(r"^[^'\"]*?(?:non-default args: |args: Namespace\()")
_LIMIT = re.compile(r"\bmax_log_len(?:=|'?: )(None|\d{1,18})\b")
_LITERAL = re.compile(
    r"""(?P<none>None)|'(?P<single>[^'\\]*(?:\\.[^'\\]*)*)'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)\""""
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_ADAPTER = {
    "adapter": re.compile(r"\blora_request: LoRARequest\(lora_name=('(?:[^'\\]|\\.)*'|\"[^\"]*\")"),
    "prompt_adapter": re.compile(
        r"\bprompt_adapter_request: PromptAdapterRequest\(prompt_adapter_name="
        r"('(?:[^'\\]|\\.)*'|\"[^\"]*\")"
    ),
}
_HAS_ADAPTER = {
    "adapter": re.compile(r"\blora_request: (?!None\b)"),
    "prompt_adapter": re.compile(r"\bprompt_adapter_request: (?!None\b)"),
}
_decode_ids = msgspec.json.Decoder(list[int])


@dataclass(frozen=True, slots=True)
class Event:
    """What one line tells. head: all before the message, with the time.

    kind "details" is the prompt of a request whose adapter stands in another line, "request" one
    with (`whole`) or without its prompt, "response" and "finished" its end. is_served: not a
    call of /tokenize, which is logged as a request without parameters.
    """

    kind: str
    id: str
    head: str
    whole: bool = False
    ids: Symbols | None = None
    text: str | None = None
    adapter: str | None = None
    prompt_adapter: str | None = None
    is_served: bool = True


def may_be_event(line: bytes) -> bool:
    """Whether it is worth the while to look closer."""
    return any(mark in line for mark in _MARKS)


def shows_prompt(line: bytes) -> bool:
    """Whether a line holds a request with its prompt."""
    if not may_be_event(line):
        return False
    match = _EVENT.match(_COLOURS.sub("", line.decode(errors="replace")))
    if match is None:
        return False
    if match["details"]:
        return True
    return bool(match["received"]) and match.string.startswith("prompt: ", match.end())


def is_request(line: bytes) -> bool:
    """Whether a line tells of a request, with or without its prompt."""
    if b"Received request " not in line:
        return False
    match = _EVENT.match(_COLOURS.sub("", line.decode(errors="replace")))
    return match is not None and bool(match["received"])


def log_limit(line: bytes) -> tuple[bool, int | None]:
    """(whether the line has the server's arguments, the `--max-log-len` in them)."""
    if b"args: " not in line:
        return False, None
    text = _COLOURS.sub("", line.decode(errors="replace"))
    if not _ARGUMENTS.match(text):
        return False, None
    match = _LIMIT.search(text)
    return True, None if match is None or match[1] == "None" else int(match[1])


def parse(line: bytes, place: str) -> Event | None:
    """The event of a line, None for any other line. Raises InputError for a broken one."""
    if not may_be_event(line):
        return None
    match = _EVENT.match(_COLOURS.sub("", line.decode(errors="replace").rstrip("\r")))
    if match is None:
        return None
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise InputError(place, "", "not valid UTF-8") from error
    head, rest = match["head"], match.string[match.end() :]
    if match["finished"]:
        return Event("finished", match["finished"], head)
    if match["generated"]:
        ids = _ids_behind("output_token_ids: ", rest, place)
        return Event("response", match["generated"], head, ids=ids)
    kind, name = ("request", "received") if match["received"] else ("details", "details")
    if not rest.startswith("prompt: "):
        return _request(kind, match[name], head, rest, place)
    text, after = _literal(rest.removeprefix("prompt: "), "prompt", place)
    ids = _ids_behind("prompt_token_ids: ", after, place)
    return _request(kind, match[name], head, after, place, ids, text)


def _request(
    kind: str,
    name: str,
    head: str,
    rest: str,
    place: str,
    ids: Symbols | None = None,
    text: str | None = None,
) -> Event:
    served = kind == "details" or not rest.startswith((", params: None,", "params: None,"))
    tail = rest[max(rest.rfind("lora_request: "), 0) :]
    adapter = _name(tail, "adapter", place)
    prompt_adapter = _name(tail, "prompt_adapter", place)
    whole = kind == "request" and not rest.startswith("params: ")
    return Event(kind, name, head, whole, ids, text, adapter, prompt_adapter, served)


def _literal(text: str, field: str, place: str) -> tuple[str | None, str]:
    """(a string or None as Python writes it, what follows). Raises InputError."""
    match = _LITERAL.match(text)
    if match is None:
        raise InputError(place, field, "neither text nor None, or cut off")
    if match["none"]:
        return None, text[match.end() :]
    raw = match["single"] if match["single"] is not None else match["double"]
    return _unescaped(raw, field, place), text[match.end() :]


def _unescaped(raw: str, field: str, place: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code is not None and 0xD800 <= int(code, 16) <= 0xDFFF:
            cause = f"{match[0]} is half a character (a lone surrogate)"
            raise InputError(place, field, cause)
        if code is not None and int(code, 16) <= 0x10FFFF:
            return chr(int(code, 16))
        if match[4] in _ESCAPED:
            return _ESCAPED[match[4]]
        raise InputError(place, field, f"{match[0]!r} is no escape that Python writes")

    return _ESCAPE.sub(character, raw) if "\\" in raw else raw


def _ids_behind(mark: str, text: str, place: str) -> Symbols | None:
    """The list of token ids behind the last such mark; None where there is none."""
    at = text.rfind(mark)
    if at < 0 or not text.startswith("[", at + len(mark)):
        return None
    begin = at + len(mark)
    end = text.find("]", begin) + 1
    field = mark.rstrip(": ")
    if not end:
        raise InputError(place, field, "the list is cut off")
    try:
        values = _decode_ids.decode(text[begin:end])
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise InputError(place, field, as_input_error(error, place).cause) from error
    return symbols_from(values, np.uint32, field, place)


def _name(text: str, what: str, place: str) -> str | None:
    """The adapter's name. Raises InputError for an adapter without a readable one."""
    match = _ADAPTER[what].search(text)
    if match is not None:
        return _literal(match[1], "lora_request", place)[0]
    if _HAS_ADAPTER[what].search(text):
        raise InputError(place, "lora_request", "an adapter whose name cannot be read")
    return None
