"""Screens that are empty, busy, failing, or in front of others: sheets, menus, notices."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PySide6.QtWidgets import QScrollArea

from ruda.session import RuleDraft, TargetChoice, refused_file_page, refused_page
from ruda.store import TensorIndex, TensorSnapshot, save
from ruda_workbench import operations, settings_operations
from ruda_workbench.dialogs.quit_sheet import QuitSheet
from ruda_workbench.dialogs.settings_window import SettingsWindow
from ruda_workbench.panels.decision_sheet import DecisionSheet
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.scenes.weights import diff_problems

WORDS = ("stem", "embed", "query", "key", "value", "out", "up", "down", "head")
"""Names of layers that share nothing."""


class Stranger:
    """A class of somebody, which a file of weights asks for."""


class Harm:
    """Pickled, a call of the shell; it is never unpickled by Python here."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


def asking_file(folder: Path, value: object, name: str) -> Path:
    """A PyTorch file of some tensors whose pickle has this value beside them."""
    good, made = folder / "good.pt", folder / name
    tensors = [
        TensorSnapshot.from_array(f"encoder.{n}.weight", np.ones((16, 16), np.float32))
        for n in range(4)
    ]
    save(TensorIndex.of(tensors, format="pytorch"), good, overwrite=True)
    call = pickle.dumps({"x": value}, protocol=2)
    # The dictionary of the file is on the stack at its end: one more key and value are set in it.
    entry = call[call.index(b"X\x01\x00\x00\x00x") : -2].rstrip(b"s")
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(made, "w") as out:
        for info in source.infolist():
            data = source.read(info)
            more = info.filename.endswith("data.pkl")
            out.writestr(info, data[:-1] + entry + b"s." if more else data)
    return made


def _unsafe(scene: Scene) -> None:
    scene.window.open_paths([asking_file(scene.folder, Stranger(), "trainer-state.pt")])
    scene.settle()


def _unsafe_sheet(scene: Scene) -> None:
    _unsafe(scene)
    scene.window.notices.clear()
    document = scene.window.context.session.active
    assert document is not None
    scene.weights.show_refused(refused_page(document))


def _unsafe_refused(scene: Scene) -> None:
    scene.window.open_paths([asking_file(scene.folder, Harm(), "free-model.pt")])
    scene.settle()


def _unsafe_names(scene: Scene) -> None:
    """Every grade of what a refused file may ask for."""
    asked = ("posix.system", "builtins.eval", "subprocess.Popen", "socket.socket", "gc.collect")
    scene.weights.show_refused(refused_file_page("free-model.pt", asked))


def _decide(scene: Scene, text: str) -> None:
    diff_problems(scene)
    scene.settle()
    scene.weights.diff.rules.set_open(on=False)
    scene.weights.diff.step_problem(1)
    scene.weights.diff.ask_decision()
    sheet = scene.window.findChild(DecisionSheet)
    assert sheet is not None
    sheet.text.setText(text)
    sheet.look()


def _decision(scene: Scene) -> None:
    _decide(scene, "slice 1 0:1")


def _decision_wrong(scene: Scene) -> None:
    _decide(scene, "slice 1")


def _nothing_loads(scene: Scene) -> None:
    tensors = {"alpha.w": (3, 3), "beta.w": (5,)}
    scene.window.context.storage.remember(scene.folder / "x.safetensors")
    path = _file(scene.folder, tensors)
    target = TargetChoice.of("digits")
    operations.open_document(scene.window.context, path, target=target, remember=False)
    scene.settle()


def _suggestions_all(scene: Scene) -> None:
    """More suggestions than a card shows at first, all of them opened."""
    sizes: list[tuple[int, ...]] = [(8 + n, 4, 3) for n in range(9)]
    source = {f"stage{n}.block.kernel": size for n, size in enumerate(sizes)}
    wanted = {f"{word}.weight": size for word, size in zip(WORDS, sizes, strict=True)}
    path = _file(scene.folder, source, "checkpoint.safetensors")
    target = TargetChoice.of(str(_file(scene.folder, wanted, "model.safetensors")), is_file=True)
    operations.open_document(scene.window.context, path, target=target, remember=False)
    scene.settle()
    scene.weights.diff.rules.offers.more.click()


def _diff_failing(scene: Scene) -> None:
    """Two keys that would become one: there is no report, only the reason."""
    scene.sample()
    rules = scene.weights.diff.rules
    rules.add_draft(RuleDraft(r"^.*\.weight$", "weight"))
    scene.settle()


