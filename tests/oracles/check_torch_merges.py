"""Weights that PyTorch keeps in parts, merged: the same as what PyTorch computes with.

    PYTHONPATH=core PYTHON_WITH_TORCH tests/oracles/check_torch_merges.py

Layers under weight_norm and spectral_norm, in both of torch's spellings and along every axis that
torch allows, are trained for a few steps, saved as ``.pt``, and merged; the weight must be the one
that the layer in eval mode computes with, to a few roundings of f32. No part of the test suite:
torch is no dependency. Exit code 1 if one differs.
"""

# ruff: noqa: T201
from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

from ruda.store import Recipe, convert, open_store

warnings.simplefilter("ignore")
PARAMETRIZED = torch.nn.utils.parametrizations
LAYERS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: torch.nn.Linear(6, 4), (5, 6)),
    "square linear": (lambda: torch.nn.Linear(6, 6), (5, 6)),
    "conv1d": (lambda: torch.nn.Conv1d(6, 4, 3), (2, 6, 9)),
    "square conv2d": (lambda: torch.nn.Conv2d(8, 8, 3), (2, 8, 9, 9)),
    "conv transpose 1d": (lambda: torch.nn.ConvTranspose1d(6, 4, 3), (2, 6, 9)),
    "square conv transpose 2d": (lambda: torch.nn.ConvTranspose2d(8, 8, 3), (2, 8, 9, 9)),
}
Normed = tuple[str, str, Callable[[torch.nn.Module], torch.nn.Module]]


def normed(layer: torch.nn.Module) -> Iterator[Normed]:
    """Every way in which torch norms a layer: the merge that it needs, a name, the call."""
    for axis in [*range(layer.weight.ndim), None]:
        way = f"axis {axis}"
        yield "weight-norm", way, partial(torch.nn.utils.weight_norm, dim=axis)
        if axis is not None:
            wrap = partial(PARAMETRIZED.weight_norm, dim=axis)
            yield "weight-norm", f"{way}, parametrized", wrap
    yield "spectral-norm", "old", torch.nn.utils.spectral_norm
    yield "spectral-norm", "parametrized", PARAMETRIZED.spectral_norm


def trained(layer: torch.nn.Module, shape: tuple[int, ...]) -> torch.nn.Module:
    """The layer after some steps, in eval mode."""
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
    for _ in range(40):
        optimizer.zero_grad()
        (layer(torch.randn(shape)) - 1).square().mean().backward()
        optimizer.step()
    return layer.eval()


def difference(layer: torch.nn.Module, merge: str, shape: tuple[int, ...], folder: Path) -> float:
    """Largest difference from the weight that torch computes with, as a share of the largest."""
    path = folder / "layer.pt"
    torch.save(layer.state_dict(), path)
    with torch.no_grad():
        layer(torch.randn(shape))  # the old spelling computes its weight when it is called
        expected = layer.weight.detach().numpy()
    with open_store(path) as index:
        view = convert(index, recipe=Recipe().with_merge(merge))
        found = view["weight"].read()
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def main() -> int:
    """Run all; 1 if a weight differs."""
    torch.manual_seed(7)
    worst, count, bad = 0.0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, shape) in LAYERS.items():
            for merge, way, wrap in normed(make()):
                layer = trained(wrap(make()), shape)
                found = difference(layer, merge, shape, Path(folder))
                worst, count = max(worst, found), count + 1
                if not found < 1e-6:
                    bad += 1
                    print(f"{merge} of {name}, {way}: differs by {found:.3g}")
    print(f"{count} layers, {bad} differ; the largest difference is {worst:.3g}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
