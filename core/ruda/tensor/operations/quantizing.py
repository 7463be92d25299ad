"""Floats as codes with scales, and back: ranges of blocks, scales that are stored, bytes.

Quotients are rounded to nearest, halves to even, as Burn's codes have it since August 2026 (before,
its host backend multiplied by 1/scale and rounded halves away from zero).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import ml_dtypes
import numpy as np

from ruda import _kernels
from ruda.errors import OperationError, ShapeError
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import Array, recast, working
from ruda.tensor.schemes import Calibration, QuantScheme

_RUN = 1 << 18
"""Values of fp8 and fp4 that are made at a time."""
_SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)
_FLOATS = {
    "E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "E2M1": np.dtype(ml_dtypes.float4_e2m1fn),
}


def ranges(scheme: QuantScheme, values: Array, calibration: Calibration) -> tuple[Array, Array]:
    """Ends of the range of a tensor or of each block, in f32: two arrays of the grid's shape."""
    given = _as_f32("compute_range", values)
    grid = scheme.grid(given.shape)
    if not given.size:
        raise ShapeError(f"compute_range: shape {list(given.shape)} has no values to take one of")
    rows = _rows(given, scheme)
    if calibration is Calibration.ABS_MEAN:
        if scheme.has_global:
            raise OperationError(
                "compute_range: a mean has no global scale; take a scheme without one, or MIN_MAX"
            )
        high = np.abs(rows).mean(axis=1, dtype=np.float64).astype(np.float32)
        low = -high
    else:
        low, high = rows.min(axis=1), rows.max(axis=1)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise _not_finite("compute_range", given)
    return low.reshape(grid), high.reshape(grid)


def scales_of_range(scheme: QuantScheme, low: Array, high: Array) -> tuple[Array, float | None]:
    """Scales as they are stored, and the global one: max(|low|, |high|) over half of the codes.

    Source: Burn's ``compute_q_params``. A range of nothing but 0 gets a scale above 0.
    """
    ends = [_as_f32("compute_q_params", end) for end in (low, high)]
    if ends[0].shape != ends[1].shape:
        raise ShapeError(
            f"compute_q_params: the ends of a range have one shape, got {list(ends[0].shape)} and "
            f"{list(ends[1].shape)}"
        )
    if not all(np.isfinite(end).all() for end in ends):
        raise OperationError("compute_q_params: the ends of a range are finite, but one is not")
    half = np.float32((scheme.high - scheme.low) / 2)
    reach = np.maximum(np.abs(ends[0]), np.abs(ends[1]))
    scales = reach / half
    # A subnormal quotient may be rounded down by much, and would cut off the largest value.
    lean = (scales < _SMALLEST_NORMAL) & (reach > 0)
    scales = np.where(lean, np.nextafter(scales, np.float32(1)), scales)
    if not scheme.has_global:
        return stored_scales(scheme, scales), None
    most = np.float32(scales.max(initial=0)) / np.float32(scheme.largest_scale)
    top = max(float(most), _SMALLEST_NORMAL)
    largest = np.float32(scheme.largest_scale)
    # Rounding may leave the largest a little above the largest number there is. Blocks of nothing
    # but 0 take that one, since the least number times the global scale may be 0.
    relative = np.minimum(scales / np.float32(top), largest)
    return stored_scales(scheme, np.where(relative == 0, largest, relative)), top


def stored_scales(scheme: QuantScheme, scales: Array) -> Array:
    """Scales rounded up to numbers of their kind, in f32; 0 becomes the least that Burn takes.

    Up, because a smaller scale would cut off the largest value. Raises OperationError for scales
    that are negative, not finite, or beyond their kind.
    """
    given = _as_f32("quantize", scales)
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise OperationError("quantize: scales are finite and not negative, but one is not")
    wanted = np.where(given == 0, np.float32(_SMALLEST_NORMAL), given)
    kind = scheme.scale_dtype.numpy
    with np.errstate(all="ignore"):
        found = wanted.astype(kind)
        bits = found.view(f"u{kind.itemsize}")
        found = (bits + (found.astype(np.float32) < wanted).astype(bits.dtype)).view(kind)
        rounded: Array = found.astype(np.float32)
    if not np.isfinite(rounded).all():
        raise OperationError(
            f"quantize: a scale of {_kernels.shown_number(float(given.max()))} is beyond "
            f"{scheme.scale}; take a scheme with scales of F32"
        )
    return rounded


