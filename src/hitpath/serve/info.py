"""`/health`, `/metrics`, `/v1/models`, `/tokenize`, `/detokenize`."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
from aiohttp import web

from hitpath.engine.errors import EngineError
from hitpath.serve.bodies import read_body
from hitpath.serve.parameters import DetokenizeBody, TokenizeBody
from hitpath.serve.problems import JSON, Problem, refused
from hitpath.serve.prompts import token_ids
from hitpath.serve.state import STATE, ServerState

_SCRAPE_WAIT_S = 1.0


def json_response(value: Any, status: int = 200) -> web.Response:
    """Any plain value as JSON."""
    return web.Response(status=status, body=msgspec.json.encode(value), content_type=JSON)


async def health(request: web.Request) -> web.Response:
    """GET /health: 200 while requests are taken, else 503."""
    state = request.app[STATE]
    if state.failed is not None:
        return json_response({"status": "failed", "cause": state.failed}, 503)
    if state.is_draining:
        return json_response({"status": "stopping"}, 503)
    return json_response({"status": "ok"})


async def metrics(request: web.Request) -> web.Response:
    """GET /metrics. Gauges are those of now, or of the last step where one takes long."""
    state = request.app[STATE]
    with suppress(TimeoutError, EngineError):  # an engine that has stopped does not answer
        state.metrics.refresh(await asyncio.wait_for(state.served.stats(), _SCRAPE_WAIT_S))
    body, content_type = state.metrics.page(request.headers.get("Accept", ""))
    return web.Response(body=body, headers={"Content-Type": content_type})


async def models(request: web.Request) -> web.Response:
    """GET /v1/models."""
    return json_response({"object": "list", "data": [_model(request.app[STATE])]})


async def model(request: web.Request) -> web.Response:
    """GET /v1/models/{name}. Raises Problem 404."""
    state = request.app[STATE]
    state.check_model(request.match_info["name"])
    return json_response(_model(state))


def _model(state: ServerState) -> dict[str, Any]:
    return {
        "id": state.facts.name,
        "object": "model",
        "created": state.facts.created,
        "owned_by": "hitpath",
        "max_model_len": state.facts.max_model_len,
    }


async def tokenize(request: web.Request) -> web.Response:
    """POST /tokenize: the ids that a completion of `prompt`, or a chat of `messages`, would run."""
    state = request.app[STATE]
    body = await read_body(request, TokenizeBody)
    state.check_model(body.model)
    if (body.prompt is None) == (body.messages is None):
        raise refused("prompt", "give it, or messages")
    if body.messages is not None:
        if body.add_special_tokens:
            raise refused("add_special_tokens", "a chat has them in its template")
        made = await state.prompts.chat(body.messages, body.tools)
    else:
        made = await state.prompts.text(body.prompt or "", body.add_special_tokens is not False)
    ids = made.tokens.tolist()
    answer = {"count": len(ids), "max_model_len": state.facts.max_model_len, "tokens": ids}
    if body.return_token_strs:
        answer["token_strs"] = await state.prompts.in_thread(
            lambda: [state.texts.of(token) for token in ids]
        )
    return json_response(answer)


async def detokenize(request: web.Request) -> web.Response:
    """POST /detokenize: text of ids; ids of no token have none."""
    state = request.app[STATE]
    body = await read_body(request, DetokenizeBody)
    state.check_model(body.model)
    ids = token_ids(body.tokens, "tokens").tolist() if body.tokens else []
    try:
        text = await state.prompts.in_thread(lambda: state.tokenizer.decode(ids))
    except (OverflowError, ValueError) as error:
        message = "tokens: not all of them are tokens"
        raise Problem(400, message, "invalid_value", "tokens") from error
    return json_response({"prompt": text})
