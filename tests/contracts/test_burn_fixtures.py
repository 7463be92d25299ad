"""Files of Burn's own tests, with the values that those tests state."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda.errors import RudaError
from ruda.store import open_store

pytestmark = pytest.mark.cases

VALUES: list[Any] = [
    pytest.param("bfloat16.pt", "tensor", "bf16", [1.5, -2.5, 3.5], id="bf16"),
    pytest.param("float16.pt", "tensor", "f16", [1.5, -2.25, 3.125], id="f16"),
    pytest.param("float64.pt", "tensor", "f64", [1.1, 2.2, 3.3], id="f64"),
    pytest.param("int32.pt", "tensor", "i32", [10, 20, -30], id="i32"),
    pytest.param("int8.pt", "tensor", "i8", [127, -128, 0, 50], id="i8"),
    pytest.param("integer.pt", "buffer", "i64", [1, 2, 3], id="i64"),
    pytest.param("tensor_2d.pt", "tensor", "f32", [[1, 2], [3, 4], [5, 6]], id="matrix"),
    pytest.param("scalar.pt", "tensor", "f32", 42.0, id="scalar"),
    pytest.param("empty.pt", "tensor", "f32", [], id="empty"),
    pytest.param("special_values.pt", "tensor", "f32", [math.nan, math.inf, -math.inf, 0, 1]),
    pytest.param("buffer.pt", "buffer", "f32", np.ones((3, 3)).tolist(), id="buffer"),
    pytest.param(
        "legacy_with_offsets.pt", "tensor1", "f32", [1 + n / 100 for n in range(10)], id="legacy"
    ),
    pytest.param("legacy_with_offsets.pt", "tensor2", "f32", [2, 2.1, 2.2, 2.3, 2.4], id="offset"),
    pytest.param("tar_float64.tar", "tensor", "f64", [1.1, 2.2, 3.3], id="tar"),
    pytest.param("tar_multi_dtype.tar", "double_tensor", "f64", [1.111, 2.222], id="tar of types"),
    pytest.param("tar_multi_dtype.tar", "int_tensor", "i64", [10, 20, 30, 40], id="tar of i64"),
    pytest.param(
        "tar_2d_tensor.tar", "matrix", "f32", np.arange(1, 13).reshape(3, 4).tolist(), id="tar 2d"
    ),
]


@pytest.mark.parametrize(("name", "key", "dtype", "values"), VALUES)
def test_values(cases: Path, name: str, key: str, dtype: str, values: object) -> None:
    with open_store(cases / "burn-fixtures" / name) as index:
        snapshot = index[key]
        assert str(snapshot.dtype) == dtype
        found = snapshot.read()
        expected = np.asarray(values, dtype=np.float64).astype(found.dtype)
        # The values are stated as decimals; the files hold what f32 arithmetic made of them.
        np.testing.assert_allclose(found, expected, rtol=2.4e-7, atol=0)


def test_nested_dicts_are_flattened(cases: Path) -> None:
    with open_store(cases / "burn-fixtures" / "nested_dict.pt") as index:
        assert list(index) == ["layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias"]


def test_a_top_level_key_takes_the_prefix_away(cases: Path) -> None:
    path = cases / "burn-fixtures" / "checkpoint.pt"
    with open_store(path) as whole, open_store(path, top_level_key="model_state_dict") as part:
        assert list(part) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
        assert part["fc1.bias"].sha256() == whole["model_state_dict.fc1.bias"].sha256()


def test_a_broken_file_is_refused(cases: Path) -> None:
    with pytest.raises(RudaError, match=r"broken\.pt: byte 1: the pickle is damaged"):
        open_store(cases / "burn-fixtures" / "broken.pt")
