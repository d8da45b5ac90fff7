"""A pytest plugin: `assert_prefix_stable(build_prompt, *args)`.

Calls an application's prompt builder again under a shifted clock, another time zone, locale, seed,
order of dicts, folder, host and hash seed, and checks that what it builds stays the beginning. As a
fixture of that name, or imported from here. Loaded by every pytest run where hitpath is installed,
and by the processes of its own that call a builder, so what it needs is imported only when it is
used; pytest itself too.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hitpath.pytest_plugin.assertion import Checked

NOT_CHECKED: dict[str, set[str]] = {}
"""What could not be checked in this session, with the names of the builders."""


def assert_prefix_stable(build_prompt: Callable[..., Any], *args: Any, **options: Any) -> "Checked":
    """See hitpath.pytest_plugin.assertion.check: the same arguments. Raises PrefixBroken, an
    AssertionError; what the builder raises passes as it is."""
    __tracebackhide__ = True
    from hitpath.pytest_plugin.assertion import check

    checked = check(build_prompt, *args, **options)
    for what in checked.not_checked:
        name = getattr(build_prompt, "__qualname__", repr(build_prompt))
        NOT_CHECKED.setdefault(what, set()).add(name)
    return checked


def pytest_configure(config: Any) -> None:
    """Brings the fixture in."""
    from hitpath.pytest_plugin import fixture

    if not config.pluginmanager.is_registered(fixture):
        config.pluginmanager.register(fixture, "hitpath.pytest_plugin.fixture")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says once what could not be checked, for silence would look like a pass."""
    for what, names in sorted(NOT_CHECKED.items()):
        shown = ", ".join(sorted(names)[:5])
        rest = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        terminalreporter.write_line(f"hitpath: not checked: {what} ({shown}{rest})")
