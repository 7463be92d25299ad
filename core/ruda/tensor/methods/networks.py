"""Operations between layers that have no parameters: sampling, windows and the CTC loss."""

from __future__ import annotations

from typing import Self

from ruda.tensor.methods.held import Held, tensor_array
from ruda.tensor.operations import alignment, attending, deformable, planes, pooling
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

    def attention(
        self,
        key: Self,
        value: Self,
        *,
        mask: Self | None = None,
        bias: Self | None = None,
        scale: float | None = None,
        softcap: float | None = None,
        is_causal: bool = False,
    ) -> Self:
        """softmax(Q·Kᵀ · scale + bias) · V, with this tensor the queries Q.

        (…, time, d), (…, key time, d) and (…, key time, width) → (…, time, width); axes in front
        broadcast. ``scale`` is 1 / √d unless given. ``softcap`` c makes c · tanh(x / c) of what is
        scaled. ``mask`` (bool, True hides) and ``bias`` broadcast to (…, time, key time). With
        ``is_causal`` later keys are hidden, and the last query sees the last key. A query that
        sees nothing gives 0. Raises ShapeError, DTypeError, SettingError.
        """
        hidden, added = (
            None if one is None else tensor_array("attention", one) for one in (mask, bias)
        )
        keys, values = (tensor_array("attention", one) for one in (key, value))
        return self._new(
            attending.attention(
                self._array,
                keys,
                values,
                hidden,
                added,
                scale=scale,
                softcap=softcap,
                is_causal=is_causal,
            )
        )

    def max_pool2d_with_indices(
        self,
        kernel: Pair,
        *,
        stride: Pair | None = None,
        padding: Pair = 0,
        dilation: Pair = 1,
        ceil_mode: bool = False,
    ) -> tuple[Self, Self]:
        """Largest values of windows, and places: (n, channel, h, w) → two (n, channel, h', w').

        A place is row · w + column in the plane, i64. Of equal values the first counts; NaN wins.
        The stride is the kernel unless given; padding is never the largest. With ``ceil_mode`` a
        last window may reach over the end. Raises ShapeError, DTypeError, SettingError.
        """
        found = pooling.max_pool2d_with_indices(
            self._array, kernel, stride, padding, dilation, ceil_mode
        )
        return self._new(found[0]), self._new(found[1])

    def max_pool1d_with_indices(
        self,
        kernel: int,
        *,
        stride: int | None = None,
        padding: int = 0,
        dilation: int = 1,
        ceil_mode: bool = False,
    ) -> tuple[Self, Self]:
        """The same along one axis: (n, channel, length) → two (n, channel, length'); i64 places."""
        found = pooling.max_pool1d_with_indices(
            self._array, kernel, stride, padding, dilation, ceil_mode
        )
        return self._new(found[0]), self._new(found[1])

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
