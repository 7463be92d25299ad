"""Floats of another type than the target wants: the diff names the cast that would do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda import nn
from ruda.cli import main
from ruda.store import (
    CastPolicy,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    collect,
    convert,
    diff,
    open_store,
    save,
)
from ruda.tensor import DType


class Net(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(3, 3, seed=0)
        self.norm = nn.BatchNorm(3)


def arrays(values: dict[str, np.ndarray[Any, Any]]) -> TensorIndex:
    made = (TensorSnapshot.from_array(key, value) for key, value in values.items())
    return TensorIndex.of(made, format="memory")


def halved(dtype: DType) -> TensorIndex:
    """The net's own tensors, the linear layer's in another type."""
    return convert(collect(Net()), recipe=Recipe(cast=CastPolicy.half(dtype)))


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16], ids=str)
def test_the_cast_that_would_do_is_named_and_does(dtype: DType) -> None:
    report = diff(halved(dtype), Net())
    assert [tuple(hint) for hint in report.hints] == [("cast", "f32", 2)]
    assert report.hints[0].rule is None
    assert report.banner == "2 of 6 cannot be applied; a cast to f32 would match 2 more"
    made = Recipe(cast=CastPolicy.every(DType.parse(report.hints[0].value)))
    assert diff(halved(dtype), Net(), recipe=made).is_clean


def test_a_recipe_that_casts_is_told_nothing_of_it() -> None:
    made = Recipe(cast=CastPolicy.every(DType.BF16))
    assert diff(halved(DType.F16), Net(), recipe=made).hints == ()


def test_integers_are_not_cast() -> None:
    other = arrays({"a": np.zeros(3, np.int32)})
    target = arrays({"a": np.zeros(3, np.int64)})
    assert diff(other, target).hints == ()


def test_targets_of_several_types_have_no_one_cast() -> None:
    other = arrays({"a": np.zeros(3, np.float16), "b": np.zeros(3, np.float16)})
    target = arrays({"a": np.zeros(3, np.float32), "b": np.zeros(3, np.float64)})
    assert diff(other, target).hints == ()


def test_a_wrapper_and_halves_are_named_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(halved(DType.F16), tmp_path / "half.safetensors")
    target = tmp_path / "whole.safetensors"
    save(collect(Net()), target)
    assert main(["diff", str(tmp_path / "half.safetensors"), str(target)]) == 1
    assert "  try --cast f32  (2 tensors would match)" in capsys.readouterr().out
    with open_store(tmp_path / "half.safetensors") as index, open_store(target) as other:
        assert diff(index, other).hints[0].kind == "cast"
