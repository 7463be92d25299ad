"""Operations between layers that have no parameters: sampling, windows and the CTC loss."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held, tensor_array
from ruda.tensor.operations import alignment, deformable, planes
from ruda.tensor.operations.deformable import Windows
from ruda.tensor.operations.planes import Edge, Mode, Pair


class Networks(Held):
    """New memory; halves are computed in f32 and rounded once."""

    __slots__ = ()

    def grid_sample(
        self,
        grid: Self,
        *,
        mode: Mode = "bilinear",
        edge: Edge = "zeros",
        align_corners: bool = False,
    ) -> Self:
        """Values between pixels: (n, channel, h, w) at (n, h', w', 2) → (n, channel, h', w').

        The grid has x and y from -1 to 1: the outer edges of the planes, or with ``align_corners``
        the middles of the outer pixels. Outside there is 0, the nearest pixel (``border``), or the
        plane mirrored (``reflection``). Raises ShapeError, DTypeError, SettingError.
        """
        places = tensor_array("grid_sample", grid)
        return self._new(planes.grid_sample(self._array, places, mode, edge, align_corners))

    def unfold4d(
        self, kernel: Pair, *, stride: Pair = 1, padding: Pair = 0, dilation: Pair = 1
    ) -> Self:
        """Windows as columns: (n, channel, h, w) → (n, channel · points, position).

        Sizes are one number or (rows, columns). Raises ShapeError where no window fits,
        SettingError for sizes that cannot be.
        """
        return self._new(planes.unfold4d(self._array, kernel, stride, padding, dilation))

    def fold4d(
        self,
        size: Pair,
        kernel: Pair,
        *,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
    ) -> Self:
        """Columns of ``unfold4d`` added up where they lie: → (n, channel, *size)."""
        return self._new(planes.fold4d(self._array, size, kernel, stride, padding, dilation))

    def deform_conv2d(
        self,
        offsets: Self,
        weight: Self,
        *,
        mask: Self | None = None,
        bias: Self | None = None,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        weight_groups: int = 1,
        offset_groups: int = 1,
    ) -> Self:
        """Convolution whose points are moved by offsets: (n, channel, h, w) → (n, out, h', w').

        ``weight`` is (out, channel / weight_groups, rows, columns), ``offsets``
        (n, 2 · offset_groups · points, h', w') in pairs of rows and columns, ``mask``
        (n, offset_groups · points, h', w'), ``bias`` (out). Raises ShapeError, DTypeError,
        SettingError.
        """
        windows = Windows.of(stride, padding, dilation, weight_groups, offset_groups)
        moved, factors = (tensor_array("deform_conv2d", one) for one in (offsets, weight))
        scale, shift = (
            None if one is None else tensor_array("deform_conv2d", one) for one in (mask, bias)
        )
        return self._new(
            deformable.deform_conv2d(self._array, moved, factors, scale, shift, windows)
        )

    def ctc_loss(
        self, targets: Self, input_sizes: Self, target_sizes: Self, *, blank: int = 0
    ) -> Self:
        """-log p(target) over all alignments: (time, batch, class) and (batch, label) → (batch,).

        This tensor holds logarithms of probabilities. Inf where a sequence has too few steps.
        Raises ShapeError, DTypeError, IndexRangeError for a label that is no class or the blank.
        """
        labels, steps, sizes = (
            tensor_array("ctc_loss", one) for one in (targets, input_sizes, target_sizes)
        )
        return self._new(alignment.ctc_loss(self._array, labels, steps, sizes, blank))
