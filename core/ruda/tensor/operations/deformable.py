"""Convolution whose window looks where it is told: deformable convolution."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from ruda.errors import SettingError, ShapeError
from ruda.tensor.operations.operands import Array, dtype_of, recast
from ruda.tensor.operations.planes import Pair, bilinear_taps, take_two
from ruda.tensor.promotion import accumulator, promote, require_float
from ruda.tensor.sizes import whole


@dataclass(frozen=True, slots=True)
class Windows:
    """Where windows stand: steps, zeros around and gaps as (rows, columns), and groups."""

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    weight_groups: int
    offset_groups: int

    @classmethod
    def of(
        cls, stride: Pair, padding: Pair, dilation: Pair, weight_groups: int, offset_groups: int
    ) -> Windows:
        """Checked. Raises SettingError for sizes that cannot be, DTypeError for others."""
        name = "deform_conv2d"
        groups = [whole(name, "groups", one) for one in (weight_groups, offset_groups)]
        if min(groups) < 1:
            raise SettingError(f"{name}: groups are 1 or more, got {groups[0]} and {groups[1]}")
        return cls(
            take_two(name, "stride", stride, 1),
            take_two(name, "padding", padding, 0),
            take_two(name, "dilation", dilation, 1),
            groups[0],
            groups[1],
        )


def deform_conv2d(
    values: Array,
    offsets: Array,
    weight: Array,
    mask: Array | None,
    bias: Array | None,
    windows: Windows,
) -> Array:
    """(n, channel, h, w) → (n, out, h', w'), each point of a window moved by its own offset.

    ``offsets`` is (n, 2 · offset_groups · points, h', w'): for each group and point of the window a
    pair of rows and columns to add; ``weight`` (out, channel / weight_groups, rows, columns);
    ``mask`` (n, offset_groups · points, h', w') scales what is seen, ``bias`` (out) is added.
    Between pixels values are bilinear, outside they are 0. Dai and others, "Deformable
    convolutional networks", 2017, and Zhu and others, "Deformable ConvNets v2", 2019. Halves in
    f32. Raises ShapeError, DTypeError for what is no float.
    """
    given = [part for part in (values, offsets, weight, mask, bias) if part is not None]
    for part in given:
        require_float("deform_conv2d", dtype_of(part))
    dtype = reduce(lambda a, b: promote("deform_conv2d", a, b), map(dtype_of, given))
    size = _checked(values, offsets, weight, mask, bias, windows)
    wide = accumulator(dtype)
    planes, moved, taps = (recast(part, wide) for part in (values, offsets, weight))
    scales = None if mask is None else recast(mask, wide)
    out, groups = weight.shape[0], windows.weight_groups
    factors = taps.reshape(groups, out // groups, weight[0].size)
    made = np.empty((len(values), out, size[0] * size[1]), planes.dtype)
    with np.errstate(all="ignore"):
        for image in range(len(values)):  # one at a time: the columns are large
            scale = None if scales is None else scales[image]
            columns = _columns(planes[image], moved[image], scale, weight.shape[2:], windows)
            seen = columns.reshape(groups, -1, size[0] * size[1])
            made[image] = np.matmul(factors, seen).reshape(out, -1)
        if bias is not None:
            made += recast(bias, wide)[:, None]
    return recast(made.reshape(len(values), out, *size), dtype)


def _columns(
    planes: Array, moved: Array, scale: Array | None, kernel: tuple[int, ...], windows: Windows
) -> Array:
    """What each point of the windows sees: (channel, points, h', w')."""
    groups, points = windows.offset_groups, kernel[0] * kernel[1]
    size = moved.shape[1:]
    pairs = moved.reshape(groups, points, 2, *size)
    grid = np.indices(kernel).reshape(2, points)
    made = np.empty((len(planes), points, *size), planes.dtype)
    each = len(planes) // groups
    places = []
    for axis in (0, 1):
        starts = np.arange(size[axis]) * windows.stride[axis] - windows.padding[axis]
        along = starts[:, None] if axis == 0 else starts[None, :]
        points_at = grid[axis][:, None, None] * windows.dilation[axis] + along
        places.append(bilinear_taps(pairs[:, :, axis] + points_at, planes.shape[1 + axis]))
    for group in range(groups):
        own = planes[group * each : (group + 1) * each]
        total = np.zeros((each, points, *size), planes.dtype)
        for row, down in places[0]:
            for column, right in places[1]:
                share = (down * right)[group]
                total += np.where(share == 0, 0, own[:, row[group], column[group]] * share)
        made[group * each : (group + 1) * each] = total
    if scale is not None:
        by_group = made.reshape(groups, each, points, *size)
        by_group *= scale.reshape(groups, 1, points, *size)
    return made


def _checked(
    values: Array,
    offsets: Array,
    weight: Array,
    mask: Array | None,
    bias: Array | None,
    windows: Windows,
) -> tuple[int, int]:
    """Height and width of the result."""
    groups, per_point = windows.weight_groups, windows.offset_groups
    if (
        values.ndim != 4
        or weight.ndim != 4
        or not weight.size
        or not (values.shape[2] * values.shape[3])
    ):
        raise ShapeError(
            f"deform_conv2d: shapes {list(values.shape)} and {list(weight.shape)}; expected "
            f"(n, channel, h, w) and (out, channel / groups, rows, columns)"
        )
    channels = values.shape[1]
    if channels != weight.shape[1] * groups or weight.shape[0] % groups or channels % per_point:
        raise ShapeError(
            f"deform_conv2d: {channels} channels and weights of shape {list(weight.shape)} do not "
            f"fit {groups} weight groups and {per_point} offset groups"
        )
    size = []
    for axis in (0, 1):
        reach = (weight.shape[2 + axis] - 1) * windows.dilation[axis] + 1
        room = values.shape[2 + axis] + 2 * windows.padding[axis] - reach
        if room < 0:
            raise ShapeError(
                f"deform_conv2d: windows that span {reach} do not fit {list(values.shape)}"
            )
        size.append(room // windows.stride[axis] + 1)
    points = weight.shape[2] * weight.shape[3] * per_point
    for what, part, count in (("offsets", offsets, 2 * points), ("a mask", mask, points)):
        expected = (len(values), count, *size)
        if part is not None and part.shape != expected:
            raise ShapeError(
                f"deform_conv2d: {what} of shape {list(part.shape)}; expected {list(expected)}"
            )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError(
            f"deform_conv2d: a bias of shape {list(bias.shape)} for {weight.shape[0]} channels"
        )
    return size[0], size[1]
