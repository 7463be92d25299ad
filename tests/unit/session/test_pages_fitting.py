"""Decisions that are offered for a wrong shape, each of which gives the right one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.session import fits
from ruda.store import Recipe, TensorIndex, TensorSnapshot, convert

CASES = [
    pytest.param((3, 4), (4, 3), ["Transpose to 1, 0", "Reshape to [4, 3]"], id="swapped"),
    pytest.param((32002, 8), (32000, 8), ["Cut axis 0 to 32000"], id="vocabulary grew"),
    pytest.param((8,), (10,), ["Fill axis 0 up to 10 with zeros"], id="too short"),
    pytest.param(
        (6, 3),
        (4, 5),
        ["Cut axis 0 to 4, fill axis 1 up to 5 with zeros"],
        id="both",
    ),
    pytest.param((1, 8), (8,), ["Reshape to [8]"], id="an axis of one"),
    pytest.param((4, 4), (4, 4), [], id="it fits"),
    pytest.param((0, 4), (2, 4), [], id="an empty placeholder"),
    pytest.param((2, 3), (7,), [], id="nothing helps"),
]


@pytest.mark.parametrize(("have", "want", "titles"), CASES)
def test_ways_are_offered(have: tuple[int, ...], want: tuple[int, ...], titles: list[str]) -> None:
    assert [fit.title for fit in fits(have, want)] == titles


SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


@given(SHAPES, SHAPES)
def test_every_way_gives_the_shape_that_is_wanted(
    have: tuple[int, ...], want: tuple[int, ...]
) -> None:
    values = np.arange(np.prod(have), dtype=np.float32).reshape(have)
    index = TensorIndex.of([TensorSnapshot.from_array("w", values)], format="safetensors")
    for fit in fits(have, want):
        made = convert(index, recipe=Recipe().with_decision(*fit.decisions("w")))
        assert made["w"].shape == want
        assert made["w"].read().shape == want
