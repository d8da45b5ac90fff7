"""One conversation in every format that holds text, as its readers' documentation describes the
rows, written by hand; and where each format has the request in its file."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Json = dict[str, Any]
HEADS = {"system": "<|im_start|>system\n", "user": "<|im_start|>user\n",
         "assistant": "<|im_start|>assistant\n"}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One request. said: OpenAI's messages, the system text among them; at_s: its time."""

    number: int
    session: str
    said: tuple[Json, ...]
    tools: tuple[Json, ...]
    at_s: int
    reply: str

    @property
    def system(self) -> str:
        text: str = self.said[0]["content"]
        return text

    @property
    def rest(self) -> list[Json]:
        return list(self.said[1:])

    @property
    def body(self) -> Json:
        """OpenAI's chat completion."""
        tools = {"tools": list(self.tools)} if self.tools else {}
        return {"model": "m", "messages": list(self.said), **tools}

    @property
    def completion(self) -> str:
        """The whole as one text."""
        parts = [f"{HEADS[m['role']]}{m['content']}<|im_end|>\n" for m in self.said]
        return "".join((*parts, HEADS["assistant"]))

    @property
    def iso(self) -> str:
        return f"2026-01-15T12:{self.at_s // 60:02}:{self.at_s % 60:02}Z"


@dataclass(frozen=True)
class Written:
    """A file. roots: of each call the value in which its json_path is found, once the file is read
    as JSON (or as a table)."""

    text: str
    roots: list[Any]


@dataclass(frozen=True)
class TextFormat:
    """name: for the test's id; write: a file of calls; tools: whether it holds them; is_flat:
    whether a prompt is one string; places: what paths begin with, for the three defects."""

    name: str
    write: Callable[[Sequence[Call]], Written]
    tools: bool = True
    is_flat: bool = False
    mapping: tuple[str, ...] = ()
    ending: str = "jsonl"


