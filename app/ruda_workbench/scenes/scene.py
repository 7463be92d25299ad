"""Scene: a window and a folder, and a checkpoint that is made up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ruda.session import TargetChoice
from ruda.store import TensorIndex, TensorSnapshot, save
from ruda_workbench import assets, operations
from ruda_workbench.application import settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace


@dataclass(frozen=True, slots=True)
class Scene:
    """A window with nothing open, and a folder that files may be made in."""

    window: MainWindow
    folder: Path

    @property
    def weights(self) -> WeightsWorkspace:
        """The Weights workspace."""
        found = self.window.workspace("weights")
        assert isinstance(found, WeightsWorkspace)
        return found

    def settle(self) -> None:
        """Wait until everything is drawn."""
        settle(self.window)

    def sample(self) -> None:
        """Open the sample onto its architecture; a made-up file where there is no sample."""
        path = assets.sample_weights() or made_up(self.folder)
        target = TargetChoice.of("digits")
        operations.open_document(self.window.context, path, target=target, remember=False)
        self.settle()


def made_up(folder: Path, *, width: int = 8) -> Path:
    """A small checkpoint with PyTorch's names behind ``module.``, one shape wrong, one NaN."""
    rng = np.random.default_rng(7)
    shapes = {
        "conv1.weight": (width, 1, 3, 3),
        "conv1.bias": (width,),
        "norm1.weight": (width,),
        "norm1.bias": (width,),
        "norm1.running_mean": (width,),
        "norm1.running_var": (width,),
        "conv2.weight": (16, width, 3, 3),
        "conv2.bias": (16,),
        "fc1.weight": (32, 400),
        "fc1.bias": (32,),
        "head.weight": (10, 32),
        "fc2.bias": (10,),
    }
    tensors = []
    for key, shape in shapes.items():
        values = rng.standard_normal(shape).astype(np.float32) * 0.2
        if key == "fc1.weight":
            values[3, 40:44] = np.nan
        tensors.append(TensorSnapshot.from_array(f"module.{key}", values))
    path = folder / "digits-epoch-12.safetensors"
    save(TensorIndex.of(tensors, format="safetensors"), path, overwrite=True)
    return path
