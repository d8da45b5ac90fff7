"""Lists of tools in JSON within a text, put in the order of their names."""

import msgspec

from hitpath.canonical import Change
from hitpath.canonical.tools import tool_name
from hitpath.doctor.json_strings import opened_blocks
from hitpath.doctor.kinds import is_tool

_list_of_raw = msgspec.json.Decoder(list[msgspec.Raw])


def sorted_tools(text: str) -> list[Change]:
    """A change for each list that is out of order; tools keep their text. A list whose members are
    not parted alike stays as it is."""
    changes: list[Change] = []
    for start, stop, value in opened_blocks(text):
        if not isinstance(value, list) or len(value) < 2:
            continue
        if not all(isinstance(item, dict) and is_tool(item) for item in value):
            continue
        block = text[start:stop]
        try:
            members = [bytes(raw).decode() for raw in _list_of_raw.decode(block)]
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            continue  # half a surrogate, or deeper than a decoder goes: it stays as it is
        between = block[1 + len(members[0]) : block.index(members[1], 1 + len(members[0]))]
        if block != f"[{between.join(members)}]":
            continue
        order = sorted(range(len(members)), key=lambda at: (tool_name(value[at]), members[at]))
        new = f"[{between.join(members[at] for at in order)}]"
        if new != block:
            changes.append(Change("tool_order", "", start, stop - start, new))
    return changes
