"""What the gate allocates: nothing of the size of its arrays, where a result is given."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from ruda import _kernels

COUNT = 1 << 18
ROOM = 40_000
"""Bytes that a call may need: the scratch of a thread."""

LINE = np.ones(512, np.float32)
ROWS = (COUNT // 512, 512)


def into(shape: tuple[int, ...] = (COUNT,), dtype: object = np.float32) -> NDArray:
    return np.zeros(shape, dtype)


F32, F16, I8, U8 = np.float32, np.float16, np.int8, np.uint8
BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
PLAIN, MATRIX, HALVES = into(), into(ROWS), into(dtype=F16)
WHOLE, PLANES, BLOCKS = into(ROWS, I8), into((1, 4, 256, 256)), into((COUNT // 32, 32))
HALF_PLANES = into((1, 4, 128, 128))
TURNED = into(ROWS[::-1])
FOUR = np.ones(4, np.float32)

CALLS = [
    pytest.param(F32, lambda a: _kernels.narrow_f16(a, HALVES), id="narrow_f16"),
    pytest.param(F32, lambda a: _kernels.narrow_bf16(a, HALVES.view(np.uint16)), id="narrow_bf16"),
    pytest.param(F16, lambda a: _kernels.widen_f16(a, PLAIN), id="widen_f16"),
    pytest.param(BF16, lambda a: _kernels.widen_bf16(a, PLAIN), id="widen_bf16"),
    pytest.param(E4M3, lambda a: _kernels.widen_e4m3(a, PLAIN), id="widen_e4m3"),
    pytest.param(F32, lambda a: _kernels.silu(a, PLAIN), id="silu"),
    pytest.param(F32, lambda a: _kernels.gelu(a, PLAIN), id="gelu"),
    pytest.param(F32, lambda a: _kernels.softmax(a.reshape(ROWS), out=MATRIX), id="softmax"),
    pytest.param(F32, lambda a: _kernels.layer_norm(a.reshape(ROWS), out=MATRIX), id="norm"),
    pytest.param(F32, lambda a: _kernels.moments(a), id="moments"),
    pytest.param(F32, lambda a: _kernels.difference(a, PLAIN), id="difference"),
    pytest.param(
        F32, lambda a: _kernels.quantize_int8(a.reshape(ROWS), LINE, WHOLE), id="quantize"
    ),
    pytest.param(
        I8, lambda a: _kernels.dequantize_int8(a.reshape(ROWS), LINE, MATRIX), id="dequantize"
    ),
    pytest.param(
        F32,
        lambda a: _kernels.max_pool(a.reshape(PLANES.shape), (2, 2), (2, 2), out=HALF_PLANES),
        id="max_pool",
    ),
    pytest.param(
        F32,
        lambda a: _kernels.scale_channels(a.reshape(PLANES.shape), FOUR, FOUR, out=PLANES),
        id="scale_channels",
    ),
    pytest.param(F32, lambda a: _kernels.transpose(a.reshape(ROWS), TURNED), id="transpose"),
]


@pytest.mark.parametrize(("dtype", "call"), CALLS)
def test_a_mapped_file_is_used_where_it_lies(
    dtype: type,
    call: Callable[[NDArray], object],
    tmp_path: Path,
) -> None:
    if _kernels.variant() == "numpy":
        pytest.skip("the twins have temporaries; this is about the gate before compiled kernels")
    path = tmp_path / "values"
    path.write_bytes(bytes(COUNT * np.dtype(dtype).itemsize))
    mapped = np.asarray(np.memmap(path, dtype, "r"))
    call(mapped)  # what is made once, such as scratch and caches
    tracemalloc.start()
    try:
        call(mapped)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < ROOM
