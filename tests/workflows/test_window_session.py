"""What a session keeps: documents, recipes and views over a close, and over a crash."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from ruda.session import DocumentState, RuleDraft, SessionState
from ruda_workbench import operations
from ruda_workbench import storage as storage_module
from ruda_workbench.application import build_window, restore_session, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import ABSENT_LIMIT, Storage
from ruda_workbench.widgets.notices import Notice
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
    second.context.storage.finish()
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
    (notice,) = second.notices.notices
    assert notice.title == "bad.safetensors was not opened"
    assert [kept.path for kept in second.context.storage.absent] == [str(paths[1])]
    dict(notice.buttons)["Forget it"]()
    assert second.context.storage.absent == ()
    let_go(second)


def test_a_crash_loses_no_recipe(
    qapp: QApplication, window: MainWindow, storage: Storage, make_file: Callable[..., Path]
) -> None:
    edit(window, make_file(SHAPES))
    window._keep_recovery()  # the timer of the last edit
    storage.finish()
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
    (notice,) = second.notices.notices
    assert notice.title == "Not found any more"
    assert notice.text.startswith(f"{path.name}. Files come back with their recipes")
    let_go(second)


@pytest.mark.parametrize("way", ["the next start", "looking again", "by hand", "forgotten"])
def test_a_file_that_was_away_comes_back_with_its_recipe(
    qapp: QApplication,
    window: MainWindow,
    storage: Storage,
    make_file: Callable[..., Path],
    way: str,
) -> None:
    other, path = make_file(SHAPES, "other.safetensors"), make_file(SHAPES)
    window.open_paths([other])
    settle(window)
    edit(window, path)
    window.close()
    stick = path.rename(path.with_suffix(".away"))
    second = again(qapp, storage)
    assert [d.path for d in second.context.session.documents] == [other]
    second._keep_recovery()
    second.context.storage.finish()
    let_go(second)
    third = again(qapp, storage)
    stick.rename(path)
    buttons = dict(third.notices.notices[0].buttons)
    if way == "looking again":
        buttons["Look again"]()
    elif way == "by hand":
        third.open_paths([path])
    elif way == "forgotten":
        buttons["Forget them"]()
    settle(third)
    if way in ("the next start", "forgotten"):
        let_go(third)
        third = again(qapp, storage)
    documents = third.context.session.documents
    assert [d.path for d in documents] == ([other] if way == "forgotten" else [other, path])
    if way != "forgotten":
        assert [rule.pattern for rule in documents[1].recipe.remap.rules] == [r"^module\."]
        assert documents[1].target is not None
        assert third.context.session.dirty == (documents[1],)
    assert third.context.storage.absent == ()
    let_go(third)


def test_a_session_whose_opening_is_stopped_is_not_lost(
    qapp: QApplication,
    window: MainWindow,
    storage: Storage,
    make_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edit(window, make_file(SHAPES))
    window.close()
    go_on, real = threading.Event(), operations.open_part

    def slow(*args: object, **more: object) -> object:
        assert go_on.wait(20)
        return real(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(operations, "open_part", slow)
    second = build_window(qapp, Storage(storage.folder), theme="light")
    restore_session(second)
    second.stop_job()
    go_on.set()
    settle(second)
    assert second.context.session.documents == ()
    (notice,) = second.notices.notices
    assert (notice.title, notice.text) == ("The last session was not opened", "made.safetensors")
    dict(notice.buttons)["Look again"]()
    settle(second)
    (document,) = second.context.session.dirty
    assert [rule.pattern for rule in document.recipe.remap.rules] == [r"^module\."]
    let_go(second)


def test_only_so_many_files_that_are_away_are_carried_along(storage: Storage) -> None:
    many = [DocumentState(str(number)) for number in range(ABSENT_LIMIT + 5)]
    storage.opened_again(documents=True, absent=many)
    assert storage.absent == tuple(many[:ABSENT_LIMIT])


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
    (notice,) = window.notices.notices
    assert notice.title == "A file of the workbench was not understood"
    assert name in notice.text
    let_go(window)


@pytest.mark.parametrize("kept", ["session", "settings"])
def test_what_cannot_be_kept_is_said_once_until_it_can(
    window: MainWindow,
    storage: Storage,
    make_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    kept: str,
) -> None:
    writer = {"session": "write_state", "settings": "write_settings"}[kept]

    def keep() -> None:
        if kept == "session":
            window._keep_recovery()
            storage.finish()
        else:
            storage.change(show_memory=False)
        settle(window)

    window.open_paths([make_file(SHAPES)])
    settle(window)
    keep()
    assert window.notices.notices == ()
    notices: list[Notice] = []
    window.context.noticed.connect(notices.append)
    for _ in range(2):
        with monkeypatch.context() as full:
            full.setattr(storage_module, writer, refuse)
            keep()
            keep()
        keep()
    assert [n.title for n in notices] == ["The workbench cannot write its own files"] * 2
    assert f"the {kept} " in notices[0].text
    assert "No space left" in notices[0].text


def test_a_clean_end_that_cannot_be_kept_leaves_the_recovery(
    window: MainWindow,
    storage: Storage,
    make_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edit(window, make_file(SHAPES))
    window._keep_recovery()
    storage.finish()
    monkeypatch.setattr(storage_module, "write_state", refuse)
    window.close()
    state, crashed = Storage(storage.folder).last_session()
    assert crashed
    assert state is not None
    assert len(state.documents) == 1


def refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_what_a_crash_would_lose_is_written_aside(
    window: MainWindow,
    storage: Storage,
    make_file: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slow disk holds nobody up, and of what waits only the last is written."""
    edit(window, make_file(SHAPES))
    settle(window)
    storage.finish()
    go_on, written = threading.Event(), []

    def slow(file: Path, state: SessionState) -> None:
        assert threading.current_thread() is not threading.main_thread()
        assert go_on.wait(20)
        written.append((file.name, state.workspace))

    monkeypatch.setattr(storage_module, "write_state", slow)
    for workspace in ("one", "two", "three"):
        storage.keep_recovery(window.context.session, workspace, "")
    assert storage.is_busy
    go_on.set()
    storage.finish()
    assert not storage.is_busy
    assert written[-1] == ("recovery.json", "three")
    assert len(written) <= 2
    monkeypatch.undo()


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
