"""What is closed is let go: nothing in the window keeps what it knew of a file."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from ruda.session import TargetChoice
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.compare import CompareWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]

LAYERS = {f"layers.{n}.weight": (2, 2) for n in range(30)}


def look_at_everything(
    window: MainWindow, weights: WeightsWorkspace, path: Path, settled: Settled
) -> dict[str, weakref.ref[object]]:
    """Open a file and lay it onto itself, renamed; what the window then knows of it."""
    window.open_paths([path])
    settled()
    document = window.context.session.active
    assert document is not None
    operations.choose_target(window.context, document, TargetChoice.of(str(path), is_file=True))
    settled()
    recipe = document.recipe.with_rule(r"^layers\.", "blocks.")
    window.context.session.edit(document.id, "Rename", recipe)
    for view, table in (
        ("tensors", weights.tensors.table),
        ("diff", weights.diff.table),
        ("convert", weights.convert.table),
    ):
        weights.show_view(view)
        settled()
        table.select_row(0)
        settled()
    window.show_workspace("compare")
    compare = window.workspace("compare")
    assert isinstance(compare, CompareWorkspace)
    compare.watch.choose(1, document.id)
    settled()
    laid = weights.watch.laid
    assert laid is not None
    compared = compare.lines.page
    assert compared is not None
    known = {
        "index": document.index,
        "table": weights.watch.table,
        "report": laid.report,
        "rows": laid.rows,
        "view": laid.view,
        "page": weights.tensors.model.page,
        "comparison": compared.lines.table,
    }
    assert None not in known.values()
    return {name: weakref.ref(value) for name, value in known.items()}


def test_a_file_that_changed_meanwhile_is_let_go_with_its_document(
    window: MainWindow, settled: Settled, make_file: MakeFile, qtbot: QtBot
) -> None:
    path = make_file(LAYERS)
    window.open_paths([path])
    settled()
    document = window.context.session.active
    assert document is not None
    index = weakref.ref(document.index)
    del document
    path.unlink()
    window.context.came_to_front.emit()
    qtbot.waitUntil(lambda: bool(window.notices.notices))
    operations.close_active(window.context)
    settled()
    qtbot.waitUntil(lambda: not window.context.aside.is_busy)
    assert index() is None


@pytest.mark.parametrize("others", [False, True], ids=["the last one", "one of two"])
def test_what_is_closed_is_let_go(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    others: bool,
) -> None:
    if others:
        window.open_paths([make_file({"other.weight": (3,)}, name="other.safetensors")])
        settled()
    path = make_file(LAYERS)
    known = look_at_everything(window, weights, path, settled)
    window.show_workspace("weights")
    operations.close_active(window.context)
    settled()
    assert [name for name, value in known.items() if value() is not None] == []
