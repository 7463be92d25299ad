"""What the networks for ImageNet have in common: size and colours of pictures, and classes."""

from __future__ import annotations

from ruda.models.architecture import InputSpec, Setting

CLASSES = Setting("classes", 1000, 1, 1 << 20, "Number of classes.")

IMAGENET = InputSpec(
    (3, 224, 224),
    (0.485, 0.456, 0.406),
    (0.229, 0.224, 0.225),
    tuple(f"class {number}" for number in range(1000)),
)
"""Pictures as torchvision normalises them."""

HALVES = InputSpec(IMAGENET.shape, (0.5,) * 3, (0.5,) * 3, IMAGENET.classes)
"""Pictures from -1 to 1."""
