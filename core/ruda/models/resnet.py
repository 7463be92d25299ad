"""ResNet-20 for CIFAR-10: images of 32 × 32 pixels in ten classes."""

from __future__ import annotations

import numpy as np

from ruda.models.architecture import SEED, Architecture, InputSpec
from ruda.nn import BatchNorm, Conv2d, Linear, Module, Relu, derive_seed
from ruda.tensor import Tensor

_CLASSES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)


class BasicBlock(Module):
    """Two convolutions beside a shortcut without weights; the first may halve the image."""

    def __init__(self, in_channels: int, out_channels: int, stride: int, *, seed: int) -> None:
        self.conv1 = Conv2d(
            in_channels,
            out_channels,
            3,
            stride=stride,
            padding=1,
            bias=False,
            seed=derive_seed(seed, "conv1"),
        )
        self.bn1 = BatchNorm(out_channels)
        self.conv2 = Conv2d(
            out_channels, out_channels, 3, padding=1, bias=False, seed=derive_seed(seed, "conv2")
        )
        self.bn2 = BatchNorm(out_channels)
        self.activation = Relu()
        self._stride = stride
        self._widening = (out_channels - in_channels) // 2

    def forward(self, x: Tensor) -> Tensor:
        """(batch, in, height, width) → (batch, out, height / stride, width / stride)."""
        inner = self.activation(self.bn1(self.conv1(x)))
        return self.activation(self.bn2(self.conv2(inner)) + self._shortcut(x))

    def _shortcut(self, x: Tensor) -> Tensor:
        """Every ``stride``-th pixel, with channels of zeros before and after the given ones."""
        if self._stride == 1 and not self._widening:
            return x
        seen = x.numpy()[:, :, :: self._stride, :: self._stride]
        around = (self._widening, self._widening)
        return Tensor(np.pad(seen, ((0, 0), around, (0, 0), (0, 0))))


class ResNet20(Module):
    """Three stages of three blocks with 16, 32 and 64 channels: gives logits."""

    def __init__(self, *, seed: int = 0) -> None:
        self.conv1 = Conv2d(3, 16, 3, padding=1, bias=False, seed=derive_seed(seed, "conv1"))
        self.bn1 = BatchNorm(16)
        self.layer1 = _stage(16, 16, 1, derive_seed(seed, "layer1"))
        self.layer2 = _stage(16, 32, 2, derive_seed(seed, "layer2"))
        self.layer3 = _stage(32, 64, 2, derive_seed(seed, "layer3"))
        self.linear = Linear(64, 10, seed=derive_seed(seed, "linear"))
        self.activation = Relu()

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, 32, 32) → logits (batch, 10)."""
        x = self.activation(self.bn1(self.conv1(x)))
        for block in (*self.layer1, *self.layer2, *self.layer3):
            x = block(x)
        return self.linear(x.flatten(2).mean(2))


def _stage(in_channels: int, out_channels: int, stride: int, seed: int) -> list[BasicBlock]:
    return [
        BasicBlock(in_channels, out_channels, stride, seed=derive_seed(seed, "0")),
        BasicBlock(out_channels, out_channels, 1, seed=derive_seed(seed, "1")),
        BasicBlock(out_channels, out_channels, 1, seed=derive_seed(seed, "2")),
    ]


RESNET20 = Architecture(
    name="resnet20",
    title="ResNet-20",
    summary="Nine residual blocks for CIFAR-10, shortcuts without weights.",
    input=InputSpec((3, 32, 32), (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), _CLASSES),
    output="logits",
    settings=(SEED,),
    builder=ResNet20,
)
