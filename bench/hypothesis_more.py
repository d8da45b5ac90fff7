"""A pytest plugin: hypothesis tests with many more examples, and other ones each time.

PYTHONPATH=bench pytest -p hypothesis_more --times 20 tests/property/test_readers_fuzz.py ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

_SETTINGS = "_hypothesis_internal_use_settings"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--times", type=int, default=20, help="so many times the examples")


def pytest_collection_modifyitems(config: pytest.Config, items: list[Any]) -> None:
    for item in items:
        told = getattr(item.obj, _SETTINGS, None)
        if told is not None:
            num = told.max_examples * config.getoption("--times")
            more = settings(told, max_examples=num, derandomize=False, database=None)
            setattr(item.obj, _SETTINGS, more)
