"""Screens of the Compare workspace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ruda.session import CompareOptions, CompareSide, RuleDraft
from ruda.store import TensorIndex, TensorSnapshot, save
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.workspaces.compare import CompareWorkspace


def _two_files(scene: Scene) -> CompareWorkspace:
    """Two checkpoints of one training: renamed on one side, some tensors moved on."""
    rng = np.random.default_rng(11)
    shapes: dict[str, tuple[int, ...]] = {
        f"layers.{n}.{part}": (24, 24) for n in range(6) for part in ("query", "key")
    }
    shapes |= {f"layers.{n}.norm.weight": (24,) for n in range(6)}
    shapes |= {"embed.weight": (60, 24), "head.weight": (10, 24), "stem.weight": (12, 4, 7, 7)}
    before = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    after = {f"module.{key}": value.copy() for key, value in before.items()}
    for key, value in after.items():
        if ".query" in key:
            value[3:9, 4:12] += rng.standard_normal((6, 8)).astype(np.float32) * 0.2
    after["module.stem.weight"][5, 2, 1:4, 2:6] += 0.5
    after["module.embed.weight"] = after["module.embed.weight"][:48]
    after["module.head.bias"] = np.zeros(10, np.float32)
    del after["module.layers.5.key"]
    for name, tensors in (("epoch-11.safetensors", before), ("epoch-12.safetensors", after)):
        made = [TensorSnapshot.from_array(key, value) for key, value in tensors.items()]
        save(TensorIndex.of(made, format="safetensors"), scene.folder / name, overwrite=True)
    scene.window.show_workspace("compare")
    for name in ("epoch-11.safetensors", "epoch-12.safetensors"):
        scene.window.open_paths([scene.folder / name])
        scene.settle()
    found = scene.window.workspace("compare")
    assert isinstance(found, CompareWorkspace)
    return found


def _compare_empty(scene: Scene) -> None:
    scene.window.show_workspace("compare")


def _compare(scene: Scene) -> None:
    _two_files(scene)


def _compare_values(scene: Scene) -> None:
    compare = _two_files(scene)
    compare.options.set_open(on=True)
    side = CompareSide(rules=(RuleDraft(r"^module\.", ""),))
    compare.watch.ask_with(CompareOptions(absolute=1e-6, right=side))
    scene.settle()
    compare.watch.want_values()
    scene.settle()
    compare.lines.reveal("layers.0.query")


def _compare_planes(scene: Scene) -> None:
    """Four axes: a plane of both sides, chosen by pickers and sliders."""
    compare = _two_files(scene)
    side = CompareSide(rules=(RuleDraft(r"^module\.", ""),))
    compare.watch.ask_with(CompareOptions(only="stem|norm", right=side))
    scene.settle()
    compare.lines.reveal("stem.weight")
    scene.settle()
    compare.maps.axes.choose(2, 3, (5, 2, 0, 0))
    scene.settle()


SCREENS: dict[str, Callable[[Scene], None]] = {
    "compare-empty": _compare_empty,
    "compare": _compare,
    "compare-values": _compare_values,
    "compare-planes": _compare_planes,
}
