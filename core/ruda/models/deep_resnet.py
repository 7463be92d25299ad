"""ResNet-18, 34 and 50 for ImageNet, with the field names of torchvision's files."""

from __future__ import annotations

from ruda.models.architecture import SEED, Architecture, Setting
from ruda.models.imagenet import CLASSES, IMAGENET
from ruda.nn import (
    AdaptiveAvgPool2d,
    BatchNorm,
    Conv2d,
    Linear,
    MaxPool2d,
    Module,
    Relu,
    derive_seed,
)
from ruda.tensor import Tensor


class BasicBlock(Module):
    """Two convolutions of 3 × 3 beside a shortcut."""

    expansion = 1

    def __init__(self, channels: int, width: int, stride: int, *, seed: int) -> None:
        self.conv1 = _conv(channels, width, 3, stride, seed, "conv1")
        self.bn1 = BatchNorm(width)
        self.conv2 = _conv(width, width, 3, 1, seed, "conv2")
        self.bn2 = BatchNorm(width)
        self.downsample = _shortcut(channels, width, stride, seed)
        self.activation = Relu()

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, height, width) → (batch, width, height / stride, width / stride)."""
        inner = self.activation(self.bn1(self.conv1(x)))
        return self.activation(self.bn2(self.conv2(inner)) + _shortened(self.downsample, x))


class Bottleneck(Module):
    """Convolutions of 1 × 1, 3 × 3 (with the stride) and 1 × 1 beside a shortcut."""

    expansion = 4

    def __init__(self, channels: int, width: int, stride: int, *, seed: int) -> None:
        self.conv1 = _conv(channels, width, 1, 1, seed, "conv1")
        self.bn1 = BatchNorm(width)
        self.conv2 = _conv(width, width, 3, stride, seed, "conv2")
        self.bn2 = BatchNorm(width)
        self.conv3 = _conv(width, 4 * width, 1, 1, seed, "conv3")
        self.bn3 = BatchNorm(4 * width)
        self.downsample = _shortcut(channels, 4 * width, stride, seed)
        self.activation = Relu()

    def forward(self, x: Tensor) -> Tensor:
        """As of BasicBlock, with 4 · width channels."""
        inner = self.activation(self.bn1(self.conv1(x)))
        inner = self.activation(self.bn2(self.conv2(inner)))
        return self.activation(self.bn3(self.conv3(inner)) + _shortened(self.downsample, x))


class ResNet(Module):
    """A convolution of 7 × 7, four stages of blocks, the mean over the picture, a Linear: logits.

    The first block of a stage but the first halves the picture; blocks in which the number of
    channels or the size changes have a shortcut with weights.
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        depths: tuple[int, int, int, int],
        *,
        width: int = 64,
        classes: int = 1000,
        seed: int = 0,
    ) -> None:
        self.conv1 = _conv(3, width, 7, 2, seed, "conv1")
        self.bn1 = BatchNorm(width)
        self._channels = width
        self.layer1 = self._stage(block, width, depths[0], 1, derive_seed(seed, "layer1"))
        self.layer2 = self._stage(block, 2 * width, depths[1], 2, derive_seed(seed, "layer2"))
        self.layer3 = self._stage(block, 4 * width, depths[2], 2, derive_seed(seed, "layer3"))
        self.layer4 = self._stage(block, 8 * width, depths[3], 2, derive_seed(seed, "layer4"))
        self.fc = Linear(self._channels, classes, seed=derive_seed(seed, "fc"))
        self.activation = Relu()
        self.max_pool = MaxPool2d(3, stride=2, padding=1)
        self.mean_pool = AdaptiveAvgPool2d(1)

    def _stage(
        self, block: type[BasicBlock | Bottleneck], width: int, depth: int, stride: int, seed: int
    ) -> list[Module]:
        found: list[Module] = []
        for at in range(depth):
            found.append(
                block(self._channels, width, 1 if at else stride, seed=derive_seed(seed, str(at)))
            )
            self._channels = width * block.expansion
        return found

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, height, width) → logits (batch, classes)."""
        x = self.max_pool(self.activation(self.bn1(self.conv1(x))))
        for block in (*self.layer1, *self.layer2, *self.layer3, *self.layer4):
            x = block(x)
        return self.fc(self.mean_pool(x).flatten(1))


def _conv(channels: int, out: int, kernel: int, stride: int, seed: int, name: str) -> Conv2d:
    return Conv2d(
        channels,
        out,
        kernel,
        stride=stride,
        padding=kernel // 2,
        bias=False,
        seed=derive_seed(seed, name),
    )


def _shortcut(channels: int, out: int, stride: int, seed: int) -> list[Module] | None:
    if stride == 1 and channels == out:
        return None
    return [_conv(channels, out, 1, stride, seed, "downsample.0"), BatchNorm(out)]


def _shortened(downsample: list[Module] | None, x: Tensor) -> Tensor:
    for module in downsample or ():
        x = module(x)
    return x


_BLOCKS: dict[str, tuple[type[BasicBlock | Bottleneck], tuple[int, int, int, int]]] = {
    "18": (BasicBlock, (2, 2, 2, 2)),
    "34": (BasicBlock, (3, 4, 6, 3)),
    "50": (Bottleneck, (3, 4, 6, 3)),
}


def _architecture(number: str) -> Architecture:
    block, depths = _BLOCKS[number]

    def build(stage1: int, stage2: int, stage3: int, stage4: int, **sizes: int) -> Module:
        return ResNet(block, (stage1, stage2, stage3, stage4), **sizes)

    return Architecture(
        name=f"resnet{number}",
        title=f"ResNet-{number}",
        summary="Pictures in 1000 classes, by blocks with shortcuts.",
        input=IMAGENET,
        output="logits",
        settings=(
            CLASSES,
            Setting("width", 64, 1, 1 << 12, "Channels of the first stage."),
            *(
                Setting(f"stage{at}", depth, 1, 1 << 8, f"Number of blocks of stage {at}.")
                for at, depth in enumerate(depths, 1)
            ),
            SEED,
        ),
        builder=build,
        adapters=("pytorch-to-ruda", "hf-resnet-to-ruda"),
    )


RESNET18 = _architecture("18")
RESNET34 = _architecture("34")
RESNET50 = _architecture("50")
