"""What no kernel checks, the gate does: inputs are made fit, outputs are refused in a sentence."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from ruda._kernels import (
    histogram,
    moments,
    narrow_bf16,
    narrow_f16,
    transpose,
    widen_bf16,
    widen_f16,
)
from ruda.errors import DTypeError, LayoutError, RudaError, ShapeError

VALUES = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
HALVES = VALUES.astype(np.float16)


def shifted(array: NDArray) -> NDArray:
    """The same items at an address that no alignment allows."""
    room = np.zeros(array.nbytes + 1, np.uint8)
    view = room[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def foreign(array: NDArray) -> NDArray:
    return array.astype(array.dtype.newbyteorder("S"))


def frozen(array: NDArray) -> NDArray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS = [
    pytest.param(foreign, id="foreign byte order"),
    pytest.param(shifted, id="misaligned"),
    pytest.param(frozen, id="read-only"),
    pytest.param(lambda a: np.repeat(a, 2, axis=1)[:, ::2], id="strided"),
    pytest.param(lambda a: a[::-1].copy()[::-1], id="negative stride"),
    pytest.param(np.asfortranarray, id="column-major"),
    pytest.param(lambda a: np.ma.masked_array(a, mask=False), id="subclass"),
]
TAKES = [
    pytest.param(lambda a: narrow_f16(a)[0], VALUES, VALUES.astype(np.float16), id="narrow_f16"),
    pytest.param(
        lambda a: narrow_bf16(a)[0], VALUES, VALUES.astype(ml_dtypes.bfloat16), id="narrow_bf16"
    ),
    pytest.param(widen_f16, HALVES, HALVES.astype(np.float32), id="widen_f16"),
    pytest.param(transpose, VALUES, np.ascontiguousarray(VALUES.T), id="transpose"),
    pytest.param(lambda a: histogram(a, -3, 3, 2), VALUES, np.array([12, 12]), id="histogram"),
    pytest.param(
        lambda a: np.array(moments(a).total_squares),
        VALUES,
        np.array(np.square(VALUES, dtype=np.float64).sum()),
        id="moments",
    ),
]


@pytest.mark.usefixtures("variant")
@pytest.mark.parametrize("lay", LAYOUTS)
@pytest.mark.parametrize(("call", "values", "expected"), TAKES)
def test_any_layout_of_an_input_gives_the_same_result(
    call: Callable[[NDArray], NDArray],
    values: NDArray,
    expected: NDArray,
    lay: Callable[[NDArray], NDArray],
) -> None:
    got = call(lay(values))
    assert got.dtype.isnative
    assert type(got) is np.ndarray
    np.testing.assert_allclose(
        got.astype(np.float64), expected.astype(np.float64), rtol=1e-15, atol=0
    )


@pytest.mark.usefixtures("variant")
def test_a_read_only_map_is_read_and_never_written(tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.write_bytes(VALUES.tobytes())
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    values = np.frombuffer(mapped, np.float32)
    np.testing.assert_array_equal(narrow_f16(values)[0], HALVES.reshape(-1))
    with pytest.raises(LayoutError, match="out is read-only; pass an array that may be written"):
        widen_f16(np.zeros(24, np.float16), values)


def outputs(dtype: object, shape: tuple[int, ...]) -> list[tuple[NDArray, type[RudaError], str]]:
    good = np.zeros(shape, dtype)
    return [
        (frozen(good), LayoutError, "out is read-only"),
        (foreign(good), LayoutError, "out has dtype .* in foreign byte order; expected native"),
        (shifted(good), LayoutError, "which is not a multiple of .*; pass an aligned array"),
        (np.zeros((*shape, 2), dtype)[..., 0], LayoutError, "expected a C-contiguous array"),
        (good[:-1], ShapeError, rf"out has shape .*; expected \({shape[0]}, {shape[1]}\)"),
        (good.astype(np.int64), DTypeError, "out has dtype int64; expected"),
        (good.tolist(), DTypeError, "out is a list; expected a NumPy array"),
    ]


WRITES = [
    pytest.param(narrow_f16, VALUES, np.float16, (4, 6), id="narrow_f16"),
    pytest.param(narrow_bf16, VALUES, np.uint16, (4, 6), id="narrow_bf16"),
    pytest.param(widen_f16, HALVES, np.float32, (4, 6), id="widen_f16"),
    pytest.param(widen_bf16, HALVES.view(np.uint16), np.float32, (4, 6), id="widen_bf16"),
    pytest.param(transpose, VALUES, np.float32, (6, 4), id="transpose"),
]


@pytest.mark.parametrize("which", range(7))
@pytest.mark.parametrize(("call", "values", "dtype", "shape"), WRITES)
def test_bad_outputs_are_refused(
    call: Callable[[NDArray, NDArray], object],
    values: NDArray,
    dtype: object,
    shape: tuple[int, ...],
    which: int,
) -> None:
    out, error, message = outputs(dtype, shape)[which]
    with pytest.raises(error, match=message):
        call(values, out)


def test_an_output_over_its_input_is_refused() -> None:
    room = np.zeros(8, np.float32)
    with pytest.raises(LayoutError, match="out shares memory with the input"):
        narrow_f16(room, room.view(np.float16)[:8])


INPUTS = [
    pytest.param(narrow_f16, np.zeros(3), "values has dtype float64; expected float32", id="f64"),
    pytest.param(narrow_bf16, HALVES, "values has dtype float16; expected float32", id="f16"),
    pytest.param(
        widen_f16, VALUES, "words has dtype float32; expected float16 or uint16", id="f32 to widen"
    ),
    pytest.param(
        widen_bf16, HALVES, "words has dtype float16; expected bfloat16 or uint16", id="f16 as bf16"
    ),
    pytest.param(narrow_f16, [1.0], "values is a list; expected a NumPy array", id="list"),
    pytest.param(moments, 3.0, "values is a float; expected a NumPy array", id="number"),
    pytest.param(transpose, None, "values is a NoneType; expected a NumPy array", id="none"),
]


@pytest.mark.parametrize(("call", "values", "message"), INPUTS)
def test_inputs_of_another_type_are_refused(
    call: Callable[[object], object], values: object, message: str
) -> None:
    with pytest.raises(DTypeError, match=message):
        call(values)
