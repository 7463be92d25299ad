"""Each gate under each strain: layouts of every input, bad outputs, aliases, foreign dtypes.

Whatever comes, the result is that of plain arrays, or there is a sentence of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import ruda._kernels as kernels
from ruda.errors import RudaError

pytestmark = pytest.mark.usefixtures("variant")

RANDOM = np.random.default_rng(23)
F32, BF16 = np.dtype(np.float32), np.dtype(ml_dtypes.bfloat16)
E4M3, E5M2 = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)


def floats(*shape: int) -> NDArray:
    return RANDOM.normal(size=shape).astype(np.float32)


def whole(low: int, high: int, *shape: int, dtype: Any = np.int64) -> NDArray:
    return RANDOM.integers(low, high, shape).astype(dtype)


ROWS, LINE = floats(5, 7), floats(7)
PLANES = floats(3, 5, 6)
SHARES = [np.array(part, np.float32) for part in ([0.5, 0, 0.25], [0.1, 0.2])]
PLACES = [np.array([0, 3, 1]), np.array([2, 2])]


def _lstm(out: Any, *given: NDArray) -> NDArray:
    """The cell is written: it gets one of its own, in plain memory."""
    cell = given[3]
    own = np.array(cell, F32, order="C") if cell.dtype.str[1:] == "f4" else cell
    return kernels.lstm_step(*given[:3], own, out)


GATES: dict[str, tuple[Callable[..., Any], list[NDArray], tuple[int, ...], np.dtype[Any]]] = {
    "softmax": (
        lambda o, a, m: kernels.softmax(a, mask=m, out=o), [ROWS, floats(5, 7)], (5, 7), F32),
    "log_softmax": (lambda o, a: kernels.log_softmax(a, out=o), [ROWS], (5, 7), F32),
    "layer_norm": (
        lambda o, a, g, b: kernels.layer_norm(a, g, b, out=o), [ROWS, LINE, LINE], (5, 7), F32),
    "add_layer_norm": (
        lambda o, a, b, g: kernels.add_layer_norm(a, b, g, out=o)[0],
        [ROWS, floats(5, 7), LINE], (5, 7), F32),
    "rms_norm": (lambda o, a, g: kernels.rms_norm(a, g, out=o), [ROWS, LINE], (5, 7), F32),
    "erf": (lambda o, a: kernels.erf(a, o), [ROWS], (5, 7), F32),
    "gelu": (lambda o, a: kernels.gelu(a, o), [ROWS], (5, 7), F32),
    "gelu_tanh": (lambda o, a: kernels.gelu_tanh(a, o), [ROWS], (5, 7), F32),
    "silu": (lambda o, a: kernels.silu(a, o), [ROWS], (5, 7), F32),
    "silu_times": (
        lambda o, a, b: kernels.silu_times(a, b, o), [ROWS, floats(5, 7)], (5, 7), F32),
    "bias_relu": (lambda o, a, b: kernels.bias_relu(a, b, o), [ROWS, LINE], (5, 7), F32),
    "bias_gelu": (lambda o, a, b: kernels.bias_gelu(a, b, out=o), [ROWS, LINE], (5, 7), F32),
    "max_pool": (
        lambda o, a: kernels.max_pool(a, (2, 2), (1, 1), out=o), [PLANES], (3, 4, 5), F32),
    "average_pool": (
        lambda o, a: kernels.average_pool(a, (2, 2), (1, 1), out=o), [PLANES], (3, 4, 5), F32),
    "depthwise_3x3": (
        lambda o, a, w, b: kernels.depthwise_3x3(a, w, b, out=o),
        [PLANES, floats(3, 3, 3), floats(3)], (3, 3, 4), F32),
    "scale_channels": (
        lambda o, a, w, b: kernels.scale_channels(a, w, b, out=o),
        [floats(2, 3, 6), floats(3), floats(3)], (2, 3, 6), F32),
    "rotate_pairs": (
        lambda o, a, c, s: kernels.rotate_pairs(a, c, s, out=o),
        [floats(2, 3, 6), floats(3, 3), floats(3, 3)], (2, 3, 6), F32),
    "unfold": (
        lambda o, a: kernels.unfold(a, (2, 2), (3, 3), out=o), [floats(2, 3, 4, 4)],
        (3, 4, 2, 9), F32),
    "transpose": (lambda o, a: kernels.transpose(a, o), [floats(300, 400)], (400, 300), F32),
    "gather_items": (
        lambda o, a, i: kernels.gather_items(a, i, 1, o), [floats(3, 4), whole(-4, 4, 3, 6)],
        (3, 6), F32),
    "resize_nearest": (
        lambda o, a, i, j: kernels.resize_nearest(a, i, j, o), [floats(2, 4, 4), *PLACES],
        (2, 3, 2), F32),
    "resize_linear": (
        lambda o, a, i, s, j, t: kernels.resize_linear(a, (i, s), (j, t), o),
        [floats(2, 4, 4), PLACES[0], SHARES[0], PLACES[1], SHARES[1]], (2, 3, 2), F32),
    "quantize_int8": (
        lambda o, a, s: kernels.quantize_int8(a, s, o)[0],
        [floats(4, 6), np.abs(floats(4)) + F32.type(0.1)], (4, 6), np.dtype(np.int8)),
    "dequantize_int8": (
        lambda o, a, s: kernels.dequantize_int8(a, s, o),
        [whole(-9, 9, 4, 6, dtype=np.int8), floats(4)], (4, 6), F32),
    "unpack_q4_0": (
        lambda o, a: kernels.unpack_q4_0(a, o), [whole(0, 50, 4, 18, dtype=np.uint8)],
        (4, 32), F32),
    "unpack_q8_0": (
        lambda o, a: kernels.unpack_q8_0(a, o), [whole(0, 50, 4, 34, dtype=np.uint8)],
        (4, 32), F32),
    "largest_places": (
        lambda o, a: kernels.largest_places(a, 3, o), [floats(4, 9)], (4, 3), np.dtype(np.int64)),
    "lstm_step": (
        _lstm, [floats(3, 8), floats(3, 8), floats(8), floats(3, 2)], (3, 2), F32),
    "gru_step": (
        lambda o, a, b, c, d: kernels.gru_step(a, b, c, d, o),
        [floats(3, 6), floats(3, 6), floats(6), floats(3, 2)], (3, 2), F32),
    "narrow_f16": (
        lambda o, a: kernels.narrow_f16(a, o)[0], [ROWS], (5, 7), np.dtype(np.float16)),
    "narrow_bf16": (lambda o, a: kernels.narrow_bf16(a, o)[0], [ROWS], (5, 7), BF16),
    "narrow_e4m3": (lambda o, a: kernels.narrow_e4m3(a, o)[0], [ROWS], (5, 7), E4M3),
    "narrow_e5m2": (lambda o, a: kernels.narrow_e5m2(a, o)[0], [ROWS], (5, 7), E5M2),
    "widen_f16": (
        lambda o, a: kernels.widen_f16(a, o), [ROWS.astype(np.float16)], (5, 7), F32),
    "widen_bf16": (lambda o, a: kernels.widen_bf16(a, o), [ROWS.astype(BF16)], (5, 7), F32),
    "widen_e4m3": (lambda o, a: kernels.widen_e4m3(a, o), [ROWS.astype(E4M3)], (5, 7), F32),
    "widen_e5m2": (lambda o, a: kernels.widen_e5m2(a, o), [ROWS.astype(E5M2)], (5, 7), F32),
}  # fmt: skip


def _written(call: Callable[[NDArray], Any], shape: tuple[int, ...]) -> NDArray:
    """What a gate leaves in memory that it is given and has to write all of."""
    out = np.full(shape, np.nan, np.float32)
    call(out)
    return out


def _added(call: Callable[..., None], shape: tuple[int, ...], *given: NDArray) -> NDArray:
    """What a gate adds to ones, in plain memory."""
    target = np.ones(shape, np.float32)
    call(target, *given)
    return target


# Gates that have no result to be given, or write into an array that is an input as well.
FIGURES: dict[str, tuple[Callable[..., Any], list[NDArray]]] = {
    "moments": (lambda a: astuple(kernels.moments(a)), [ROWS]),
    "histogram": (lambda a: kernels.histogram(a, -1, 1, 4), [ROWS]),
    "difference": (lambda a, b: astuple(kernels.difference(a, b)), [ROWS, floats(5, 7)]),
    "largest_in_rows": (lambda a: kernels.largest_in_rows(a), [ROWS]),
    "collate_images": (
        lambda a, b: kernels.collate_images([a, b], (3, 3), mean=[0.5] * 2, std=[0.2] * 2),
        [whole(0, 256, 4, 5, 2, dtype=np.uint8), whole(0, 256, 3, 3, 2, dtype=np.uint8)]),
    "scatter_add": (
        lambda p, a: _added(lambda t, *g: kernels.scatter_add(t, *g, 1), (3, 4), p, a),
        [whole(-4, 4, 3, 6), floats(3, 6)]),
    "add_slices": (
        lambda p, a: _added(lambda t, *g: kernels.add_slices(t, *g, 1), (3, 4), p, a),
        [whole(-4, 4, 6), floats(3, 6)]),
    "winograd_tiles": (
        lambda a: _written(lambda o: kernels.winograd_tiles(a, 0, 2, 0, o), (16, 2, 4)),
        [floats(2, 6, 6)]),
    "winograd_planes": (
        lambda a, b: _written(lambda o: kernels.winograd_planes(a, b, 0, 0, 2, o), (2, 4, 4)),
        [floats(16, 2, 4), floats(2)]),
}  # fmt: skip
NO_ARRAYS = {"shuffle_order"}
POLICY = {
    "aside", "available_variants", "can_add", "describe", "in_blocks", "one_blas_thread",
    "set_thread_count", "shown_number", "stopped_by", "thread_count", "variant",
    "NarrowCounts", "Difference", "Moments",
}  # fmt: skip


def test_each_gate_is_in_a_table_here() -> None:
    tables = [set(GATES), set(FIGURES), NO_ARRAYS, POLICY]
    assert set().union(*tables) == set(kernels.__all__)
    assert sum(map(len, tables)) == len(kernels.__all__)


@pytest.mark.parametrize("name", FIGURES)
def test_layouts_of_every_input_to_figures(name: str) -> None:
    call, given = FIGURES[name]
    wanted = np.array(call(*given))
    for place in range(len(given)):
        for lay in LAYOUTS.values():
            strained = [lay(one) if i == place else one for i, one in enumerate(given)]
            np.testing.assert_array_equal(np.array(call(*strained)), wanted)


@pytest.mark.parametrize("name", FIGURES)
def test_dtypes_of_inputs_to_figures(name: str) -> None:
    call, given = FIGURES[name]
    for place, one in enumerate(given):
        for dtype in FOREIGN:
            strange = np.zeros(one.shape, dtype)
            if name in ("moments", "histogram") and strange.dtype.kind in "fb":
                continue  # these take them
            strained = [strange if i == place else x for i, x in enumerate(given)]
            with pytest.raises(RudaError, match="dtype"):
                call(*strained)


class Sub(np.ndarray):
    """A subclass of no opinion."""


def shifted(array: NDArray) -> NDArray:
    room = np.zeros(array.nbytes + 1, np.uint8)
    view = room[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def strided(array: NDArray) -> NDArray:
    room = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    room[..., ::2] = array
    return room[..., ::2]


def foreign(array: NDArray) -> NDArray:
    return array.astype(array.dtype.newbyteorder("S"))


def frozen(array: NDArray) -> NDArray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Callable[[NDArray], NDArray]] = {
    "misaligned": shifted,
    "negative": lambda a: a[::-1].copy()[::-1],
    "strided": strided,
    "foreign": foreign,
    "read-only": frozen,
    "column-major": np.asfortranarray,
    "subclass": lambda a: a.view(Sub),
}


def alike(got: NDArray, wanted: NDArray) -> bool:
    return got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", GATES)
def test_layouts_of_every_input(name: str) -> None:
    call, given, _, _ = GATES[name]
    wanted = np.array(call(None, *given))
    for place in range(len(given)):
        for lay in LAYOUTS.values():
            strained = [lay(one) if i == place else one for i, one in enumerate(given)]
            got = call(None, *strained)
            assert type(got) is np.ndarray
            assert alike(got, wanted)


@pytest.mark.parametrize("name", GATES)
def test_bad_outputs(name: str) -> None:
    call, given, shape, dtype = GATES[name]
    good = np.zeros(shape, dtype)
    bad: list[Any] = [
        frozen(good),
        strided(good),
        good[::-1],
        good[:-1],
        good[..., None],
        np.zeros(shape, np.float64),
        np.zeros(shape, object),
        np.broadcast_to(np.zeros((), dtype), shape),
        np.ma.masked_array(good, mask=True),
        good.tolist(),
        5,
    ]
    bad += [shifted(good), foreign(good)] if dtype.itemsize > 1 and dtype.isbuiltin == 1 else []
    for out in bad:
        with pytest.raises(RudaError, match="out"):
            call(out, *given)


@pytest.mark.parametrize("name", GATES)
def test_outputs_over_inputs(name: str) -> None:
    """Fully or in part: refused, or what is there was read before it is written."""
    call, given, shape, dtype = GATES[name]
    wanted = np.array(call(None, *given))
    for place, one in enumerate(given):
        for at in (0, 8, 16):
            room = np.zeros(max(wanted.nbytes, one.nbytes) + 64, np.uint8)
            source = room[: one.nbytes].view(one.dtype).reshape(one.shape)
            source[...] = one
            out = room[at : at + wanted.nbytes].view(dtype).reshape(shape)
            try:
                got = call(out, *[source if i == place else x for i, x in enumerate(given)])
            except RudaError:
                assert alike(source, one)  # nothing was written
            else:
                assert alike(got, wanted)


FOREIGN = [np.float64, object, "M8[s]", "U3", "i4,f4", complex, bool, np.dtypes.StringDType()]


@pytest.mark.parametrize("name", sorted(set(GATES) - {"transpose", "gather_items"}))
def test_dtypes_of_inputs(name: str) -> None:
    call, given, _, _ = GATES[name]
    for place, one in enumerate(given):
        for dtype in FOREIGN:
            strange = np.zeros(one.shape, dtype)
            strained = [strange if i == place else x for i, x in enumerate(given)]
            with pytest.raises(RudaError, match="dtype"):
                call(None, *strained)


@pytest.mark.parametrize("dtype", FOREIGN)
def test_items_of_any_dtype_are_moved(dtype: Any) -> None:
    items = np.zeros((3, 4), dtype)
    places = np.array([[0], [1], [2]])
    assert kernels.gather_items(items, places, 1).dtype == items.dtype
    assert kernels.transpose(items).shape == (4, 3)