def _diff_search(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    scene.weights.diff.rules.set_open(on=False)
    scene.weights.diff.filter.setText("router")
    scene.settle()


def _diff_menu(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    scene.weights.diff.rules.set_open(on=False)
    scene.weights.diff.step_problem(1)
    scene.weights.diff.open_row_menu()


def _presets(scene: Scene) -> None:
    scene.sample()
    scene.settle()
    scene.weights.diff.rules.set_open(on=True)
    scene.settle()
    picker = scene.weights.diff.rules.presets
    picker.menu().popup(picker.mapToGlobal(picker.rect().bottomLeft()))


def _tensors_none(scene: Scene) -> None:
    scene.sample()
    scene.weights.show_view("tensors")
    scene.weights.tensors.filter.setText("router")
    scene.settle()


def _convert_losses(scene: Scene) -> None:
    """Values that overflow, that vanish, and that fit."""
    rng = np.random.default_rng(3)
    tensors: dict[str, np.ndarray] = {
        "head.0.scale": np.array([1.0, 1e6, -1e6], np.float32),
        "head.1.scale": np.array([2.0, 3.0, 1e-9], np.float32),
        "router.weight": (rng.standard_normal((64, 64)) * 1e-9).astype(np.float32),
        "embed.weight": rng.standard_normal((640, 64)).astype(np.float32),
        "steps": np.arange(4, dtype=np.int64),
    }
    made = [TensorSnapshot.from_array(key, value) for key, value in tensors.items()]
    path = scene.folder / "wide.safetensors"
    save(TensorIndex.of(made, format="safetensors"), path, overwrite=True)
    scene.window.open_paths([path])
    scene.settle()
    scene.weights.show_view("convert")
    scene.weights.convert.every.setChecked(True)
    scene.weights.convert.choose("f16")
    scene.settle()
    scene.weights.convert.scan.click()
    scene.settle()


def _convert_none(scene: Scene) -> None:
    scene.sample()
    scene.weights.show_view("convert")


def _convert_failing(scene: Scene) -> None:
    _diff_failing(scene)
    scene.weights.show_view("convert")


def _notices(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    context = scene.window.context
    context.notify("info", "Copied", "ruda convert digits.safetensors digits-f16.bpk --half f16")
    context.notify("done", "Saved digits-f16.bpk", "12 tensors, 45.1 kB, verified", _button("Show"))
    context.notify("warning", "The recipe was not saved", "It differs from the file it came from.")
    context.notify(
        "error",
        "digits.safetensors was not opened",
        "byte 8: the header is said to be 1,099,511,627,776 bytes long, but the file has 16",
        report="a report",
    )


def _button(text: str) -> tuple[str, Callable[[], None]]:
    return text, lambda: None


def _messages(scene: Scene) -> None:
    _notices(scene)
    scene.window.notices.clear()
    scene.window.show_drawer("messages")
    scene.window.drawer.messages.select_row(0)


def _drawer_empty(scene: Scene) -> None:
    scene.window.show_drawer("messages")


def _history_empty(scene: Scene) -> None:
    scene.window.show_drawer("history")


def _settings_end(scene: Scene) -> None:
    scene.sample()
    scene.window.open_settings()
    found = scene.window.findChild(SettingsWindow)
    assert found is not None
    area = found.findChild(QScrollArea)
    assert area is not None
    scene.settle()
    area.verticalScrollBar().setValue(area.verticalScrollBar().maximum())


def _quit(scene: Scene) -> None:
    settings_operations.change(scene.window.context, "restore_session", False)
    diff_problems(scene)
    scene.settle()
    reasons = (
        "Saving digits-f16.safetensors: it would be stopped, the old file stays.",
        "Not saved: the recipe of digits-epoch-12.safetensors.",
    )
    QuitSheet(reasons, scene.window).open()


def _menu(scene: Scene) -> None:
    scene.sample()
    scene.settle()
    scene.window.open_menu()


def _stale(scene: Scene) -> None:
    """A file that another program has written to while it is open."""
    diff_problems(scene)
    scene.settle()
    document = scene.window.context.session.active
    assert document is not None
    with document.path.open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"\0\0\0\0")
    os.utime(document.path, ns=(1, 1))
    scene.weights.diff.rules.set_open(on=False)
    scene.weights.diff.reveal("module.fc1.bias")


def _gone(scene: Scene) -> None:
    """A file of a long name that was moved away while it is open."""
    name = "a-checkpoint-with-a-rather-long-name-epoch-0012-step-0048000.safetensors"
    path = _file(scene.folder, {"conv1.weight": (8, 1, 3, 3), "conv1.bias": (8,)}, name)
    scene.window.open_paths([path])
    scene.settle()
    path.unlink()
    scene.window.context.came_to_front.emit()


def _drop(scene: Scene) -> None:
    scene.sample()
    scene.settle()
    scene.window.dropping(active=True)


def _command_none(scene: Scene) -> None:
    scene.sample()
    scene.window.command.open()
    scene.window.command.setText("zzzz")


def _many_tabs(scene: Scene) -> None:
    for n in range(7):
        scene.window.open_paths([_file(scene.folder, {"w": (3, 3)}, f"checkpoint-epoch-{n}.st")])
        scene.settle()


def _file(
    folder: Path, shapes: dict[str, tuple[int, ...]], name: str = "plain.safetensors"
) -> Path:
    tensors = [
        TensorSnapshot.from_array(key, np.zeros(shape, np.float32)) for key, shape in shapes.items()
    ]
    path = folder / name
    save(TensorIndex.of(tensors, format="safetensors"), path, format="safetensors", overwrite=True)
    return path


SCREENS: dict[str, Callable[[Scene], None]] = {
    "unsafe": _unsafe,
    "unsafe-sheet": _unsafe_sheet,
    "unsafe-refused": _unsafe_refused,
    "unsafe-names": _unsafe_names,
    "decision": _decision,
    "decision-wrong": _decision_wrong,
    "load-diff-nothing": _nothing_loads,
    "suggestions-all": _suggestions_all,
    "load-diff-failing": _diff_failing,
    "load-diff-search": _diff_search,
    "load-diff-menu": _diff_menu,
    "presets": _presets,
    "tensors-none": _tensors_none,
    "convert-losses": _convert_losses,
    "convert-none": _convert_none,
    "convert-failing": _convert_failing,
    "notices": _notices,
    "messages": _messages,
    "messages-empty": _drawer_empty,
    "history-empty": _history_empty,
    "settings-end": _settings_end,
    "quit": _quit,
    "menu": _menu,
    "drop": _drop,
    "file-changed": _stale,
    "file-gone": _gone,
    "command-none": _command_none,
    "many-tabs": _many_tabs,
}
