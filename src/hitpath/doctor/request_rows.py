"""From a row of a trace to its prompt with structure, by the format that the trace has.

The shapes are those that the readers in `traces` take; a row that is of none of them, or that
renders to another text than its reader made, is a flat text.
"""

import msgspec

from hitpath.core import InputError
from hitpath.doctor.requests import OWN_READERS, Reader, Request, Row, any_body
from hitpath.doctor.requests_otel import otel_row
from hitpath.doctor.requests_stored import (
    baseten_row,
    guidellm_row,
    helicone_row,
    inference_perf_row,
    langfuse_row,
    litellm_row,
    mapped_row,
    swe_agent_row,
    vllm_row,
)
from hitpath.traces import (
    baseten,
    guidellm,
    helicone_export,
    inference_perf,
    langfuse_export,
    litellm_logs,
    mapped,
    openai_requests,
    otel_genai,
    swe_agent,
    vllm_request_log,
)
from hitpath.traces.mapping import Mapping

_READERS: dict[str, Reader] = {
    **OWN_READERS,
    openai_requests.NAME: any_body,
    otel_genai.NAME: otel_row,
    litellm_logs.NAME: litellm_row,
    langfuse_export.NAME: langfuse_row,
    helicone_export.NAME: helicone_row,
    guidellm.NAME: guidellm_row,
    inference_perf.NAME: inference_perf_row,
    swe_agent.NAME: swe_agent_row,
    mapped.NAME: mapped_row,
    baseten.NAME: baseten_row,
    vllm_request_log.NAME: vllm_row,
}
AS_THEY_ARE = frozenset((*OWN_READERS, openai_requests.NAME, baseten.NAME, vllm_request_log.NAME))
"""Formats in whose rows a request's own paths lead."""


def has_structure(format_name: str) -> bool:
    """Whether rows of a format are requests, or hold them."""
    return format_name in _READERS


def request_of(
    format_name: str,
    text: bytes,
    row_id: str,
    in_bytes: bool = True,
    mapping: Mapping | None = None,
) -> Request | None:
    """The request of a row; None where the shape is not one that is known here. See Row."""
    read = _READERS.get(format_name, any_body)
    try:
        return read(Row(text, row_id, in_bytes, mapping or Mapping()))
    except (msgspec.MsgspecError, RecursionError, UnicodeError, InputError):
        return None
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None  # of another shape than its format has: nothing is known of its structure
