"""ViT: a transformer that looks at a picture as a text of patches."""

from __future__ import annotations

import numpy as np

from ruda.errors import SettingError, ShapeError
from ruda.models.architecture import SEED, Architecture, Setting
from ruda.models.imagenet import CLASSES, HALVES
from ruda.nn import (
    Conv2d,
    LayerNorm,
    Linear,
    Module,
    Normal,
    Param,
    TransformerEncoder,
    TransformerSettings,
    derive_seed,
)
from ruda.tensor import Tensor

_SMALL = Normal(0.0, 0.02)


class ViT(Module):
    """Patches with places, a class token in front, layers with norms first, a norm, a Linear.

    ``class_token`` is (1, 1, hidden), ``position_embeddings`` (1, 1 + patches, hidden). Raises
    SettingError where patches do not divide the picture.
    """

    def __init__(
        self,
        *,
        hidden: int = 768,
        layers: int = 12,
        heads: int = 12,
        ff: int = 3072,
        image: int = 224,
        patch: int = 16,
        classes: int = 1000,
        eps: int = 6,
        seed: int = 0,
    ) -> None:
        if image % patch:
            raise SettingError(f"patches of {patch} pixels do not divide a picture of {image}")
        epsilon = 10.0**-eps
        patches = (image // patch) ** 2
        self.class_token = Param((1, 1, hidden), _SMALL, seed=derive_seed(seed, "class_token"))
        self.position_embeddings = Param(
            (1, 1 + patches, hidden), _SMALL, seed=derive_seed(seed, "position_embeddings")
        )
        self.patches = Conv2d(3, hidden, patch, stride=patch, seed=derive_seed(seed, "patches"))
        settings = TransformerSettings(hidden, ff, heads, norm_first=True, layer_norm_eps=epsilon)
        self.encoder = TransformerEncoder(settings, layers, seed=derive_seed(seed, "encoder"))
        self.norm = LayerNorm(hidden, epsilon=epsilon)
        self.head = Linear(hidden, classes, seed=derive_seed(seed, "head"))

    def forward(self, x: Tensor) -> Tensor:
        """(batch, 3, image, image) → logits (batch, classes)."""
        return self.head(Tensor(np.ascontiguousarray(self.states(x).numpy()[:, 0])))

    def states(self, x: Tensor) -> Tensor:
        """(batch, 3, image, image) → (batch, 1 + patches, hidden), normalised."""
        seen = self.patches(x).numpy()
        rows = seen.reshape(*seen.shape[:2], -1).transpose(0, 2, 1)
        first = self.class_token.value().cast(Tensor(rows).dtype).numpy()
        places = self.position_embeddings.value().cast(Tensor(rows).dtype).numpy()
        if rows.shape[1] + 1 != places.shape[1]:
            raise ShapeError(
                f"{self.place()}: a picture of {rows.shape[1]} patches, there are places for "
                f"{places.shape[1] - 1}"
            )
        every = np.concatenate([np.repeat(first, len(rows), axis=0), rows], axis=1)
        return self.norm(self.encoder(Tensor(every + places)))


VIT_B16 = Architecture(
    name="vit-b16",
    title="ViT B/16",
    summary="Pictures in 1000 classes, by patches; Hugging Face's files want eps=12.",
    input=HALVES,
    output="logits",
    settings=(
        Setting("hidden", 768, 1, 1 << 16, "Width of a patch's vector."),
        Setting("layers", 12, 1, 1 << 10, "Number of layers."),
        Setting("heads", 12, 1, 1 << 10, "Number of heads; no shape in a file says it."),
        Setting("ff", 3072, 1, 1 << 20, "Width of the feed-forward layers."),
        Setting("image", 224, 1, 1 << 14, "Height and width of pictures."),
        Setting("patch", 16, 1, 1 << 10, "Height and width of patches."),
        CLASSES,
        Setting("eps", 6, 1, 15, "The norms' epsilon is 10 to minus this."),
        SEED,
    ),
    builder=ViT,
    adapters=("timm-vit-to-ruda", "torchvision-vit-to-ruda", "hf-vit-to-ruda"),
)
