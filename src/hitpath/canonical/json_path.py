"""JSON paths as hitpath prints them: `messages[0].content`, `properties["a b"].type`."""

import json
import re

_PLAIN = re.compile(r"[A-Za-z_$][\w$-]*\Z", re.ASCII)


def joined(path: str, step: str | int) -> str:
    """The path of a member (its key) or of an element (its index)."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    if _PLAIN.match(step):
        return f"{path}.{step}" if path else step
    return f"{path}[{json.dumps(step)}]"