def encode(scheme: QuantScheme, values: Array, scales: Array, top: float | None) -> Array:
    """Codes of values, one per byte: int8, for floats uint8. Scales are as they are stored."""
    given = _as_f32("quantize", values)
    _check_grid(scheme, given.shape, scales)
    factors = _factors(scales, top).astype(np.float32)
    with np.errstate(all="ignore"):
        far = factors * np.float32(max(-scheme.low, scheme.high))
    if not (np.isfinite(far).all() and (factors > 0).all()):
        raise OperationError(
            "quantize: a scale times the last code is beyond f32, or 0; scale the values first"
        )
    rows = _rows(given, scheme)
    if scheme.is_float:
        codes, lost = _encode_floats(scheme, rows, factors)
    else:
        codes, lost = _kernels.quantize_int8(rows, factors)
        _fit(scheme, codes, rows, factors)
    if lost:
        raise _not_finite("quantize", given)
    return _unrows(codes, given.shape, scheme)


def decode(scheme: QuantScheme, codes: Array, scales: Array, top: float | None) -> Array:
    """Code · scale in f32; with a global scale the product of all three is taken in f64."""
    rows = _rows(codes, scheme)
    factors = _factors(scales, top)
    if not scheme.is_float and top is None:
        return _unrows(_kernels.dequantize_int8(rows, factors), codes.shape, scheme)
    out = np.empty(rows.shape, np.float32)
    table = _numbers(scheme)
    with np.errstate(all="ignore"):
        for piece in _pieces(rows.shape):
            numbers = table[rows[piece].view(np.uint8)]
            out[piece] = numbers * factors[piece[0], None]
    return _unrows(out, codes.shape, scheme)


def pack(scheme: QuantScheme, codes: Array, scales: Array, top: float | None) -> bytes:
    """Bytes as Rudapack has them since August 2026: codes, scales, and the global scale.

    In a byte or word the first code has the lowest bits; every row begins a new one.
    """
    row = codes.shape[-1] if codes.ndim else 1
    parts: Array = codes.reshape(math.prod(codes.shape[:-1]), row).view(np.uint8)
    short = -parts.shape[1] % scheme.per_unit
    if scheme.per_unit > 1 and short:
        parts = np.pad(parts, [(0, 0), (0, short)])
    if scheme.per_unit > 1 and scheme.bits < 8:
        shifts = _shifts(scheme)
        groups = (parts & ((1 << scheme.bits) - 1)).reshape(-1, len(shifts))
        parts = groups[:, 0].copy()
        for place, shift in enumerate(shifts[1:], 1):
            parts |= groups[:, place] << shift
    raw = parts.tobytes() + scales.astype(scheme.scale_dtype.numpy).tobytes()
    return raw if top is None else raw + np.float32(top).astype("<f4").tobytes()


