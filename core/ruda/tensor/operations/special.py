"""The error function, of which NumPy has none, in f64.

Rational approximations of the Cephes library (Moshier): below 1, erf(x) = x · T(x²) / U(x²); from
there on, erfc(x) = exp(-x²) · P(x) / Q(x). Leading coefficients of U and Q are 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_T = (9.60497373987051638749, 90.0260197203842689217, 2232.00534594684319226,
      7003.32514112805075473, 55592.3013010394962768)  # fmt: skip
_U = (1.0, 33.5617141647503099647, 521.357949780152679795, 4594.32382970980127987,
      22629.0000613890934246, 49267.3942608635921086)  # fmt: skip
_P = (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687,
      48.6371970985681366614, 196.520832956077098242, 526.445194995477358631,
      934.528527171957607540, 1027.55188689515710272, 557.535335369399327526)  # fmt: skip
_Q = (1.0, 13.2281951154744992508, 86.7072140885989742329, 354.937778887819891062,
      975.708501743205489753, 1823.90916687909736289, 2246.33760818710981792,
      1656.66309194161350182, 557.535340817727675546)  # fmt: skip


def erf(x: Array) -> Array:
    """2/√π · ∫₀ˣ exp(-t²) dt of f64 values, within 4 ulp."""
    size = np.abs(x)
    return np.where(size < 1.0, _near(x), np.copysign(1.0 - _far(size), x))


def erfc(x: Array) -> Array:
    """1 - erf(x) of f64 values, without the cancellation where erf is close to 1."""
    size = np.abs(x)
    far = _far(size)
    return np.where(size < 1.0, 1.0 - _near(x), np.where(x < 0, 2.0 - far, far))


def _near(x: Array) -> Array:
    # Beyond 1 the value is not used; the clip keeps its square from overflowing.
    inside = np.clip(x, -1.0, 1.0)
    square = inside * inside
    return np.asarray(inside * _polynomial(square, _T) / _polynomial(square, _U))


def _far(size: Array) -> Array:
    """Erfc of values from 1 on; 0 beyond 27.3, where it is below the smallest f64."""
    inside = np.clip(size, 1.0, 27.3)
    # exp(-x²) in two factors: x² rounded would cost digits (Cephes, expx2).
    whole = np.round(inside * 128.0) / 128.0
    rest = inside - whole
    power = np.exp(-whole * whole) * np.exp(-(2.0 * whole * rest + rest * rest))
    tail = np.asarray(_middle(inside))
    late = inside >= 8.0  # rare, and much the dearer of the two
    if late.any():
        tail[late] = _end(inside[late])
    return np.where(np.isnan(size), size, np.where(size >= 27.3, 0.0, power * tail))


def _middle(x: Array) -> Array:
    return np.asarray(_polynomial(x, _P) / _polynomial(x, _Q))


def _end(x: Array) -> Array:
    """Continued fraction 1/√π / (x + ½/(x + 1/(x + …))), for x ≥ 8 (A. & S. 7.1.14)."""
    fraction = x.copy()
    for n in range(24, 0, -1):
        fraction = x + (n / 2) / fraction
    return np.asarray(1.0 / (np.sqrt(np.pi) * fraction))


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    found = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        found *= x
        found += coefficient
    return found
