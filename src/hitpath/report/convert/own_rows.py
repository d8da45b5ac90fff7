"""A trace as rows of hitpath's own format: what is read back gives the same analysis.

Symbols are written as they are (`Plain`) or as keyed hashes (`redact.Redacted`); everything else
of a row is the same for both. Text is written as it is rendered, one string a prompt. What the
trace has numbered (string keys, stretches, scopes, sessions) is written under its names, so that
traces that are converted apart are together what they were together.
"""

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from hitpath.core import ABSENT, HitpathError
from hitpath.traces.partial_ids import id_of_partial
from hitpath.traces.rows import UNNAMED_WORKER
from hitpath.traces.table import Context, Trace

JsonRow = dict[str, Any]

OWN_FIELDS = (
    "id",
    "id_may_repeat",
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
    """How prompts and outputs are written. `of(i)` gives row i's fields; the others what may be
    shown: `context` a field of a context with its value (not the model), `label` a label's value,
    `tier` a tier's name, `excluded` a reason."""

    def of(self, row: int) -> JsonRow: ...

    def context(self, field: str, value: str) -> tuple[str, str]: ...

    def label(self, name: str, value: str) -> str: ...

    def tier(self, name: str) -> str: ...

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
        if trace.block_size is not None:
            return block_fields(trace, row, *block_names_of(trace, row))
        prompt, output = symbols_of(trace, row)
        if trace.names.stretches is not None:
            return segment_fields(trace, *stretches_of(trace, row))
        if trace.has_text:
            told: JsonRow = {"prompt": _text(prompt)}
            return told if output is None else {**told, "reply": _text(output)}
        return token_fields(trace, prompt, output)

    def context(self, field: str, value: str) -> tuple[str, str]:
        """As it is."""
        return field, value

    def label(self, name: str, value: str) -> str:
        """As it is."""
        return value

    def tier(self, name: str) -> str:
        """As it is."""
        return name

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


def block_names_of(trace: Trace, row: int) -> tuple[list[Any], list[Any] | None]:
    """(prompt, output or None) of one row as the file has them: its numbers, or its names."""
    assert trace.block_size is not None
    symbols, generated = symbols_of(trace, row)
    prompt: list[Any] = symbols.tolist()
    output: list[Any] | None = None if generated is None else generated.tolist()
    whole, rest = divmod(int(trace.prompt_tokens[row]), trace.block_size)
    if len(prompt) > whole and rest:
        prompt[-1] = id_of_partial(prompt[-1], rest)
    names = trace.names.keys
    if names is None:
        return prompt, output
    return [names[i] for i in prompt], None if output is None else [names[i] for i in output]


Stretch = tuple[str, int]


def stretches_of(trace: Trace, row: int) -> tuple[list[Stretch], list[Stretch] | None]:
    """(prompt, output or None) of one row of a trace whose stretches have names."""
    stretches = trace.names.stretches
    assert stretches is not None
    prompt, output = symbols_of(trace, row)
    return stretches.of(prompt), None if output is None else stretches.of(output)


def _text(symbols: Any) -> str:
    return bytes(symbols).decode()


def token_fields(trace: Trace, prompt: Any, output: Any) -> JsonRow:
    """A prompt of token ids; `output` None where there is none."""
    told: JsonRow = {"tokens": prompt.tolist(), **_unit(trace)}
    return told if output is None else {**told, "output_ids": output.tolist()}


def segment_fields(trace: Trace, prompt: list[Stretch], output: list[Stretch] | None) -> JsonRow:
    """A prompt of named stretches."""
    told: JsonRow = {"segments": prompt, **_unit(trace)}
    return told if output is None else {**told, "reply_segments": output}


def _unit(trace: Trace) -> JsonRow:
    """The unit of what is no text itself, where it is not tokens."""
    return {"unit": "bytes"} if trace.identity == "text" else {}


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
    for i, name in enumerate(trace.ids):
        row: JsonRow = {"id": fields.label("id", name)}
        if trace.id_may_repeat[i]:
            row["id_may_repeat"] = True
        row["arrival_s"] = float(trace.arrival_s[i]) if trace.has_times else None
        row |= fields.of(i)
        if trace.output_tokens[i] != ABSENT and "output_ids" not in row:
            row["output_tokens"] = int(trace.output_tokens[i])
        if not np.isnan(trace.finish_s[i]) and trace.has_times:
            row["finish_s"] = float(trace.finish_s[i])
        row |= _labels(trace, i, fields)
        if trace.turn[i] != ABSENT:
            row["turn"] = int(trace.turn[i])
        context, model = contexts[trace.context[i]], trace.contexts[trace.context[i]].model
        if model not in (None, trace.model.of(i)):
            context = {**context, "model": fields.label("model", model)}
        if context:
            row["context"] = context
        if label_only:
            row["model_is_label"] = True
        if (scope := trace.names.scopes[trace.scope[i]]) is not None:
            row["id_scope"] = fields.label("id_scope", scope)
        if trace.own_clocks:
            row["clock"] = fields.label("clock", trace.clock.of(i) or "")
        if reported := _reported(trace, i, fields):
            row["reported"] = reported
        if i in trace.excluded:
            problem = trace.excluded[i]
            row["excluded"] = fields.excluded(f"{problem.field}: {problem.cause}")
        yield row


def _labels(trace: Trace, row: int, fields: PromptFields) -> JsonRow:
    session = int(trace.session.codes[row])
    told = {
        "session": None if session == ABSENT else trace.names.sessions[session],
        "tenant": trace.tenant.of(row),
        "model": trace.model.of(row),
        "worker": trace.worker.of(row),
    }
    if told["worker"] == UNNAMED_WORKER and len(trace.worker.names) > 1:
        told["worker"] = None  # the reader's own word for none, where others have one
    return {name: fields.label(name, value) for name, value in told.items() if value is not None}


def _models_are_labels(trace: Trace) -> bool:
    """Whether no context names a model although rows have one: then it isolates nothing.

    The own format puts a row's model into its context, unless models are marked as labels."""
    of_context = [trace.contexts[code].model for code in trace.context.tolist()]
    is_label = [
        model is None and trace.model.of(i) is not None for i, model in enumerate(of_context)
    ]
    if any(is_label) and any(model is not None for model in of_context):
        raise HitpathError("some rows' models isolate, others' do not: no format here has both")
    return any(is_label)


def _context(context: Context, fields: PromptFields) -> JsonRow:
    """Its fields; the model stands beside it, in the row, where it is the row's."""
    told = {
        "salt": context.salt,
        "adapter": context.adapter,
        "media_salt": context.media_salt,
        **dict(context.others),
    }
    return dict(fields.context(name, v) for name, v in told.items() if v is not None)


def _reported(trace: Trace, row: int, fields: PromptFields) -> JsonRow:
    told: JsonRow = {}
    if trace.reported_hit[row] != ABSENT:
        told["cached_tokens"] = int(trace.reported_hit[row])
    tiers = {
        fields.tier(name): int(column[row])
        for name, column in trace.reported_tiers.items()
        if column[row] != ABSENT
    }
    if tiers:
        told["cached_by_tier"] = tiers
    if trace.reported_written[row] != ABSENT:
        told["cache_write_tokens"] = int(trace.reported_written[row])
    if trace.reported_written_1h[row] != ABSENT:
        told["cache_write_1h_tokens"] = int(trace.reported_written_1h[row])
    if trace.reported_output[row] != ABSENT:
        told["output_tokens"] = int(trace.reported_output[row])
    if not np.isnan(trace.reported_usd[row]):
        told["cost"] = float(trace.reported_usd[row])
    if trace.apart_hit[row] != ABSENT:
        told["cached_tokens"] = int(trace.apart_hit[row])
    if trace.apart_prompt[row] != ABSENT:
        told |= {"prompt_tokens": int(trace.apart_prompt[row]), "counting": "inclusive"}
    if not np.isnan(trace.ttft_s[row]):
        told["ttft_s"] = float(trace.ttft_s[row])
    return told
