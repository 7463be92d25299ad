"""What a session keeps: documents, recipes and views over a close, and over a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from ruda.session import RuleDraft
from ruda_workbench.application import build_window, restore_session, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import Storage
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

SHAPES = {"module.fc1.bias": (32,), "module.fc2.bias": (10,)}


def edit(window: MainWindow, path: Path) -> None:
    window.open_paths([path])
    settle(window)
    weights = window.workspace("weights")
    assert isinstance(weights, WeightsWorkspace)
    weights.choose_target("digits")
    settle(window)
    weights.diff.rules.add_draft(RuleDraft(r"^module\.", ""))
    settle(window)


def again(qapp: QApplication, storage: Storage, *, only_crashed: bool = False) -> MainWindow:
    window = build_window(qapp, Storage(storage.folder), theme="light")
    restore_session(window, only_crashed=only_crashed)
    window.show()
    settle(window)
    return window


def let_go(window: MainWindow) -> None:
    window.close()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_session_comes_back(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    edit(window, make_file(SHAPES))
    window.close()
    second = again(qapp, storage)
    document = second.context.session.active
    assert document is not None
    assert [rule.pattern for rule in document.recipe.remap.rules] == [r"^module\."]
    assert document.target is not None
    assert document.target.name == "digits"
    assert second.notices.notices == ()
    assert second.context.session.dirty == (document,)
    second.book.run("file.close")
    assert second.notices.notices[-1].buttons[0][0] == "Bring it back"
    let_go(second)


def test_what_was_saved_comes_back_saved(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    edit(window, make_file(SHAPES))
    for document in window.context.session.documents:
        window.context.session.mark_saved(document.id)
    window.close()
    second = again(qapp, storage)
    assert len(second.context.session.documents) == 1
    assert second.context.session.dirty == ()
    let_go(second)


def test_who_clicks_and_quits_before_a_session_is_back_loses_none_of_it(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    edit(window, make_file(SHAPES))
    window.show_workspace("compare")
    window.close()
    second = build_window(qapp, Storage(storage.folder), theme="light")
    restore_session(second)
    second.show_workspace("data")
    second._keep_recovery()
    assert second.context.session.documents == (), "they are not open yet"
    let_go(second)
    third = again(qapp, storage)
    document = third.context.session.active
    assert document is not None
    assert [rule.pattern for rule in document.recipe.remap.rules] == [r"^module\."]
    assert third.current == "data"
    assert third.context.storage.pending.documents == []
    third.context.session.close(document.id)
    let_go(third)
    fourth = again(qapp, storage)
    assert fourth.context.session.documents == (), "it was closed since"
    let_go(fourth)


def test_documents_come_back_in_order_and_the_front_one_in_front(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    for name in ("a", "b", "c"):
        window.open_paths([make_file(SHAPES, f"{name}.safetensors")])
        settle(window)
    window.context.session.activate(window.context.session.documents[1].id)
    window.close()
    second = again(qapp, storage)
    session = second.context.session
    assert [d.name for d in session.documents] == [f"{n}.safetensors" for n in "abc"]
    assert session.active is not None
    assert session.active.name == "b.safetensors"
    let_go(second)


def test_a_file_that_was_broken_since_is_said(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    paths = [make_file(SHAPES, name) for name in ("good.safetensors", "bad.safetensors")]
    for path in paths:
        window.open_paths([path])
        settle(window)
    window.close()
    paths[1].write_bytes(b"")
    second = again(qapp, storage)
    assert [d.name for d in second.context.session.documents] == ["good.safetensors"]
    assert [n.title for n in second.notices.notices] == ["bad.safetensors was not opened"]
    let_go(second)


def test_a_crash_loses_no_recipe(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    edit(window, make_file(SHAPES))
    window._keep_recovery()  # the timer of the last edit
    second = again(qapp, storage, only_crashed=True)
    document = second.context.session.active
    assert document is not None
    assert not document.recipe.is_identity
    assert [n.title for n in second.notices.notices] == ["The last session ended without a close"]
    let_go(second)


def test_a_file_that_is_gone_is_said(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    path = make_file(SHAPES)
    edit(window, path)
    window.close()
    path.unlink()
    second = again(qapp, storage)
    assert second.context.session.documents == ()
    assert [(n.title, n.text) for n in second.notices.notices] == [
        ("Not found any more", path.name)
    ]
    let_go(second)


def test_a_session_is_not_restored_against_the_setting(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    edit(window, make_file(SHAPES))
    storage.change(restore_session=False)
    window.close_now()
    second = again(qapp, storage)
    assert second.context.session.documents == ()
    let_go(second)


@pytest.mark.parametrize("name", ["settings.toml", "recents.json", "session.json", "recovery.json"])
def test_a_broken_file_of_ours_costs_only_itself(
    qapp: QApplication, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_bytes(b"\xff{not this")
    window = again(qapp, Storage(folder))
    assert window.isVisible()
    assert window.context.session.documents == ()
    let_go(window)


def test_one_part_of_a_checkpoint_is_taken_undone_and_kept(
    qapp: QApplication, window: MainWindow, storage: Storage, project: Path
) -> None:
    path = project / "resources" / "samples" / "digits-checkpoint.pt"
    window.open_paths([path])
    settle(window)
    weights = window.workspace("weights")
    assert isinstance(weights, WeightsWorkspace)
    assert weights.title.facts.startswith("18 tensors in the whole file · 58.0 kB · PyTorch")
    weights.title.part_picked.emit("state_dict")
    settle(window)
    assert weights.title.facts.startswith("18 tensors in state_dict · 58.0 kB · PyTorch")
    assert keys_shown(weights) == {"module"}
    weights.copy_command()
    command = f"ruda inspect {path} --top-level-key state_dict"
    assert QGuiApplication.clipboard().text() == command
    window.book.run("edit.undo")
    settle(window)
    assert keys_shown(weights) == {"state_dict"}
    window.book.run("edit.redo")
    settle(window)
    window.close()
    second = again(qapp, storage)
    document = second.context.session.active
    assert document is not None
    assert (document.top_level_key, document.parts) == ("state_dict", ("state_dict",))
    assert next(iter(document.index)).startswith("module.")
    let_go(second)


def keys_shown(weights: WeightsWorkspace) -> set[str]:
    model = weights.tensors.model
    rows = [model.row(place) for place in range(model.row_total())]
    return {row.key.split(".")[0] for row in rows if row is not None}
