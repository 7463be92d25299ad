"""Planes of float32: pooling, depthwise convolution, channels times factors, rotated pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ruda._kernels.checks import Array, take_array, take_out, take_plain
from ruda._kernels.narrowing import F32
from ruda._kernels.numbers import Pair, take_pair_of, take_switch, take_whole
from ruda._kernels.threads import in_pieces, is_one_piece
from ruda._kernels.variants import kernel
from ruda.errors import ShapeError

_spatial = kernel("spatial")

_JUST_F32 = (F32,)


def max_pool(
    values: Array, window: Pair, stride: Pair, *, dilation: Pair = (1, 1), out: Array | None = None
) -> Array:
    """Largest value of each window: float32 (…, height, width) → (…, height', width').

    Windows lie within the planes: pad before. ``window``, ``stride`` and ``dilation`` are pairs of
    rows and columns. NaN wins. Exactly the values of the input.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """

    def call(planes: Array, target: Array) -> None:
        _spatial.max_pool(planes, *window, *stride, *dilation, target)

    window, stride = take_pair_of(window, "window"), take_pair_of(stride, "stride")
    dilation = take_pair_of(dilation, "dilation")
    return _by_planes(call, values, window, stride, dilation, out)


def average_pool(
    values: Array, window: Pair, stride: Pair, *, divisor: int = 0, out: Array | None = None
) -> Array:
    """Mean of each window: float32 (…, height, width) → (…, height', width').

    The sum is taken row by row in float32 and divided by ``divisor``, or the number of points
    where it is 0: within n ulp of the sum of n magnitudes.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    window, stride = take_pair_of(window, "window"), take_pair_of(stride, "stride")
    divisor = take_whole(divisor, "divisor")
    share = F32.type(1.0 / (divisor or window[0] * window[1]))

    def call(planes: Array, target: Array) -> None:
        _spatial.average_pool(planes, *window, *stride, share, target)

    return _by_planes(call, values, window, stride, (1, 1), out)


def depthwise_3x3(
    values: Array,
    weights: Array,
    bias: Array | None = None,
    *,
    stride: Pair = (1, 1),
    out: Array | None = None,
) -> Array:
    """Each channel convolved with nine taps of its own: (…, channel, height, width), padded before.

    ``weights`` is float32 (channel, 3, 3), ``bias`` (channel). Sums are in float32: within 12 ulp
    of the sum of magnitudes. Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    stride = take_pair_of(stride, "stride")
    given = take_array(values, "values", _JUST_F32)
    found = take_array(weights, "weights", _JUST_F32)
    channels = given.shape[-3] if given.ndim >= 3 else 0
    if given.ndim < 3 or found.shape != (channels, 3, 3):
        raise ShapeError(
            f"weights has shape {found.shape}; expected (channel, 3, 3) for values {given.shape}"
        )
    taps = np.zeros((channels, 10), F32)
    taps[:, :9] = found.reshape(channels, 9)
    if bias is not None:
        taps[:, 9] = _per_channel(bias, "bias", channels)

    def call(planes: Array, target: Array) -> None:
        _spatial.convolve_3x3(planes, taps, *stride, target)

    return _by_planes(call, given, (3, 3), stride, (1, 1), out, together=channels)


def scale_channels(
    values: Array, factors: Array, shifts: Array, *, relu: bool = False, out: Array | None = None
) -> Array:
    """Value x · factor + shift with one of each for every channel: float32 (batch, channel, …).

    That is a batch norm with stored statistics; ``relu`` makes negative results 0. Exactly as
    NumPy. Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    given, clipped = take_array(values, "values", _JUST_F32), take_switch(relu, "relu")
    if given.ndim < 2:
        raise ShapeError(f"values has shape {given.shape}; expected (batch, channel, …)")
    batch, channels = given.shape[:2]
    scale, shift = (
        _per_channel(factors, "factors", channels),
        _per_channel(shifts, "shifts", channels),
    )
    result = take_out(out, given.shape, _JUST_F32, given, scale, shift)
    if not given.size:
        return result
    if is_one_piece(given.size, 8):
        planes = take_plain(given).reshape(batch * channels, -1)
        _spatial.scale_planes(planes, scale, shift, clipped, result.reshape(planes.shape))
        return result
    source, target = given.reshape(batch, channels, -1), result.reshape(batch, channels, -1)

    def piece(cut: slice) -> None:
        planes = take_plain(source[cut]).reshape(-1, source.shape[2])
        _spatial.scale_planes(planes, scale, shift, clipped, target[cut].reshape(planes.shape))

    in_pieces(piece, batch, item_bytes=8 * channels * source.shape[2])
    return result


