"""A trace as it would have been with a plan's fixes, in bytes or in tokens.

Prompts that a plan leaves alone keep their symbols. In tokens a changed request is rendered by its
chat template and tokenised again, as its reader did; generated ids are put back last (splicing.py),
for the prompts as the other fixes make them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from hitpath.core import HitpathError
from hitpath.doctor.chats import messages_of, tools_of, with_values
from hitpath.doctor.diagnose import Finding, Requests
from hitpath.doctor.fixed_bytes import FixedBytes
from hitpath.doctor.forms import parts_of_form
from hitpath.doctor.prompt import Part
from hitpath.doctor.reasoning import Reasoning
from hitpath.doctor.relatives import NONE
from hitpath.doctor.requests import Request
from hitpath.doctor.splicing import Edit, Splicing, edited, moved
from hitpath.doctor.steps import Plan, Steps
from hitpath.text.incremental import TurnTokenizer
from hitpath.text.tokenizer import TextTokenizer
from hitpath.traces.table import Symbols, Trace, runs_of

_MOST_KEPT = 16_000_000
"""Symbols of prompts that are kept with their structure."""
_UNTOLD = (HitpathError, OverflowError, RecursionError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Fixed:
    """trace: with the fixes. changed: rows whose prompt is another one now; touched: the places
    (forms.place_of) that were rewritten; not_told: rows that a fix would change, whose tokens are
    not those of their text, so that they stay."""

    trace: Trace
    changed: tuple[int, ...]
    touched: frozenset[str] = frozenset()
    not_told: int = 0


class Fixer:
    """Fixes one trace by any plan. tokenizer: that which made its tokens, None where it counts in
    bytes or has ids whose text is not known."""

    def __init__(
        self,
        trace: Trace,
        requests: Requests,
        findings: Sequence[Finding],
        tokenizer: TextTokenizer | None = None,
    ) -> None:
        self._trace = trace
        self.requests = requests
        self._findings = findings
        self._tokenizer = tokenizer if trace.identity == "tokens" else None
        self._turns = None if tokenizer is None else TurnTokenizer(tokenizer)
        self._own_turns = None if tokenizer is None else TurnTokenizer(tokenizer)
        self._is_own: dict[int, bool] = {}
        self._requests: dict[int, Request | None] = {}
        self._num_kept = 0

    @cached_property
    def reasoning(self) -> Reasoning:
        """What histories lack."""
        return Reasoning(self.requests, self._findings)

    def fixed(self, plan: Plan) -> Fixed:
        """The trace with a plan's fixes."""
        steps = Steps(plan)
        texts = FixedBytes(steps)
        prompts: list[Symbols] = []
        changed: list[int] = []
        touched: set[str] = set()
        not_told = 0
        for row in range(len(self._trace)):
            own = self.requests.symbols(row)
            prompt = self._prompt(row, plan, steps, own, texts, touched)
            if prompt is None:
                not_told += 1
                prompt = own
            if prompt is not own:
                changed.append(row)
            prompts.append(prompt)
        if self._tokenizer is not None and (plan.reply_ids or plan.reasoning):
            spliced = self._spliced(plan, prompts, self._tokenizer)
            changed = sorted({*changed, *spliced})
        dtype = self._trace.prompts.flat.dtype.type
        runs = runs_of(prompts, dtype)
        trace = replace(self._trace, prompts=runs, prompt_tokens=runs.lengths)
        return Fixed(trace, tuple(changed), frozenset(touched), not_told)

    def _prompt(
        self,
        row: int,
        plan: Plan,
        steps: Steps,
        own: Symbols,
        texts: FixedBytes,
        touched: set[str],
    ) -> Symbols | None:
        """A row's prompt as symbols: `own` where nothing changes, None where that is not known."""
        if self._trace.identity not in ("text", "tokens"):
            return own
        request = self._request(row)
        if request is None:
            return own
        wanted = self.reasoning.request(row, request) if plan.reasoning else request
        if self._trace.has_text:
            rendered = texts.rendered(wanted.prompt, touched)
            if rendered is None:
                if wanted is request:
                    return own
                rendered = wanted.prompt.rendered
            return np.frombuffer(rendered, dtype=np.uint8)
        if self._tokenizer is None:
            return own
        parts, tools = _changed(wanted, steps, touched)
        if wanted is request and not parts and tools is None:
            return own
        return self._tokenised(row, request, own, wanted, parts, tools)

    def _request(self, row: int) -> Request | None:
        """A request, which every plan asks for: of a trace that is not large all are kept."""
        if row in self._requests:
            return self._requests[row]
        request = self.requests.of(row)
        size = len(self.requests.symbols(row))
        if self._num_kept + size <= _MOST_KEPT:
            self._num_kept += size
            self._requests[row] = request
        return request

    def _tokenised(
        self,
        row: int,
        request: Request,
        own: Symbols,
        wanted: Request,
        parts: list[tuple[Part, Any]],
        tools: list[Any] | None,
    ) -> Symbols | None:
        """A request with these texts. None where its own text does not give its tokens."""
        known = self._is_own.get(row)
        if known is None:
            text = self._text(request, [], None)
            again = None if text is None else self._encoded(row, request, text, self._own_turns)
            known = self._is_own[row] = again is not None and np.array_equal(again, own)
        if not known:
            return None
        text = self._text(wanted, parts, tools)
        return None if text is None else self._encoded(row, request, text, self._turns)

    def _text(
        self, request: Request, parts: list[tuple[Part, Any]], tools: list[Any] | None
    ) -> str | None:
        """What the tokenizer is given: the one text, or what the chat template writes."""
        assert self._tokenizer is not None
        if not request.said:
            new = {id(part): value for part, value in parts}
            return "".join(new.get(id(part), part.text) for part in request.prompt.parts)
        messages = with_values(request, parts) if parts else messages_of(request)
        try:
            chosen = tools_of(request) if tools is None else tools
            return self._tokenizer.render_chat(messages, chosen)
        except _UNTOLD:
            return None

    def _encoded(
        self, row: int, request: Request, text: str, turns: TurnTokenizer | None
    ) -> Symbols | None:
        assert self._tokenizer is not None
        assert turns is not None
        try:
            tokens = turns.encode(text, self._trace.session.of(row))
        except UnicodeEncodeError:
            return None
        if request.said or not request.is_framed:
            return tokens
        head, tail = self._tokenizer.prompt_frame
        framed: Symbols = np.concatenate([head, tokens, tail])
        return framed

    def _spliced(self, plan: Plan, prompts: list[Symbols], tokenizer: TextTokenizer) -> list[int]:
        """The rows that have other ids with the generated ones in; `prompts` are changed."""
        reader = Splicing(
            tokenizer.decode, tokenizer.encode, texts=plan.reply_ids, reasoning=plan.reasoning
        )
        base = list(prompts)
        edits: dict[int, list[Edit]] = {}
        for finding in self._findings:
            row, other = finding.row, finding.relative
            if other == NONE or not finding.same_session:
                continue
            expected = np.concatenate([base[other], self._output(other).astype(base[other].dtype)])
            reading = reader.read(expected, base[row])
            found = [*moved(edits.get(other, ()), reading), *reading.edits]
            if found:
                edits[row] = found = sorted(found, key=lambda edit: edit.start)
                prompts[row] = edited(base[row], found)
        return list(edits)

    def _output(self, row: int) -> Symbols:
        runs = self._trace.outputs
        return runs.flat[runs.offsets[row] : runs.offsets[row + 1]]


def _changed(
    request: Request, steps: Steps, touched: set[str]
) -> tuple[list[tuple[Part, Any]], list[Any] | None]:
    """(parts but tools with their new values, all tools in their new order or None where they are
    as they were)."""
    parts: list[tuple[Part, Any]] = []
    tools: list[Any] = []
    for part, value in parts_of_form(request.prompt, steps, touched):
        if part.segment == "tools" and part.form == "json" and part.message < 0:
            tools.append(value)
        else:
            parts.append((part, value))
    old = [request.prompt.parts[number].value for number in request.prompt.tools]
    is_same = msgspec.json.encode(tools) == msgspec.json.encode(old)
    return parts, None if is_same else tools
