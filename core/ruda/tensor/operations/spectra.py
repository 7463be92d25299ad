"""Spectra of signals: short-time Fourier transforms, as Burn and PyTorch define them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruda.errors import DTypeError, OperationError, SettingError, ShapeError
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import Array, dtype_of, normalise_axis
from ruda.tensor.promotion import require_computable, require_float, require_inexact
from ruda.tensor.sizes import require_room, whole

_COMPLEX = (DType.C64, DType.C128)
_LEAST = 1e-11
"""Where the squared windows add up to less, a signal cannot be told from its spectrum."""


@dataclass(frozen=True, slots=True)
class Frames:
    """How a signal is cut: windows of ``size`` every ``hop``, the weights of each, and the ends.

    ``centre`` puts the middle of frame t at t · hop, with the ends mirrored; without it frame t
    begins there. ``normalised`` divides a spectrum by √size; ``onesided`` keeps the size // 2 + 1
    frequencies that are not negative.
    """

    size: int
    hop: int
    window: Array
    centre: bool
    normalised: bool
    onesided: bool


def frames(
    name: str,
    size: int,
    hop: int | None,
    window: Array | None,
    *,
    centre: bool,
    normalised: bool,
    onesided: bool,
) -> Frames:
    """The cut, checked. ``hop`` is a quarter of the size and the window all ones where None.

    A shorter window stands in the middle. Raises SettingError for a size or hop below 1,
    ShapeError for a window that is no vector of at most ``size``, DTypeError unless it is a float.
    """
    size = whole(name, "a size", size)
    step = max(1, size // 4) if hop is None else whole(name, "a hop", hop)
    if size < 1 or step < 1:
        raise SettingError(f"{name}: frames of {size} every {step}; both are at least 1")
    require_room(name, (size,), DType.C128)
    weights = np.ones(size, np.float32) if window is None else window
    require_float(name, dtype_of(weights))
    if weights.ndim != 1 or weights.size > size:
        raise ShapeError(
            f"{name}: a window of shape {list(weights.shape)} for frames of {size}; give a vector "
            f"that is not longer"
        )
    room = size - weights.size
    padded = np.pad(weights.astype(np.float64), (room // 2, room - room // 2))
    return Frames(size, step, padded, centre, normalised, onesided)


def real_or_complex(name: str, values: Array) -> Array:
    """Values that can be transformed. Raises DTypeError for halves and what is no float."""
    dtype = dtype_of(values)
    require_inexact(name, dtype)
    if dtype in (DType.F16, DType.BF16):
        raise DTypeError(f"{name}: {dtype} is too coarse to transform; cast it to f32 first")
    return values


def transformed(name: str, values: Array, axis: int, *, onesided: bool) -> Array:
    """The discrete Fourier transform of an axis; ``onesided`` without negative frequencies."""
    given = real_or_complex(name, values)
    place = normalise_axis(name, given, axis)
    if not given.shape[place]:
        raise ShapeError(f"{name}: axis {axis} of shape {list(given.shape)} has no samples")
    if onesided and dtype_of(given) in _COMPLEX:
        raise DTypeError(f"{name}: needs a float dtype, got {dtype_of(given)}; cfft takes complex")
    with np.errstate(all="ignore"):
        return np.asarray((np.fft.rfft if onesided else np.fft.fft)(given, axis=place))


def restored(name: str, values: Array, size: int | None, axis: int) -> Array:
    """The real signal of a onesided spectrum, ``size`` samples of it."""
    given = real_or_complex(name, values)
    place = normalise_axis(name, given, axis)
    count = 2 * (given.shape[place] - 1) if size is None else whole(name, "a size", size)
    if count < 1 or not given.shape[place]:
        raise ShapeError(f"{name}: shape {list(given.shape)} has no signal of {count} samples")
    require_room(name, (*given.shape[:place], count, *given.shape[place + 1 :]), DType.C128)
    with np.errstate(all="ignore"):
        return np.asarray(np.fft.irfft(given, count, axis=place))


def short_time(values: Array, cut: Frames) -> Array:
    """Spectra of frames: (…, time) → (…, frequency, frame), complex.

    X[f, t] = Σ_k window[k] · x[t·hop + k] · exp(-2πi·f·k / size) (Allen and Rabiner, "A unified
    approach to short-time Fourier analysis", 1977). Raises ShapeError for a signal that is shorter
    than a frame, or than its mirrored ends.
    """
    given = real_or_complex("stft", values)
    if not given.ndim:
        raise ShapeError("stft: a scalar has no time axis")
    if cut.onesided and dtype_of(given) in _COMPLEX:
        raise DTypeError("stft: complex signals have both sides; ask for onesided=False")
    half = cut.size // 2 if cut.centre else 0
    if given.shape[-1] <= half or given.shape[-1] + 2 * half < cut.size:
        raise ShapeError(
            f"stft: {given.shape[-1]} samples are too few for frames of {cut.size}; pad the signal"
        )
    if half:
        given = np.pad(given, [(0, 0)] * (given.ndim - 1) + [(half, half)], mode="reflect")
    every = np.lib.stride_tricks.sliding_window_view(given, cut.size, axis=-1)
    with np.errstate(all="ignore"):
        weighted = every[..., :: cut.hop, :] * cut.window.astype(given.real.dtype)
        found = (np.fft.rfft if cut.onesided else np.fft.fft)(weighted, axis=-1)
        if cut.normalised:
            found *= found.real.dtype.type(cut.size**-0.5)
    return np.ascontiguousarray(np.swapaxes(found, -1, -2))


def restored_from_frames(values: Array, cut: Frames, length: int | None) -> Array:
    """The real signal that ``short_time`` made the spectra of: (…, frequency, frame) → (…, time).

    Frames are added up where they overlap and divided by the sum of the squared windows (Griffin
    and Lim, "Signal estimation from modified short-time Fourier transform", 1984). Raises
    OperationError where that sum vanishes, ShapeError for another number of frequencies.
    """
    given = real_or_complex("istft", values)
    require_computable("istft", dtype_of(given))
    wanted = cut.size // 2 + 1 if cut.onesided else cut.size
    if given.ndim < 2 or given.shape[-2] != wanted or not given.shape[-1]:
        raise ShapeError(
            f"istft: shape {list(given.shape)} is no spectrum of frames of {cut.size}; expected "
            f"(…, {wanted}, frame)"
        )
    across = np.swapaxes(given, -1, -2)
    with np.errstate(all="ignore"):
        if cut.onesided:
            parts = np.fft.irfft(across, cut.size, axis=-1)
        else:
            parts = np.fft.ifft(across, axis=-1).real
        scale = cut.size**0.5 if cut.normalised else 1.0
        parts = parts * (cut.window * scale).astype(parts.dtype)
    squares = np.broadcast_to(np.square(cut.window), (given.shape[-1], cut.size))
    start = cut.size // 2 if cut.centre else 0
    stop = cut.size + cut.hop * (given.shape[-1] - 1) - start
    if length is not None:
        stop = min(stop + start, start + whole("istft", "a length", length))
    signal = _overlapped(parts, cut.hop)[..., start:stop]
    weights = _overlapped(squares, cut.hop)[start:stop]
    if stop <= start or weights.min() < _LEAST:
        raise OperationError(
            f"istft: {given.shape[-1]} frames of {cut.size} every {cut.hop} do not cover the "
            f"signal; windows have to overlap where they fade out"
        )
    with np.errstate(all="ignore"):
        signal = signal / weights.astype(signal.dtype)
    missing = 0 if length is None else length - signal.shape[-1]
    return np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)]) if missing > 0 else signal


def _overlapped(parts: Array, hop: int) -> Array:
    """Frames (…, frame, size) laid ``hop`` apart and added up: (…, time)."""
    count, size = parts.shape[-2:]
    pieces = -(-size // hop)
    lead = [(0, 0)] * (parts.ndim - 2)
    padded = np.pad(parts, [*lead, (0, 0), (0, pieces * hop - size)])
    cut = padded.reshape(*parts.shape[:-2], count, pieces, hop)
    found = np.zeros((*parts.shape[:-2], count + pieces - 1, hop), parts.dtype)
    for piece in range(pieces):  # piece k of frame t lies k hops behind its beginning
        found[..., piece : piece + count, :] += cut[..., piece, :]
    flat = found.reshape(*parts.shape[:-2], -1)
    return flat[..., : size + hop * (count - 1)]
