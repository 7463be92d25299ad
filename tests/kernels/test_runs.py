"""Arrays that cannot be seen on one axis: walked piece by piece, never copied as a whole."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from ruda import _kernels
from ruda._kernels.checks import as_rows, take_flat, take_rows, take_run
from ruda.progress import Cancelled, Progress

F32 = np.float32


def counted(*shape: int) -> NDArray[Any]:
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


TURNED = {
    "matrix": counted(5, 7).T,
    "axes": counted(3, 4, 5).transpose(2, 0, 1),
    "inner axes": counted(3, 4, 5).transpose(0, 2, 1),
    "every other": counted(4, 6)[:, ::2],
    "backwards": counted(4, 6)[::-1],
    "axes of one": counted(4, 1, 6, 1).transpose(2, 1, 3, 0),
    "spread": np.broadcast_to(counted(4), (3, 4)),
    "spread inside": np.broadcast_to(counted(4, 1), (4, 3)),
    "foreign": counted(5, 7).astype(">i4").T,
    "long rows": counted(50, 2).T,
    "many axes": counted(*[2] * 6).transpose(5, 0, 4, 1, 3, 2),
}
LINES = {
    "plain": counted(3, 4),
    "none": np.broadcast_to(np.int32(3), (3, 4)),
    "one item": counted(1, 1),
    "no axis": np.array(3),
    "empty": counted(3, 0, 2).T,
    "even steps": counted(4, 6)[:, ::2][:, :1],
    "rows and columns": counted(3, 4, 2)[..., 0],
}


@pytest.mark.parametrize("values", LINES.values(), ids=LINES)
def test_lines_are_views(values: NDArray[Any]) -> None:
    flat = take_flat(values)
    assert flat.ndim == 1
    assert flat.size == 0 or np.shares_memory(flat, values)


@pytest.mark.parametrize("values", TURNED.values(), ids=TURNED)
def test_runs_of_any_place_and_length(values: NDArray[Any]) -> None:
    source, wanted = take_flat(values), values.reshape(-1)
    for start in range(values.size):
        for stop in range(start + 1, values.size + 1):
            run = take_run(source, slice(start, stop))
            assert run.ndim == 1
            np.testing.assert_array_equal(run, wanted[start:stop])


@pytest.mark.parametrize("values", (TURNED | LINES).values(), ids=TURNED | LINES)
def test_rows_of_any_place(values: NDArray[Any]) -> None:
    if not values.ndim or not values.size:
        values = counted(2, 3)
    wanted = values.reshape(-1, values.shape[-1])
    source = as_rows(values)
    for start in range(len(wanted)):
        for stop in range(start + 1, len(wanted) + 1):
            rows = take_rows(source, slice(start, stop))
            np.testing.assert_array_equal(rows, wanted[start:stop])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("values", (TURNED | LINES).values(), ids=TURNED | LINES)
def test_blocks_are_plain_and_in_order(
    values: NDArray[Any], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ruda._kernels.threads.PIECE_BYTES", 48)
    monkeypatch.setattr("ruda._kernels.threads.LARGEST_BYTES", 48)
    monkeypatch.setattr("ruda._kernels.threads._count", threads)
    out = np.zeros(values.size, np.int64)

    def task(block: NDArray[Any], room: NDArray[Any]) -> int:
        assert block.flags.c_contiguous
        assert block.flags.aligned
        assert block.dtype.isnative
        room[...] = block
        return block.size

    sizes = _kernels.in_blocks(task, values, out, block_bytes=24)
    np.testing.assert_array_equal(out, values.reshape(-1))
    assert sum(sizes) == values.size
    assert max(sizes, default=0) <= 2


def test_blocks_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop:
        def check(self) -> None:
            raise Cancelled("stopped")

        def report(self, progress: Progress) -> None: ...

    with pytest.raises(Cancelled, match="stopped"):
        _kernels.in_blocks(lambda a, b: None, np.ones(4), np.ones(4), monitor=Stop())


SIDE = 4096
"""A map of 64 MB of float32."""
MOST = 16 << 20
BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
LINE = np.zeros(64, F32)


def deep(turned: NDArray[Any]) -> NDArray[Any]:
    """With three axes, of which the first two cannot be seen as one."""
    return turned.T.reshape(64, 64, SIDE).transpose(1, 2, 0)


def room(out: NDArray[Any]) -> NDArray[Any]:
    return out.view(F32).reshape(64, SIDE, 64)


CALLS: list[Any] = [
    pytest.param(F32, lambda a, o: _kernels.narrow_e4m3(a, o.view(E4M3)), 1, id="narrow"),
    pytest.param(E4M3, lambda a, o: _kernels.widen_e4m3(a, o.view(F32)), 4, id="widen fp8"),
    pytest.param(BF16, lambda a, o: _kernels.widen_bf16(a, o.view(F32)), 4, id="widen bf16"),
    pytest.param(F32, lambda a, o: _kernels.silu(a, o.view(F32)), 4, id="activation"),
    pytest.param(F32, lambda a, _: _kernels.moments(a), 0, id="moments"),
    pytest.param(np.int32, lambda a, _: _kernels.moments(a), 0, id="moments of integers"),
    pytest.param(F32, lambda a, _: _kernels.histogram(a, -1, 1, 10), 0, id="histogram"),
    pytest.param(F32, lambda a, _: _kernels.difference(a, a), 0, id="difference"),
    pytest.param(F32, lambda a, o: _kernels.softmax(deep(a), out=room(o)), 4, id="rows"),
    pytest.param(F32, lambda a, o: _kernels.bias_relu(deep(a), LINE, room(o)), 4, id="bias"),
]


@pytest.mark.parametrize(("dtype", "call", "width"), CALLS)
def test_a_transposed_map_is_not_copied_as_a_whole(
    dtype: Any, call: Callable[..., Any], width: int, tmp_path: Path
) -> None:
    path = tmp_path / "values"
    with path.open("wb") as file:
        file.truncate(SIDE * SIDE * np.dtype(dtype).itemsize)
    turned = np.asarray(np.memmap(path, dtype, "r", shape=(SIDE, SIDE))).T
    out = np.zeros((SIDE, SIDE * width), np.uint8)
    tracemalloc.start()
    try:
        call(turned, out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST
