"""Request bodies written by hand from the documented shapes, and traces of them."""

import json

from hitpath.traces import read_trace
from hitpath.traces.cache_marks import read_marks

HEAD = len("<|user|>\n") + len("<|end|>\n")
"""Bytes around a user's text; a system's are two more, an assistant's five."""


def control(ttl=None):
    return {"type": "ephemeral"} | ({"ttl": ttl} if ttl else {})


def text(words, mark=None, **more):
    block = {"type": "text", "text": words, **more}
    return block | ({"cache_control": mark} if mark else {})


def body(messages, at=None, usage=None, **more):
    row = {"timestamp": at} if at is not None else {}
    request = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages, **more}
    response = {"response": {"content": "ok", "usage": usage}} if usage else {}
    return {**row, "params": request, **response}


def traced(folder, rows):
    path = str(folder / "bodies.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    trace = read_trace([path], keep_places=True)
    return trace, read_marks([path], trace)
