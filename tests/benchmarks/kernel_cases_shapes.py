"""Cases of the kernels for recurrent cells, convolutions, resizing, indices, ranks and float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kernel_case import Case, torch, torch_peer
from numpy.typing import NDArray

from ruda import _kernels

WIDTH = 256
"""Hidden units of the cells, channels of the convolutions."""


def normal(*shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def sigmoid(x: NDArray[Any]) -> NDArray[Any]:
    return 1 / (1 + np.exp(-x))


def lstm(n: int) -> Case:
    batch = max(1, n // (4 * WIDTH))
    given, product, bias = normal(batch, 4 * WIDTH), normal(batch, 4 * WIDTH), normal(4 * WIDTH)
    cell, out, theirs = normal(batch, WIDTH), normal(batch, WIDTH), normal(batch, WIDTH)

    def numpy_step() -> None:
        total = given + (product + bias)
        enter, forget, leave = np.split(sigmoid(total[:, : 3 * WIDTH]), 3, axis=1)
        state = forget * cell + enter * np.tanh(total[:, 3 * WIDTH :])
        np.multiply(leave, np.tanh(state), out=theirs)

    return Case(
        "lstm step",
        4 * 10 * batch * WIDTH,
        lambda: _kernels.lstm_step(given, product, bias, cell, out),
        {"numpy": numpy_step},
    )


def gru(n: int) -> Case:
    batch = max(1, n // (3 * WIDTH))
    given, product, bias = normal(batch, 3 * WIDTH), normal(batch, 3 * WIDTH), normal(3 * WIDTH)
    hidden, out, theirs = normal(batch, WIDTH), normal(batch, WIDTH), normal(batch, WIDTH)

    def numpy_step() -> None:
        first = slice(0, 2 * WIDTH)
        update, reset = np.split(
            sigmoid(given[:, first] + (product[:, first] + bias[first])), 2, axis=1
        )
        rest = product[:, 2 * WIDTH :] + bias[2 * WIDTH :]
        new = np.tanh(given[:, 2 * WIDTH :] + reset * rest)
        np.add((1 - update) * new, update * hidden, out=theirs)

    return Case(
        "gru step",
        4 * 8 * batch * WIDTH,
        lambda: _kernels.gru_step(given, product, bias, hidden, out),
        {"numpy": numpy_step},
        lambda: np.testing.assert_allclose(out, theirs, rtol=1e-4, atol=1e-5),
    )


def tiles(n: int) -> Case:
    """16 matrices of tiles from planes of 32 × 32 points with a border."""
    planes = normal(max(1, n // 1024), 34, 34)
    out, theirs = np.empty((2, 16, len(planes), 256), np.float32)

    def numpy_tiles() -> None:
        a, b, c, d = (planes[:, i : i + 31 : 2] for i in range(4))
        for i, rows in enumerate((a - c, b + c, c - b, b - d)):
            e, f, g, h = (rows[:, :, j : j + 31 : 2] for j in range(4))
            for j, values in enumerate((e - g, f + g, g - f, f - h)):
                theirs[4 * i + j] = values.reshape(len(planes), 256)

    return Case(
        "winograd tiles",
        planes.nbytes + out.nbytes,
        lambda: _kernels.winograd_tiles(planes, 0, 16, 0, out),
        {"numpy": numpy_tiles},
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def planes_of_tiles(n: int) -> Case:
    """Planes of 32 × 32 points from 16 matrices of tiles."""
    channels = max(1, n // 1024)
    products, bias = normal(16, channels, 256), normal(channels)
    out, theirs = np.empty((2, channels, 32, 32), np.float32)

    def numpy_planes() -> None:
        square = products.reshape(4, 4, channels, 16, 16)
        upper, lower = square[0] + square[1] + square[2], square[1] - square[2] - square[3]
        for i, (a, b, c, d) in enumerate((upper, lower)):
            theirs[:, i::2, 0::2] = a + b + c + bias[:, None, None]
            theirs[:, i::2, 1::2] = b - c - d + bias[:, None, None]

    return Case(
        "winograd planes",
        products.nbytes + out.nbytes,
        lambda: _kernels.winograd_planes(products, bias, 0, 0, 16, out),
        {"numpy": numpy_planes},
        lambda: np.testing.assert_allclose(out, theirs, rtol=1e-5, atol=1e-5),
    )


def unfold(n: int) -> Case:
    """Windows of 3 × 3, two apart, over planes of 64 × 64 points."""
    images = normal(1, max(1, n // (9 * 1024)), 65, 65)
    out, theirs = np.empty((2, images.shape[1], 9, 1, 1024), np.float32)

    def numpy_unfold() -> None:
        for i in range(3):
            for j in range(3):
                seen = images[:, :, i : i + 63 : 2, j : j + 63 : 2]
                theirs[:, 3 * i + j] = seen.transpose(1, 0, 2, 3).reshape(-1, 1, 1024)

    return Case(
        "unfold, step 2",
        images.nbytes + out.nbytes,
        lambda: _kernels.unfold(images, (3, 3), (32, 32), stride=(2, 2), out=out),
        {
            "numpy": numpy_unfold,
            **torch_peer(lambda x: torch.nn.functional.unfold(x, 3, stride=2), images),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def nearest(n: int) -> Case:
    """Planes of 32 × 32 points to 64 × 64."""
    values = normal(1, max(1, n // 4096), 32, 32)
    places = np.arange(64) // 2
    out, theirs = np.empty((2, 1, values.shape[1], 64, 64), np.float32)

    def numpy_nearest() -> None:
        theirs[...] = values[:, :, places[:, None], places]

    return Case(
        "resize, nearest",
        values.nbytes + out.nbytes,
        lambda: _kernels.resize_nearest(values, places, places, out),
        {
            "numpy": numpy_nearest,
            **torch_peer(lambda x: torch.nn.functional.interpolate(x, scale_factor=2.0), values),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def linear(n: int) -> Case:
    """Planes of 32 × 32 points to 64 × 64, neighbours mixed."""
    values = normal(1, max(1, n // 4096), 32, 32)
    exact = np.linspace(0, 31, 64)
    first = exact.astype(np.int64)
    share = (exact - first).astype(np.float32)
    mix, behind = (first, share), np.minimum(first + 1, 31)
    out, theirs = np.empty((2, 1, values.shape[1], 64, 64), np.float32)

    def numpy_linear() -> None:
        across = values[..., first] * (1 - share) + values[..., behind] * share
        below = share[:, None]
        theirs[...] = across[..., first, :] * (1 - below) + across[..., behind, :] * below

    def torch_linear(x: Any) -> object:
        return torch.nn.functional.interpolate(x, (64, 64), mode="bilinear", align_corners=True)

    return Case(
        "resize, linear",
        values.nbytes + out.nbytes,
        lambda: _kernels.resize_linear(values, mix, mix, out),
        {"numpy": numpy_linear, **torch_peer(torch_linear, values)},
        lambda: np.testing.assert_allclose(out, theirs, atol=1e-5),
    )


def gather(n: int) -> Case:
    values = normal(max(1, n // 1024), 1024)
    places = np.random.default_rng(1).integers(0, 1024, values.shape)
    out = np.empty_like(values)
    return Case(
        "gather",
        16 * n,
        lambda: _kernels.gather_items(values, places, 1, out),
        {
            "numpy": lambda: np.take_along_axis(values, places, 1),
            **torch_peer(lambda v, p: torch.gather(v, 1, p), values, places),
        },
        lambda: np.testing.assert_array_equal(out, np.take_along_axis(values, places, 1)),
    )


def scatter_add(n: int) -> Case:
    target, values = normal(max(1, n // 1024), 1024), normal(max(1, n // 1024), 1024)
    places = np.random.default_rng(1).integers(0, 1024, values.shape)
    theirs, rows = target.copy(), np.arange(len(values))[:, None]
    return Case(
        "scatter-add",
        16 * n,
        lambda: _kernels.scatter_add(target, places, values, 1),
        {
            "numpy": lambda: np.add.at(theirs, (rows, places), values),
            **torch_peer(lambda t, p, v: t.scatter_add_(1, p, v), target.copy(), places, values),
        },
    )


def add_slices(n: int) -> Case:
    target = normal(max(1, n // 64), 64)
    values, theirs = target.copy(), target.copy()
    places = np.random.default_rng(1).integers(0, len(target), len(target))
    return Case(
        "add rows",
        12 * n,
        lambda: _kernels.add_slices(target, places, values, 0),
        {
            "numpy": lambda: np.add.at(theirs, places, values),
            **torch_peer(lambda t, p, v: t.index_add_(0, p, v), target.copy(), places, values),
        },
    )


def top_k(n: int) -> Case:
    values = normal(max(1, n >> 14), min(n, 1 << 14))
    return Case(
        "largest 40",
        4 * n,
        lambda: _kernels.largest_places(values, 40),
        {
            "numpy": lambda: np.argsort(-values, axis=1, kind="stable")[:, :40],
            **torch_peer(lambda v: v.topk(40), values),
        },
    )


def moments_f64(n: int) -> Case:
    values = np.random.default_rng(0).standard_normal(n)

    def numpy_moments() -> None:
        np.isfinite(values).all()
        values.min(), values.max(), values.sum(), np.square(values).sum()
        np.count_nonzero(values)

    return Case("moments, f64", 8 * n, lambda: _kernels.moments(values), {"numpy": numpy_moments})


def moments_i32(n: int) -> Case:
    values = np.random.default_rng(0).integers(-1000, 1000, n, np.int32)

    def numpy_moments() -> None:
        doubles = values.astype(np.float64)
        values.min(), values.max(), doubles.sum(), np.square(doubles).sum()
        np.count_nonzero(values)

    return Case("moments, i32", 4 * n, lambda: _kernels.moments(values), {"numpy": numpy_moments})


def histogram_f64(n: int) -> Case:
    values = np.random.default_rng(0).standard_normal(n)
    return Case(
        "histogram, f64",
        8 * n,
        lambda: _kernels.histogram(values, -4, 4, 64),
        {
            "numpy": lambda: np.histogram(values, 64, (-4, 4)),
            **torch_peer(lambda v: torch.histc(v, 64, -4, 4), values),
        },
    )


CASES: dict[str, Callable[[int], Case]] = {
    "lstm": lstm,
    "gru": gru,
    "winograd_tiles": tiles,
    "winograd_planes": planes_of_tiles,
    "unfold": unfold,
    "nearest": nearest,
    "linear": linear,
    "gather": gather,
    "scatter_add": scatter_add,
    "add_slices": add_slices,
    "top_k": top_k,
    "moments_f64": moments_f64,
    "moments_i32": moments_i32,
    "histogram_f64": histogram_f64,
}
