"""Weights that PyTorch keeps in parts: weight_norm and spectral_norm, merged as it computes them.

Formulas of ``torch.nn.utils.weight_norm`` and ``spectral_norm`` (the same under
``torch.nn.utils.parametrizations``): ``w = g · v / ‖v‖``, the norm over every axis along which
``g`` has one element; and ``w = W / σ`` with ``σ = u · (W v)`` of the stored vectors, as in eval
mode, where ``W`` is a matrix with the output axis first. Both are computed in f64 and rounded once.
What has no length gives NaN, as in PyTorch, and a ``remark`` of the source says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ruda.errors import AdapterError
from ruda.store.moving import peak_of
from ruda.store.piecewise import Array
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.tensor import DType, cast

_SURE = 0.99
"""Cosine of u and W v from which they fit: training leaves u along W v, up to its last step."""
_CLEARER = 10
"""How many times nearer to 1 than along the other axis the cosine must be."""


@dataclass(slots=True, eq=False)
class WeightNormSource:
    """``g · v / ‖v‖``."""

    key: str
    direction: TensorSnapshot
    size: TensorSnapshot
    peak_bytes: int
    remark: str | None = field(default=None, init=False)
    """What the last read found; None where every value is a number."""

    @property
    def computed_from(self) -> tuple[TensorSnapshot, ...]:
        """The tensors that it is computed out of."""
        return self.direction, self.size

    def read(self) -> Array:
        """The weight; a direction of length 0 gives NaN, as in PyTorch."""
        v, g = _wide(self.direction), _wide(self.size)
        axes = tuple(at for at in range(v.ndim) if g.ndim == 0 or g.shape[at] == 1)
        with np.errstate(all="ignore"):
            length = np.sqrt(np.square(v).sum(axis=axes, keepdims=True))
            found = _rounded(v * (g / length), self.direction.dtype)
        zeros = int(np.count_nonzero(length == 0))
        why = f"{zeros} of {length.size} directions have the length 0" if zeros else ""
        self.remark = _remark(self.key, found, (v, g), why)
        return found


@dataclass(slots=True, eq=False)
class SpectralNormSource:
    """``W / (u · W v)``."""

    key: str
    weight: TensorSnapshot
    u: TensorSnapshot
    v: TensorSnapshot
    axes: tuple[int, ...]
    """Axes that may be the output; with two, the vectors themselves show which it is."""
    peak_bytes: int
    remark: str | None = field(default=None, init=False)
    """What the last read found; None where every value is a number."""

    @property
    def computed_from(self) -> tuple[TensorSnapshot, ...]:
        """The tensors that it is computed out of."""
        return self.weight, self.u, self.v

    def read(self) -> Array:
        """The weight. Raises AdapterError where the vectors do not show which axis is meant."""
        weight, u, v = _wide(self.weight), _wide(self.u), _wide(self.v)
        fits: list[tuple[float, float]] = []
        for axis in self.axes:
            product = np.moveaxis(weight, axis, 0).reshape(weight.shape[axis], -1) @ v
            sigma = float(u @ product)
            length = float(np.linalg.norm(product) * np.linalg.norm(u))
            fits.append((abs(sigma) / length if length else 0.0, sigma))
        fits.sort(reverse=True)
        if len(fits) > 1 and (fits[0][0] < _SURE or (1 - fits[0][0]) * _CLEARER > 1 - fits[1][0]):
            raise AdapterError(
                f"{list(weight.shape)} can be normed along axis 0 (convolution) or 1 (transposed "
                "convolution), and its vectors do not show along which",
                key=self.key,
            )
        sigma = fits[0][1]
        with np.errstate(all="ignore"):
            found = _rounded(weight / sigma, self.weight.dtype)
        why = "" if sigma else "its norm by the stored vectors is 0"
        self.remark = _remark(self.key, found, (weight, u, v), why)
        return found


def weight_normed(
    key: str, direction: TensorSnapshot, size: TensorSnapshot
) -> TensorSnapshot | str:
    """The weight of a weight_norm, lazy; or why not."""
    shape, lengths = direction.shape, size.shape
    if not (direction.dtype.is_float and size.dtype is direction.dtype):
        return f"{direction.dtype_label} and {size.dtype_label} are not two floats of one type"
    several = [at for at, n in enumerate(lengths) if n != 1]
    fits = not lengths or (
        len(lengths) == len(shape)
        and len(several) <= 1
        and all(lengths[at] == shape[at] for at in several)
    )
    if not fits:
        return f"the lengths {list(lengths)} do not fit {list(shape)} along one axis"
    source = WeightNormSource(key, direction, size, _peak(direction))
    return _made(key, direction, source, "merge weight-norm")


def spectral_normed(
    key: str, weight: TensorSnapshot, u: TensorSnapshot, v: TensorSnapshot
) -> TensorSnapshot | str:
    """The weight of a spectral_norm, lazy; or why not."""
    if not all(s.dtype.is_float for s in (weight, u, v)):
        return "not all of its parts are floats"
    axes = tuple(
        at
        for at in range(min(2, len(weight.shape)))
        if u.shape == weight.shape[at : at + 1]
        and v.shape == (math.prod(weight.shape) // max(weight.shape[at], 1),)
    )
    if len(weight.shape) == 2:
        axes = axes[:1]  # a matrix is normed along axis 0; only convolutions are transposed
    if not axes:
        return (
            f"vectors of {list(u.shape)} and {list(v.shape)} do not fit {list(weight.shape)} "
            "along axis 0 or 1"
        )
    source = SpectralNormSource(key, weight, u, v, axes, _peak(weight))
    return _made(key, weight, source, "merge spectral-norm")


def _made(
    key: str,
    like: TensorSnapshot,
    source: WeightNormSource | SpectralNormSource,
    step: str,
) -> TensorSnapshot:
    return replace(
        like,
        key=key,
        source=source,
        origin=None if like.origin is None else Origin(like.origin.path),
        param_id=None,
        shared_with=None,
        trail=(*like.trail, step),
    )


def _remark(key: str, found: Array, parts: tuple[Array, ...], why: str) -> str | None:
    """What is said of values that are no numbers although those they are computed from are."""
    lost = found.size - int(np.count_nonzero(np.isfinite(found)))
    if not lost or not (why or all(np.isfinite(part).all() for part in parts)):
        return None
    reason = f"{why}; PyTorch computes the same" if why else "they do not fit its type"
    return f"{key!r}: {lost} of {found.size} values became infinite or NaN: {reason}"


def _peak(snapshot: TensorSnapshot) -> int:
    inner = peak_of(snapshot.source, snapshot.nbytes)
    return inner + snapshot.nbytes + 24 * snapshot.numel


def _wide(snapshot: TensorSnapshot) -> Array:
    return cast(snapshot.read(), snapshot.dtype, DType.F64)[0]


def _rounded(values: Array, dtype: DType) -> Array:
    return cast(np.ascontiguousarray(values), DType.F64, dtype)[0]
