"""MTCNN: three small networks that find faces, each looking closer than the one before.

Pictures go in as (pixel - 127.5) / 128. Each network gives its values side by side: two logits
(no face, face), four numbers of a box, and for the last one ten of five landmarks.
"""

from __future__ import annotations

import numpy as np

from ruda.models.architecture import SEED, Architecture, InputSpec
from ruda.nn import Conv2d, Linear, MaxPool2d, Module, PRelu, derive_seed
from ruda.tensor import Tensor

_MEAN, _STD = (127.5 / 255,) * 3, (128 / 255,) * 3
_FACE = ("no face", "face")
_BOX = ("left", "top", "right", "bottom")
_LANDMARKS = tuple(f"landmark {axis}{n}" for axis in "xy" for n in range(1, 6))


class PNet(Module):
    """Proposals: a window of 12 × 12 pixels at every other one of a picture of any size."""

    def __init__(self, *, seed: int = 0) -> None:
        self.conv1 = Conv2d(3, 10, 3, seed=derive_seed(seed, "conv1"))
        self.prelu1 = PRelu(10)
        self.conv2 = Conv2d(10, 16, 3, seed=derive_seed(seed, "conv2"))
        self.prelu2 = PRelu(16)
        self.conv3 = Conv2d(16, 32, 3, seed=derive_seed(seed, "conv3"))
        self.prelu3 = PRelu(32)
        self.conv4_1 = Conv2d(32, 2, 1, seed=derive_seed(seed, "conv4_1"))
        self.conv4_2 = Conv2d(32, 4, 1, seed=derive_seed(seed, "conv4_2"))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, height, width) → (batch, 6, rows, columns): logits, then the box."""
        x = _pooled(self.prelu1(self.conv1(x)), 2)
        x = self.prelu3(self.conv3(self.prelu2(self.conv2(x))))
        return Tensor.cat([self.conv4_1(x), self.conv4_2(x)], axis=1)


class RNet(Module):
    """Refinement of a proposal of 24 × 24 pixels."""

    def __init__(self, *, seed: int = 0) -> None:
        self.conv1 = Conv2d(3, 28, 3, seed=derive_seed(seed, "conv1"))
        self.prelu1 = PRelu(28)
        self.conv2 = Conv2d(28, 48, 3, seed=derive_seed(seed, "conv2"))
        self.prelu2 = PRelu(48)
        self.conv3 = Conv2d(48, 64, 2, seed=derive_seed(seed, "conv3"))
        self.prelu3 = PRelu(64)
        self.dense4 = Linear(576, 128, seed=derive_seed(seed, "dense4"))
        self.prelu4 = PRelu(128)
        self.dense5_1 = Linear(128, 2, seed=derive_seed(seed, "dense5_1"))
        self.dense5_2 = Linear(128, 4, seed=derive_seed(seed, "dense5_2"))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, 24, 24) → (batch, 6): logits, then the box."""
        x = _pooled(self.prelu1(self.conv1(x)), 3)
        x = _pooled(self.prelu2(self.conv2(x)), 3)
        x = _columns_first(self.prelu3(self.conv3(x)))
        x = self.prelu4(self.dense4(x))
        return Tensor.cat([self.dense5_1(x), self.dense5_2(x)], axis=1)


class ONet(Module):
    """Output of a face of 48 × 48 pixels, with five landmarks."""

    def __init__(self, *, seed: int = 0) -> None:
        self.conv1 = Conv2d(3, 32, 3, seed=derive_seed(seed, "conv1"))
        self.prelu1 = PRelu(32)
        self.conv2 = Conv2d(32, 64, 3, seed=derive_seed(seed, "conv2"))
        self.prelu2 = PRelu(64)
        self.conv3 = Conv2d(64, 64, 3, seed=derive_seed(seed, "conv3"))
        self.prelu3 = PRelu(64)
        self.conv4 = Conv2d(64, 128, 2, seed=derive_seed(seed, "conv4"))
        self.prelu4 = PRelu(128)
        self.dense5 = Linear(1152, 256, seed=derive_seed(seed, "dense5"))
        self.prelu5 = PRelu(256)
        self.dense6_1 = Linear(256, 2, seed=derive_seed(seed, "dense6_1"))
        self.dense6_2 = Linear(256, 4, seed=derive_seed(seed, "dense6_2"))
        self.dense6_3 = Linear(256, 10, seed=derive_seed(seed, "dense6_3"))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, 48, 48) → (batch, 16): logits, the box, then the landmarks."""
        x = _pooled(self.prelu1(self.conv1(x)), 3)
        x = _pooled(self.prelu2(self.conv2(x)), 3)
        x = _pooled(self.prelu3(self.conv3(x)), 2)
        x = _columns_first(self.prelu4(self.conv4(x)))
        x = self.prelu5(self.dense5(x))
        return Tensor.cat([self.dense6_1(x), self.dense6_2(x), self.dense6_3(x)], axis=1)


def _pooled(x: Tensor, kernel: int) -> Tensor:
    """The largest value of windows 2 apart; one that reaches over the edge counts as well."""
    over = [(size - kernel) % 2 for size in x.shape[2:]]
    if any(over):
        sides = ((0, 0), (0, 0), (0, over[0]), (0, over[1]))
        x = Tensor(np.pad(x.numpy(), sides, constant_values=-np.inf))
    return MaxPool2d(kernel, stride=2)(x)


def _columns_first(x: Tensor) -> Tensor:
    """(batch, channel, row, column) → (batch, column · row · channel), as the files have it."""
    return x.swap_dims(1, 3).flatten(1)


def _input(size: int, classes: tuple[str, ...]) -> InputSpec:
    return InputSpec((3, size, size), _MEAN, _STD, classes)


PNET = Architecture(
    name="mtcnn-pnet",
    title="MTCNN P-Net",
    summary="Proposes faces in windows of 12 × 12 pixels; facenet-pytorch.",
    input=_input(12, _FACE + _BOX),
    output="logits",
    settings=(SEED,),
    builder=PNet,
)

RNET = Architecture(
    name="mtcnn-rnet",
    title="MTCNN R-Net",
    summary="Refines a proposed face of 24 × 24 pixels; facenet-pytorch.",
    input=_input(24, _FACE + _BOX),
    output="logits",
    settings=(SEED,),
    builder=RNet,
)

ONET = Architecture(
    name="mtcnn-onet",
    title="MTCNN O-Net",
    summary="Judges a face of 48 × 48 pixels and finds five landmarks; facenet-pytorch.",
    input=_input(48, _FACE + _BOX + _LANDMARKS),
    output="logits",
    settings=(SEED,),
    builder=ONet,
)
