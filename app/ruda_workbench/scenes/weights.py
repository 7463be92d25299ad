"""Screens of the Weights workspace."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QAbstractButton

from ruda.session import RuleDraft, TargetChoice
from ruda.store import Aliases, TensorIndex, TensorSnapshot, plan_save, write
from ruda_workbench import operations
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.scenes.scene import Scene, made_up
from ruda_workbench.self_test import make_green


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


def diff_problems(scene: Scene) -> None:
    """A load diff with rows of every kind."""
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


def rules(scene: Scene) -> None:
    """Rules of which one cannot be understood."""
    diff_problems(scene)
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


def _target_menu(scene: Scene) -> None:
    """The menu of models in the title, for a file that is laid onto none."""
    scene.sample()
    scene.weights.choose_target("")
    scene.settle()
    scene.weights.show_view("tensors")
    scene.settle()
    picker = scene.weights.title.target
    picker.menu().popup(picker.mapToGlobal(picker.rect().bottomLeft()))


def _target_taken(scene: Scene) -> None:
    """A model was chosen that takes steps to be complete."""
    _chooser(scene)
    scene.settle()
    scene.weights.choose_target("digits")


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


def _save_types(scene: Scene) -> None:
    """The choice of types while the save sheet waits for it."""
    _save(scene)
    found = _sheet(scene).findChild(QAbstractButton, "save.types")
    assert found is not None
    found.click()


def _sheet(scene: Scene) -> SaveSheet:
    found = scene.window.findChild(SaveSheet)
    assert found is not None
    return found


def _tied(folder: Path) -> Path:
    """A checkpoint with metadata and with tensors that share their memory."""
    rng = np.random.default_rng(3)
    path = folder / "tied.safetensors"
    table = rng.standard_normal((40, 8)).astype(np.float32)
    first = TensorSnapshot.from_array("wte.weight", table)
    second = TensorSnapshot.from_array("lm_head.weight", table)
    made = [first, dataclasses.replace(second, shared_with="wte.weight")]
    made.append(TensorSnapshot.from_array("norm.weight", np.ones(8, np.float32)))
    index = TensorIndex.of(made, format="safetensors")
    metadata = {"author": "somebody", "epoch": "12", "licence": "CC-BY-4.0"}
    write(plan_save(index, path, metadata=metadata, aliases=Aliases.ONCE))
    return path


def _save_metadata(scene: Scene) -> None:
    scene.window.open_paths([_tied(scene.folder)])
    scene.settle()
    scene.weights.ask_save()
    sheet = _sheet(scene)
    sheet.parts.choose("metadata")
    sheet.parts.chosen.emit("metadata")
    sheet.metadata.rows[1].value.setText("13")
    sheet.metadata.rows[1].changed.emit()
    sheet.metadata.rows[2].struck.emit("licence")
    sheet.metadata.mark(on=True)


def _save_shared(scene: Scene) -> None:
    scene.window.open_paths([_tied(scene.folder)])
    scene.settle()
    scene.weights.ask_save()
    sheet = _sheet(scene)
    sheet.parts.choose("shared")
    sheet.parts.chosen.emit("shared")
    sheet.shared.how.choose("once")
    sheet.shared.how.chosen.emit("once")


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


SCREENS: dict[str, Callable[[Scene], None]] = {
    "welcome": _welcome,
    "welcome-recents": _welcome_recents,
    "tensors": _tensors,
    "load-diff": _load_diff,
    "load-diff-green": _diff_green,
    "load-diff-half-way": _diff_half_way,
    "load-diff-problems": diff_problems,
    "choose-target": _chooser,
    "choose-target-menu": _target_menu,
    "choose-target-taken": _target_taken,
    "rules": rules,
    "convert": _convert,
    "save": _save,
    "save-types": _save_types,
    "save-metadata": _save_metadata,
    "save-shared": _save_shared,
    "refused": _refused,
    "command": _command,
}
