"""The networks for handwritten digits of 28 × 28 pixels.

Field names are the keys of their files: Burn's MNIST example, Burn's import example, and the
network of the built-in sample.
"""

from __future__ import annotations

from ruda.models.architecture import SEED, Architecture, InputSpec, Setting
from ruda.nn import (
    BatchNorm,
    Conv2d,
    Dropout,
    Gelu,
    Linear,
    MaxPool2d,
    Module,
    Relu,
    derive_seed,
)
from ruda.tensor import Tensor

_DIGITS = tuple("0123456789")
_SIZE = (1, 28, 28)


class ConvBlock(Module):
    """Convolution, normalisation, Relu, and the largest of every 2 × 2 values."""

    def __init__(self, in_channels: int, out_channels: int, *, seed: int) -> None:
        self.conv = Conv2d(in_channels, out_channels, 3, seed=derive_seed(seed, "conv"))
        self.norm = BatchNorm(out_channels)
        self.activation = Relu()
        self.pool = MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, in, height, width) → (batch, out, (height - 2) / 2, (width - 2) / 2)."""
        return self.pool(self.activation(self.norm(self.conv(x))))


class BurnMnist(Module):
    """The network of Burn's ``mnist`` and ``mnist-inference-web`` examples: gives logits."""

    kind = "Model"

    def __init__(self, *, hidden: int = 128, seed: int = 0) -> None:
        self.conv1 = ConvBlock(1, 64, seed=derive_seed(seed, "conv1"))
        self.conv2 = ConvBlock(64, 64, seed=derive_seed(seed, "conv2"))
        self.dropout = Dropout(0.25)
        self.fc1 = Linear(64 * 5 * 5, hidden, seed=derive_seed(seed, "fc1"))
        self.fc2 = Linear(hidden, hidden, seed=derive_seed(seed, "fc2"))
        self.fc3 = Linear(hidden, 10, seed=derive_seed(seed, "fc3"))
        self.activation = Gelu()

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 1, 28, 28) → logits (batch, 10)."""
        x = self.conv2(self.conv1(x)).flatten(1)
        x = self.dropout(self.activation(self.fc1(x)))
        x = self.dropout(self.activation(self.fc2(x)))
        return self.fc3(x)


class ImportMnist(Module):
    """The network of Burn's ``import-model-weights`` example: gives log-probabilities."""

    kind = "Model"

    def __init__(self, *, seed: int = 0) -> None:
        self.conv1 = Conv2d(1, 8, 3, seed=derive_seed(seed, "conv1"))
        self.conv2 = Conv2d(8, 16, 3, seed=derive_seed(seed, "conv2"))
        self.conv3 = Conv2d(16, 24, 3, seed=derive_seed(seed, "conv3"))
        self.norm1 = BatchNorm(24)
        self.fc1 = Linear(24 * 22 * 22, 32, seed=derive_seed(seed, "fc1"))
        self.fc2 = Linear(32, 10, seed=derive_seed(seed, "fc2"))
        self.norm2 = BatchNorm(10)
        self.activation = Relu()

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 1, 28, 28) → log-probabilities (batch, 10)."""
        x = self.activation(self.conv1(x))
        x = self.activation(self.conv2(x))
        x = self.norm1(self.activation(self.conv3(x))).flatten(1)
        x = self.activation(self.fc1(x))
        return self.norm2(self.fc2(x)).log_softmax(1)


class Digits(Module):
    """The small network of the built-in sample: gives logits."""

    kind = "Model"

    def __init__(self, *, seed: int = 0) -> None:
        self.conv1 = Conv2d(1, 8, 3, seed=derive_seed(seed, "conv1"))
        self.norm1 = BatchNorm(8)
        self.conv2 = Conv2d(8, 16, 3, seed=derive_seed(seed, "conv2"))
        self.norm2 = BatchNorm(16)
        self.fc1 = Linear(16 * 5 * 5, 32, seed=derive_seed(seed, "fc1"))
        self.fc2 = Linear(32, 10, seed=derive_seed(seed, "fc2"))
        self.activation = Relu()
        self.pool = MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 1, 28, 28) → logits (batch, 10)."""
        x = self.pool(self.activation(self.norm1(self.conv1(x))))
        x = self.pool(self.activation(self.norm2(self.conv2(x)))).flatten(1)
        return self.fc2(self.activation(self.fc1(x)))


BURN_MNIST = Architecture(
    name="burn-mnist",
    title="Burn MNIST",
    summary="Two convolution blocks and three linear layers; Burn's mnist examples.",
    input=InputSpec(_SIZE, (0.1307,), (0.3081,), _DIGITS),
    output="logits",
    settings=(
        Setting("hidden", 128, 1, 1 << 16, "Width of the two hidden linear layers."),
        SEED,
    ),
    builder=BurnMnist,
)

IMPORT_MNIST = Architecture(
    name="import-mnist",
    title="Burn import MNIST",
    summary="Three convolutions and two linear layers; Burn's import-model-weights example.",
    input=InputSpec(_SIZE, (0.1307,), (0.3081,), _DIGITS),
    output="log_probs",
    settings=(SEED,),
    builder=ImportMnist,
)

DIGITS = Architecture(
    name="digits",
    title="Sample digits",
    summary="Two small convolutions and two linear layers; the built-in sample.",
    input=InputSpec(_SIZE, (0.0,), (1.0,), _DIGITS),
    output="logits",
    settings=(SEED,),
    builder=Digits,
)
