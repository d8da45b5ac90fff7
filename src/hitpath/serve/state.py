"""What the handlers share: the engine, its tokenizer, metrics, and whether the server drains."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from hitpath.engine.errors import EngineFailed
from hitpath.serve.generation import Served
from hitpath.serve.log import fault_line, say
from hitpath.serve.logprobs import TokenTexts
from hitpath.serve.metrics import Metrics
from hitpath.serve.problems import Problem, draining, internal_error, problem_of
from hitpath.serve.prompts import PromptMaker
from hitpath.text.tokenizer import TextTokenizer


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What clients are told of the model. `most_waiting`: choices that the engine lets wait."""

    name: str
    max_model_len: int
    most_waiting: int
    created: int


def _nothing() -> None:
    """Nobody is told of a failure."""


@dataclass(slots=True, eq=False)
class ServerState:
    """One server's. `failed`: what ended the engine, where something did; `on_failure` is called
    then. `label_key` makes labels of salts, other ones after each start."""

    served: Served
    facts: ModelFacts
    tokenizer: TextTokenizer
    metrics: Metrics
    is_draining: bool = False
    failed: str | None = None
    on_failure: Callable[[], None] = _nothing
    num_open: int = 0
    label_key: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    prompts: PromptMaker = field(init=False)
    texts: TokenTexts = field(init=False)

    def __post_init__(self) -> None:
        self.prompts = PromptMaker(self.tokenizer)
        self.texts = TokenTexts(self.tokenizer)

    def check_takes_requests(self) -> None:
        """Raises Problem 503 while the server drains."""
        if self.is_draining:
            raise draining()

    def check_model(self, name: str | None) -> None:
        """Raises Problem 404 for another model's name. None is this one."""
        if name is not None and name != self.facts.name:
            message = f"no model of that name here, but {self.facts.name}"
            raise Problem(404, message, "model_not_found", "model")

    def told(self, error: Exception, doing: str, names: Mapping[str, str] | None = None) -> Problem:
        """What a client is told. A fault of ours gets a line in the log; one of the engine ends
        the server."""
        if isinstance(error, EngineFailed) and self.failed is None:
            self.failed = str(error)
            say(self.failed)
            self.on_failure()
        problem = problem_of(error, names)
        if problem is None:
            say(fault_line(error, doing))
            return internal_error()
        return problem


STATE = web.AppKey("state", ServerState)
NAMES = web.RequestKey("names", dict[str, str])
"""Of a request: the engine's parameters as this client calls them."""
