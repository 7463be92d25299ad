"""A window whose settings, recent files and session state live in the test's own folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ruda.store import TensorIndex, TensorSnapshot, save

# Qt is entered inside the fixtures: the stories of the command line run without it.
if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from ruda_workbench.main_window import MainWindow
    from ruda_workbench.storage import Storage
    from ruda_workbench.workspaces.weights import WeightsWorkspace


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    from ruda_workbench.storage import Storage

    return Storage(tmp_path / "config")


@pytest.fixture
def window(qapp: QApplication, storage: Storage) -> Iterator[MainWindow]:
    from ruda_workbench.application import build_window, let_go

    made = build_window(qapp, storage, theme="light")
    made.show()
    yield made
    let_go(made)


@pytest.fixture
def weights(window: MainWindow) -> WeightsWorkspace:
    from ruda_workbench.workspaces.weights import WeightsWorkspace

    found = window.workspace("weights")
    assert isinstance(found, WeightsWorkspace)
    return found


@pytest.fixture
def settled(window: MainWindow) -> Callable[[], None]:
    """Waits until no job runs and every answer is drawn."""

    from ruda_workbench.application import settle

    def wait() -> None:
        settle(window)

    return wait


@pytest.fixture
def make_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a safetensors file of f32 tensors with these shapes."""

    def make(shapes: dict[str, tuple[int, ...]], name: str = "made.safetensors") -> Path:
        rng = np.random.default_rng(3)
        tensors = [
            TensorSnapshot.from_array(key, rng.standard_normal(shape).astype(np.float32))
            for key, shape in shapes.items()
        ]
        path = tmp_path / name
        save(TensorIndex.of(tensors, format="safetensors"), path, overwrite=True)
        return path

    return make
