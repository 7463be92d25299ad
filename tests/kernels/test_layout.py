"""Transposed copies of every item size, shape and layout."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ruda._kernels import layout, transpose
from ruda.errors import ShapeError

SHAPES = [(0, 0), (0, 5), (5, 0), (1, 1), (1, 40), (40, 1), (16, 16), (33, 47), (300, 129)]
DTYPES = ["?", "i1", "<u2", "<f2", ml_dtypes.bfloat16, "<f4", ">f4", "<f8", "<c8", "<c16", "U2"]


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("tiled", [True, False], ids=["tiled", "as it pays"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transpose(
    shape: tuple[int, int], dtype: object, tiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if tiled:
        monkeypatch.setattr(layout, "_pays", lambda given: True)
    values = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    got = transpose(values)
    assert got.flags.c_contiguous
    np.testing.assert_array_equal(got, values.T)


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
@pytest.mark.parametrize("shape", [(1024, 2048), (5000, 513)], ids=str)
def test_transpose_in_pieces(shape: tuple[int, int], dtype: str) -> None:
    values = np.random.default_rng(0).integers(0, 2**8, shape).astype(dtype)
    out = np.zeros(shape[::-1], dtype)
    assert transpose(values, out) is out
    np.testing.assert_array_equal(out, values.T)


@pytest.mark.usefixtures("variant")
def test_transpose_of_views() -> None:
    values = np.arange(512 * 512, dtype=np.float32).reshape(512, 512)
    for view in (values.T, values[::2, ::-1], values[:, 1:]):
        np.testing.assert_array_equal(transpose(view), view.T)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)], ids=str)
def test_only_matrices_are_transposed(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="expected two axes"):
        transpose(np.zeros(shape))
