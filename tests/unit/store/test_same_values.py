"""Marks of values: equal for what reads the same, never for what could read otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ruda.store import (
    CastPolicy,
    Decision,
    Recipe,
    Slice,
    Take,
    TensorIndex,
    TensorSnapshot,
    Transpose,
    convert,
    open_store,
    save,
    values_mark,
)
from ruda.tensor import DType

Made = Callable[[Recipe], TensorSnapshot]
KEY = "layer.weight"


@pytest.fixture
def made(tmp_path: Path) -> Made:
    path = tmp_path / "made.safetensors"
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensors = [TensorSnapshot.from_array(key, values) for key in (KEY, "other.weight")]
    save(TensorIndex.of(tensors, format="safetensors"), path)
    index = open_store(path)
    # Every recipe is carried out anew, as after an edit; the first tensor is the one.
    return lambda recipe: next(iter(convert(index, recipe=recipe).values()))


SAME = [
    pytest.param(Recipe(), Recipe().with_rule("layer", "block"), id="renamed"),
    pytest.param(Recipe().with_further(Decision.of(KEY, Transpose((1, 0)))), None, id="turned"),
    pytest.param(Recipe().with_cast(CastPolicy(DType.F16)), None, id="cast"),
    pytest.param(Recipe().with_further(Decision.of(KEY, Slice(0, 1, 3))), None, id="cut"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_reads_alike_is_marked_alike(made: Made, one: Recipe, other: Recipe | None) -> None:
    first = made(one)
    second = made(one.with_rule("other", "far") if other is None else other)
    assert values_mark(first) == values_mark(second)
    np.testing.assert_array_equal(first.read(), second.read())


def test_what_reads_otherwise_is_marked_otherwise(made: Made, tmp_path: Path) -> None:
    donor = tmp_path / "donor.safetensors"
    turned = np.ones((3, 4), np.float32)
    save(TensorIndex.of([TensorSnapshot.from_array(KEY, turned)], format="safetensors"), donor)
    recipes = [
        Recipe(),
        Recipe().with_cast(CastPolicy(DType.F16)),
        Recipe().with_cast(CastPolicy(DType.BF16)),
        Recipe().with_further(Decision.of(KEY, Slice(0, 1, 3))),
        Recipe().with_further(Decision.of(KEY, Slice(0, 0, 2))),
        Recipe().with_further(Decision.of(KEY, Take(str(donor), KEY))),
    ]
    snapshots = [made(recipe) for recipe in recipes]
    assert len({values_mark(snapshot) for snapshot in snapshots}) == len(recipes)


def test_a_file_that_was_opened_anew_is_another(tmp_path: Path) -> None:
    path = tmp_path / "made.safetensors"
    save(TensorIndex.of([TensorSnapshot.from_array("a", np.ones(2))], format="safetensors"), path)
    with open_store(path) as one, open_store(path) as other:
        assert values_mark(one["a"]) != values_mark(other["a"])
        assert values_mark(one["a"]) == values_mark(one["a"])
