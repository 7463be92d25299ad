"""Window2d: kernel, stride, dilation and padding of what slides over height and width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ruda.errors import SettingError

Array = np.ndarray[Any, Any]

Pair: TypeAlias = int | tuple[int, int]
"""One number for height and width, or one each."""

Padding: TypeAlias = Literal["valid", "same"] | int | tuple[int, int] | tuple[int, int, int, int]
"""``valid`` (none), ``same``, one number, (height, width), or (top, left, bottom, right)."""


Padding1d: TypeAlias = Literal["valid", "same"] | int | tuple[int, int]
"""``valid`` (none), ``same``, one number, or (left, right)."""

Triple: TypeAlias = int | tuple[int, int, int]
"""One number for depth, height and width, or one each."""

Padding3d: TypeAlias = Literal["valid", "same"] | Triple
"""``valid`` (none), ``same``, or as much on both sides of depth, height and width."""


def as_pair(value: Pair, name: str, *, least: int = 1) -> tuple[int, int]:
    """Height and width. Raises SettingError below ``least``."""
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) != 2 or any(size < least for size in pair):
        raise SettingError(f"{name} is one or two whole numbers from {least}, got {value}")
    return pair


def as_flat_padding(padding: int | tuple[int, int]) -> tuple[int, int, int, int]:
    """(left, right) as (top, left, bottom, right). Raises SettingError."""
    sides = (padding, padding) if isinstance(padding, int) else tuple(padding)
    if len(sides) != 2:
        raise SettingError(
            f"padding is 'valid', 'same', or one or two whole numbers from 0, got {padding!r}"
        )
    return 0, sides[0], 0, sides[1]


def as_triple(value: Triple, name: str, least: int) -> tuple[int, int, int]:
    """Depth, height and width. Raises SettingError below ``least``."""
    sizes = (value,) * 3 if isinstance(value, int) else tuple(value)
    if len(sizes) != 3 or any(size < least for size in sizes):
        raise SettingError(f"{name} is one or three whole numbers from {least}, got {value!r}")
    return sizes[0], sizes[1], sizes[2]


@dataclass(frozen=True, slots=True)
class Window2d:
    """A window of ``kernel`` points, ``dilation`` apart, moved by ``stride``.

    ``padding`` is (top, left, bottom, right), or None for ``same``: as much as makes the output
    ⌈input / stride⌉, an odd pixel at the end.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    padding: tuple[int, int, int, int] | None

    @classmethod
    def of(cls, kernel: Pair, stride: Pair, dilation: Pair, padding: Padding) -> Window2d:
        """Checked and spelled out. Raises SettingError naming the setting."""
        return cls(
            as_pair(kernel, "kernel_size"),
            as_pair(stride, "stride"),
            as_pair(dilation, "dilation"),
            _as_padding(padding),
        )

    @property
    def reach(self) -> tuple[int, int]:
        """Rows and columns that one window spans, gaps of the dilation included."""
        return tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))  # type: ignore[return-value]

    def pads(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Top, left, bottom and right padding for an input of this size."""
        if self.padding is not None:
            return self.padding
        before, after = [], []
        for size, reach, stride in zip((height, width), self.reach, self.stride, strict=True):
            total = max(0, (-(-size // stride) - 1) * stride + reach - size)
            before.append(total // 2)
            after.append(total - total // 2)
        return before[0], before[1], after[0], after[1]

    def output_size(self, height: int, width: int, *, over_end: bool = False) -> tuple[int, int]:
        """Rows and columns of the output; zero or less where the window does not fit.

        With ``over_end`` a last window may reach over the end, unless it starts in the padding.
        """
        top, left, bottom, right = self.pads(height, width)
        rows = self.count(0, height, top, bottom, over_end=over_end)
        return rows, self.count(1, width, left, right, over_end=over_end)

    def count(self, axis: int, size: int, before: int, after: int, *, over_end: bool) -> int:
        """Windows along one of the two axes, for an input of this size and padding."""
        stride = self.stride[axis]
        room = size + before + after - self.reach[axis]
        count = room // stride + 1
        if over_end and room % stride and count * stride < size + before:
            count += 1
        return count

    def pad(self, x: Array, fill: float) -> Array:
        """(batch, channel, height, width) with a border of ``fill``; itself if there is none."""
        top, left, bottom, right = self.pads(x.shape[2], x.shape[3])
        if not (top or left or bottom or right):
            return x
        height, width = x.shape[2:]
        padded = np.full((*x.shape[:2], height + top + bottom, width + left + right), fill, x.dtype)
        padded[:, :, top : top + height, left : left + width] = x
        return padded

    def at(self, x: Array, row: int, column: int, size: tuple[int, int]) -> Array:
        """View of what point (row, column) of the window sees at each of ``size`` positions."""
        top, left = row * self.dilation[0], column * self.dilation[1]
        down, right = self.stride
        return x[
            :,
            :,
            top : top + down * (size[0] - 1) + 1 : down,
            left : left + right * (size[1] - 1) + 1 : right,
        ]


def _as_padding(padding: Padding) -> tuple[int, int, int, int] | None:
    if padding == "same":
        return None
    if padding == "valid":
        return 0, 0, 0, 0
    sides = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
    if isinstance(padding, str) or len(sides) not in (2, 4) or min(sides) < 0:
        raise SettingError(
            f"padding is 'valid', 'same', or 1, 2 or 4 whole numbers from 0, got {padding!r}"
        )
    top, left, bottom, right = sides * 2 if len(sides) == 2 else sides
    return top, left, bottom, right
