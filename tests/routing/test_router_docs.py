"""docs/routers.md tells every router with its defaults, as they are in the code."""

import re
from pathlib import Path

from hitpath.routing.registry import RULES, options_of

PAGE = (Path(__file__).parents[2] / "docs" / "routers.md").read_text(encoding="utf-8")
GENERAL = {"block": "0", "max_blocks": "0", "capacity": "0", "ttl": "0"}


def section(title):
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(text):
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]


def shown(own):
    if own.words:
        return own.words[int(own.default)]
    return "engine" if own.term else f"{own.default:g}"


def documented():
    """Router -> its defaults by the page: "as X, but" takes X's first."""
    told = {}
    for cells in rows(section("Defaults")):
        name, text = cells[0].strip("`"), cells[1]
        base = re.match(r"as `([a-z0-9-]+)`", text)
        told[name] = dict(told[base[1]]) if base else {}
        told[name] |= dict(re.findall(r"`([a-z_]+)=([^`]+)`", text))
    return told


def test_every_router_has_a_row():
    assert [cells[0].strip("`") for cells in rows(section("The rules"))] == list(RULES)


def test_defaults_are_those_of_the_code():
    told = documented()
    for name, rule in RULES.items():
        own = {option.name: shown(option) for option in options_of(rule)}
        page = told.get(name, {})
        if "index" in own:
            page = GENERAL | page
        assert page == own, name