def lines(rows: Sequence[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def row_format(make: Callable[[Call], Json], inside: str = "") -> Callable[..., Written]:
    """A row a line. inside: the field that holds the body, which paths leave out."""

    def write(calls: Sequence[Call]) -> Written:
        rows = [make(call) for call in calls]
        return Written(lines(rows), [row[inside] if inside else row for row in rows])

    return write


def anthropic_body(call: Call, blocks: bool = True) -> Json:
    tools = [
        {"name": t["function"]["name"], "description": t["function"]["description"],
         "input_schema": t["function"]["parameters"]}
        for t in call.tools
    ]  # fmt: skip
    system: Any = call.system
    messages = call.rest
    if blocks:
        system = [
            {"type": "text", "text": "You are a careful helper.\n"},
            {"type": "text", "text": call.system, "cache_control": {"type": "ephemeral"}},
        ]
        messages = [
            {"role": m["role"], "content": [{"type": "text", "text": m["content"]}]}
            for m in messages
        ]
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    return {"model": "claude-x", "system": system, "messages": messages,
            **({"tools": tools} if tools else {})}  # fmt: skip


def converse_body(call: Call) -> Json:
    """Bedrock's Converse: blocks without a type, marks that are elements of their own."""
    mark = {"cachePoint": {"type": "default"}}
    tools = [
        {"toolSpec": {"name": t["function"]["name"], "description": t["function"]["description"],
                      "inputSchema": {"json": t["function"]["parameters"]}}}
        for t in call.tools
    ]  # fmt: skip
    told = {
        "modelId": "anthropic.claude-x",
        "system": [{"text": "You are a careful helper.\n"}, mark, {"text": call.system}, mark],
        "messages": [{"role": m["role"], "content": [{"text": m["content"]}]} for m in call.rest],
        "inferenceConfig": {"maxTokens": 99},
    }
    return {**told, "toolConfig": {"tools": [*tools, mark]}} if tools else told


def responses_body(call: Call) -> Json:
    kinds = {"user": "input_text", "assistant": "output_text"}
    items = [
        {"type": "message", "role": m["role"],
         "content": [{"type": kinds[m["role"]], "text": m["content"]}]}
        for m in call.rest
    ]  # fmt: skip
    tools = [{"type": "function", **tool["function"]} for tool in call.tools]
    return {"model": "m", "instructions": call.system, "input": items,
            **({"tools": tools} if tools else {})}  # fmt: skip


def sent(body: Json, call: Call) -> Json:
    return {**body, "session_id": call.session, "timestamp": call.iso}


def batched(call: Call) -> Json:
    return {"custom_id": f"c{call.number}", "method": "POST", "url": "/v1/chat/completions",
            "session_id": call.session, "timestamp": call.iso, "body": call.body}  # fmt: skip


def hitpath_messages(call: Call) -> Json:
    return {"id": call.number, "arrival_s": call.at_s, "session": call.session,
            "messages": list(call.said), **({"tools": list(call.tools)} if call.tools else {}),
            "reply": call.reply}  # fmt: skip


def hitpath_blocks(call: Call) -> Json:
    """Rows that keep the blocks of a client, marks for a provider's cache among them."""
    body = anthropic_body(call)
    messages = [{"role": "system", "content": body["system"]}, *body["messages"]]
    return {**hitpath_messages(call), "messages": messages}


def hitpath_prompt(call: Call) -> Json:
    return {"id": call.number, "arrival_s": call.at_s, "session": call.session,
            "prompt": call.completion}  # fmt: skip


def lmcache(call: Call) -> Json:
    return {"timestamp": 1760587752000000 + call.at_s * 1_000_000, "input": call.completion,
            "output": call.reply, "session_id": call.session}  # fmt: skip


def litellm(call: Call, **fields: Any) -> Json:
    return {"id": f"l{call.number}", "call_type": "acompletion", "startTime": call.iso,
            "endTime": call.iso, "model": "m", "session_id": call.session, **fields}  # fmt: skip


def litellm_callback(call: Call) -> Json:
    return litellm(call, messages=list(call.said), model_parameters={"tools": list(call.tools)})


def litellm_spend(call: Call) -> Json:
    return litellm(call, proxy_server_request=call.body, messages={}, metadata={})


def litellm_spend_text(call: Call) -> Json:
    return litellm(call, proxy_server_request=json.dumps(call.body), metadata={})


def langfuse(call: Call, stored: Any) -> Json:
    return {"id": f"o{call.number}", "traceId": f"t{call.number}", "type": "GENERATION",
            "startTime": call.iso, "providedModelName": "m", "sessionId": call.session,
            "input": stored, "output": call.reply}  # fmt: skip


def langfuse_page(calls: Sequence[Call]) -> Written:
    """A page of the API: rows in a document."""
    rows = [langfuse(call, list(call.said)) for call in calls]
    return Written(json.dumps({"data": rows, "meta": {"page": 1}}), list(rows))


def helicone(call: Call) -> Json:
    return {"request_id": f"h{call.number}", "request_created_at": call.iso,
            "response_status": 200, "provider": "OPENAI", "request_model": "m",
            "request_properties": {"Helicone-Session-Id": call.session},
            "request_body": call.body}  # fmt: skip


def helicone_page(calls: Sequence[Call]) -> Written:
    rows = [helicone(call) for call in calls]
    return Written(json.dumps({"data": rows}, indent=1), list(rows))


def span(call: Call, attributes: Json, events: Sequence[Json] = ()) -> Json:
    return {"trace_id": call.session, "span_id": f"s{call.number}", "start_time": call.iso,
            "attributes": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
                           "gen_ai.conversation.id": call.session, **attributes},
            **({"events": list(events)} if events else {})}  # fmt: skip


def otel_parts(call: Call) -> list[Json]:
    return [
        {"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]} for m in call.rest
    ]


def otel_new(call: Call, as_text: bool) -> Json:
    told = {
        "gen_ai.system_instructions": [{"type": "text", "content": call.system}],
        "gen_ai.input.messages": otel_parts(call),
        **({"gen_ai.tool.definitions": list(call.tools)} if call.tools else {}),
    }
    return span(call, {k: json.dumps(v) for k, v in told.items()} if as_text else told)


def otel_in_messages(call: Call) -> Json:
    """The system text as the first message."""
    said = [{"role": "system", "parts": [{"type": "text", "content": call.system}]}]
    told = {"gen_ai.input.messages": json.dumps(said + otel_parts(call))}
    if call.tools:
        told["gen_ai.tool.definitions"] = json.dumps(list(call.tools))
    return span(call, told)


def otel_details(call: Call) -> Json:
    made = otel_new(call, True)
    names = [
        n
        for n in made["attributes"]
        if n.startswith(("gen_ai.input", "gen_ai.system_i", "gen_ai.tool"))
    ]
    event = {n: made["attributes"].pop(n) for n in names}
    name = "gen_ai.client.inference.operation.details"
    return {
        **made,
        "events": [{"name": "log", "attributes": {}}, {"name": name, "attributes": event}],
    }


def otel_indexed(call: Call) -> Json:
    """OpenLLMetry."""
    told: Json = {}
    for i, message in enumerate(call.said):
        told[f"gen_ai.prompt.{i}.role"] = message["role"]
        told[f"gen_ai.prompt.{i}.content"] = message["content"]
    for i, tool in enumerate(call.tools):
        for name, value in tool["function"].items():
            told[f"llm.request.functions.{i}.{name}"] = (
                value if isinstance(value, str) else json.dumps(value)
            )
    return span(call, told)


def otel_events(call: Call) -> Json:
    events = [
        {"name": f"gen_ai.{m['role']}.message", "attributes": {"content": m["content"]}}
        for m in call.said
    ]
    return span(call, {}, events)


def otel_event_content(call: Call) -> Json:
    """Azure's SDK: the message as JSON in one field."""
    events = [
        {"name": f"gen_ai.{m['role']}.message",
         "attributes": {"gen_ai.event.content": json.dumps(m)}}
        for m in call.said
    ]  # fmt: skip
    return span(call, {}, events)


def otel_prompt(call: Call) -> Json:
    return span(call, {"gen_ai.prompt": json.dumps(list(call.said))})


def otlp_value(value: Any) -> Json:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [otlp_value(v) for v in value]}}
    pairs = [{"key": k, "value": otlp_value(v)} for k, v in value.items()]
    return {"kvlistValue": {"values": pairs}}


