"""From a body to the engine's SamplingParams. Ranges are the engine's to check; its RequestError
names its own parameters, `client_names` says what the client called them."""

from hitpath.engine.records import SamplingParams
from hitpath.serve.parameters import Body, ChatBody, CompletionBody
from hitpath.serve.problems import refused

DEFAULT_COMPLETION_TOKENS = 16
"""OpenAI's default for /v1/completions; a chat takes what the context holds."""

MOST_STOPS = 16
MOST_STOP_CHARACTERS = 256
"""Stop strings are looked for at every token, on the thread that all requests share."""


def client_names(body: Body) -> dict[str, str]:
    """The engine's names of parameters, where this client's differ."""
    if not isinstance(body, ChatBody):
        return {}
    names = {"prompt": "messages", "logprobs": "top_logprobs"}
    if body.max_completion_tokens is not None:
        names["max_tokens"] = "max_completion_tokens"
    return names


def chat_params(body: ChatBody) -> SamplingParams:
    """Raises RequestError, Problem."""
    most = body.max_completion_tokens
    if most is None:
        most = body.max_tokens
    elif body.max_tokens is not None and body.max_tokens != most:
        raise refused("max_tokens", "and max_completion_tokens differ; give one")
    if body.top_logprobs is not None and not body.logprobs:
        raise refused("top_logprobs", "needs logprobs: true")
    if body.tool_choice not in (None, "auto", "none"):
        cause = 'only "auto" and "none": what the model writes comes as text'
        raise refused("tool_choice", cause, "unsupported_parameter")
    logprobs = body.top_logprobs or 0 if body.logprobs else None
    return _params(body, most, logprobs, body.prompt_logprobs)


def completion_params(body: CompletionBody) -> SamplingParams:
    """`echo` with `logprobs` asks for those of the prompt too; with `max_tokens` 0 a token is
    generated that nobody gets. Raises RequestError, Problem."""
    if body.best_of is not None and body.best_of != (body.n or 1):
        raise refused("best_of", "not supported: only the value of n", "unsupported_parameter")
    prompt_logprobs = body.prompt_logprobs
    if body.echo and body.logprobs is not None:
        if body.stream and body.n not in (None, 1):
            cause = "with echo, n and stream together is not supported"
            raise refused("logprobs", cause, "unsupported_parameter")
        prompt_logprobs = max(body.logprobs, prompt_logprobs or 0)
    most = DEFAULT_COMPLETION_TOKENS if body.max_tokens is None else body.max_tokens
    return _params(body, 1 if is_echo_only(body) else most, body.logprobs, prompt_logprobs)


def is_echo_only(body: CompletionBody) -> bool:
    """Whether only the prompt is asked for (evaluation harnesses do, for its logprobs)."""
    return bool(body.echo) and body.max_tokens == 0


def _params(
    body: Body, max_tokens: int | None, logprobs: int | None, prompt_logprobs: int | None
) -> SamplingParams:
    return SamplingParams(
        max_tokens=max_tokens,
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=1.0 if body.top_p is None else body.top_p,
        top_k=None if body.top_k in (None, 0, -1) else body.top_k,  # 0, -1: all, as vLLM has it
        seed=body.seed,
        n=1 if body.n is None else body.n,
        stop=_stop(body.stop),
        stop_token_ids=tuple(body.stop_token_ids or ()),
        ignore_eos=bool(body.ignore_eos),
        logprobs=logprobs,
        prompt_logprobs=prompt_logprobs,
    )


def _stop(stop: str | list[str] | None) -> tuple[str, ...]:
    texts = () if stop is None else (stop,) if isinstance(stop, str) else tuple(stop)
    if len(texts) > MOST_STOPS or any(len(text) > MOST_STOP_CHARACTERS for text in texts):
        cause = f"up to {MOST_STOPS} texts of up to {MOST_STOP_CHARACTERS} characters"
        raise refused("stop", cause)
    return texts
