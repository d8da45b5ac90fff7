"""What `hitpath.diagnose` gives: the doctor's findings for a Python program."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

from hitpath.doctor.diagnosis import Diagnosis
from hitpath.report.arguments import Place, place_of
from hitpath.report.arrow import table_of
from hitpath.report.doctor_document import doctor_document
from hitpath.report.doctor_fix import check_fixable, write_fixed
from hitpath.report.doctor_run import Subject
from hitpath.report.html.doctor import doctor_page
from hitpath.report.output import write_whole
from hitpath.report.run import check_outputs

if TYPE_CHECKING:
    from pyarrow import Table

_COUNTS = ("char_offset", "token_offset", "num_requests", "tokens_changed", "tokens_invalidated")
_DEFECT_TYPES = {
    "kind": "string",
    "json_path": "string",
    "segment": "string",
    **dict.fromkeys(_COUNTS, "int64"),
    "requests_frac": "float64",
    "gain_tokens": "int64",
    "fix": "string",
    "application": "int64",
}
_ROW_TYPES = {
    "id": "string",
    "relative_id": "string",
    "common_tokens": "int64",
    "kind": "string",
    "json_path": "string",
    "char_offset": "int64",
    "tokens_invalidated": "int64",
}


@dataclass(frozen=True, repr=False)
class Diagnosed:
    """What broke the prefixes of a trace. Counts are tokens (bytes of text without a tokenizer),
    rates 0 to 1; None is "not known".

    `diagnosis` and `subject` are the records behind the reports; their fields are not pinned.
    sources: the files that were read.
    """

    diagnosis: Diagnosis
    subject: Subject
    sources: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Diagnosed({len(self.diagnosis.defects):,} defects, "
            f"{self.invalidated_tokens:,} {self.document['unit']} invalidated, "
            f"{len(self.diagnosis.trace):,} requests)"
        )

    @property
    def hit_rate(self) -> Mapping[str, float | None]:
        """`before`, and `after` all fixes, by replay."""
        return {"before": self.diagnosis.before, "after": self.diagnosis.after}

    @property
    def invalidated_tokens(self) -> int:
        """Tokens that were there before and had to be computed again."""
        return int(self.diagnosis.costs.lost.sum())

    @property
    def defects(self) -> "Table":
        """One row a defect, the most expensive first: the pinned keys of `--json`, and the
        application."""
        return table_of(self.document["defects"], _DEFECT_TYPES)

    @property
    def rows(self) -> "Table":
        """[N] One row a request, in serving order: its relative, what they share, the first kind
        and its place."""
        return table_of(self.document["per_request"], _ROW_TYPES)

    @property
    def fixes(self) -> Mapping[str, int]:
        """Fix -> computed tokens that a replay with it saves, best first, all together last."""
        return {proof.name: proof.gain_tokens for proof in self.diagnosis.proofs}

    @property
    def why_no_proof(self) -> str | None:
        """Why nothing was replayed."""
        return self.diagnosis.why_no_proof or None

    @cached_property
    def document(self) -> dict[str, Any]:
        """What `--json --rows` writes (docs/doctor.md)."""
        return doctor_document(self.diagnosis, self.subject.setting, rows=True)

    def html(self) -> str:
        """The page of `--html`; it holds text of prompts."""
        page = doctor_page(self.diagnosis, self.subject.requests, "hitpath.diagnose(...)", True)
        return page.decode()

    def write_fixed(self, out: Place) -> None:
        """The trace as it should be, as `--fix` writes it. Raises InputError, OutputError."""
        path = place_of("out", out)
        check_fixable(self.subject.trace)
        check_outputs([path], self.sources, self.subject.setting.tokenizer)

        def write(file: IO[bytes]) -> None:
            write_fixed(self.diagnosis, self.subject.kept, self.subject.requests, file)

        write_whole(path, write)
