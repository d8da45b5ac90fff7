"""What `hitpath.observe` gives: an engine's statistics as a typed result."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hitpath.report.arrow import table_of
from hitpath.report.observed import answer, observed_document
from hitpath.traces import engine_logs

if TYPE_CHECKING:
    from pyarrow import Table


@dataclass(frozen=True, repr=False)
class Observed:
    """What an engine's own statistics tell: rates with their window and weighting, no requests and
    so no causes. Rates are 0 to 1; None is "not told", never 0.

    `found` is the whole record that reports are made from; its fields are not pinned.
    """

    found: engine_logs.Observed

    def __repr__(self) -> str:
        num = len(self.found.observations)
        return f"Observed({self.answer or 'no hit rate'}; {num} rates of {self.engines})"

    @property
    def engines(self) -> tuple[str, ...]:
        """ "vllm", "sglang": whose rates these are."""
        return self.found.engines

    @property
    def answer(self) -> str | None:
        """The figures of the narrowest window that is told, as a sentence; None without any."""
        return answer(self.found.headline)

    @property
    def hit_rate(self) -> float | None:
        """The one rate that answers the question. None where none is told, and where several are
        that cannot be added up: those of `answer` stand in `rates`."""
        found = self.found.headline
        return found[0].rate if len(found) == 1 else None

    @property
    def rates(self) -> "Table":
        """One row a figure: `engine`, `quantity`, `title`, `model`, `worker`, `num_workers`,
        `rate`, `hit`, `total`, `unit`, `weighting`, `kind`, `window`, `begin`, `end`, `place`
        (docs/json-output.md), and `in_answer`."""
        texts = ("engine", "quantity", "title", "model", "worker", "unit", "weighting", "kind")
        times = ("window", "begin", "end", "place")
        counts = dict.fromkeys(("num_workers", "hit", "total"), "int64")
        chosen = self.document["answer"]["observations"]
        rows = [
            {
                **one,
                "window": one["window"]["text"],
                "begin": one["window"]["begin"],
                "end": one["window"]["end"],
                "in_answer": i in chosen,
            }
            for i, one in enumerate(self.document["observations"])
        ]
        types = {**dict.fromkeys(texts, "string"), **counts, "rate": "float64"}
        types |= {**dict.fromkeys(times, "string"), "in_answer": "bool"}
        return table_of(rows, types)

    @property
    def facts(self) -> dict[tuple[str, str], str]:
        """(engine, name) -> what is told beside rates: settings, sizes, counters."""
        return {(fact.engine, fact.name): fact.value for fact in self.found.facts}

    @property
    def traps(self) -> tuple[str, ...]:
        """What is misread in just these data."""
        return self.found.traps

    @property
    def not_known(self) -> tuple[str, ...]:
        """What such text cannot tell."""
        return self.found.not_known

    @cached_property
    def document(self) -> dict[str, Any]:
        """What `--json` writes (docs/json-output.md, hitpath.observed/1)."""
        return observed_document(self.found)
