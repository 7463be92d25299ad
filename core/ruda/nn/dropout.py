"""Dropout: the identity wherever a model is run and not trained."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.errors import ModelError, SettingError
from ruda.nn.module import Module
from ruda.tensor import HostDevice, Tensor


class Dropout(Module):
    """Returns its input. ``probability`` is kept for the record of the architecture."""

    def __init__(self, probability: float = 0.5) -> None:
        if not 0.0 <= probability <= 1.0:
            raise SettingError(f"a probability is 0 to 1, got {probability}")
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        """The input itself. Raises ModelError in training mode."""
        if self.training and self.probability > 0.0:
            raise ModelError(
                f"{self.place()}: nothing is dropped here; call model.eval() to run the model"
            )
        return x


@dataclass(frozen=True, slots=True)
class DropoutConfig:
    """Settings of a Dropout."""

    probability: float

    def init(self, device: HostDevice | None = None) -> Dropout:
        """A new layer. It has no parameters, so the device does not matter."""
        return Dropout(self.probability)
