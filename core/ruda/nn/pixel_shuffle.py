"""PixelShuffle and PixelUnshuffle: channels as the pixels of a larger picture, and back."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.errors import SettingError
from ruda.nn.module import Module
from ruda.tensor import HostDevice, Tensor


class PixelShuffle(Module):
    """(…, channel · f², height, width) → (…, channel, height · f, width · f), f the factor.

    Channel c · f² + f · i + j becomes the pixels (i, j) of each square of f × f, as in PyTorch.
    """

    def __init__(self, upscale_factor: int) -> None:
        self._factor = _checked(upscale_factor, "upscale_factor")

    def forward(self, x: Tensor) -> Tensor:
        """Values of any dtype. Raises ShapeError naming the layer."""
        factor = self._factor
        if x.rank < 3 or x.shape[-3] % factor**2:
            raise self.shape_error(f"[…, a multiple of {factor**2}, height, width]", x.shape)
        *outer, channels, height, width = x.shape
        squares = x.reshape(*outer, channels // factor**2, factor, factor, height, width)
        at = len(outer) + 1
        order = (*range(at), at + 2, at, at + 3, at + 1)
        shape = (*outer, channels // factor**2, height * factor, width * factor)
        return squares.permute(order).reshape(*shape)


class PixelUnshuffle(Module):
    """(…, channel, height · f, width · f) → (…, channel · f², height, width), f the factor.

    What PixelShuffle does, taken back.
    """

    def __init__(self, downscale_factor: int) -> None:
        self._factor = _checked(downscale_factor, "downscale_factor")

    def forward(self, x: Tensor) -> Tensor:
        """Values of any dtype. Raises ShapeError naming the layer."""
        factor = self._factor
        if x.rank < 3 or x.shape[-2] % factor or x.shape[-1] % factor:
            raise self.shape_error(
                f"[…, channel, height, width] in multiples of {factor} × {factor}", x.shape
            )
        *outer, channels, height, width = x.shape
        rows, columns = height // factor, width // factor
        squares = x.reshape(*outer, channels, rows, factor, columns, factor)
        at = len(outer) + 1
        order = (*range(at), at + 1, at + 3, at, at + 2)
        return squares.permute(order).reshape(*outer, channels * factor**2, rows, columns)


def _checked(factor: int, name: str) -> int:
    if factor < 1:
        raise SettingError(f"{name} is a whole number from 1, got {factor}")
    return factor


@dataclass(frozen=True, slots=True)
class PixelShuffleConfig:
    """Settings of a PixelShuffle."""

    upscale_factor: int

    def init(self, device: HostDevice | None = None) -> PixelShuffle:
        """A new layer. It has no parameters, so the device does not matter."""
        return PixelShuffle(self.upscale_factor)


@dataclass(frozen=True, slots=True)
class PixelUnshuffleConfig:
    """Settings of a PixelUnshuffle."""

    downscale_factor: int

    def init(self, device: HostDevice | None = None) -> PixelUnshuffle:
        """A new layer. It has no parameters, so the device does not matter."""
        return PixelUnshuffle(self.downscale_factor)
