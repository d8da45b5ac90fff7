"""A trace as rows of hitpath's own format: what is read back gives the same analysis.

Symbols are written as they are (`Plain`) or as keyed hashes (`redact.Redacted`); everything else
of a row is the same for both. Text is written as it is rendered, one string a prompt.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from hitpath.core import ABSENT, HitpathError
from hitpath.traces.table import Context, Trace

JsonRow = dict[str, Any]

OWN_FIELDS = (
    "id",
    "arrival_s",
    "tokens",
    "block_keys",
    "block_size",
    "prompt_tokens",
    "prompt",
    "segments",
    "unit",
    "output_tokens",
    "output_ids",
    "output_block_keys",
    "reply",
    "reply_segments",
    "finish_s",
    "session",
    "tenant",
    "model",
    "worker",
    "turn",
    "context",
    "model_is_label",
    "id_scope",
    "clock",
    "reported",
    "excluded",
)
"""Every field that a row of ours may be written with."""


class PromptFields(Protocol):
    """How prompts and outputs are written. `of(i)` gives row i's fields; `context` the value of
    one field of a context (not the model), as it may be shown."""

    def of(self, row: int) -> JsonRow: ...

    def context(self, field: str, value: str) -> str: ...

    def label(self, name: str, value: str) -> str: ...

    def excluded(self, cause: str) -> str: ...


class Plain:
    """Symbols as they are."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def of(self, row: int) -> JsonRow:
        """Prompt fields of one row."""
        trace = self._trace
        if trace.identity == "lengths_only":
            return {"prompt_tokens": int(trace.prompt_tokens[row])}
        prompt, output = symbols_of(trace, row)
        if trace.block_size is not None:
            return block_fields(trace, row, prompt.tolist(), _list(output))
        if trace.identity == "text":
            told: JsonRow = {"prompt": _text(prompt)}
            return told if output is None else {**told, "reply": _text(output)}
        return token_fields(prompt.tolist(), _list(output))

    def context(self, field: str, value: str) -> str:
        """As it is."""
        return value

    def label(self, name: str, value: str) -> str:
        """As it is."""
        return value

    def excluded(self, cause: str) -> str:
        """As it is."""
        return cause


def symbols_of(trace: Trace, row: int) -> tuple[Any, Any]:
    """(prompt, output or None) of one row: views of the trace's symbols."""
    prompts, outputs = trace.prompts, trace.outputs
    prompt = prompts.flat[prompts.offsets[row] : prompts.offsets[row + 1]]
    if not trace.has_output[row]:
        return prompt, None
    return prompt, outputs.flat[outputs.offsets[row] : outputs.offsets[row + 1]]


def _list(symbols: Any) -> list[Any] | None:
    return None if symbols is None else list(symbols.tolist())


def _text(symbols: Any) -> str:
    return bytes(symbols.astype(np.uint8)).decode()


def token_fields(prompt: list[int], output: list[int] | None) -> JsonRow:
    """A prompt of token ids."""
    told: JsonRow = {"tokens": prompt}
    return told if output is None else {**told, "output_ids": output}


def block_fields(trace: Trace, row: int, prompt: list[Any], output: list[Any] | None) -> JsonRow:
    """A prompt of block ids, with the lengths that they need beside them."""
    told: JsonRow = {
        "block_keys": prompt,
        "block_size": trace.block_size,
        "prompt_tokens": int(trace.prompt_tokens[row]),
    }
    return told if output is None else {**told, "output_block_keys": output}


def own_rows(trace: Trace, fields: PromptFields) -> Iterator[JsonRow]:
    """Every row, in the order in which it is served. Raises HitpathError for a trace whose model
    labels cannot be written: they differ from the contexts' models."""
    label_only = trace.model_is_label or _models_are_labels(trace)
    contexts = [_context(c, fields) for c in trace.contexts]
    scopes = _scope_names(trace)
    for i, name in enumerate(trace.ids):
        row: JsonRow = {"id": fields.label("id", name)}
        row["arrival_s"] = float(trace.arrival_s[i]) if trace.has_times else None
        row |= fields.of(i)
        if trace.output_tokens[i] != ABSENT and "output_ids" not in row:
            row["output_tokens"] = int(trace.output_tokens[i])
        if not np.isnan(trace.finish_s[i]) and trace.has_times:
            row["finish_s"] = float(trace.finish_s[i])
        row |= _labels(trace, i, fields)
        if trace.turn[i] != ABSENT:
            row["turn"] = int(trace.turn[i])
        if context := contexts[trace.context[i]]:
            row["context"] = context
        if label_only:
            row["model_is_label"] = True
        if len(scopes) > 1:
            row["id_scope"] = fields.label("id_scope", scopes[int(trace.scope[i])])
        if trace.own_clocks:
            row["clock"] = fields.label("clock", trace.clock.of(i) or "")
        if reported := _reported(trace, i):
            row["reported"] = reported
        if i in trace.excluded:
            problem = trace.excluded[i]
            row["excluded"] = fields.excluded(f"{problem.field}: {problem.cause}")
        yield row


def _labels(trace: Trace, row: int, fields: PromptFields) -> JsonRow:
    told = {
        name: labels.of(row)
        for name, labels in (
            ("session", trace.session),
            ("tenant", trace.tenant),
            ("model", trace.model),
            ("worker", trace.worker),
        )
    }
    return {name: fields.label(name, value) for name, value in told.items() if value is not None}


def _models_are_labels(trace: Trace) -> bool:
    """Whether no context names a model although rows have one: then it isolates nothing.

    The own format puts a row's model into its context, unless models are marked as labels."""
    of_context = [trace.contexts[code].model for code in trace.context.tolist()]
    of_row = [trace.model.of(i) for i in range(len(trace))]
    if of_context == of_row:
        return False
    if all(model is None for model in of_context):
        return True
    raise HitpathError("models of rows and of their contexts differ: no format here can hold that")


def _context(context: Context, fields: PromptFields) -> JsonRow:
    """Its fields; the model stands beside it, in the row."""
    told = {
        "salt": context.salt,
        "adapter": context.adapter,
        "media_salt": context.media_salt,
        **dict(context.others),
    }
    return {name: fields.context(name, v) for name, v in told.items() if v is not None}


def _scope_names(trace: Trace) -> dict[int, str]:
    """Each scope named by its first request, so that two converted traces share no scope."""
    codes, first = np.unique(trace.scope, return_index=True)
    return {int(c): trace.ids[int(i)] for c, i in zip(codes, first, strict=True)}


def _reported(trace: Trace, row: int) -> JsonRow:
    told: JsonRow = {}
    if trace.reported_hit[row] != ABSENT:
        told["cached_tokens"] = int(trace.reported_hit[row])
    tiers = {
        name: int(column[row])
        for name, column in trace.reported_tiers.items()
        if column[row] != ABSENT
    }
    if tiers:
        told["cached_by_tier"] = tiers
    if trace.reported_written[row] != ABSENT:
        told["cache_write_tokens"] = int(trace.reported_written[row])
    if trace.apart_hit[row] != ABSENT:
        told["cached_tokens"] = int(trace.apart_hit[row])
    if trace.apart_prompt[row] != ABSENT:
        told |= {"prompt_tokens": int(trace.apart_prompt[row]), "counting": "inclusive"}
    if not np.isnan(trace.ttft_s[row]):
        told["ttft_s"] = float(trace.ttft_s[row])
    return told
