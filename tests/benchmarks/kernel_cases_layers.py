"""Cases of the kernels for layers, quantised values and comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kernel_case import Case, numbers, torch, torch_peer
from numpy.typing import NDArray

from ruda import _kernels

WIDTH = 512
"""Columns of the cases that work on rows."""


def lines(n: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal((n // WIDTH, WIDTH)).astype(np.float32)


def numpy_softmax(values: NDArray[Any], out: NDArray[Any]) -> None:
    np.subtract(values, values.max(axis=1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)


def numpy_norm(values: NDArray[Any], out: NDArray[Any]) -> None:
    np.subtract(values, values.mean(axis=1, keepdims=True), out=out)
    out *= 1 / np.sqrt(np.square(out).mean(axis=1, keepdims=True) + np.float32(1e-5))


def numpy_rms(values: NDArray[Any], out: NDArray[Any]) -> None:
    squares = np.square(values).mean(axis=1, keepdims=True)
    np.multiply(values, 1 / np.sqrt(squares + np.float32(1e-5)), out=out)


def torch_row(name: str) -> Callable[..., object]:
    functional = None if torch is None else torch.nn.functional
    return {
        "softmax": lambda v: functional.softmax(v, -1),
        "layer norm": lambda v: functional.layer_norm(v, (WIDTH,)),
        "rms norm": lambda v: functional.rms_norm(v, (WIDTH,)),
    }[name]


def by_rows(
    n: int, name: str, ours: Callable[..., object], numpy_work: Callable[..., object]
) -> Case:
    values = lines(n)
    out, theirs = np.empty_like(values), np.empty_like(values)
    return Case(
        name,
        8 * n,
        lambda: ours(values, out=out),
        {
            "numpy": lambda: numpy_work(values, theirs),
            **torch_peer(torch_row(name), values),
        },
        lambda: np.testing.assert_allclose(out, theirs, rtol=1e-4, atol=1e-5),
    )


def numpy_silu(values: NDArray[Any], out: NDArray[Any]) -> None:
    np.divide(values, 1 + np.exp(-values), out=out)


def numpy_gelu_tanh(values: NDArray[Any], out: NDArray[Any]) -> None:
    inner = np.float32(0.7978846) * (values + np.float32(0.044715) * (values * values * values))
    np.multiply(np.float32(0.5) * values, 1 + np.tanh(inner), out=out)


def numpy_gelu(values: NDArray[Any], out: NDArray[Any]) -> None:
    """NumPy has no erf: its tanh form stands in, which is faster than any erf in NumPy."""
    numpy_gelu_tanh(values, out)


def torch_activation(name: str) -> Callable[..., object]:
    functional = None if torch is None else torch.nn.functional
    return {
        "gelu": lambda v: functional.gelu(v),
        "gelu, tanh": lambda v: functional.gelu(v, approximate="tanh"),
        "silu": lambda v: functional.silu(v),
    }[name]


def activation_case(
    n: int, name: str, ours: Callable[..., object], numpy_work: Callable[..., object]
) -> Case:
    values = numbers(n) * np.float32(20)
    out, theirs = np.empty_like(values), np.empty_like(values)
    return Case(
        name,
        8 * n,
        lambda: ours(values, out),
        {
            "numpy": lambda: numpy_work(values, theirs),
            **torch_peer(torch_activation(name), values),
        },
        lambda: np.testing.assert_allclose(out, theirs, rtol=1e-2, atol=1e-3),
    )


def numpy_int8(values: NDArray[Any], scales: NDArray[Any], out: NDArray[Any]) -> None:
    out[...] = np.rint(values / scales[:, None]).clip(-127, 127)


def quantize_int8(n: int) -> Case:
    values = lines(n)
    scales = np.abs(values).max(axis=1) / np.float32(127)
    out, theirs = np.empty(values.shape, np.int8), np.empty(values.shape, np.int8)
    return Case(
        "f32 → int8, per row",
        5 * n,
        lambda: _kernels.quantize_int8(values, scales, out),
        {
            "numpy": lambda: numpy_int8(values, scales, theirs),
            **torch_peer(
                lambda v, s: (v / s[:, None]).round().clamp(-127, 127).to(torch.int8),
                values,
                scales,
            ),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def dequantize_int8(n: int) -> Case:
    codes = np.random.default_rng(0).integers(-127, 128, (n // WIDTH, WIDTH), np.int8)
    scales = lines(n)[:, 0].copy()
    out, theirs = np.empty(codes.shape, np.float32), np.empty(codes.shape, np.float32)
    return Case(
        "int8 → f32, per row",
        5 * n,
        lambda: _kernels.dequantize_int8(codes, scales, out),
        {
            "numpy": lambda: np.multiply(codes, scales[:, None], out=theirs),
            **torch_peer(lambda c, s: c * s[:, None], codes, scales),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def unpack_q4_0(n: int) -> Case:
    blocks = np.random.default_rng(0).integers(0, 60, (n // 32, 18), np.uint8)
    out, theirs = np.empty((n // 32, 32), np.float32), np.empty((n // 32, 32), np.float32)

    def in_numpy() -> None:
        scales = blocks[:, :2].view("<f2").astype(np.float32)
        halves = blocks[:, 2:]
        both = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.int8) - np.int8(8)
        np.multiply(both, scales, out=theirs)

    return Case(
        "q4_0 → f32",
        n * 18 // 32 + 4 * n,
        lambda: _kernels.unpack_q4_0(blocks, out),
        {"numpy": in_numpy, **torch_peer(torch_q4_0, blocks)},
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def numpy_difference(left: NDArray[Any], right: NDArray[Any]) -> tuple[Any, ...]:
    x, y = left.astype(np.float64), right.astype(np.float64)
    distance = np.abs(x - y)
    figures = (x @ y, x @ x, y @ y, distance.max(), distance.sum(), distance @ distance)
    return (*figures, np.count_nonzero(left != right), np.isfinite(distance).all())


def torch_difference(left: Any, right: Any) -> tuple[Any, ...]:
    x, y = left.double(), right.double()
    distance = (x - y).abs()
    figures = (x @ y, x @ x, y @ y, distance.max(), distance.sum(), distance @ distance)
    return (*figures, (left != right).sum(), distance.isfinite().all())


def difference(n: int) -> Case:
    left = numbers(n)
    right = left + np.float32(1e-3) * numbers(n)[::-1]
    return Case(
        "difference",
        8 * n,
        lambda: _kernels.difference(left, right),
        {
            "numpy": lambda: numpy_difference(left, right),
            **torch_peer(torch_difference, left, right),
        },
    )


def planes(n: int) -> NDArray[np.float32]:
    """(1, channel, 32, 32)."""
    return numbers(n).reshape(1, n // 1024, 32, 32)


def torch_window(name: str) -> Callable[..., object]:
    functional = None if torch is None else torch.nn.functional
    return {
        "max": lambda v: functional.max_pool2d(v, 2),
        "average": lambda v: functional.avg_pool2d(v, 2),
        "depthwise": lambda v, w: functional.conv2d(v, w, groups=w.shape[0]),
    }[name]


def max_pool(n: int) -> Case:
    values = planes(n)
    out, theirs = (np.empty((1, n // 1024, 16, 16), np.float32) for _ in range(2))
    cells = values.reshape(1, n // 1024, 16, 2, 16, 2)
    return Case(
        "max pool, 2 × 2",
        5 * n,
        lambda: _kernels.max_pool(values, (2, 2), (2, 2), out=out),
        {
            "numpy": lambda: np.max(cells, axis=(3, 5), out=theirs),
            **torch_peer(torch_window("max"), values),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def average_pool(n: int) -> Case:
    values = planes(n)
    out, theirs = (np.empty((1, n // 1024, 16, 16), np.float32) for _ in range(2))
    cells = values.reshape(1, n // 1024, 16, 2, 16, 2)
    return Case(
        "average pool, 2 × 2",
        5 * n,
        lambda: _kernels.average_pool(values, (2, 2), (2, 2), out=out),
        {
            "numpy": lambda: np.mean(cells, axis=(3, 5), out=theirs),
            **torch_peer(torch_window("average"), values),
        },
        lambda: np.testing.assert_allclose(out, theirs, rtol=1e-4, atol=1e-6),
    )


def depthwise(n: int) -> Case:
    values, channels = planes(n), n // 1024
    weights = numbers(9 * channels).reshape(channels, 1, 3, 3)
    taps = weights[:, 0]
    out, theirs = (np.empty((1, channels, 30, 30), np.float32) for _ in range(2))

    def in_numpy() -> None:
        theirs[...] = 0
        for row in range(3):
            for column in range(3):
                seen = values[:, :, row : row + 30, column : column + 30]
                np.add(theirs, seen * taps[:, row, column, None, None], out=theirs)

    return Case(
        "depthwise 3 × 3",
        8 * n,
        lambda: _kernels.depthwise_3x3(values, taps, out=out),
        {"numpy": in_numpy, **torch_peer(torch_window("depthwise"), values, weights)},
        lambda: np.testing.assert_allclose(out, theirs, rtol=1e-4, atol=1e-6),
    )


def scale_channels(n: int) -> Case:
    values, channels = planes(n), n // 1024
    factors, shifts = numbers(channels), numbers(channels)
    out, theirs = np.empty_like(values), np.empty_like(values)

    def in_numpy() -> None:
        np.multiply(values, factors[:, None, None], out=theirs)
        np.add(theirs, shifts[:, None, None], out=theirs)
        np.maximum(theirs, np.float32(0), out=theirs)

    return Case(
        "batch norm and relu",
        8 * n,
        lambda: _kernels.scale_channels(values, factors, shifts, relu=True, out=out),
        {
            "numpy": in_numpy,
            **torch_peer(
                lambda v, f, s: (v * f[:, None, None] + s[:, None, None]).relu_(),
                values,
                factors,
                shifts,
            ),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def torch_rotate(values: Any, cos: Any, sin: Any) -> Any:
    even, odd = values[..., 0::2], values[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def torch_collate(images: Any, centre: Any, spread: Any) -> Any:
    return ((images.float() / 255 - centre) / spread).permute(0, 3, 1, 2).contiguous()


def torch_q4_0(blocks: Any) -> Any:
    scales = blocks[:, :2].contiguous().view(torch.float16).float()
    halves = blocks[:, 2:]
    return (torch.cat([halves & 15, halves >> 4], 1).float() - 8) * scales


def rotate_pairs(n: int) -> Case:
    values = lines(n).reshape(-1, 8, WIDTH)
    cos, sin = (lines(8 * WIDTH)[:, : WIDTH // 2].copy() for _ in range(2))
    out, theirs = np.empty_like(values), np.empty_like(values)

    def in_numpy() -> None:
        even, odd = values[..., 0::2], values[..., 1::2]
        theirs[..., 0::2] = even * cos - odd * sin
        theirs[..., 1::2] = even * sin + odd * cos

    return Case(
        "rotated pairs",
        8 * n,
        lambda: _kernels.rotate_pairs(values, cos, sin, out),
        {"numpy": in_numpy, **torch_peer(torch_rotate, values, cos, sin)},
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def collate_images(n: int) -> Case:
    """Images of 32 × 32 pixels with three channels."""
    count = max(1, n // 3072)
    images = np.random.default_rng(0).integers(0, 256, (count, 32, 32, 3), np.uint8)
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
    out, theirs = (np.empty((count, 3, 32, 32), np.float32) for _ in range(2))
    centre = np.array(mean, np.float32)
    spread = np.array(std, np.float32)

    def in_numpy() -> None:
        theirs[...] = ((images / np.float32(255) - centre) / spread).transpose(0, 3, 1, 2)

    return Case(
        "images → planes",
        5 * images.size,
        lambda: _kernels.collate_images(images, (32, 32), mean=mean, std=std, out=out),
        {"numpy": in_numpy, **torch_peer(torch_collate, images, centre, spread)},
        lambda: np.testing.assert_allclose(out, theirs, rtol=1e-4, atol=1e-5),
    )
