"""Screens of the Data and Run workspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ruda.data import Dataset, Feature, FeatureKind
from ruda.errors import ItemError
from ruda.session import OpenDataset, RuleDraft
from ruda.tensor import DType
from ruda_workbench import data_operations, operations
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.self_test import make_green


class MadeDataset(Dataset[dict[str, Any]]):
    """Plain pictures of named classes; some of the items cannot be read."""

    def __init__(self, names: tuple[str, ...], *, broken: tuple[int, ...] = ()) -> None:
        self._names = names
        self._broken = broken

    def __len__(self) -> int:
        return 420

    def get(self, index: int) -> dict[str, Any]:
        """A ramp whose slope is the item's."""
        self.check_index(index)
        if index in self._broken:
            raise ItemError("the picture ends after 211 of 784 bytes", index=index, source="made")
        ramp = np.arange(28, dtype=np.uint16)
        image = (ramp[:, None] * (index % 9) + ramp * (index % 7)) % 256
        label = (index * index) % len(self._names)
        return {"image": image.astype(np.uint8), "label": label}

    @property
    def class_names(self) -> tuple[str, ...]:
        """Their names."""
        return self._names

    @property
    def features(self) -> dict[str, Feature]:
        """Pictures with labels."""
        return {
            "image": Feature(FeatureKind.IMAGE, DType.U8, (28, 28)),
            "label": Feature(FeatureKind.LABEL),
        }


LONG_NAMES = (
    "T-shirt or top",
    "trouser",
    "pullover with a hood",
    "dress",
    "waterproof winter coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def _data(scene: Scene) -> None:
    scene.window.show_workspace("data")
    data_operations.open_sample(scene.window.context)


def _data_empty(scene: Scene) -> None:
    scene.window.show_workspace("data")


def _data_shuffled(scene: Scene) -> None:
    _data(scene)
    scene.settle()
    data_operations.shuffle(scene.window.context, 42)
    data_operations.step_batch(scene.window.context, 2)


def _open_made(scene: Scene, dataset: MadeDataset) -> None:
    opened = OpenDataset(scene.folder / "fashion", dataset, name="fashion", kind="made for this")
    scene.window.context.session.set_dataset(opened)
    scene.window.show_workspace("data")
    scene.settle()


def _data_names(scene: Scene) -> None:
    _open_made(scene, MadeDataset(LONG_NAMES))


def _data_error(scene: Scene) -> None:
    _open_made(scene, MadeDataset(LONG_NAMES, broken=(3, 17, 40)))
    cut = scene.folder / "cut"
    cut.mkdir()
    (cut / "train-images-idx3-ubyte").write_bytes(bytes((0, 0, 8, 3, 0, 0, 39, 16)))
    scene.window.open_paths([cut])


def _run_empty(scene: Scene) -> None:
    scene.window.show_workspace("run")


def _run_refused(scene: Scene) -> None:
    operations.open_sample(scene.window.context)
    scene.settle()
    scene.window.show_workspace("run")


def _run_ready(scene: Scene) -> None:
    operations.open_sample(scene.window.context)
    scene.settle()
    make_green(scene.window)
    data_operations.go_to_batch(scene.window.context, 6)
    scene.window.show_workspace("run")
    scene.settle()


def _run_results(scene: Scene) -> None:
    _run_ready(scene)
    scene.window.book.run("run.batch")
    scene.settle()


def _run_layers(scene: Scene) -> None:
    _run_results(scene)
    scene.window.book.run("run.layers")


def _run_dataset(scene: Scene) -> None:
    _run_results(scene)
    scene.window.book.run("run.dataset")


def _run_caution(scene: Scene) -> None:
    _run_ready(scene)
    scene.weights.diff.rules.add_draft(RuleDraft(r"^fc2\.bias$", "fc2.offset"))
    scene.settle()
    scene.window.book.run("run.batch")


def _run_names(scene: Scene) -> None:
    _run_ready(scene)
    _open_made(scene, MadeDataset(LONG_NAMES, broken=(3,)))
    scene.window.book.run("run.batch")


SCREENS: dict[str, Callable[[Scene], None]] = {
    "data": _data,
    "data-empty": _data_empty,
    "data-shuffled": _data_shuffled,
    "data-long-names": _data_names,
    "data-error": _data_error,
    "run-empty": _run_empty,
    "run-refused": _run_refused,
    "run-ready": _run_ready,
    "run-results": _run_results,
    "run-layers": _run_layers,
    "run-dataset": _run_dataset,
    "run-caution": _run_caution,
    "run-long-names": _run_names,
}
