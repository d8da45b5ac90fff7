"""Rows of a trace as requests with structure, read again by their place when they are asked for."""

from collections import OrderedDict

import numpy as np

from hitpath.doctor.flat import flat_prompt
from hitpath.doctor.kept import KeptRows
from hitpath.doctor.request_rows import AS_THEY_ARE, has_structure, request_of
from hitpath.doctor.requests import Request
from hitpath.traces.table import Symbols, Trace

_MOST_REQUESTS = 64
TOKENS = "tokens"
"""The path of what only the ids of a prompt tell."""


class Requests:
    """At most `_MOST_REQUESTS` of them are in memory. Flat text where nothing is known of it."""

    def __init__(self, trace: Trace, kept: KeptRows) -> None:
        self._trace = trace
        self._kept = kept
        self._known: OrderedDict[int, Request] = OrderedDict()
        self._as_one_text: set[int] = set()

    @property
    def notes(self) -> tuple[str, ...]:
        """Of how many requests the structure is not known though their format has one."""
        num = len(self._as_one_text)
        if not num:
            return ()
        what = "1 request is" if num == 1 else f"{num:,} requests are"
        return (f"{what} looked at as one text: the row is of another shape than its format",)

    def symbols(self, row: int) -> Symbols:
        """The prompt as the reader made it."""
        runs = self._trace.prompts
        return runs.flat[runs.offsets[row] : runs.offsets[row + 1]]

    def with_output(self, row: int) -> Symbols:
        """The prompt and what was generated behind it, as far as that is known."""
        runs = self._trace.outputs
        output = runs.flat[runs.offsets[row] : runs.offsets[row + 1]]
        prompt = self.symbols(row)
        whole: Symbols = np.concatenate([prompt, output.astype(prompt.dtype)])
        return whole

    def of(self, row: int) -> Request | None:
        """None where there is neither structure nor text."""
        found = self._known.get(row)
        if found is None:
            made = self._made(row)
            if made is None:
                return None
            self._known[row] = found = made
            if len(self._known) > _MOST_REQUESTS:
                self._known.popitem(last=False)
        else:
            self._known.move_to_end(row)
        return found

    def path(self, row: int, json_path: str) -> str:
        """Where a place in a request stands in its row of the file."""
        if json_path in ("", TOKENS) or self._trace.format in AS_THEY_ARE:
            return json_path
        request = self.of(row)
        return json_path if request is None else request.in_row.path(json_path)

    def _made(self, row: int) -> Request | None:
        trace = self._trace
        text = self._kept.text(trace.places[row]) if trace.places else None
        request = None
        if text is not None:
            name, mapping = trace.ids[row], self._kept.mapping
            request = request_of(trace.format, text, name, trace.has_text, mapping)
        if not trace.has_text:
            return request
        rendered = self.symbols(row).tobytes()
        if request is not None and request.prompt.rendered == rendered:
            return request
        if text is not None and has_structure(trace.format):
            self._as_one_text.add(row)
        return Request(flat_prompt(rendered.decode("utf-8", "replace"), "prompt"))
