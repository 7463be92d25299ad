"""Data: what a dataset is, how its classes are spread, and its batches as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from ruda.session import Changes, dataset_page, later, tr
from ruda_workbench import data_operations
from ruda_workbench.action_book import UserAction
from ruda_workbench.batch_watch import BatchWatch
from ruda_workbench.context import Context
from ruda_workbench.panels.data_batch import BatchPanel
from ruda_workbench.panels.data_classes import ClassCard
from ruda_workbench.panels.data_head import DataHead
from ruda_workbench.panels.data_item import ItemPanel
from ruda_workbench.panels.welcome import WelcomePanel, WelcomeText
from ruda_workbench.path_looks import PathLook
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.roomy import Pages
from ruda_workbench.workspaces.workspace import Workspace

WELCOME = WelcomeText(
    name="data.welcome",
    title=later("Open a dataset"),
    note=later(
        "See what is in it, page through its batches as a training would, and run a model on it."
    ),
    drop=later("Drop a folder or a file here"),
    kinds=later("IDX images and labels (MNIST), plain or gzipped"),
    open=later("Open a folder…"),
    open_other=later("Open a file…"),
)


class DataWorkspace(Workspace):
    """The session's dataset."""

    ACTIONS: ClassVar[tuple[UserAction[Any], ...]] = ()

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.watch = BatchWatch(context, self)
        self._item = ItemPanel(context, "item")
        self._pages = Pages()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._pages)
        self.welcome = WelcomePanel(WELCOME)
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self._dataset_page())
        self._connect()
        self._refresh()

    def _dataset_page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M)
        self.head = DataHead()
        self.classes = ClassCard(self.context)
        self.batch = BatchPanel(self.context)
        column.addWidget(self.head)
        column.addWidget(self.classes)
        column.addWidget(self.batch, 1)
        return page

    def _connect(self) -> None:
        self.welcome.open_asked.connect(self.ask_folder)
        self.welcome.other_asked.connect(self.ask_file)
        self.welcome.sample_asked.connect(self._sample)
        self.welcome.guide_asked.connect(self._guide)
        self.welcome.recent_asked.connect(self._recent)
        self.head.open_asked.connect(self.ask_folder)
        self.head.split_picked.connect(self._split)
        self.head.run_asked.connect(self._run)
        self.watch.page_read.connect(self._page_read)
        self.batch.item_shown.connect(self._item.show_item)
        self.context.changed.connect(self._changed)

    # The contract

    def inspector(self) -> ItemPanel:
        """The item that is chosen."""
        return self._item

    def wants_inspector(self) -> bool:
        """Only while a dataset is open."""
        return self.context.session.dataset is not None

    def summary(self) -> str:
        """``1 000 items · batch 3 of 32``."""
        opened, batch = self.context.session.dataset, self.context.session.batch
        if opened is None:
            return tr("No dataset is open")
        batches = batch.batches(len(opened.dataset))
        return tr(
            "{items} · batch {batch} of {batches}",
            items=dataset_page(opened).count,
            batch=batch.number + 1,
            batches=batches,
        )

    def findings(self) -> tuple[str, ...]:
        """Items of the batch that cannot be read."""
        page = self.watch.page
        return () if page is None else tuple(t.problem for t in page.tiles if t.problem)

    def accepts(self, found: PathLook, *, in_front: bool) -> bool:
        """Datasets by their names; while it is in front, every folder."""
        return found.is_dataset or (in_front and found.is_folder)

    def open_path(self, path: Path) -> None:
        """Open a dataset."""
        data_operations.open_dataset(self.context, path)

    def ask_open(self) -> bool:
        """A dataset's folder."""
        self.ask_folder()
        return True

    def entered(self) -> None:
        """Read what is shown, and let the keys page at once."""
        self._refresh()
        if self.wants_inspector():
            self.batch.grid.setFocus()

    def left(self) -> None:
        """Drop the questions that are open."""
        self.watch.stop()
        self.classes.leave()
        self._item.leave()

    def set_dropping(self, *, active: bool) -> None:
        """Light up the drop zone."""
        self.welcome.set_dropping(active=active)

    # Gestures

    def ask_folder(self) -> None:
        """Ask for a folder and open it as a dataset."""
        start = str(self.context.folder)
        found = QFileDialog.getExistingDirectory(self, tr("Open a dataset"), start)
        if found:
            self.open_path(Path(found))

    def ask_file(self) -> None:
        """Ask for a file of a dataset and open it."""
        start = str(self.context.folder)
        kinds = tr("IDX images (*images*idx*);;All files (*)")
        found, _ = QFileDialog.getOpenFileName(self, tr("Open a dataset file"), start, kinds)
        if found:
            self.open_path(Path(found))

    def _guide(self) -> None:
        self.context.guide_wanted.emit("data")

    def _sample(self) -> None:
        data_operations.open_sample(self.context)

    def _recent(self, path: str) -> None:
        self.open_path(Path(path))

    def _split(self, split: str) -> None:
        data_operations.choose_split(self.context, split)

    def _run(self) -> None:
        self.context.workspace_wanted.emit("run")

    # Drawing

    def _changed(self, changes: Changes) -> None:
        if changes & Changes.DATASET:
            self.batch.forget()
            if self.isVisible():
                self.batch.grid.setFocus()
        if changes & (Changes.DATASET | Changes.BATCH):
            self._refresh()
            self.context.summary_changed.emit()

    def _refresh(self) -> None:
        opened, batch = self.context.session.dataset, self.context.session.batch
        self._pages.setCurrentIndex(0 if opened is None else 1)
        if opened is None:
            recents = tuple(r for r in self.context.storage.recents if r.kind == "dataset")
            has_sample = data_operations.has_sample(self.context)
            self.welcome.show_page(recents, has_sample=has_sample)
            self._item.show_nothing()
            self.watch.look()
            return
        self.head.show_page(dataset_page(opened))
        self.batch.show_choice(batch, batch.batches(len(opened.dataset)))
        if self.isVisible():
            self.classes.show_dataset(opened)
            self.watch.look()

    def _page_read(self) -> None:
        self.batch.show_page(self.watch.page, self.watch.problem)
        self.context.summary_changed.emit()


