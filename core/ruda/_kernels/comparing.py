"""How far two arrays of float32 lie apart, in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ruda._kernels.checks import Array, take_array, take_flat, take_plain, take_run
from ruda._kernels.narrowing import F32
from ruda._kernels.numbers import take_number, take_whole
from ruda._kernels.threads import in_pieces
from ruda._kernels.variants import kernel
from ruda._kernels.workspace import distance_scratch
from ruda.errors import SettingError, ShapeError

_difference = kernel("difference")

_MOST_STEPS = 2**62


@dataclass(frozen=True, slots=True)
class Difference:
    """Figures of pairs of float32; add two to get those of both sets.

    ``changed`` counts unequal pairs, ``beyond`` those that no tolerance excuses either; two NaNs
    are equal, and so are both zeros. Sums and maxima are over the ``finite`` pairs, in float64;
    ``max_steps`` counts steps between neighbouring floats. ``unpaired`` counts pairs of which one
    is NaN or infinite and the other something else.
    """

    changed: int = 0
    beyond: int = 0
    finite: int = 0
    unpaired: int = 0
    max_absolute: float = 0.0
    total_absolute: float = 0.0
    total_squares: float = 0.0
    dot: float = 0.0
    left_squares: float = 0.0
    right_squares: float = 0.0
    max_steps: int = 0
    left_nans: int = 0
    right_nans: int = 0
    left_infs: int = 0
    right_infs: int = 0

    def __add__(self, other: Difference) -> Difference:
        """Figures of both sets together."""
        return Difference(
            changed=self.changed + other.changed,
            beyond=self.beyond + other.beyond,
            finite=self.finite + other.finite,
            unpaired=self.unpaired + other.unpaired,
            max_absolute=max(self.max_absolute, other.max_absolute),
            total_absolute=self.total_absolute + other.total_absolute,
            total_squares=self.total_squares + other.total_squares,
            dot=self.dot + other.dot,
            left_squares=self.left_squares + other.left_squares,
            right_squares=self.right_squares + other.right_squares,
            max_steps=max(self.max_steps, other.max_steps),
            left_nans=self.left_nans + other.left_nans,
            right_nans=self.right_nans + other.right_nans,
            left_infs=self.left_infs + other.left_infs,
            right_infs=self.right_infs + other.right_infs,
        )


def difference(
    left: Array, right: Array, *, relative: float = 0.0, absolute: float = 0.0, steps: int = 0
) -> Difference:
    """Figures of two float32 arrays of one shape and any layout.

    A finite pair passes if it is closer than max(absolute, relative · the larger magnitude) or at
    most ``steps`` neighbouring floats apart. Counts and maxima are exact; the last digits of sums
    depend on the variant and on how the items were cut.
    Raises DTypeError, ShapeError, SettingError for a negative tolerance.
    """
    relative, absolute = take_number(relative, "relative"), take_number(absolute, "absolute")
    steps = take_whole(steps, "steps", 0, _MOST_STEPS)
    if not (relative >= 0.0 and absolute >= 0.0):
        raise SettingError(f"relative={relative}, absolute={absolute}: expected 0 or more of each")
    first, second = take_array(left, "left", (F32,)), take_array(right, "right", (F32,))
    if first.shape != second.shape:
        raise ShapeError(f"right has shape {second.shape}; expected that of left, {first.shape}")
    a, b = take_flat(first), take_flat(second)

    def piece(cut: slice) -> Difference:
        x, y = take_plain(take_run(a, cut)), take_plain(take_run(b, cut))
        counts, sums = np.zeros(9, np.int64), np.zeros(6)
        _difference.difference_f32(
            x.view(np.int32),
            y.view(np.int32),
            x,
            y,
            relative,
            absolute,
            steps,
            *distance_scratch(),
            counts,
            sums,
        )
        whole = counts.tolist()
        return Difference(*whole[:4], *sums.tolist(), *whole[4:])

    parts = in_pieces(piece, a.size, item_bytes=8)
    return sum(parts[1:], parts[0]) if parts else Difference()
