"""Requests of formats whose rows hold them among other things: exports of gateways, results of
benchmark clients, runs of agents, tables and rows under a `--map`.

What of a row is the prompt its reader in `traces` decides; here the same is taken apart, with the
steps that lead to it in the row.
"""

from typing import Any

import msgspec

from hitpath.doctor.build_prompt import Said
from hitpath.doctor.in_row import InRow, Steps, unfolded
from hitpath.doctor.requests import (
    Request,
    Row,
    built_of,
    flat_request,
    host_of,
    number_in,
    own_request,
    request_of_body,
)
from hitpath.traces.export_fields import messages_body, stored_replies
from hitpath.traces.swe_agent import Run, has_query, sent
from hitpath.traces.vllm_log_rows import COMPLETIONS
from hitpath.traces.vllm_request_lines import parse

_PARAMETERS = ("tools", "functions", "instructions")
_run = msgspec.json.Decoder(Run)


def litellm_row(row: Row) -> Request | None:
    """The body in `proxy_server_request`, or messages with the tools of `model_parameters`."""
    value = msgspec.json.decode(row.text)
    response = unfolded(value.get("response"))
    known = {"raw": row.text, "replies": tuple(stored_replies(response)), "host": host_of(response)}
    body = unfolded(value.get("proxy_server_request"))
    if isinstance(body, dict) and body:
        return _of_stored(body, ("proxy_server_request",), **known)
    told = unfolded(value.get("messages"))
    if not isinstance(told, list):
        return _of_stored(told, ("messages",), **known)
    parameters = unfolded(value.get("model_parameters"))
    parameters = parameters if isinstance(parameters, dict) else {}
    is_responses = "responses" in str(value.get("call_type"))
    body = {"input": told} if is_responses else messages_body(told)
    if body is None:
        return None
    names: dict[Steps, Steps] = {(next(iter(body)),): ("messages",)}
    for name in _PARAMETERS:
        if name in parameters:
            body[name] = parameters[name]
            names[(name,)] = ("model_parameters", name)
    return request_of_body(body, in_row=InRow(names), **known)


def langfuse_row(row: Row) -> Request | None:
    """`input`: a body, messages, or a prompt."""
    value = msgspec.json.decode(row.text)
    replies = tuple(stored_replies(value.get("output")))
    return _of_stored(value.get("input"), ("input",), raw=row.text, replies=replies)


def helicone_row(row: Row) -> Request | None:
    """`request_body`."""
    value = msgspec.json.decode(row.text)
    response = unfolded(value.get("response_body"))
    known = {"raw": row.text, "replies": tuple(stored_replies(response)), "host": host_of(response)}
    return _of_stored(value.get("request_body"), ("request_body",), **known)


def _of_stored(value: Any, at: Steps, **known: Any) -> Request | None:
    """What stands at these steps: as `export_fields.prompt_text` takes it."""
    value = unfolded(value)
    if isinstance(value, str):
        return flat_request(value, "prompt", in_row=InRow({("prompt",): at}), **known)
    if isinstance(value, list):
        body = messages_body(value)
        if body is None:
            return None
        return request_of_body(body, in_row=InRow({(next(iter(body)),): at}), **known)
    return request_of_body(value, in_row=InRow({(): at}), **known)


def guidellm_row(row: Row) -> Request | None:
    """The body in the JSON of `request_args`; to 0.3 the prompt."""
    value = msgspec.json.decode(row.text)
    output = value.get("output")
    replies = ({"role": "assistant", "content": output},) if isinstance(output, str) else ()
    known: dict[str, Any] = {"raw": row.text, "replies": replies}
    prompt = value.get("prompt")
    if value.get("request_type") is not None and isinstance(prompt, str):
        if value["request_type"] == "text_completions":
            return flat_request(prompt, "prompt", body=value, **known)
        said = Said({"role": "user", "content": prompt}, "prompt", "prompt")
        return built_of([said], body=value, **known)
    body = msgspec.json.decode(value["request_args"])["body"]
    return request_of_body(body, in_row=InRow({(): ("request_args", "body")}), **known)


def inference_perf_row(row: Row) -> Request | None:
    """The body in the JSON of `request`."""
    body = msgspec.json.decode(msgspec.json.decode(row.text)["request"])
    return request_of_body(body, in_row=InRow({(): ("request",)}), raw=row.text)


def swe_agent_row(row: Row) -> Request:
    """The step, or the messages of the history before the answer, whose number ends the id."""
    run, at = _run.decode(row.text), number_in(row.id)
    if any(has_query(step) for step in run.trajectory):
        where: Steps = ("trajectory", at, "query")
        told = run.trajectory[at].query or []
        reply = run.trajectory[at].response
        replies = () if reply is None else ({"role": "assistant", "content": reply},)
    else:
        told, where = run.history[:at], ("history",)
        replies = (sent(run.history[at], True),)
    said = [Said(sent(message, row.in_bytes), f"messages[{i}]") for i, message in enumerate(told)]
    return built_of(said, raw=row.text, replies=replies, in_row=InRow({("messages",): where}))


def mapped_row(row: Row) -> Request | None:
    """A row of a table, or of JSON under a `--map`, by hitpath's own names."""
    value = msgspec.json.decode(row.text)
    ours: dict[str, Any] = {}
    names: dict[Steps, Steps] = {}
    for pair in row.mapping.with_own(value):
        if pair.theirs is None or "." in pair.ours:
            continue
        steps = (pair.theirs,) if pair.theirs in value else tuple(pair.theirs.split("."))
        found: Any = value
        for step in steps:
            found = found.get(step) if isinstance(found, dict) else None
        pair.put(found, ours, "")
        names[(pair.ours,)] = steps
    return own_request(ours, raw=row.text, in_row=InRow(names))


def vllm_row(row: Row) -> Request | None:
    """The text that a server printed; a chat's was rendered by it, special tokens and all."""
    event = parse(row.text, "")
    if event is None or event.text is None or event.ids is not None:
        return None
    return flat_request(event.text, "prompt", is_framed=row.id.startswith(COMPLETIONS))


def baseten_row(row: Row) -> Request:
    """`prompt`."""
    return flat_request(msgspec.json.decode(row.text)["prompt"], "prompt", raw=row.text)
