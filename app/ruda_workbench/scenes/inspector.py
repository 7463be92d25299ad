"""Screens of the inspector's tabs and states."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ruda.session import TargetChoice
from ruda.store import TensorIndex, TensorSnapshot, save
from ruda_workbench import operations, settings_operations
from ruda_workbench.panels.inspector import InspectorPanel
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.scenes.weights import diff_problems


def choose_tab(panel: InspectorPanel, name: str) -> None:
    """Choose a tab as a click on it does."""
    panel.tabs.choose(name)
    panel.tabs.chosen.emit(name)


def _of_problems(tab: str) -> Callable[[Scene], None]:
    def stage(scene: Scene) -> None:
        diff_problems(scene)
        scene.settle()
        choose_tab(scene.weights.inspector(), tab)
        scene.settle()

    return stage


def _pinned(scene: Scene) -> None:
    """A tensor beside one of its shape, with the difference between them."""
    rng = np.random.default_rng(5)
    first = rng.standard_normal((24, 32)).astype(np.float32)
    second = first + rng.standard_normal((24, 32)).astype(np.float32) * 0.02
    second[4:9, 20:28] += 0.6
    _open(scene, {"layers.0.query.weight": first, "layers.1.query.weight": second})
    panel = scene.weights.inspector()
    panel.pin.click()
    scene.weights.tensors.reveal("layers.1.query.weight")
    scene.settle()
    choose_tab(panel, "pinned")


def _pinned_none(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    choose_tab(scene.weights.inspector(), "pinned")


def _large(scene: Scene) -> None:
    """A tensor above the limit, whose values are read when they are asked for."""
    settings_operations.change(scene.window.context, "statistics_limit", 1)
    _open(scene, {"embed.weight": np.zeros((1000, 512), np.float32)})


def _wide(scene: Scene) -> None:
    """A plane that is too large to be kept whole: its table is read in windows."""
    rng = np.random.default_rng(5)
    _open(scene, {"embed.weight": rng.standard_normal((3000, 800)).astype(np.float32)})
    choose_tab(scene.weights.inspector(), "values")


def _deep(scene: Scene) -> None:
    """Four axes: two pickers and two sliders."""
    rng = np.random.default_rng(5)
    _open(scene, {"conv.weight": rng.standard_normal((64, 32, 3, 5)).astype(np.float32)})
    panel = scene.weights.inspector()
    choose_tab(panel, "heat")
    panel.heat.columns.picked.emit("1")


def _missing(scene: Scene) -> None:
    """What a model wants and a file does not have."""
    path = _file(scene.folder, {"fc.weight": np.zeros((10, 4), np.float32)})
    operations.open_document(
        scene.window.context, path, target=TargetChoice.of("digits"), remember=False
    )
    scene.settle()
    scene.weights.diff.reveal("conv1.weight")


def _no_order(scene: Scene) -> None:
    """Values without an order: booleans, and a scalar."""
    _open(scene, {"mask": np.eye(12, dtype=bool), "scale": np.array(0.07, np.float32)})


def _open(scene: Scene, tensors: dict[str, np.ndarray]) -> None:
    scene.window.open_paths([_file(scene.folder, tensors)])
    scene.settle()
    scene.weights.show_view("tensors")
    scene.weights.tensors.table.select_row(0)
    scene.settle()


def _file(folder: Path, tensors: dict[str, np.ndarray]) -> Path:
    path = folder / "made.safetensors"
    made = [TensorSnapshot.from_array(key, value) for key, value in tensors.items()]
    save(TensorIndex.of(made, format="safetensors"), path, overwrite=True)
    return path


SCREENS: dict[str, Callable[[Scene], None]] = {
    "inspector-heat": _of_problems("heat"),
    "inspector-values": _of_problems("values"),
    "inspector-hex": _of_problems("hex"),
    "inspector-norms": _of_problems("norms"),
    "inspector-pinned": _pinned,
    "inspector-pinned-none": _pinned_none,
    "inspector-large": _large,
    "inspector-wide": _wide,
    "inspector-axes": _deep,
    "inspector-missing": _missing,
    "inspector-bool": _no_order,
}
