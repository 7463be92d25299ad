"""The network of the package ``digit-recognizer-py``: digits of 28 × 28 pixels."""

from __future__ import annotations

from ruda.models.architecture import SEED, Architecture, InputSpec
from ruda.nn import Conv2d, Linear, MaxPool2d, Module, Relu, derive_seed
from ruda.tensor import Tensor


class DigitRecognizer(Module):
    """Three convolutions and two linear layers: gives logits."""

    def __init__(self, *, seed: int = 0) -> None:
        channels = (1, 32, 64, 128)
        self.conv_layers = [
            Conv2d(
                channels[at],
                channels[at + 1],
                3,
                padding=1,
                seed=derive_seed(seed, f"conv_layers.{at}"),
            )
            for at in range(3)
        ]
        self.fc_layers = [
            Linear(128 * 3 * 3, 256, seed=derive_seed(seed, "fc_layers.0")),
            Linear(256, 10, seed=derive_seed(seed, "fc_layers.1")),
        ]
        self.activation = Relu()
        self.pool = MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 1, 28, 28) → logits (batch, 10)."""
        for conv in self.conv_layers:
            x = self.pool(self.activation(conv(x)))
        hidden, last = self.fc_layers
        return last(self.activation(hidden(x.flatten(1))))


DIGIT_RECOGNIZER = Architecture(
    name="digit-recognizer",
    title="Digit recognizer",
    summary="Three convolutions and two linear layers; the digit-recognizer-py package.",
    input=InputSpec((1, 28, 28), (0.1307,), (0.3081,), tuple("0123456789")),
    output="logits",
    settings=(SEED,),
    builder=DigitRecognizer,
)