def unpack(
    scheme: QuantScheme, raw: bytes, shape: tuple[int, ...]
) -> tuple[Array, Array, float | None]:
    """Codes, scales in f32 and the global scale out of such bytes. Raises ShapeError."""
    expected = scheme.nbytes(shape)
    if len(raw) != expected:
        raise ShapeError(
            f"codes and scales of shape {list(shape)} take {expected} bytes, got {len(raw)}"
        )
    grid, at = scheme.grid(shape), scheme.code_bytes(shape)
    parts: Array = np.frombuffer(raw, np.uint8, at)
    if scheme.per_unit > 1 and scheme.bits < 8:
        parts = (parts[:, None] >> _shifts(scheme) & ((1 << scheme.bits) - 1)).reshape(-1)
        if not scheme.is_float:
            sign = np.uint8(1 << (scheme.bits - 1))
            parts = (parts ^ sign) - sign  # two's complement to a whole byte, wrapping
    row = shape[-1] if shape else 1
    lines = math.prod(shape[:-1])
    held = parts.reshape(lines, parts.size // lines if lines else 0)[:, :row].reshape(shape)
    codes = held.copy() if scheme.is_float else held.astype(np.uint8).view(np.int8)
    stored = np.frombuffer(raw, scheme.scale_dtype.numpy, math.prod(grid), at)
    top = float(np.frombuffer(raw[-4:], "<f4")[0]) if scheme.has_global else None
    return codes, stored.astype(np.float32).reshape(grid), top


def checked_top(scheme: QuantScheme, top: float | None) -> float | None:
    """The global scale as f32 has it. Raises OperationError where the scheme wants another."""
    if (top is not None) != scheme.has_global:
        wanted = "a" if scheme.has_global else "no"
        raise OperationError(f"quantize: the scheme has {wanted} global scale, got {top!r}")
    if top is None:
        return None
    rounded = float(np.float32(top)) if type(top) in (int, float) else math.nan
    if not 0 < rounded < math.inf:
        raise OperationError(f"quantize: a global scale is above 0 and finite, got {top!r}")
    return rounded


def check_parts(scheme: QuantScheme, codes: Array, scales: Array, top: float | None) -> None:
    """Raise unless codes are in range, and scales one for each block and of their kind."""
    _check_grid(scheme, codes.shape, scales)
    checked_top(scheme, top)
    if (scales <= 0).any() or not np.array_equal(stored_scales(scheme, scales), scales):
        raise OperationError(
            f"quantized: scales are numbers above 0 that {scheme.scale} has, but one is not"
        )
    low, high = (0, (1 << scheme.bits) - 1) if scheme.is_float else (scheme.low, scheme.high)
    if codes.size and not (codes.min() >= low and codes.max() <= high):
        raise OperationError(
            f"quantized: codes of {scheme.value} are {int(low)} to {int(high)}, got "
            f"{int(codes.min())} to {int(codes.max())}"
        )


def _check_grid(scheme: QuantScheme, shape: tuple[int, ...], scales: Array) -> None:
    grid = scheme.grid(shape)
    if scales.shape != grid:
        raise ShapeError(
            f"quantize: shape {list(shape)} needs scales of shape {list(grid)}, got "
            f"{list(scales.shape)}"
        )


def _as_f32(name: str, values: Array) -> Array:
    return recast(working(name, values)[1], DType.F32)


def _factors(scales: Array, top: float | None) -> Array:
    """What each row is multiplied with: f32, or f64 under a global scale."""
    return scales.reshape(-1) if top is None else scales.reshape(-1).astype(np.float64) * top


def _fit(scheme: QuantScheme, codes: Array, rows: Array, factors: Array) -> None:
    """Codes of the kernel, which are within ±127, brought to the ends of the scheme's range."""
    if scheme.bits < 8:
        np.clip(codes, int(scheme.low), int(scheme.high), out=codes)
    elif scheme.low == -128:
        row, column = np.nonzero(codes == -127)
        with np.errstate(all="ignore"):
            last = rows[row, column] / factors[row] <= -127.5
        codes[row[last], column[last]] = -128


def _encode_floats(scheme: QuantScheme, rows: Array, factors: Array) -> tuple[Array, int]:
    codes, lost = np.empty(rows.shape, np.uint8), 0
    for piece in _pieces(rows.shape):
        with np.errstate(all="ignore"):
            quotients = rows[piece] / factors[piece[0], None]
            lost += quotients.size - int(np.count_nonzero(np.isfinite(rows[piece])))
            clamped = quotients.clip(scheme.low, scheme.high)
            codes[piece] = clamped.astype(_FLOATS[scheme.value]).view(np.uint8)
    return codes, lost


def _shifts(scheme: QuantScheme) -> Array:
    """Where each code of one byte begins in it."""
    return np.arange(0, 8, scheme.bits).astype(np.uint8)


def _numbers(scheme: QuantScheme) -> Array:
    """f32 of every byte that a code may be."""
    bytes_ = np.arange(256, dtype=np.uint8)
    codes = bytes_.view(np.int8)
    if scheme.is_float:
        codes = (bytes_ & np.uint8((1 << scheme.bits) - 1)).view(_FLOATS[scheme.value])
    numbers: Array = codes.astype(np.float32)
    return numbers


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, slice]]:
    """Rows, or parts of one, of not too many values at a time."""
    count, width = shape
    rows, columns = max(_RUN // max(width, 1), 1), min(max(width, 1), _RUN)
    for start in range(0, count, rows):
        for at in range(0, width, columns):
            yield slice(start, start + rows), slice(at, at + columns)


def _split(shape: tuple[int, ...], scheme: QuantScheme) -> tuple[list[int], list[int]]:
    """The shape with axes of blocks cut in two, and the order that brings blocks to the end."""
    cut: list[int] = []
    outer: list[int] = []
    inner: list[int] = []
    for size, block in zip(shape, scheme.sizes(len(shape)), strict=True):
        outer.append(len(cut))
        cut.append(size // block)
        if block > 1:
            inner.append(len(cut))
            cut.append(block)
    return cut, outer + inner


def _rows(values: Array, scheme: QuantScheme) -> Array:
    """Values as (blocks, values of one); a view where blocks are parts of the last axis."""
    if scheme.block is None:
        return values.reshape(1, -1)
    cut, order = _split(values.shape, scheme)
    blocks = math.prod(scheme.grid(values.shape))
    return values.reshape(cut).transpose(order).reshape(blocks, math.prod(scheme.block))


def _unrows(rows: Array, shape: tuple[int, ...], scheme: QuantScheme) -> Array:
    """Blocks back in their places."""
    if scheme.block is None:
        return rows.reshape(shape)
    cut, order = _split(shape, scheme)
    places = np.argsort(order)
    return rows.reshape([cut[axis] for axis in order]).transpose(places).reshape(shape)


def _not_finite(name: str, values: Array) -> OperationError:
    wrong = np.argwhere(~np.isfinite(values))
    first = [int(place) for place in wrong[0]]
    return OperationError(
        f"{name}: {len(wrong)} of {values.size} values are not finite in f32, the first at "
        f"{first}; no code stands for them, so replace them first"
    )
