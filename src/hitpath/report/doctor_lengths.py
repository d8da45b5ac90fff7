"""`hitpath doctor` of a trace without prompts: what its usage tells, and that no text can be."""

from typing import Any

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from hitpath.core import Setting
from hitpath.doctor.lengths import floors_of, view_of_lengths
from hitpath.report.doctor_document import SCHEMA, causes_document, provider_document
from hitpath.report.doctor_terminal import provider_table
from hitpath.report.pages import titled
from hitpath.report.rows import setting_of
from hitpath.traces.table import Trace

NO_TEXT = "the trace does not say what its prompts are: which text broke a prefix cannot be told"


def lengths_document(trace: Trace, setting: Setting, content: bool = True) -> dict[str, Any]:
    """The keys of the doctor's document, as far as lengths and usage fill them."""
    view = view_of_lengths(trace)
    return {
        "schema": SCHEMA,
        "setting": setting_of(setting),
        "unit": "tokens",
        "num_requests": len(trace),
        "prompt_tokens": int(trace.prompt_tokens[trace.counted].sum()),
        "hit_rate": {"before": None, "after": None},
        "invalidated_tokens": None,
        "diverged_tokens": None,
        "unattributed_tokens": None,
        "defects": [],
        "kinds": [],
        "fixes": [],
        "why_no_proof": NO_TEXT,
        "what_ifs": [],
        "worth": None,
        "worth_of_all": None,
        "applications": [],
        "shared_causes": causes_document(floors_of(trace)),
        "provider": None if view is None else provider_document(view),
        "notes": list(trace.notes) if content else [],
        "num_skipped_rows": trace.skipped.num,
    }


def print_lengths_diagnosis(trace: Trace, page: Console) -> None:
    """The page."""
    prompt = int(trace.prompt_tokens[trace.counted].sum())
    head = Group(Text(f"{len(trace):,} requests, {prompt:,} prompt tokens"), Text(NO_TEXT))
    page.print(Padding(head, (1, 0, 1, 2)))
    causes = floors_of(trace)
    if causes:
        page.print(titled("One cause for many", Group(*(Text(c.text) for c in causes))))
    view = view_of_lengths(trace)
    if view is not None:
        page.print(titled("What the provider read, and why not more", provider_table(view)))
