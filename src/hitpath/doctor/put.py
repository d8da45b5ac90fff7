"""Setting what stands at a place of a row, wherever the format keeps it: in objects and arrays, in
JSON within a string, in OTLP's lists of keys and values. What is JSON stays what it was there: text
or the value itself.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from hitpath.doctor.in_row import Step


def put(value: Any, steps: Sequence[Step], new: Any) -> Any:
    """The value with `new` behind these steps; objects and arrays are changed in place. Raises
    KeyError, IndexError or TypeError where the steps lead nowhere."""
    if not steps:
        if isinstance(value, str) and not isinstance(new, str):
            return msgspec.json.encode(new).decode()
        if isinstance(value, dict | list) and isinstance(new, str):
            return msgspec.json.decode(new)
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(value, str):
        inner = put(msgspec.json.decode(value), steps, new)
        return msgspec.json.encode(inner).decode()
    if isinstance(value, list) and isinstance(step, str):
        pair = next(pair for pair in value if pair["key"] == step)
        pair["value"] = _put_any(pair["value"], rest, new)
        return value
    value[step] = put(value[step], rest, new)
    return value


def _put_any(value: dict[str, Any], steps: Sequence[Step], new: Any) -> dict[str, Any]:
    """The same of OTLP's AnyValue."""
    if "stringValue" in value:
        return {"stringValue": put(value["stringValue"], steps, new)}
    if not steps:
        return any_of(new)
    kind = "arrayValue" if "arrayValue" in value else "kvlistValue"
    values, step = value[kind]["values"], steps[0]
    if isinstance(step, int):
        values[step] = _put_any(values[step], steps[1:], new)
    else:
        put(values, steps, new)
    return value


def any_of(value: Any) -> dict[str, Any]:
    """A value as OTLP's AnyValue."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_of(one) for one in value]}}
    if isinstance(value, dict):
        pairs = [{"key": key, "value": any_of(inner)} for key, inner in value.items()]
        return {"kvlistValue": {"values": pairs}}
    return {}
