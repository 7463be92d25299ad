"""CREPE "tiny": the pitch of a voice or an instrument from 1024 samples of sound."""

from __future__ import annotations

from ruda.models.architecture import SEED, Architecture, InputSpec
from ruda.nn import BatchNorm, Conv2d, Linear, MaxPool2d, Module, Relu, derive_seed
from ruda.tensor import Tensor

_BINS = 360
_CHANNELS = (1, 128, 16, 16, 16, 32, 64)


class CrepeTiny(Module):
    """Six convolutions over time and a linear layer: gives 360 logits, 20 cents apart.

    The pitch of bin ``n`` is 10 · 2^((20 · n + 1997.379) / 1200) hertz.
    """

    def __init__(self, *, seed: int = 0) -> None:
        self.conv1 = _conv(1, seed)
        self.norm1 = BatchNorm(128, epsilon=1e-3)
        self.conv2 = _conv(2, seed)
        self.norm2 = BatchNorm(16, epsilon=1e-3)
        self.conv3 = _conv(3, seed)
        self.norm3 = BatchNorm(16, epsilon=1e-3)
        self.conv4 = _conv(4, seed)
        self.norm4 = BatchNorm(16, epsilon=1e-3)
        self.conv5 = _conv(5, seed)
        self.norm5 = BatchNorm(32, epsilon=1e-3)
        self.conv6 = _conv(6, seed)
        self.norm6 = BatchNorm(64, epsilon=1e-3)
        self.classifier = Linear(256, _BINS, seed=derive_seed(seed, "classifier"))
        self.activation = Relu()
        self.pool = MaxPool2d((2, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 1, 1024, 1), each frame with mean 0 and deviation 1 → logits (batch, 360)."""
        steps = (
            *((self.conv1, self.norm1), (self.conv2, self.norm2), (self.conv3, self.norm3)),
            *((self.conv4, self.norm4), (self.conv5, self.norm5), (self.conv6, self.norm6)),
        )
        for conv, norm in steps:
            x = self.pool(norm(self.activation(conv(x))))
        return self.classifier(x.swap_dims(1, 2).flatten(1))


def _conv(number: int, seed: int) -> Conv2d:
    """The convolution of this number; the first looks at 512 samples every 4, the others at 64."""
    first = number == 1
    return Conv2d(
        _CHANNELS[number - 1],
        _CHANNELS[number],
        (512, 1) if first else (64, 1),
        stride=(4, 1) if first else 1,
        padding=(254, 0, 254, 0) if first else (31, 0, 32, 0),
        seed=derive_seed(seed, f"conv{number}"),
    )


CREPE_TINY = Architecture(
    name="crepe-tiny",
    title="CREPE tiny",
    summary="Pitch of 1024 samples at 16 kHz, in 360 bins of 20 cents.",
    input=InputSpec((1, 1024, 1), (0.0,), (1.0,), tuple(f"bin {n}" for n in range(_BINS))),
    output="logits",
    settings=(SEED,),
    builder=CrepeTiny,
)
