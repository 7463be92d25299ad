"""Architecture: a network that weights can be loaded into, with its settings and its input."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ruda.errors import DTypeError, SettingError, ShapeError
from ruda.nn import Module
from ruda.tensor import Tensor

Output = Literal["logits", "log_probs", "states"]
"""What the values are; ``states`` are vectors for tokens, of no classes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One whole number that an architecture can be built with."""

    name: str
    default: int
    minimum: int
    maximum: int
    help: str

    def check(self, value: object) -> int:
        """The value. Raises SettingError unless it is a whole number in the range."""
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not self.minimum <= value <= self.maximum:  # type: ignore[operator]
            raise SettingError(
                f"{self.name} is a whole number from {self.minimum} to {self.maximum}, "
                f"got {value!r}"
            )
        return value  # type: ignore[return-value]


SEED = Setting("seed", 0, 0, 2**63 - 1, "Seed of the values that no file replaces.")
"""The setting that every architecture has."""


@dataclass(frozen=True, slots=True)
class InputSpec:
    """What a network takes: ``shape`` without the batch axis, and how pixels become its values.

    ``mean`` and ``std`` are per channel, of pixel / 255. ``classes`` names the outputs in order.
    """

    shape: tuple[int, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    classes: tuple[str, ...]

    def prepare(self, pixels: np.ndarray[Any, Any]) -> Tensor:
        """u8 images (batch, height, width) or (batch, height, width, channel) → f32 input.

        The result is (batch, channel, height, width), (pixel / 255 - mean) / std. Raises
        DTypeError unless the pixels are u8, ShapeError if their size is not the network's.
        """
        if pixels.dtype != np.uint8:
            raise DTypeError(f"expected u8 pixels (0 to 255), got {pixels.dtype}")
        if len(self.shape) != 3 or self.shape[0] != len(self.mean):
            raise ShapeError(
                f"this network takes no images, but inputs of {list(self.shape)}; build it by "
                "ruda.models in Python, and call it there"
            )
        images = pixels[..., None] if pixels.ndim == 3 else pixels
        channels, height, width = self.shape
        if images.ndim != 4 or images.shape[1:] != (height, width, channels):
            raise ShapeError(
                f"expected images of {height} × {width} pixels in {channels} channel(s), "
                f"got shape {list(pixels.shape)}"
            )
        values = np.ascontiguousarray(images.transpose(0, 3, 1, 2), dtype=np.float32)
        along = (channels, 1, 1)
        values /= np.float32(255)
        values -= np.asarray(self.mean, np.float32).reshape(along)
        values /= np.asarray(self.std, np.float32).reshape(along)
        return Tensor(values)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A registered network. ``build`` is cheap: values are made when first needed."""

    name: str
    title: str
    summary: str
    input: InputSpec
    output: Output
    settings: tuple[Setting, ...]
    builder: Callable[..., Module]
    adapters: tuple[str, ...] = ("pytorch-to-ruda",)
    """What takes the files of other libraries, by the names that recipes have for it."""

    def build(self, **settings: int) -> Module:
        """A new network with these settings and the defaults of the others.

        Raises SettingError for a setting it does not have, or one out of range.
        """
        known = {setting.name: setting for setting in self.settings}
        for name in settings:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else _list(known)
                raise SettingError(f"{self.name} has no setting {name!r}; {hint}")
        values = {s.name: s.check(settings.get(s.name, s.default)) for s in self.settings}
        return self.builder(**values)


def _list(known: dict[str, Setting]) -> str:
    return f"it has {', '.join(known)}" if known else "it has none"
