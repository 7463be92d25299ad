"""MobileNetV2: pictures in 1000 classes by convolutions of single channels.

Field names are those of torchvision's files: ``features`` is a list of the blocks, and ``conv`` in
a block is a list in which some members are pairs of a convolution and its norm.
"""

from __future__ import annotations

from ruda.models.architecture import SEED, Architecture, Setting
from ruda.models.imagenet import CLASSES, IMAGENET
from ruda.nn import (
    AdaptiveAvgPool2d,
    BatchNorm,
    Conv2d,
    Dropout,
    Linear,
    Module,
    Relu6,
    derive_seed,
)
from ruda.tensor import Tensor

_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, number of blocks, and stride of the first of them."""


class InvertedResidual(Module):
    """Wider (1 × 1), over each channel alone (3 × 3), narrower (1 × 1); added if it fits."""

    def __init__(
        self,
        channels: tuple[int, int],
        stride: int,
        expansion: int,
        style: _Style,
        *,
        seed: int,
    ) -> None:
        given, out = channels
        inner = given * expansion
        steps: list[list[Module] | Module] = []
        if expansion != 1:
            steps.append(style.pair(given, inner, 1, seed=derive_seed(seed, "conv.0")))
        at = len(steps)
        alone = style.pair(
            inner, inner, 3, stride=stride, groups=inner, seed=derive_seed(seed, f"conv.{at}")
        )
        last = style.pair(inner, out, 1, seed=derive_seed(seed, f"conv.{at + 1}"))
        self.conv = [*steps, alone, *last]
        self.activation = Relu6()
        # TensorFlow has no shortcut around the first block, also where it would fit.
        has_shortcut = expansion != 1 or not style.like_tensorflow
        self._is_added = has_shortcut and stride == 1 and given == out

    def forward(self, x: Tensor) -> Tensor:
        """(batch, in, height, width) → (batch, out, height / stride, width / stride)."""
        inner = x
        for step in self.conv:
            inner = _through(step, inner, self.activation)
        return inner + x if self._is_added else inner


class MobileNetV2(Module):
    """A convolution, 17 blocks, a convolution, the mean over the picture, a Linear: logits.

    ``width`` is in percent of the usual number of channels. ``tf`` has the padding of TensorFlow,
    which Hugging Face's files are made for.
    """

    def __init__(
        self,
        *,
        width: int = 100,
        classes: int = 1000,
        eps: int = 5,
        tf: int = 0,
        seed: int = 0,
    ) -> None:
        style = _Style(10.0**-eps, bool(tf))
        channels = rounded(32 * width)
        self.features: list[list[Module] | Module] = [
            style.pair(3, channels, 3, stride=2, seed=derive_seed(seed, "features.0"))
        ]
        for expansion, usual, count, stride in _STAGES:
            out = rounded(usual * width)
            for at in range(count):
                place = derive_seed(seed, f"features.{len(self.features)}")
                step = 1 if at else stride
                block = InvertedResidual((channels, out), step, expansion, style, seed=place)
                self.features.append(block)
                channels = out
        last = rounded(1280 * max(100, width))
        place = derive_seed(seed, f"features.{len(self.features)}")
        self.features.append(style.pair(channels, last, 1, seed=place))
        head = Linear(last, classes, seed=derive_seed(seed, "classifier"))
        self.classifier = [Dropout(0.2), head]
        self.activation = Relu6()
        self.pool = AdaptiveAvgPool2d(1)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, height, width) → logits (batch, classes)."""
        for step in self.features:
            x = _through(step, x, self.activation)
        x = self.pool(x).flatten(1)
        for module in self.classifier:
            x = module(x)
        return x


class _Style:
    """How all pairs of a convolution and its norm are made."""

    def __init__(self, epsilon: float, like_tensorflow: bool) -> None:
        self._epsilon = epsilon
        self.like_tensorflow = like_tensorflow

    def pair(
        self, given: int, out: int, kernel: int, *, stride: int = 1, groups: int = 1, seed: int
    ) -> list[Module]:
        """A convolution without bias and a BatchNorm."""
        conv = Conv2d(
            given,
            out,
            kernel,
            stride=stride,
            groups=groups,
            padding="same" if self.like_tensorflow else kernel // 2,
            bias=False,
            seed=seed,
        )
        return [conv, BatchNorm(out, epsilon=self._epsilon)]


def _through(step: list[Module] | Module, x: Tensor, activation: Module) -> Tensor:
    """A pair is followed by the activation; a single module stands for itself."""
    if isinstance(step, Module):
        return step(x)
    for module in step:
        x = module(x)
    return activation(x)


def rounded(percents: int) -> int:
    """Channels (in percent) rounded to a multiple of 8, and never by more than a tenth down."""
    channels = percents / 100
    found = max(8, int(channels + 4) // 8 * 8)
    return found + 8 if found < 0.9 * channels else found


MOBILENET_V2 = Architecture(
    name="mobilenet-v2",
    title="MobileNetV2",
    summary="Pictures in 1000 classes, for phones; Hugging Face's files want eps=3 tf=1.",
    input=IMAGENET,
    output="logits",
    settings=(
        CLASSES,
        Setting("width", 100, 1, 1000, "Channels in percent of the usual number."),
        Setting("eps", 5, 1, 15, "The norms' epsilon is 10 to minus this."),
        Setting("tf", 0, 0, 1, "1 for TensorFlow's padding."),
        SEED,
    ),
    builder=MobileNetV2,
    adapters=("pytorch-to-ruda", "timm-mobilenet-v2-to-ruda", "hf-mobilenet-v2-to-ruda"),
)
