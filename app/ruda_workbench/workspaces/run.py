"""Run: the model with the open weights on the batch that is looked at, or on the whole dataset."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ruda.models import architectures
from ruda.session import Changes, Remedy, later, say, tr
from ruda_workbench import operations
from ruda_workbench.action_book import UserAction
from ruda_workbench.batch_watch import BatchWatch
from ruda_workbench.context import Context
from ruda_workbench.panels.data_item import ItemPanel
from ruda_workbench.panels.run_batch import RunBatchPanel
from ruda_workbench.panels.run_dataset import RunDatasetPanel
from ruda_workbench.panels.run_head import RunHead
from ruda_workbench.panels.run_layers import LayersPanel
from ruda_workbench.panels.run_missing import MissingCard
from ruda_workbench.run_watch import RunWatch
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import Segments
from ruda_workbench.widgets.roomy import Pages
from ruda_workbench.workspaces.workspace import Workspace

VIEWS = (
    ("batch", later("Batch")),
    ("layers", later("Layers")),
    ("dataset", later("Whole dataset")),
)
_LOOKED_AT = (
    Changes.DOCUMENTS
    | Changes.ACTIVE
    | Changes.RECIPE
    | Changes.TARGET
    | Changes.DATASET
    | Changes.BATCH
)


class RunWorkspace(Workspace):
    """The document in front, as a model, on the session's dataset."""

    ACTIONS: ClassVar[tuple[UserAction[Any], ...]] = ()

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.watch = RunWatch(context, self)
        self.batch_watch = BatchWatch(context, self)
        self._item = ItemPanel(context, "run-item")
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M)
        self.head = RunHead()
        self.head.offer(tuple((a.name, f"{a.name}   {say(a.title)}") for a in architectures()))
        column.addWidget(self.head)
        self._pages = Pages()
        column.addWidget(self._pages, 1)
        self.missing = MissingCard()
        self._pages.addWidget(self.missing)
        self._pages.addWidget(self._results())
        self._connect()
        self._draw()

    def _results(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        row = QHBoxLayout()
        self.views = Segments([(v, tr(text)) for v, text in VIEWS], "run.views")
        row.addWidget(self.views)
        row.addStretch(1)
        column.addLayout(row)
        self.banner = Banner("run.banner")
        column.addWidget(self.banner)
        self.batch = RunBatchPanel(self.context)
        self.layers = LayersPanel()
        self.dataset = RunDatasetPanel()
        self._view_pages = Pages()
        for panel in (self.batch, self.layers, self.dataset):
            self._view_pages.addWidget(panel)
        column.addWidget(self._view_pages, 1)
        return page

    def _connect(self) -> None:
        self.head.model_picked.connect(self.watch.choose)
        self.head.batch_asked.connect(self.run_batch)
        self.head.dataset_asked.connect(self.run_dataset)
        self.head.stop_asked.connect(self.watch.stop_dataset)
        self.dataset.run_asked.connect(self.run_dataset)
        self.missing.mend_asked.connect(self._mend)
        self.missing.sample_asked.connect(self._sample)
        self.banner.pressed.connect(self._show_diff)
        self.batch.strip.more_asked.connect(self._show_layers)
        self.batch.item_shown.connect(self._show_item)
        self.dataset.item_shown.connect(self._show_item)
        self.views.chosen.connect(self.show_view)
        self.watch.changed.connect(self._draw)
        self.batch_watch.page_read.connect(self._draw)
        self.context.changed.connect(self._changed)

    # The contract

    def inspector(self) -> ItemPanel:
        """The item that is chosen, with what the model said of it."""
        return self._item

    def wants_inspector(self) -> bool:
        """Unless something is missing."""
        return self._pages.currentIndex() == 1

    def summary(self) -> str:
        """The setup in short."""
        setup = self.watch.setup
        return " · ".join(part for part in (setup.model, setup.batch) if part) or tr(
            "Nothing to run"
        )

    def findings(self) -> tuple[str, ...]:
        """Parameters that keep their initial value."""
        caution = self.watch.setup.caution
        return (caution,) if caution else ()

    def entered(self) -> None:
        """Look at the session."""
        self.watch.look()
        self.batch_watch.look()
        if self.wants_inspector():
            self.batch.grid.setFocus()

    def left(self) -> None:
        """Drop the questions that are open; what runs goes on."""
        self.watch.stop()
        self.batch_watch.stop()
        self._item.leave()

    # Gestures

    def show_view(self, name: str) -> None:
        """Show the batch, the layers or the whole dataset."""
        self.views.choose(name)
        self._view_pages.setCurrentIndex([value for value, _ in VIEWS].index(name))
        self._show_item()
        self.context.summary_changed.emit()

    def run_batch(self) -> None:
        """Show this screen and run the batch."""
        self.context.workspace_wanted.emit("run")
        if self.views.value == "dataset":
            self.show_view("batch")
        self.watch.run_batch()

    def run_dataset(self) -> None:
        """Show this screen and run every item."""
        self.context.workspace_wanted.emit("run")
        self.show_view("dataset")
        self.watch.run_dataset()

    def _mend(self, remedy: Remedy) -> None:
        if remedy is Remedy.MODEL:
            self.head.model.showMenu()
        elif remedy is Remedy.DATASET:
            self.context.workspace_wanted.emit("data")
        elif remedy is Remedy.DIFF:
            self._show_diff()
        elif remedy is Remedy.SUGGESTION:
            self._take_suggestion()
        elif remedy is Remedy.AGAIN:
            self.watch.look()
        else:
            self.context.workspace_wanted.emit("weights")

    def _show_diff(self) -> None:
        document, choice = self.context.session.active, self.watch.choice
        if document is None:
            return
        operations.choose_target(self.context, document, choice)
        self.context.workspace_wanted.emit("weights")
        book = getattr(self.window(), "book", None)
        if book is not None:
            book.run("weights.diff")

    def _take_suggestion(self) -> None:
        """Take the certain steps into the recipe, as one edit that can be undone."""
        mend, choice = self.watch.mend, self.watch.choice
        if mend is None or choice is None:
            return
        operations.choose_target(self.context, mend.document, choice)
        title = tr("What is suggested for {title}", title=choice.title)
        self.context.session.edit(mend.document.id, title, mend.recipe)

    def _show_layers(self) -> None:
        self.show_view("layers")

    def _sample(self) -> None:
        operations.open_sample(self.context)

    def _show_item(self, index: int = -1) -> None:
        batch, dataset = self.watch.batch, self.watch.dataset
        if self.views.value == "dataset":
            evaluation = None if dataset is None else dataset.evaluation
            self._item.show_item(self.dataset.current_item(), evaluation)
        else:
            self._item.show_item(self.batch.current_item(), None if batch is None else batch.run)

    # Drawing

    def _changed(self, changes: Changes) -> None:
        if changes & _LOOKED_AT and self.isVisible():
            self.watch.look()
            self.batch_watch.look()

    def _draw(self) -> None:
        setup, page, watch = self.watch.setup, self.watch.page, self.watch
        self.head.show_setup(
            setup, running_batch=watch.is_running_batch, running_dataset=watch.is_running_dataset
        )
        self.missing.show_setup(setup, has_sample=operations.has_sample(self.context))
        self._pages.setCurrentIndex(0 if setup.problem else 1)
        self._show_banner(page.warning or setup.caution)
        answer = watch.batch
        tiles = self.batch_watch.page if answer is None else answer.page
        self.batch.show_page(page, tiles, running=watch.is_running_batch)
        self.layers.show_lines(page.layers)
        mistakes = None if watch.dataset is None else watch.dataset.mistakes
        self.dataset.show_page(
            page, mistakes, running=watch.is_running_dataset, can_run=setup.can_run
        )
        self._show_item()
        self.context.summary_changed.emit()

    def _show_banner(self, caution: str) -> None:
        if self.watch.failure:
            self.banner.show_text("error", self.watch.failure)
        else:
            self.banner.show_text("warning", caution, tr("Show the load diff") if caution else "")


def _can_try(workspace: RunWorkspace) -> bool:
    return workspace.watch.question is not None


def _run_batch(workspace: RunWorkspace) -> None:
    workspace.run_batch()


def _run_dataset(workspace: RunWorkspace) -> None:
    workspace.run_dataset()


def _show_batch(workspace: RunWorkspace) -> None:
    _show(workspace, "batch")


def _show_layers(workspace: RunWorkspace) -> None:
    _show(workspace, "layers")


def _show_dataset(workspace: RunWorkspace) -> None:
    _show(workspace, "dataset")


def _show(workspace: RunWorkspace, view: str) -> None:
    workspace.context.workspace_wanted.emit("run")
    workspace.show_view(view)


RunWorkspace.ACTIONS = (
    UserAction(
        "run.batch",
        later("Run the model on the batch"),
        _run_batch,
        later("Run"),
        icon="run",
        keys="Ctrl+R",
        available=_can_try,
        words=later("predict infer forward"),
    ),
    UserAction(
        "run.dataset",
        later("Run the model on the whole dataset"),
        _run_dataset,
        later("Run"),
        icon="run",
        keys="Ctrl+Alt+R",
        available=_can_try,
        words=later("evaluate accuracy confusion"),
    ),
    UserAction(
        "run.predictions",
        later("Show the predictions of the batch"),
        _show_batch,
        later("Run"),
        icon="image",
    ),
    UserAction(
        "run.layers", later("Show the time per layer"), _show_layers, later("Run"), icon="timer"
    ),
    UserAction(
        "run.confusion",
        later("Show the whole dataset's result"),
        _show_dataset,
        later("Run"),
        icon="data",
    ),
)
