"""What an engine refuses or cannot do. Nothing here imports torch.

HitpathError
└── EngineError
    ├── RequestError        a parameter of a request: field, cause (HTTP 400)
    │   └── ContextTooLong  the prompt, with what it asks for, does not fit (HTTP 400)
    ├── Overloaded          the queue is full: retry_after_s (HTTP 429)
    ├── EngineStopped       draining or stopped (HTTP 503)
    └── EngineFailed        a step raised: nothing that ran can be trusted any more (HTTP 500)
"""

from hitpath.core import HitpathError, one_line


class EngineError(HitpathError):
    """Base of what an engine says about one request or about itself; one line of text."""


class RequestError(EngineError):
    """A request cannot be honoured as it stands: `field` of it, `cause`."""

    def __init__(self, field: str, cause: str) -> None:
        field, cause = one_line(field), one_line(cause)
        super().__init__(f"{field}: {cause}")
        self.field = field
        self.cause = cause


class ContextTooLong(RequestError):
    """Prompt and wanted output are more than a context holds."""

    def __init__(self, field: str, wanted_tokens: int, most_tokens: int) -> None:
        super().__init__(field, f"{wanted_tokens:,} tokens; the context holds {most_tokens:,}")
        self.wanted_tokens = wanted_tokens
        self.most_tokens = most_tokens


class Overloaded(EngineError):
    """As many requests wait as may: come back after `retry_after_s`."""

    def __init__(self, num_waiting: int, retry_after_s: float) -> None:
        super().__init__(f"{num_waiting} requests wait already; retry in {retry_after_s:.0f} s")
        self.retry_after_s = retry_after_s


class EngineStopped(EngineError):
    """The engine takes no more requests."""

    def __init__(self) -> None:
        super().__init__("the engine is stopping and takes no more requests")


class EngineFailed(EngineError):
    """A step failed: the requests that ran are lost, their KV is not trusted."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"the engine failed: {cause}")
