"""A request's body: bytes to one of the structs of parameters.py, or the Problem with it."""

import re
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from hitpath.serve.parameters import IGNORED, NEUTRAL
from hitpath.serve.problems import JSON, Problem, refused
from hitpath.traces.decode import as_input_error

T = TypeVar("T", bound=msgspec.Struct)

_outline = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LONE_SURROGATE = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
_DECODE_ERRORS = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


async def read_body(request: web.Request, kind: type[T]) -> T:
    """The body as `kind`. Raises Problem: 400, 413 (by the web server's own limit), 415."""
    if request.content_type != JSON:
        # A web page can post text/plain to this machine without being asked, but not this.
        message = f"send the body as {JSON}, not {request.content_type}"
        raise Problem(415, message, "unsupported_media_type")
    length, most = request.content_length, request.client_max_size
    if length is not None and length > most:
        raise web.HTTPRequestEntityTooLarge(most, length)
    return decode_body(await request.read(), kind)


def decode_body(data: bytes, kind: type[T]) -> T:
    """JSON to `kind`. Raises Problem that names the parameter."""
    try:
        outline = _outline.decode(data)
    except _DECODE_ERRORS as error:
        raise _not_json(error, data) from error
    known = {field.encode_name for field in msgspec.structs.fields(kind)}
    for name, raw in outline.items():
        if name not in known and name not in IGNORED:
            _check_neutral(name, raw, data)
    try:
        return msgspec.json.decode(data, type=kind)
    except _DECODE_ERRORS as error:
        told = as_input_error(error, "")
        if not told.field:
            raise _not_json(error, data) from error
        if told.cause == "missing":
            raise refused(told.field, "missing", "missing_required_parameter") from error
        raise refused(told.field, told.cause, "invalid_type") from error


def _check_neutral(name: str, raw: msgspec.Raw, data: bytes) -> None:
    if name not in NEUTRAL:
        raise refused(name, "unknown parameter", "unknown_parameter")
    try:
        value: Any = msgspec.json.decode(raw)
    except _DECODE_ERRORS as error:
        raise _not_json(error, data) from error
    if value is None or any(_equal(value, allowed) for allowed in NEUTRAL[name]):
        return
    allowed = " or ".join(msgspec.json.encode(one).decode() for one in (*NEUTRAL[name], None))
    raise refused(name, f"not supported: only {allowed}", "unsupported_parameter")


def _equal(value: Any, allowed: Any) -> bool:
    """Equal as JSON: true is no 1."""
    return isinstance(value, bool) == isinstance(allowed, bool) and bool(value == allowed)


def _not_json(error: Exception, data: bytes) -> Problem:
    if _LONE_SURROGATE.search(data):
        return refused(None, "the body has a lone surrogate (\\ud8..), which is no character")
    return refused(None, str(as_input_error(error, "the body")), "invalid_json")
