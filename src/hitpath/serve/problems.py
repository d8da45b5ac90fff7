"""What a client is told when a request cannot be served: OpenAI's error form, one line each.

    {"error": {"message": ..., "type": ..., "param": ..., "code": ...}}

Every exception that leaves a handler becomes a Problem here (`problem_of`), and nowhere else.
"""

import math
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from aiohttp import web

from hitpath.core import one_line
from hitpath.engine.errors import (
    ContextTooLong,
    EngineFailed,
    EngineStopped,
    Overloaded,
    RequestError,
)
from hitpath.text.tokenizer import RenderError

JSON = "application/json"

Code = Literal[
    "aborted",
    "body_too_large",
    "context_length_exceeded",
    "engine_failed",
    "internal_error",
    "invalid_body",
    "invalid_json",
    "invalid_type",
    "invalid_value",
    "method_not_allowed",
    "missing_required_parameter",
    "model_not_found",
    "not_found",
    "overloaded",
    "stopping",
    "unknown_parameter",
    "unsupported_media_type",
    "unsupported_parameter",
]
"""Of errors; docs/serve.md says when which comes."""


class Problem(Exception):
    """An answer other than 200: `status` of HTTP, and the fields of OpenAI's error."""

    def __init__(
        self,
        status: int,
        message: str,
        code: Code,
        param: str | None = None,
        kind: str = "invalid_request_error",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.kind = kind
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """What the client gets as JSON."""
        error = {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}


def refused(param: str | None, cause: str, code: Code = "invalid_value") -> Problem:
    """400 for one parameter, named in the message too."""
    message = one_line(f"{param}: {cause}" if param else cause)
    return Problem(400, message, code, None if param is None else one_line(param))


def draining() -> Problem:
    """503: the server ends after the requests that run."""
    return Problem(
        503,
        "the server is stopping and takes no more requests",
        "stopping",
        kind="service_unavailable_error",
        headers={"Connection": "close"},
    )


def problem_of(error: Exception, names: Mapping[str, str] | None = None) -> Problem | None:
    """What a client is told about an exception; None for one that is a fault of ours.

    names: the engine's names of parameters as this client's API calls them.
    """
    match error:
        case Problem():
            return error
        case ContextTooLong() | RequestError():
            param = (names or {}).get(error.field, error.field)
            long = isinstance(error, ContextTooLong)
            return refused(
                param, error.cause, "context_length_exceeded" if long else "invalid_value"
            )
        case RenderError():
            return refused(error.field, error.cause)
        case Overloaded():
            wait_s = max(1, math.ceil(min(error.retry_after_s, 3600)))
            headers = {"Retry-After": str(wait_s)}
            return Problem(429, str(error), "overloaded", None, "rate_limit_error", headers)
        case EngineStopped():
            return draining()
        case EngineFailed():
            return Problem(500, str(error), "engine_failed", None, "server_error")
        case web.RequestPayloadError():
            return refused(None, "the body could not be read to its end", "invalid_body")
        case web.HTTPNotFound():
            return Problem(404, "no such path; see /v1/models, /health", "not_found")
        case web.HTTPMethodNotAllowed():
            allowed = ", ".join(sorted(error.allowed_methods))
            message = f"{error.method} is not possible here, but {allowed}"
            return Problem(405, message, "method_not_allowed", headers={"Allow": allowed})
        case web.HTTPRequestEntityTooLarge():
            message = "the body is too large (hitpath serve --max-body-mib)"
            return Problem(413, message, "body_too_large", headers={"Connection": "close"})
    return None


def problem_response(problem: Problem) -> web.Response:
    """The Problem as a response."""
    return web.Response(
        status=problem.status,
        body=msgspec.json.encode(problem.body),
        content_type=JSON,
        headers=problem.headers,
    )


def internal_error() -> Problem:
    """500 without details: they stand in the server's log."""
    return Problem(
        500, "an error of the server; its log has a line", "internal_error", None, "server_error"
    )
