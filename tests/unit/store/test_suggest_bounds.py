"""suggest on many keys: it stops where it is told to, and finds tensors in every usual place."""

from __future__ import annotations

import numpy as np
import pytest

from ruda import nn
from ruda.progress import Cancelled, Progress
from ruda.store import Recipe, TensorIndex, TensorSnapshot, diff, suggest

LAYERS = 600
ZEROS = np.zeros((4, 3), np.float32)


class StopAt:
    """A monitor that stops the work at a point."""

    def __init__(self, point: int | None = None) -> None:
        self.point = point
        self.checks = 0

    def report(self, progress: Progress) -> None:
        pass

    def check(self) -> None:
        self.checks += 1
        if self.checks == self.point:
            raise Cancelled


def index(pattern: str) -> TensorIndex:
    return TensorIndex.of(
        (
            TensorSnapshot.from_array(pattern.format(layer=layer, name=name), ZEROS)
            for layer in range(LAYERS)
            for name in ("up", "down", "gate", "head", "tail", "left", "right", "top")
        ),
        format="safetensors",
    )


def test_it_can_be_stopped_at_many_points() -> None:
    source, target = index("blocks.{layer}.{name}.weight"), index("layers.{layer}.{name}.weight")
    whole = StopAt()
    report = suggest(source, target, monitor=whole)
    assert report.matched_after == len(source)
    assert whole.checks > 40
    for point in (1, 2, whole.checks // 3, whole.checks // 2, whole.checks):
        monitor = StopAt(point)
        with pytest.raises(Cancelled, match=r"^$"):
            suggest(source, target, monitor=monitor)
        assert monitor.checks == point


class Cross(nn.Module):
    def __init__(self) -> None:
        self.mha = nn.MultiHeadAttention(4, 2, seed=0)


def test_projections_are_found_where_they_are_kept_apart() -> None:
    tensors = {f"{name}_proj_weight": (4, 4) for name in "qkv"}
    tensors |= {"in_proj_bias": (12,), "out_proj.weight": (4, 4), "out_proj.bias": (4,)}
    source = TensorIndex.of(
        (
            TensorSnapshot.from_array(f"net.mha.{key}", np.zeros(shape, np.float32))
            for key, shape in tensors.items()
        ),
        format="pytorch",
    )
    report = suggest(source, Cross(), recipe=Recipe(adapt=("pytorch-to-ruda",)))
    recipe = report.to_recipe()
    assert [rule.pattern for rule in recipe.remap.rules] == [r"^net\."]
    assert diff(source, Cross(), recipe=recipe).is_complete