def otlp(calls: Sequence[Call], as_strings: bool = True) -> Written:
    """One document of the collector's file exporter. as_strings: messages as strings of JSON."""
    spans = []
    for call in calls:
        made = otel_new(call, as_strings)
        pairs = [{"key": k, "value": otlp_value(v)} for k, v in made["attributes"].items()]
        at = 1_700_000_000 + call.at_s
        spans.append({"traceId": call.session, "spanId": f"s{call.number}",
                      "startTimeUnixNano": f"{at}000000000", "attributes": pairs})  # fmt: skip
    document = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    return Written(json.dumps(document) + "\n", [document] * len(calls))


def otlp_nested(calls: Sequence[Call]) -> Written:
    """The same with structured values."""
    return otlp(calls, as_strings=False)


def spans_document(calls: Sequence[Call]) -> Written:
    document = {"spans": [otel_in_messages(call) for call in calls]}
    return Written(json.dumps(document, indent=1), [document] * len(calls))


def swe_agent(calls: Sequence[Call]) -> Written:
    """A run a session: each step holds what was sent."""
    runs: dict[str, list[Call]] = {}
    for call in calls:
        runs.setdefault(call.session, []).append(call)
    rows, roots = [], []
    for its in runs.values():
        steps = [
            {"action": "ls", "observation": "ok", "response": c.reply, "query": list(c.said)}
            for c in its
        ]
        row = {"trajectory": steps, "history": list(its[-1].said), "info": {}}
        rows.append(row)
        roots += [row] * len(its)
    return Written(lines(rows), roots)


def sharegpt(calls: Sequence[Call]) -> Written:
    """The last call of each session, as a conversation."""
    names = {"system": "system", "user": "human", "assistant": "gpt"}
    last = {call.session: call for call in calls}
    rows = [
        {"id": session, "conversations": [
            *({"from": names[m["role"]], "value": m["content"]} for m in call.said),
            {"from": "gpt", "value": call.reply}]}
        for session, call in last.items()
    ]  # fmt: skip
    return Written(lines(rows), rows)


def vllm_log(calls: Sequence[Call]) -> Written:
    text = "".join(
        f"INFO 05-11 12:{c.at_s // 60:02}:{c.at_s % 60:02} [logger.py:42] Received request "
        f"chatcmpl-{c.number}: prompt: {c.completion!r}, params: SamplingParams(n=1), "
        f"prompt_token_ids: None, prompt_embeds shape: None, lora_request: None.\n"
        for c in calls
    )
    return Written(text, [{"prompt": c.completion} for c in calls])


def guidellm(calls: Sequence[Call]) -> Written:
    requests = [
        {"request_id": f"g{c.number}", "request_args": json.dumps({"body": c.body}),
         "output": c.reply,
         "info": {"timings": {"request_start": c.at_s, "request_end": c.at_s + 1},
                  "conversation_id": c.session, "turn_index": 0},
         "input_metrics": {"text_tokens": 500}, "output_metrics": {"text_tokens": 9}}
        for c in calls
    ]  # fmt: skip
    report = {"benchmarks": [{"requests": {"successful": requests, "errored": [],
                                           "incomplete": []}}]}  # fmt: skip
    return Written(json.dumps(report), list(requests))