def rotate_pairs(values: Array, cos: Array, sin: Array, out: Array | None = None) -> Array:
    """Pairs (2i, 2i + 1) turned by an angle: (a, b) → (a cos - b sin, a sin + b cos).

    float32 (…, time, width); ``cos`` and ``sin`` are float32 (time, width / 2). Exactly as NumPy.
    Raises DTypeError, ShapeError, LayoutError.
    """
    given = take_array(values, "values", _JUST_F32)
    expected = (given.shape[-2], given.shape[-1] // 2) if given.ndim >= 2 else ()
    if given.ndim < 2 or given.shape[-1] % 2:
        raise ShapeError(f"values has shape {given.shape}; expected (…, time, even width)")
    angles = []
    for name, line in (("cos", cos), ("sin", sin)):
        found = take_array(line, name, _JUST_F32)
        if found.shape != expected:
            raise ShapeError(f"{name} has shape {found.shape}; expected {expected}")
        angles.append(take_plain(found))
    result = take_out(out, given.shape, _JUST_F32, given, *angles)
    if not given.size:
        return result
    if is_one_piece(given.size, 8):
        rows = take_plain(given).reshape(-1, given.shape[-1])
        _spatial.rotate_pairs(rows, *angles, result.reshape(rows.shape))
        return result
    source, target = given.reshape(-1, *given.shape[-2:]), result.reshape(-1, *given.shape[-2:])

    def piece(cut: slice) -> None:
        rows = take_plain(source[cut]).reshape(-1, given.shape[-1])
        _spatial.rotate_pairs(rows, *angles, target[cut].reshape(rows.shape))

    in_pieces(piece, source.shape[0], item_bytes=8 * source.shape[1] * source.shape[2])
    return result


def _per_channel(values: Array, name: str, channels: int) -> Array:
    found = take_array(values, name, _JUST_F32)
    if found.shape != (channels,):
        raise ShapeError(f"{name} has shape {found.shape}; expected ({channels},), one per channel")
    return take_plain(found)


def _by_planes(
    call: Callable[[Array, Array], None],
    values: Array,
    window: Pair,
    stride: Pair,
    dilation: Pair,
    out: Array | None,
    together: int = 1,
) -> Array:
    """``call`` over pieces of so many planes ``together``, into windows that fit the planes."""
    given = take_array(values, "values", _JUST_F32)
    if given.ndim < 2:
        raise ShapeError(f"values has shape {given.shape}; expected (…, height, width)")
    reach = [(points - 1) * gap + 1 for points, gap in zip(window, dilation, strict=True)]
    room = given.shape[-2:]
    if any(size < span for size, span in zip(room, reach, strict=True)):
        raise ShapeError(
            f"values has shape {given.shape}; expected room for a window of {reach[0]} × {reach[1]}"
        )
    size = [(n - span) // step + 1 for n, span, step in zip(room, reach, stride, strict=True)]
    result = take_out(out, (*given.shape[:-2], *size), _JUST_F32, given)
    if not given.size:
        return result
    if is_one_piece(given.size, 8):
        call(take_plain(given).reshape(-1, *room), result.reshape(-1, *size))
        return result
    source = given.reshape(-1, together, *room)
    target = result.reshape(-1, together, *size)

    def piece(cut: slice) -> None:
        planes = take_plain(source[cut]).reshape(-1, *room)
        call(planes, target[cut].reshape(-1, *size))

    in_pieces(piece, source.shape[0], item_bytes=8 * source[0].size)
    return result
