"""What to do about each kind, in one line that a busy person can act on."""

from hitpath.doctor.change import Kind
from hitpath.doctor.prompt import ASSISTANT, GLUE

ADVICE: dict[Kind, str] = {
    "clock": "move the time to the end of the last message, or print it by the hour or day",
    "request_id": "move the id out of the prompt, into metadata or a header",
    "counter": "move the counter to the end of the last message",
    "random_sample": "draw once a session (a fixed seed), or put the sample behind what is shared",
    "per_user_field": "move what is the user's behind the text that all users share",
    "attribution": "switch the attribution line off, or strip it before the prompt is sent",
    "tool_order": "sort the tools by name before each request",
    "key_order": "write JSON with its keys in one order (hitpath.canonical.canonical_json)",
    "array_order": "sort what is a set (required, enums of your own making) before it is written",
    "white_space": "write white space and line ends one way (hitpath.canonical.normalise_space)",
    "hidden_characters": "strip byte order marks, zero-width and no-break characters",
    "unicode_form": "compose Unicode one way (NFC), and escape JSON one way",
    "number_format": "write numbers one way, whatever the locale",
    "template_flip": "keep reasoning and markers in the history as they were generated",
    "retokenised": "send back the ids that were generated, not their text",
    "truncated_history": "drop history seldom and in large steps, not a little each turn",
    "compacted_history": "compact seldom: each time all behind the summary is computed anew",
    "edited_message": "append a correction; do not rewrite what was sent",
    "moved_block": "keep blocks in the order in which they were first sent; append new ones",
    "tool_set": "keep one set of tools for a session; allow fewer of them by tool_choice",
    "context_changed": "keep one model, adapter and salt for a session",
    "position_shift": "drop history at the borders of messages and blocks, in large steps",
    "image_encoding": "encode an image once and send the same bytes again",
    "seam_merge": "end texts where tokens end (a line end), or join them as ids",
    "new_content": "nothing: this is new",
}
"""Every kind that is not open."""
KEEP_IDS = "send the ids of calls back as the model gave them"
MEND_TEMPLATE = (
    "mend the chat template: turn n should stand in turn n + 1 (hitpath doctor --template)"
)


def advice_of(kind: Kind, segment: str) -> str:
    """What to do about a kind where it stands."""
    if kind == "request_id" and segment == ASSISTANT:
        return KEEP_IDS
    if kind == "template_flip" and segment == GLUE:
        return MEND_TEMPLATE
    return ADVICE[kind]


_MEANING = "no rewriting is known to keep the meaning"
NOT_FIXED: dict[Kind, str] = {
    "truncated_history": f"{_MEANING}: what was dropped may have had to go",
    "compacted_history": f"{_MEANING}: what was summed up may have had to go",
    "edited_message": f"{_MEANING}: the words are others",
    "moved_block": f"{_MEANING}: the order may matter",
    "tool_set": f"{_MEANING}: other tools are allowed",
    "context_changed": "KV of another model, adapter or salt is not the same",
    "position_shift": f"{_MEANING}: what was dropped may have had to go",
    "image_encoding": "whether two encodings show one picture is not known from the trace",
}
"""Why kinds have no fix that is replayed."""

TITLES: dict[Kind, str] = {
    "clock": "clock or date",
    "request_id": "request id",
    "counter": "counter",
    "random_sample": "random sample",
    "per_user_field": "per-user field ahead of shared text",
    "attribution": "attribution line",
    "tool_order": "order of tools",
    "key_order": "order of JSON keys",
    "array_order": "order of an array",
    "white_space": "white space",
    "hidden_characters": "hidden characters",
    "unicode_form": "Unicode form",
    "number_format": "form of numbers",
    "template_flip": "template flip",
    "retokenised": "re-tokenised reply",
    "truncated_history": "truncated history",
    "compacted_history": "compacted history",
    "edited_message": "edited message",
    "moved_block": "moved block",
    "tool_set": "set of tools",
    "context_changed": "context changed",
    "position_shift": "position shift",
    "image_encoding": "image encoded anew",
    "seam_merge": "merge at a text seam",
    "new_content": "new content",
}
