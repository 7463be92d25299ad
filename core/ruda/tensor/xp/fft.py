"""The extension ``fft``: discrete Fourier transforms of float32, float64 and complex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.tensor.device import HostDevice
from ruda.tensor.dtype import DType
from ruda.tensor.operations.operands import Array, dtype_of, normalise_axes, normalise_axis
from ruda.tensor.promotion import require_dtype, require_float, require_inexact
from ruda.tensor.sizes import require_room, sizes_of, whole
from ruda.tensor.tensor import Tensor
from ruda.tensor.xp._given import DEFAULT_FLOAT, array, require_finite, require_host, wrap

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

_NORMS = ("backward", "ortho", "forward")


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Transform of one axis, cut or filled with zeros to ``n``."""
    return _one("fft", np.fft.fft, x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Inverse of ``fft``."""
    return _one("ifft", np.fft.ifft, x, n, axis, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Transform of real values: the n // 2 + 1 frequencies that are not negative."""
    return _one("rfft", np.fft.rfft, x, n, axis, norm, real=True)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Inverse of ``rfft``: real values, 2 · (frequencies - 1) of them unless ``n`` says so."""
    return _one("irfft", np.fft.irfft, x, n, axis, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Transform of a Hermitian signal, which is real."""
    return _one("hfft", np.fft.hfft, x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Inverse of ``hfft``."""
    return _one("ihfft", np.fft.ihfft, x, n, axis, norm, real=True)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Transform of several axes, or all."""
    return _several("fftn", np.fft.fftn, x, s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Inverse of ``fftn``."""
    return _several("ifftn", np.fft.ifftn, x, s, axes, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Transform of real values over several axes; the last one is halved."""
    return _several("rfftn", np.fft.rfftn, x, s, axes, norm, real=True)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Inverse of ``rfftn``."""
    return _several("irfftn", np.fft.irfftn, x, s, axes, norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: HostDevice | None = None
) -> Tensor:
    """Frequencies of ``fft`` for ``n`` samples at distance ``d``."""
    require_host("fftfreq", device)
    _require_spacing("fftfreq", n, d)
    return wrap(np.fft.fftfreq(n, d)).cast(_float(dtype))


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: HostDevice | None = None
) -> Tensor:
    """Frequencies of ``rfft`` for ``n`` samples at distance ``d``."""
    require_host("rfftfreq", device)
    _require_spacing("rfftfreq", n, d)
    return wrap(np.fft.rfftfreq(n, d)).cast(_float(dtype))


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The frequency 0 in the middle of these axes, or all."""
    values = array("fftshift", x)
    if not values.ndim:
        return x
    return wrap(np.fft.fftshift(values, _axes("fftshift", values, axes)))


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Inverse of ``fftshift``."""
    values = array("ifftshift", x)
    if not values.ndim:
        return x
    return wrap(np.fft.ifftshift(values, _axes("ifftshift", values, axes)))


def _require_spacing(name: str, n: int, d: float) -> None:
    require_finite(name, n, d)
    if isinstance(n, int):
        require_room(name, (n,), DType.F64)
    if not isinstance(n, int) or n < 1 or d == 0:
        raise SettingError(f"{name}: needs at least one sample at a distance, got n={n!r}, d={d!r}")


def _float(dtype: DType | None) -> DType:
    wanted = dtype or DEFAULT_FLOAT
    require_dtype("frequencies", wanted)
    if not wanted.is_float:
        raise DTypeError(f"frequencies are floats, not {wanted}")
    return wanted


def _axes(name: str, values: Array, axes: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if axes is None or isinstance(axes, int):
        return normalise_axes(name, values, axes)
    return normalise_axes(name, values, tuple(axes))


def _values(name: str, x: Tensor, norm: str, *, real: bool) -> Array:
    values = array(name, x)
    (require_float if real else require_inexact)(name, dtype_of(values))
    if dtype_of(values) in (DType.F16, DType.BF16):
        raise DTypeError(f"{name}: {dtype_of(values)} is too coarse to transform; cast it to f32")
    if norm not in _NORMS:
        raise SettingError(f"{name}: norm is one of {', '.join(_NORMS)}, got {norm!r}")
    return values


def _one(
    name: str,
    transform: Callable[..., Any],
    x: Tensor,
    n: int | None,
    axis: int,
    norm: str,
    *,
    real: bool = False,
) -> Tensor:
    values = _values(name, x, norm, real=real)
    place = normalise_axis(name, values, axis)
    if n is not None:
        n = whole(name, "n", n)
    if (n is not None and n < 1) or (n is None and values.shape[place] < 1):
        raise ShapeError(f"{name}: axis {axis} of shape {list(values.shape)} has no samples")
    _require_sizes(name, values, {} if n is None else {place: n})
    samples = _with_samples(values, (place,))
    return _transformed(name, lambda: transform(samples, n=n, axis=place, norm=norm), values)


def _require_sizes(name: str, values: Array, sizes: dict[int, int]) -> None:
    shape = tuple(sizes.get(place, size) for place, size in enumerate(values.shape))
    require_room(name, shape, DType.C128)


def _with_samples(values: Array, places: tuple[int, ...]) -> Array:
    """The values; a zero on each of the axes that has none, which are filled up with zeros.

    NumPy's inverse transforms of real values would not fill them up, but leave what lay in memory.
    """
    if all(values.shape[place] for place in places):
        return values
    shape = [max(size, int(place in places)) for place, size in enumerate(values.shape)]
    return np.zeros(shape, values.dtype)


def _transformed(name: str, compute: Callable[[], Any], values: Array) -> Tensor:
    try:
        with np.errstate(all="ignore"):
            return wrap(compute())
    except ValueError as error:  # no samples: of an axis, or of the result of an inverse
        raise ShapeError(f"{name}: shape {list(values.shape)}: {error}") from None


def _several(
    name: str,
    transform: Callable[..., Any],
    x: Tensor,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str,
    *,
    real: bool = False,
) -> Tensor:
    values = _values(name, x, norm, real=real)
    places = _axes(name, values, axes)
    if not values.ndim or places == ():
        raise ShapeError(f"{name}: no axis of shape {list(values.shape)} to transform")
    if s is not None:
        s = sizes_of(name, s)
    if s is not None and len(s) > values.ndim:
        raise ShapeError(f"{name}: {len(s)} sizes for {values.ndim} axes")
    if s is not None and places is None:
        places = tuple(range(values.ndim - len(s), values.ndim))
    if s is not None and len(s) != len(places or ()):
        raise ShapeError(f"{name}: {len(s)} sizes for {len(places or ())} axes")
    samples = values
    if s is not None and places is not None:
        asked = {place: size for place, size in zip(places, s, strict=True) if size != -1}
        _require_sizes(name, values, asked)
        samples = _with_samples(values, tuple(asked))
    return _transformed(name, lambda: transform(samples, s=s, axes=places, norm=norm), values)
