"""The handlers of `/v1/chat/completions` and `/v1/completions`: body -> requests -> answer."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from aiohttp import web

from hitpath.engine.records import GenerationRequest, SamplingParams
from hitpath.serve.answers import Shape, timings_of, usage_of
from hitpath.serve.bodies import read_body
from hitpath.serve.chat_shape import ChatShape
from hitpath.serve.generation import Gathered, Totals, running
from hitpath.serve.parameters import Body, ChatBody, CompletionBody
from hitpath.serve.problems import JSON, refused
from hitpath.serve.prompts import Prompt
from hitpath.serve.sampling import chat_params, client_names, completion_params, is_echo_only
from hitpath.serve.state import NAMES, STATE, ServerState
from hitpath.serve.streams import StreamPlan, stream_answer
from hitpath.serve.text_shape import Echo, TextOptions, TextShape


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call, ready to run: a request for each of its prompts, and how it is answered."""

    name: str
    body: Body
    requests: Sequence[GenerationRequest]
    num_choices: int
    shape: Shape
    count_output: bool = True


async def chat_completions(request: web.Request) -> web.StreamResponse:
    """POST /v1/chat/completions. Raises Problem and what the engine raises."""
    state = request.app[STATE]
    state.check_takes_requests()
    body = await read_body(request, ChatBody)
    request[NAMES] = client_names(body)
    state.check_model(body.model)
    params = chat_params(body)
    shape = ChatShape(state.texts, bool(body.return_token_ids), _as_ids(body))
    prompt = await state.prompts.chat(body.messages, body.tools, body.cache_salt)
    return await _answer(request, state, _call(state, body, [prompt], params, shape))


async def completions(request: web.Request) -> web.StreamResponse:
    """POST /v1/completions. Raises Problem and what the engine raises."""
    state = request.app[STATE]
    state.check_takes_requests()
    body = await read_body(request, CompletionBody)
    request[NAMES] = client_names(body)
    state.check_model(body.model)
    params = completion_params(body)
    framed = body.add_special_tokens is not False
    prompts = await state.prompts.completion(body.prompt, framed, body.cache_salt)
    options = TextOptions(
        num_choices=params.n,
        echo=_echo(state, body, prompts) if body.echo else None,
        with_ids=bool(body.return_token_ids),
        as_ids=_as_ids(body),
        tell_prompt=body.prompt_logprobs is not None,
    )
    shape = TextShape(state.texts, options)
    call = _call(state, body, prompts, params, shape, not is_echo_only(body))
    return await _answer(request, state, call)


def _as_ids(body: Body) -> bool:
    return bool(body.return_tokens_as_token_ids)


def _echo(state: ServerState, body: CompletionBody, prompts: Sequence[Prompt]) -> Echo:
    texts = [
        state.tokenizer.decode(p.tokens.tolist()) if p.text is None else p.text for p in prompts
    ]
    firsts = [int(p.tokens[0]) if len(p.tokens) else 0 for p in prompts]
    return Echo(texts, firsts, body.logprobs is not None, is_echo_only(body))


def _call(
    state: ServerState,
    body: Body,
    prompts: Sequence[Prompt],
    params: SamplingParams,
    shape: Shape,
    count_output: bool = True,
) -> Call:
    """Raises RequestError, Problem."""
    if len(prompts) > 1 and len(prompts) * params.n > state.facts.most_waiting:
        cause = f"{len(prompts)} prompts x n {params.n} are more than {state.facts.most_waiting}"
        raise refused("prompt", cause)
    if body.cache_salt == "":
        raise refused("cache_salt", "is empty; leave it out to share with those that have none")
    name = shape.id_prefix + uuid.uuid4().hex
    requests = [
        GenerationRequest(
            request_id=f"{name}-{at}",
            tokens=prompt.tokens,
            params=params,
            cache_salt=body.cache_salt,
            priority=body.priority or 0,
            tokenise_s=prompt.seconds,
        )
        for at, prompt in enumerate(prompts)
    ]
    return Call(name, body, requests, params.n, shape, count_output)


async def _answer(request: web.Request, state: ServerState, call: Call) -> web.StreamResponse:
    body = call.body
    if body.stream_options is not None and not body.stream:
        raise refused("stream_options", "needs stream: true")
    head = {
        "id": call.name,
        "object": call.shape.chunk_object if body.stream else call.shape.object,
        "created": int(time.time()),
        "model": state.facts.name,
    }
    headers = {"X-Request-Id": call.name}
    totals = Totals.awaited(len(call.requests), call.num_choices)
    async with running(state.served, call.requests) as chunks:
        if body.stream:
            apart = bool(body.stream_options and body.stream_options.include_usage)
            plan = StreamPlan(
                shape=call.shape,
                head={**head, "usage": None} if apart else head,
                num_choices=call.num_choices,
                usage_apart=apart,
                count_output=call.count_output,
                headers=headers,
                told=lambda e: state.told(e, f"streaming {request.path}", request.get(NAMES)),
            )
            return await stream_answer(request, plan, totals, chunks)
        gathered = [[Gathered() for _ in range(call.num_choices)] for _ in call.requests]
        async for at, chunk in chunks:
            gathered[at][chunk.choice].add(chunk)
            totals.add(at, chunk)
    sums = {"usage": usage_of(totals, call.count_output), "timings": timings_of(totals)}
    answer = {**head, **_whole(call, gathered), **sums}
    return web.Response(body=msgspec.json.encode(answer), content_type=JSON, headers=headers)


def _whole(call: Call, gathered: list[list[Gathered]]) -> dict[str, Any]:
    prompts = [row[0].prompt_logprobs for row in gathered]
    choices = [
        call.shape.whole(at * call.num_choices + choice, one, prompts[at])
        for at, row in enumerate(gathered)
        for choice, one in enumerate(row)
    ]
    return {"choices": choices, **call.shape.beside(prompts[0])}
