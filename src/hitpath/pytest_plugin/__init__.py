"""A pytest plugin: `assert_prefix_stable(build_prompt, *args)`.

Calls an application's prompt builder again under a shifted clock, another time zone, locale, seed,
order of dicts and hash seed, and checks that what it builds stays the beginning. As a fixture of
that name, or imported from here. Loaded by every pytest run where hitpath is installed, so what it
needs is imported only when it is used.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from hitpath.pytest_plugin.assertion import Checked

_NOT_CHECKED: dict[str, set[str]] = {}


def assert_prefix_stable(build_prompt: Callable[..., Any], *args: Any, **options: Any) -> "Checked":
    """See hitpath.pytest_plugin.assertion.check: the same arguments. Raises PrefixBroken, an
    AssertionError; what the builder raises passes as it is."""
    __tracebackhide__ = True
    from hitpath.pytest_plugin.assertion import check

    checked = check(build_prompt, *args, **options)
    for what in checked.not_checked:
        name = getattr(build_prompt, "__qualname__", repr(build_prompt))
        _NOT_CHECKED.setdefault(what, set()).add(name)
    return checked


@pytest.fixture(name="assert_prefix_stable")
def _assert_prefix_stable() -> Callable[..., "Checked"]:
    """The function, as a fixture."""
    return assert_prefix_stable


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says once what could not be checked, for silence would look like a pass."""
    for what, names in sorted(_NOT_CHECKED.items()):
        shown = ", ".join(sorted(names)[:5])
        terminalreporter.write_line(f"hitpath: not checked: {what} ({shown})")
