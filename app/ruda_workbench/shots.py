"""Every screen of the workbench by name, and pictures of them without a display.

python -m ruda_workbench.shots SCREEN --theme light|dark --out FILE
python -m ruda_workbench.shots --list
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QDialog

from ruda.data import Dataset, Feature, FeatureKind
from ruda.errors import ItemError
from ruda.session import (
    LANGUAGES,
    CompareOptions,
    CompareSide,
    OpenDataset,
    RuleDraft,
    TargetChoice,
)
from ruda.store import TensorIndex, TensorSnapshot, save
from ruda.tensor import DType
from ruda_workbench import data_operations, operations
from ruda_workbench.application import application, build_window, let_go, settle
from ruda_workbench.dialogs.help_window import HelpWindow
from ruda_workbench.main_window import MainWindow
from ruda_workbench.self_test import make_green
from ruda_workbench.storage import Storage
from ruda_workbench.workspaces.compare import CompareWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

SIZE = QSize(1440, 900)


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
        path = operations.sample_weights() or made_up(self.folder)
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


def _welcome(scene: Scene) -> None:
    pass


def _welcome_recents(scene: Scene) -> None:
    storage = scene.window.context.storage
    names = ("resnet20-12fca82f.th", "mnist.safetensors", "a/very/long/way/down/model.bpk")
    for name in names:
        path = scene.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        storage.remember(path)
    storage.remember(scene.folder / "gone.pt")
    scene.weights.entered()


def _tensors(scene: Scene) -> None:
    scene.sample()
    scene.weights.show_view("tensors")
    scene.weights.tensors.table.select_row(0)


def _load_diff(scene: Scene) -> None:
    scene.sample()


def _diff_green(scene: Scene) -> None:
    scene.sample()
    make_green(scene.window)


def _diff_problems(scene: Scene) -> None:
    path = made_up(scene.folder, width=6)
    target = TargetChoice.of("digits")
    operations.open_document(scene.window.context, path, target=target, remember=False)
    scene.settle()
    scene.weights.diff.rules.add_draft(RuleDraft(r"^module\.", ""))
    scene.settle()
    scene.weights.diff.reveal("module.fc1.weight")


def _diff_half_way(scene: Scene) -> None:
    scene.sample()
    scene.weights.take_part("state_dict")
    scene.settle()
    scene.weights.diff.rules.add_draft(RuleDraft(r"^module\.", ""))
    scene.settle()
    scene.weights.diff.rules.set_open(on=False)
    scene.weights.diff.reveal("module.fc1.weight")


def _rules(scene: Scene) -> None:
    _diff_problems(scene)
    rules = scene.weights.diff.rules
    rules.set_open(on=True)
    rules.add_draft(RuleDraft(r"^head\.", "fc2."))
    scene.settle()
    rules.add_rule()
    rules.rows[-1].pattern.setText("(norm[12]")
    rules.rows[-1].replacement.setText("${1}.x")
    rules.preview()


def _chooser(scene: Scene) -> None:
    scene.sample()
    scene.weights.choose_target("")
    scene.settle()
    scene.weights.show_view("diff")


def _convert(scene: Scene) -> None:
    _diff_green(scene)
    scene.weights.show_view("convert")
    scene.weights.convert.choose("f16")
    scene.settle()
    scene.weights.convert.scan.click()


def _save(scene: Scene) -> None:
    _convert(scene)
    scene.settle()
    scene.weights.ask_save()


def _heat(scene: Scene) -> None:
    _diff_problems(scene)
    scene.settle()
    panel = scene.weights.inspector()
    panel.tabs.choose("heat")
    panel.tabs.chosen.emit("heat")


def _values(scene: Scene) -> None:
    _diff_problems(scene)
    scene.settle()
    panel = scene.weights.inspector()
    panel.tabs.choose("values")
    panel.tabs.chosen.emit("values")


def _refused(scene: Scene) -> None:
    scene.sample()
    broken = scene.folder / "broken.safetensors"
    broken.write_bytes((1 << 40).to_bytes(8, "little") + b'{"a": 1}')
    page = scene.folder / "model.bin"
    page.write_bytes(b"<!DOCTYPE html><html><body>Sign in</body></html>")
    scene.window.open_paths([broken, page])
    scene.settle()


def _command(scene: Scene) -> None:
    scene.sample()
    scene.window.command.open()
    scene.window.command.setText("conv")


def _two_files(scene: Scene) -> CompareWorkspace:
    """Two checkpoints of one training: renamed on one side, some tensors moved on."""
    rng = np.random.default_rng(11)
    shapes: dict[str, tuple[int, ...]] = {
        f"layers.{n}.{part}": (24, 24) for n in range(6) for part in ("query", "key")
    }
    shapes |= {f"layers.{n}.norm.weight": (24,) for n in range(6)}
    shapes |= {"embed.weight": (60, 24), "head.weight": (10, 24)}
    before = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    after = {f"module.{key}": value.copy() for key, value in before.items()}
    for key, value in after.items():
        if ".query" in key:
            value[3:9, 4:12] += rng.standard_normal((6, 8)).astype(np.float32) * 0.2
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


def _jobs(scene: Scene) -> None:
    _diff_problems(scene)
    scene.settle()
    broken = scene.folder / "broken.safetensors"
    broken.write_bytes((1 << 40).to_bytes(8, "little") + b'{"a": 1}')
    scene.window.open_paths([broken])
    scene.settle()
    scene.window.notices.clear()
    scene.window.show_drawer("jobs")


def _history(scene: Scene) -> None:
    _rules(scene)
    scene.settle()
    for _ in range(2):
        operations.undo(scene.window.context)
    scene.settle()
    scene.window.show_drawer("history")


def _settings(scene: Scene) -> None:
    _diff_problems(scene)
    scene.settle()
    scene.window.open_settings()


def _guide(scene: Scene) -> None:
    scene.sample()
    scene.window.open_guide("load-diff")


def _guide_search(scene: Scene) -> None:
    _guide(scene)
    found = scene.window.findChild(HelpWindow, "help")
    assert found is not None
    found.field.setText("metadata")


def _about(scene: Scene) -> None:
    scene.sample()
    scene.window.open_about()


SCREENS: dict[str, Callable[[Scene], None]] = {
    "welcome": _welcome,
    "welcome-recents": _welcome_recents,
    "tensors": _tensors,
    "load-diff": _load_diff,
    "load-diff-green": _diff_green,
    "load-diff-half-way": _diff_half_way,
    "load-diff-problems": _diff_problems,
    "choose-target": _chooser,
    "rules": _rules,
    "convert": _convert,
    "save": _save,
    "heat-map": _heat,
    "values": _values,
    "refused": _refused,
    "command": _command,
    "compare-empty": _compare_empty,
    "compare": _compare,
    "compare-values": _compare_values,
    "jobs": _jobs,
    "history": _history,
    "settings": _settings,
    "guide": _guide,
    "guide-search": _guide_search,
    "about": _about,
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
"""Screen name → function that brings a fresh window into its state."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the window of a picture looks."""

    theme: str = "light"
    contrast: str = "normal"
    language: str = "en"

    def window(self, folder: Path) -> MainWindow:
        """A window with its settings in ``folder``."""
        storage = Storage(folder / "config")
        storage.change(contrast=self.contrast, language=self.language)
        return build_window(application(), storage, theme=self.theme)


