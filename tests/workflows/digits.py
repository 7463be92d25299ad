"""The sample model's tensors as PyTorch lays them out, and what the window counts of their diff."""

from __future__ import annotations

from ruda_workbench.workspaces.weights import WeightsWorkspace

DIGITS = {
    "conv1.weight": (8, 1, 3, 3),
    "conv1.bias": (8,),
    "norm1.weight": (8,),
    "norm1.bias": (8,),
    "norm1.running_mean": (8,),
    "norm1.running_var": (8,),
    "conv2.weight": (16, 8, 3, 3),
    "conv2.bias": (16,),
    "norm2.weight": (16,),
    "norm2.bias": (16,),
    "norm2.running_mean": (16,),
    "norm2.running_var": (16,),
    "fc1.weight": (32, 400),
    "fc1.bias": (32,),
    "fc2.weight": (10, 32),
    "fc2.bias": (10,),
}
WRAPPED = {f"module.{key}": shape for key, shape in DIGITS.items()}


def counts(weights: WeightsWorkspace) -> dict[str, int]:
    page = weights.diff.page
    assert page is not None
    return {chip.status.value: chip.count for chip in page.chips if chip.count}
