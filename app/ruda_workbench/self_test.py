"""``ruda-workbench --self-test``: one real story in a real window, offscreen, in a few seconds."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ruda.session import SaveOptions, TargetChoice
from ruda.store import open_store
from ruda_workbench import assets, data_operations, operations, save_operations
from ruda_workbench import recipe_operations as edits
from ruda_workbench.application import application, build_window, let_go, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import Storage
from ruda_workbench.workspaces.run import RunWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

ACCURACY = 0.97
"""What the sample's model reaches on its digits at least."""


def self_test() -> int:
    """Open the sample, compare, take the suggestions, save, read back, run. 0 if all went well."""
    with tempfile.TemporaryDirectory() as folder:
        window = build_window(application(), Storage(Path(folder) / "config"))
        window.show()
        try:
            problem = _story(window, Path(folder) / "saved.safetensors")
        finally:
            let_go(window)
    if problem:
        sys.stderr.write(f"ruda-workbench --self-test: {problem}\n")
        return 1
    sys.stdout.write("ruda-workbench --self-test: all went well\n")
    return 0


def _story(window: MainWindow, out: Path) -> str:
    """What went wrong; empty for nothing."""
    context = window.context
    path = assets.sample_weights()
    if path is None:
        return "the sample is not installed"
    operations.open_document(context, path, target=TargetChoice.of("digits"), remember=False)
    settle(window)
    workspace = window.workspace("weights")
    assert isinstance(workspace, WeightsWorkspace)
    make_green(window)
    document, laid = workspace.watch.document, workspace.watch.laid
    if document is None or laid is None or laid.report is None or laid.view is None:
        return "the sample was not compared"
    if not laid.report.is_complete:
        return f"the sample does not load: {laid.report.banner}"
    save_operations.save(context, document, laid.view, SaveOptions(out, verify=True))
    settle(window)
    if not out.exists():
        return "; ".join(f"{n.title}: {n.text}" for n in window.notices.notices)
    with open_store(out) as saved:
        same = set(saved) == set(laid.view)
    return _run_story(window) if same else "the saved file has other keys"


def _run_story(window: MainWindow) -> str:
    data_operations.open_sample(window.context, show=False)
    settle(window)
    window.book.run("run.dataset")
    settle(window)
    workspace = window.workspace("run")
    assert isinstance(workspace, RunWorkspace)
    page, watch = workspace.watch.page, workspace.watch
    if page.accuracy is None:
        return f"the sample was not run: {watch.setup.problem or watch.failure}"
    return "" if page.accuracy >= ACCURACY else f"the sample runs badly: {page.headline}"


def make_green(window: MainWindow, *, most: int = 4) -> None:
    """Take the first suggestion of the load diff until none is left."""
    workspace = window.workspace("weights")
    assert isinstance(workspace, WeightsWorkspace)
    for _ in range(most):
        document, laid = workspace.watch.document, workspace.watch.laid
        if document is None or laid is None or laid.report is None or not laid.report.hints:
            return
        if laid.report.is_complete:
            return
        edits.take_hint(window.context, document, laid.report.hints[0])
        settle(window)