def inference_perf(calls: Sequence[Call]) -> Written:
    entries = [
        {"start_time": c.at_s, "end_time": c.at_s + 1, "request": json.dumps(c.body),
         "info": {"input_tokens": 500, "output_tokens": 9}, "error": None}
        for c in calls
    ]  # fmt: skip
    return Written(json.dumps(entries, indent=2), list(entries))


def table(calls: Sequence[Call]) -> Written:
    """CSV with hitpath's names; objects are JSON text."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["id", "arrival_s", "session", "messages", "tools"])
    rows = []
    for c in calls:
        row = {"id": f"t{c.number}", "arrival_s": c.at_s, "session": c.session,
               "messages": list(c.said), "tools": list(c.tools)}  # fmt: skip
        rows.append(row)
        writer.writerow([row["id"], row["arrival_s"], row["session"],
                         json.dumps(row["messages"]), json.dumps(row["tools"])])  # fmt: skip
    return Written(file.getvalue(), list(rows))


def mapped(call: Call) -> Json:
    return {"rid": f"m{call.number}", "when": call.at_s, "user": call.session,
            "obj": {"said": list(call.said), "tools": list(call.tools)}}  # fmt: skip


def mapped_prompt(call: Call) -> Json:
    return {"rid": f"m{call.number}", "when": call.at_s, "user": call.session,
            "obj": {"text": call.completion}}  # fmt: skip


COMMON = ("id=rid", "arrival_s=when", "session=user")
FORMATS = (
    TextFormat("openai-chat", row_format(lambda c: sent(c.body, c))),
    TextFormat("openai-batch", row_format(batched, "body")),
    TextFormat("openai-responses", row_format(lambda c: sent(responses_body(c), c))),
    TextFormat("anthropic", row_format(lambda c: sent(anthropic_body(c, False), c))),
    TextFormat("anthropic-blocks", row_format(lambda c: sent(anthropic_body(c), c))),
    TextFormat("bedrock-converse", row_format(lambda c: sent(converse_body(c), c))),
    TextFormat("completions",
               row_format(lambda c: sent({"model": "m", "prompt": c.completion}, c)),
               tools=False, is_flat=True),
    TextFormat("hitpath-messages", row_format(hitpath_messages)),
    TextFormat("hitpath-blocks", row_format(hitpath_blocks)),
    TextFormat("hitpath-prompt", row_format(hitpath_prompt), tools=False, is_flat=True),
    TextFormat("lmcache", row_format(lmcache), tools=False, is_flat=True),
    TextFormat("litellm-callback", row_format(litellm_callback)),
    TextFormat("litellm-spend", row_format(litellm_spend)),
    TextFormat("litellm-spend-text", row_format(litellm_spend_text)),
    TextFormat("langfuse-list", row_format(lambda c: langfuse(c, list(c.said))), tools=False),
    TextFormat("langfuse-body", row_format(lambda c: langfuse(c, c.body))),
    TextFormat("langfuse-text", row_format(lambda c: langfuse(c, json.dumps(c.body)))),
    TextFormat("langfuse-completion", row_format(lambda c: langfuse(c, c.completion)),
               tools=False, is_flat=True),
    TextFormat("langfuse-page", langfuse_page, tools=False, ending="json"),
    TextFormat("helicone", row_format(helicone)),
    TextFormat("helicone-page", helicone_page, ending="json"),
    TextFormat("otel-text", row_format(lambda c: otel_new(c, True))),
    TextFormat("otel-structured", row_format(lambda c: otel_new(c, False))),
    TextFormat("otel-in-messages", row_format(otel_in_messages)),
    TextFormat("otel-details", row_format(otel_details)),
    TextFormat("otel-indexed", row_format(otel_indexed)),
    TextFormat("otel-events", row_format(otel_events), tools=False),
    TextFormat("otel-event-content", row_format(otel_event_content), tools=False),
    TextFormat("otel-prompt", row_format(otel_prompt), tools=False),
    TextFormat("otlp", otlp),
    TextFormat("otlp-nested", otlp_nested),
    TextFormat("otel-spans", spans_document, ending="json"),
    TextFormat("swe-agent", swe_agent, tools=False),
    TextFormat("vllm-log", vllm_log, tools=False, is_flat=True, ending="log"),
    TextFormat("guidellm", guidellm, ending="json"),
    TextFormat("inference-perf", inference_perf, ending="json"),
    TextFormat("table", table, ending="csv"),
    TextFormat("mapped", row_format(mapped),
               mapping=(*COMMON, "messages=obj.said", "tools=obj.tools")),
    TextFormat("mapped-prompt", row_format(mapped_prompt), tools=False, is_flat=True,
               mapping=(*COMMON, "prompt=obj.text")),
)  # fmt: skip