def take_screen(name: str, look: Look, out: Path) -> int:
    """Write a picture of a screen; 2 for a name that is none."""
    if name not in SCREENS:
        sys.stderr.write(f"no screen is called {name!r}; there are {', '.join(SCREENS)}\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        window = look.window(Path(folder))
        return _take(window, Scene(window, Path(folder)), SCREENS[name], out)


def take_files(files: Sequence[Path], theme: str, out: Path, folder: Path) -> int:
    """Write a picture of the window with these files open."""
    window = Look(theme).window(folder)

    def stage(scene: Scene) -> None:
        scene.window.open_paths(list(files))

    return _take(window, Scene(window, folder), stage, out)


def _take(window: MainWindow, scene: Scene, stage: Callable[[Scene], None], out: Path) -> int:
    window.resize(SIZE)
    window.show()
    try:
        stage(scene)
        scene.settle()
        written = _picture(window).save(str(out))
    finally:
        let_go(window)
    if not written:
        sys.stderr.write(f"{out}: the picture could not be written\n")
        return 1
    return 0


def _picture(window: MainWindow) -> QPixmap:
    """The window, with an open sheet over its middle."""
    picture = window.grab()
    for sheet in [each for each in window.findChildren(QDialog) if each.isVisible()]:
        painter = QPainter(picture)
        painter.fillRect(window.rect(), QColor(0, 0, 0, 90))
        corner = window.rect().center() - sheet.rect().center()
        painter.drawPixmap(corner, sheet.grab())
        painter.end()
        sheet.close()
    return picture


def main(arguments: Sequence[str] | None = None) -> int:
    """Take one picture, or list the screens."""
    parser = argparse.ArgumentParser(prog="ruda_workbench.shots", description=__doc__)
    parser.add_argument("screen", nargs="?", choices=sorted(SCREENS))
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    parser.add_argument("--contrast", choices=["normal", "high"], default="normal")
    parser.add_argument("--language", choices=sorted(LANGUAGES), default="en")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args(arguments)
    if options.list or options.screen is None:
        sys.stdout.write("\n".join(SCREENS) + "\n")
        return 0
    out = options.out or Path(f"{options.screen}-{options.theme}.png")
    look = Look(options.theme, options.contrast, options.language)
    return take_screen(options.screen, look, out)


if __name__ == "__main__":
    sys.exit(main())
