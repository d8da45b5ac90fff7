"""The function as a fixture, and the hooks of pytest-xdist; apart from the package:
only processes of pytest have it."""

from collections.abc import Callable
from typing import Any

import pytest

from hitpath import pytest_plugin

_KEY = "hitpath_not_checked"


@pytest.fixture(name="assert_prefix_stable")
def _assert_prefix_stable() -> Callable[..., Any]:
    """The function, as a fixture."""
    return pytest_plugin.assert_prefix_stable


def pytest_sessionfinish(session: Any) -> None:
    """A worker of pytest-xdist tells its controller what it could not check."""
    told = getattr(session.config, "workeroutput", None)
    if told is not None:
        told[_KEY] = {what: sorted(names) for what, names in pytest_plugin.NOT_CHECKED.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """The controller adds what a worker told."""
    for what, names in getattr(node, "workeroutput", {}).get(_KEY, {}).items():
        pytest_plugin.NOT_CHECKED.setdefault(what, set()).update(names)
