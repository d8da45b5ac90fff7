"""The fresh forms by kind, in the two lots in which they were written."""

from collections.abc import Mapping
from typing import Any

from doctor_planted import fresh_more_values as values
from doctor_planted import fresh_more_written as texts
from doctor_planted.fresh_clocks import CLOCKS
from doctor_planted.fresh_histories import COMPACTED, CONTEXTS, EDITED, FLIPS, MOVED, TRUNCATED
from doctor_planted.fresh_ids import COUNTERS, IDS
from doctor_planted.fresh_orders import ARRAY_ORDER, KEY_ORDER, TOOL_ORDER, TOOL_SET
from doctor_planted.fresh_pictures import IMAGES
from doctor_planted.fresh_samples import SAMPLES
from doctor_planted.fresh_users import ATTRIBUTION, USERS
from doctor_planted.fresh_written import HIDDEN, NUMBERS, UNICODE, WHITE_SPACE

FIRST: dict[str, Mapping[str, Any]] = {
    "clock": CLOCKS, "request_id": IDS, "counter": COUNTERS, "per_user_field": USERS,
    "random_sample": SAMPLES, "attribution": ATTRIBUTION, "white_space": WHITE_SPACE,
    "hidden_characters": HIDDEN, "unicode_form": UNICODE, "number_format": NUMBERS,
    "key_order": KEY_ORDER, "array_order": ARRAY_ORDER, "tool_order": TOOL_ORDER,
    "tool_set": TOOL_SET, "moved_block": MOVED, "edited_message": EDITED,
    "truncated_history": TRUNCATED, "compacted_history": COMPACTED, "template_flip": FLIPS,
    "image_encoding": IMAGES, "context_changed": CONTEXTS,
}  # fmt: skip

MORE: dict[str, Mapping[str, Any]] = {
    "clock": values.CLOCKS, "request_id": values.IDS, "counter": values.COUNTERS,
    "per_user_field": values.USERS, "random_sample": values.SAMPLES,
    "attribution": values.ATTRIBUTION, "white_space": texts.WHITE_SPACE,
    "hidden_characters": texts.HIDDEN, "unicode_form": texts.UNICODE,
    "number_format": texts.NUMBERS, "key_order": texts.KEY_ORDER, "array_order": texts.ARRAY_ORDER,
    "tool_order": texts.TOOL_ORDER, "tool_set": texts.TOOL_SET, "moved_block": texts.MOVED,
    "edited_message": texts.EDITED, "truncated_history": texts.TRUNCATED,
    "compacted_history": texts.COMPACTED, "template_flip": texts.FLIPS,
    "context_changed": texts.CONTEXTS,
}  # fmt: skip

FORMS: dict[str, tuple[Any, ...]] = {
    kind: tuple(form for lot in (FIRST, MORE) for form in lot.get(kind, {}).values())
    for kind in FIRST
}
