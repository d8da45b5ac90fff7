"""Places of members in the compact text of a JSON value, many of them in one walk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hitpath.doctor import jsondiff
from hitpath.doctor.jsondiff import OffsetsWithin

if TYPE_CHECKING:
    import pytest

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=3))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def members(
    value: Any, steps: tuple[str | int, ...] = ()
) -> list[tuple[tuple[str | int, ...], Any]]:
    found = [(steps, value)]
    pairs: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    for key, inner in pairs:
        found += members(inner, (*steps, key))
    return found


@given(VALUES)
def test_each_member_stands_where_it_is_said(value: Any) -> None:
    whole = msgspec.json.encode(value)
    offsets = OffsetsWithin(value)
    for steps, member in members(value):
        at = offsets.of(steps)
        text = msgspec.json.encode(member)
        assert whole[at : at + len(text)] == text


def test_each_array_is_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring it for every difference would be quadratic."""
    there, here = ([f"{side} of row {n}" for n in range(2_000)] for side in ("one", "other"))
    measured: list[object] = []
    real = jsondiff._Node.__init__
    monkeypatch.setattr(
        jsondiff._Node,
        "__init__",
        lambda self, value: (measured.append(value), real(self, value))[1],
    )
    offsets = OffsetsWithin(here)
    for found in jsondiff.json_differences(there, here):
        assert offsets.of(found.steps) > 0
    assert len(measured) == 2_001


def test_orders_at_any_depth_are_equal_in_sorted_text() -> None:
    one = {"a": [1, {"x": [3, 2], "y": 1.0}], "b": "z"}
    other = {"b": "z", "a": [{"y": 1, "x": [2, 3]}, 1.0]}
    assert jsondiff.sorted_text(one) == jsondiff.sorted_text(other)
    assert jsondiff.sorted_text(one) != jsondiff.sorted_text({**one, "b": "y"})