def _has_dataset(workspace: DataWorkspace) -> bool:
    return data_operations.has_dataset(workspace.context)


def _ask_folder(workspace: DataWorkspace) -> None:
    workspace.ask_folder()


def _ask_file(workspace: DataWorkspace) -> None:
    workspace.ask_file()


def _sample(workspace: DataWorkspace) -> None:
    data_operations.open_sample(workspace.context)


def _has_sample(workspace: DataWorkspace) -> bool:
    return data_operations.has_sample(workspace.context)


def _next(workspace: DataWorkspace) -> None:
    data_operations.step_batch(workspace.context, 1)


def _previous(workspace: DataWorkspace) -> None:
    data_operations.step_batch(workspace.context, -1)


def _shuffle(workspace: DataWorkspace) -> None:
    workspace.batch.pager.shuffle.toggle()


def _close(workspace: DataWorkspace) -> None:
    data_operations.close_dataset(workspace.context)


DataWorkspace.ACTIONS = (
    UserAction(
        "data.open",
        later("Open a dataset…"),
        _ask_folder,
        later("Data"),
        icon="open",
        words=later("folder"),
    ),
    UserAction(
        "data.open-file",
        later("Open a dataset file…"),
        _ask_file,
        later("Data"),
        icon="file",
        words=later("idx"),
    ),
    UserAction(
        "data.sample",
        later("Open the sample digits"),
        _sample,
        later("Data"),
        icon="sample",
        available=_has_sample,
    ),
    UserAction(
        "data.next",
        later("Next batch"),
        _next,
        later("Data"),
        icon="chevron-right",
        keys="Alt+Right",
        available=_has_dataset,
    ),
    UserAction(
        "data.previous",
        later("Previous batch"),
        _previous,
        later("Data"),
        icon="chevron-left",
        keys="Alt+Left",
        available=_has_dataset,
    ),
    UserAction(
        "data.shuffle",
        later("Shuffle the batches"),
        _shuffle,
        later("Data"),
        icon="shuffle",
        available=_has_dataset,
        words=later("seed order random"),
    ),
    UserAction(
        "data.close",
        later("Close the dataset"),
        _close,
        later("Data"),
        icon="close",
        available=_has_dataset,
    ),
)
