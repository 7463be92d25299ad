"""What is copied from the window and run by ``ruda`` writes the bytes that the window wrote."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from ruda.cli import main
from ruda.session import TargetChoice
from ruda.store import (
    Action,
    Aliases,
    CastPolicy,
    Decision,
    DTypePolicy,
    PathFilter,
    Recipe,
    RemapRule,
    TensorIndex,
    TensorSnapshot,
    plan_save,
    write,
)
from ruda.tensor import DType
from ruda_workbench import operations
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.main_window import MainWindow
from ruda_workbench.self_test import make_green
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
Files = dict[str, bytes]

SHAPES = {
    "module.conv1.weight": (8, 1, 3, 3),
    "module.conv1.bias": (8,),
    "module.norm1.weight": (8,),
    "module.norm1.bias": (8,),
    "module.norm1.running_mean": (8,),
    "module.norm1.running_var": (8,),
    "module.conv2.weight": (16, 8, 3, 3),
    "module.conv2.bias": (16,),
    "module.norm2.weight": (16,),
    "module.norm2.bias": (16,),
    "module.norm2.running_mean": (16,),
    "module.norm2.running_var": (16,),
    "module.fc1.weight": (32, 400),
    "module.fc1.bias": (32,),
    "module.fc2.weight": (10, 32),
    "module.fc2.bias": (10,),
}
OWN = {"author": "some body", "epoch": "12", "format": "pt"}
ODD = "an odd 'key' = $HOME"


def arrays() -> list[TensorSnapshot]:
    """Weights of a small network, one of its tensors under two keys, and others beside it."""
    rng = np.random.default_rng(3)
    made = [
        TensorSnapshot.from_array(key, rng.standard_normal(shape).astype(np.float32))
        for key, shape in SHAPES.items()
    ]
    tied = dataclasses.replace(made[-2], key="tied.weight", shared_with=made[-2].key)
    large = TensorSnapshot.from_array("scale", np.array([1.0, 1e6, -1e6], np.float32))
    count = TensorSnapshot.from_array("module.norm1.num_batches_tracked", np.array(7, np.int64))
    odd = TensorSnapshot.from_array(ODD, np.arange(6, dtype=np.float64).reshape(2, 3))
    return [*made, tied, large, count, odd]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in put" / "source's.safetensors"
    path.parent.mkdir()
    index = TensorIndex.of(arrays(), format="safetensors")
    write(plan_save(index, path, metadata=OWN, aliases=Aliases.ONCE))
    return path


def take_files(folder: Path) -> Files:
    """What lies in a folder; it is empty afterwards."""
    found = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    for name in found:
        (folder / name).unlink()
    return found


def click(sheet: SaveSheet, name: str, qtbot: QtBot) -> None:
    button = sheet.findChild(QPushButton, name)
    assert button is not None
    assert button.isEnabled(), sheet.banner.text
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def sheet_of(weights: WeightsWorkspace, out: Path) -> SaveSheet:
    weights.ask_save()
    sheet = QApplication.activeModalWidget()
    assert isinstance(sheet, SaveSheet)
    sheet.path.setText(str(out))
    sheet.path.textEdited.emit(str(out))
    return sheet


def copied(sheet: SaveSheet, qtbot: QtBot) -> list[str]:
    """The words of the command that the sheet copies."""
    QGuiApplication.clipboard().setText("nothing")
    click(sheet, "save.command", qtbot)
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["ruda", "convert"]
    return words[1:]


Plain = Recipe()
DIGITS = "digits"
PREFIX = Plain.with_rule(r"^module\.", "")
RECIPES = [
    pytest.param(Plain, "", id="nothing"),
    pytest.param(PREFIX, "", id="one rule"),
    pytest.param(
        PREFIX.with_rule(r"^(conv|norm)(\d)\.", r"block.$2.$1."), "", id="rules with groups"
    ),
    pytest.param(Plain.with_rule(r"^module", "--module"), "", id="a name like a flag"),
    pytest.param(
        Plain.with_rules([RemapRule(r"^module\.", "", enabled=False), RemapRule("^fc", "x")]),
        "",
        id="a rule that is off",
    ),
    pytest.param(
        Plain.with_remap(PREFIX.remap.map_indices_contiguous(keep="^x")), "", id="closed gaps"
    ),
    pytest.param(PREFIX.with_adapt("pytorch-to-ruda"), DIGITS, id="adapter and target"),
    pytest.param(
        PREFIX.with_adapt("pytorch-to-ruda").with_cast(CastPolicy.half()), DIGITS, id="half"
    ),
    pytest.param(
        PREFIX.with_adapt("pytorch-to-ruda").with_cast(
            CastPolicy.half(DType.BF16, keep=["Linear"], add=["BatchNorm"])
        ),
        DIGITS,
        id="half with kinds",
    ),
    pytest.param(Plain.with_cast(CastPolicy.every(DType.BF16)), "", id="cast of all"),
    pytest.param(Plain.with_cast(CastPolicy.every(DType.F8_E4M3FN)), "", id="cast to eight bits"),
    pytest.param(
        Plain.with_policy(
            DTypePolicy.parse("norm=keep"),
            DTypePolicy.parse("^scale=clamp:f16"),
            DTypePolicy.parse("weight=bf16"),
        ).with_cast(CastPolicy.every(DType.F16)),
        "",
        id="policies",
    ),
    pytest.param(Plain.with_skip(ODD, "scale"), "", id="skips"),
    pytest.param(
        PREFIX.with_decision(
            Decision.parse("conv1.weight", "transpose 1,0,2,3"),
            Decision.parse("fc1.bias", "slice 0 4:20"),
            Decision.parse("fc2.bias", "pad 0 1:2 0.5"),
            Decision.parse(ODD, "reshape 3,2"),
        ),
        "",
        id="decisions about shapes",
    ),
    pytest.param(
        Plain.with_decision(Decision("scale", Action.CLAMP, DType.F16))
        .with_further(Decision("module.fc1.bias", Action.KEEP))
        .with_skip("module.fc1.weight")
        .with_cast(CastPolicy.every(DType.F16)),
        "",
        id="decisions of several kinds",
    ),
    pytest.param(
        Plain.with_select(PathFilter.of("conv", "fc").without("bias$")), "", id="a selection"
    ),
    pytest.param(
        Plain.with_select(PathFilter.from_paths([ODD, "scale"])), "", id="a selection of keys"
    ),
]


FORMATS = [".bpk", ".pt", ".npz"]
CASES = [
    *(pytest.param(*p.values, ".safetensors", id=str(p.id)) for p in RECIPES),
    *(
        pytest.param(*p.values, suffix, id=f"{p.id} {suffix}")
        for p in RECIPES
        if p.id in ("half", "skips", "cast to eight bits", "closed gaps")
        for suffix in FORMATS
    ),
]


@pytest.mark.parametrize(("recipe", "target", "suffix"), CASES)
def test_every_recipe_writes_the_same_bytes(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    source: Path,
    tmp_path: Path,
    qtbot: QtBot,
    recipe: Recipe,
    target: str,
    suffix: str,
) -> None:
    operations.open_document(
        window.context, source, target=TargetChoice.of(target) if target else None
    )
    settled()
    document = weights.watch.document
    assert document is not None
    window.context.session.edit(document.id, "Recipe", recipe)
    settled()
    folder = tmp_path / "out"
    folder.mkdir()
    sheet = sheet_of(weights, folder / f"it is{suffix}")
    words = copied(sheet, qtbot)
    if not sheet.save_button.isEnabled():
        assert "save as" in sheet.banner.text
        assert main(words) == 2, "what the window refuses, the command refuses"
        assert take_files(folder) == {}
        sheet.reject()
        return
    click(sheet, "save.save", qtbot)
    settled()
    by_window = take_files(folder)
    assert list(by_window) == [f"it is{suffix}"]
    assert main(words) in (0, 1)  # 1: values became infinite, as the window's notice says, too
    assert take_files(folder) == by_window


def _entry(sheet: SaveSheet, key: str, value: str) -> None:
    sheet.metadata.add.click()
    row = sheet.metadata.rows[-1]
    row.key.setText(key)
    row.value.setText(value)
    row.value.editingFinished.emit()


def _once(sheet: SaveSheet, owner: str = "") -> None:
    sheet.shared.how.choose("once")
    sheet.shared.how.chosen.emit("once")
    if owner:
        sheet.shared.owners_pickers[0].picked.emit(owner)


def _full(sheet: SaveSheet) -> None:
    sheet.shared.how.choose("full")
    sheet.shared.how.chosen.emit("full")


def _sharded(sheet: SaveSheet) -> None:
    sheet.shards.setText("20 kB")
    sheet.shards.editingFinished.emit()


SHEETS = [
    pytest.param(lambda s: _entry(s, "note", " --x=1 'y' \\ ü=\t$(z) "), id="an entry is added"),
    pytest.param(lambda s: _entry(s, "--note", "x"), id="an entry named like a flag"),
    pytest.param(lambda s: _entry(s, "epoch", "13"), id="an entry is changed"),
    pytest.param(lambda s: _entry(s, "empty", ""), id="an empty entry"),
    pytest.param(lambda s: s.metadata._struck("author"), id="an entry is struck out"),
    pytest.param(_sharded, id="shards"),
    pytest.param(_full, id="each key in full"),
    pytest.param(_once, id="once"),
    pytest.param(lambda s: _once(s, "tied.weight"), id="once, another owner"),
    pytest.param(lambda s: s.verify.setChecked(False), id="not verified"),
]


@pytest.mark.parametrize("choose", SHEETS)
@pytest.mark.parametrize("over", [False, True], ids=["a new file", "over the open file"])
def test_every_choice_of_the_sheet_writes_the_same_bytes(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    source: Path,
    tmp_path: Path,
    qtbot: QtBot,
    choose: Callable[[SaveSheet], None],
    over: bool,
) -> None:
    before = source.read_bytes()
    window.open_paths([source])
    settled()
    folder = source.parent if over else tmp_path / "out"
    folder.mkdir(exist_ok=True)
    sheet = sheet_of(weights, source if over else folder / "made.safetensors")
    choose(sheet)
    if over:
        sheet.replace.click()
    words = copied(sheet, qtbot)
    click(sheet, "save.save", qtbot)
    settled()
    by_window = take_files(folder)
    assert by_window
    if over:
        source.write_bytes(before)
    assert main(words) == 0
    assert take_files(folder) == by_window


def test_metadata_that_no_flag_can_say_is_not_copied(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, source: Path, qtbot: QtBot
) -> None:
    window.open_paths([source])
    settled()
    sheet = sheet_of(weights, source.with_name("new.safetensors"))
    _entry(sheet, "a=b", "c")
    QGuiApplication.clipboard().setText("nothing")
    click(sheet, "save.command", qtbot)
    assert QGuiApplication.clipboard().text() == "nothing"
    notice = window.notices.notices[-1]
    assert notice.title == "The command was not copied"
    assert "'a=b'" in notice.text
    sheet.reject()


def test_a_command_that_is_copied_after_the_suggestions_writes_the_same_bytes(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    source: Path,
    tmp_path: Path,
    qtbot: QtBot,
) -> None:
    operations.open_document(window.context, source, target=TargetChoice.of(DIGITS))
    settled()
    make_green(window)
    settled()
    weights.convert.choose("f16")
    settled()
    folder = tmp_path / "out"
    folder.mkdir()
    sheet = sheet_of(weights, folder / "green.bpk")
    words = copied(sheet, qtbot)
    click(sheet, "save.save", qtbot)
    settled()
    by_window = take_files(folder)
    assert main(words) == 0
    assert take_files(folder) == by_window
    buttons = dict(window.notices.notices[-1].buttons)
    buttons["Copy command"]()
    assert shlex.split(QGuiApplication.clipboard().text())[1:] == words


@pytest.mark.parametrize(("recipe", "target"), [p for p in RECIPES if p.values[1]])
def test_the_copied_load_diff_says_what_the_export_says(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    recipe: Recipe,
    target: str,
) -> None:
    operations.open_document(window.context, source, target=TargetChoice.of(target))
    settled()
    document = weights.watch.document
    assert document is not None
    window.context.session.edit(document.id, "Recipe", recipe)
    settled()
    out = tmp_path / "diff.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, **__: (str(out), ""))
    window.book.run("weights.export")
    settled()
    window.book.run("view.copy-command")
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["ruda", "diff"]
    capsys.readouterr()
    exported = json.loads(out.read_text("utf-8"))
    wrong = exported["counts"]["missing"] + exported["counts"]["error"]
    assert main([*words[1:], "--json"]) == (1 if wrong else 0)
    assert json.loads(capsys.readouterr().out) == exported
