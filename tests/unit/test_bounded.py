"""A function in a process of its own: results, errors, and the two bounds."""

import time

import pytest

from hitpath.core import InputError, SettingError
from hitpath.report.bounded import bounded


def double(value: int) -> int:
    return 2 * value


def fail(place: str) -> None:
    raise InputError(place, "field", "is wrong")


def spin() -> None:
    while True:
        pass


def grow() -> int:
    return len(bytearray(3 << 30))


def test_results_and_errors_come_back() -> None:
    assert bounded("--x", double, 21) == 42
    with pytest.raises(InputError, match=r"^here: field: is wrong$") as caught:
        bounded("--x", fail, "here")
    assert (caught.value.place, caught.value.field) == ("here", "field")


def test_time_and_memory_are_bounded() -> None:
    before = time.monotonic()
    with pytest.raises(SettingError, match=r"^--x: takes more than 1 s of processor"):
        bounded("--x", spin, seconds=1)
    assert time.monotonic() - before < 30
    with pytest.raises(SettingError, match="or 2 GiB of memory"):
        bounded("--x", grow, memory_bytes=2 << 30)
    assert bounded("--x", grow) == 3 << 30
