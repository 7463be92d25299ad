"""Compare: two documents beside each other, by their headers and by every value."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QSplitter, QVBoxLayout, QWidget

from ruda.session import CompareOptions, Document, JobNews, later, say, tr
from ruda.store import write_comparison
from ruda_workbench import compare_operations, operations, report_operations
from ruda_workbench.action_book import UserAction
from ruda_workbench.compare_watch import CompareWatch
from ruda_workbench.context import Context
from ruda_workbench.panels.compare_head import CompareHead
from ruda_workbench.panels.compare_lines import CompareLinesPanel
from ruda_workbench.panels.compare_maps import CompareMapsPanel
from ruda_workbench.panels.compare_sides import CompareOptionsCard
from ruda_workbench.panels.welcome import WelcomePanel, WelcomeText
from ruda_workbench.path_looks import PathLook
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.roomy import Pages
from ruda_workbench.workspaces.workspace import Workspace

WELCOME = WelcomeText(
    name="compare.welcome",
    title=later("Compare two files of weights"),
    note=later(
        "See which tensors both have, where their values differ and by how much. "
        "Open the first file, then the second."
    ),
    drop=later("Drop two files here"),
)


class CompareWorkspace(Workspace):
    """Two documents of the session."""

    ACTIONS: ClassVar[tuple[UserAction[Any], ...]] = ()

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.watch = CompareWatch(context, self)
        self._pages = Pages()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._pages)
        self.welcome = WelcomePanel(WELCOME)
        self._pages.addWidget(self.welcome)
        self._pages.addWidget(self._page())
        self._connect()
        self._show_sides()

    def _page(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M)
        self.head = CompareHead()
        self.options = CompareOptionsCard()
        self.lines = CompareLinesPanel(self.context)
        self.maps = CompareMapsPanel(self.context)
        column.addWidget(self.head)
        column.addWidget(self.options)
        splitter = QSplitter(Qt.Orientation.Vertical)
        splitter.setHandleWidth(Space.M)
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(self.lines)
        splitter.addWidget(self.maps)
        splitter.setStretchFactor(0, 3)
        splitter.setStretchFactor(1, 2)
        splitter.setSizes([420, 280])
        column.addWidget(splitter, 1)
        return page

    def _connect(self) -> None:
        self.welcome.open_asked.connect(self.ask_first)
        self.welcome.sample_asked.connect(self._sample)
        self.welcome.guide_asked.connect(self._guide)
        self.welcome.recent_asked.connect(self._recent)
        self.head.picked.connect(self.watch.choose)
        self.head.open_asked.connect(self.ask_side)
        self.head.swap_asked.connect(self.watch.swap)
        self.head.values_asked.connect(self.watch.want_values)
        self.head.stop_asked.connect(self.watch.stop)
        self.head.command_asked.connect(self.copy_command)
        self.head.export_asked.connect(self.ask_export)
        self.options.asked.connect(self._asked)
        self.lines.selected.connect(self.maps.show_rows)
        self.lines.drawn.connect(self._drawn)
        self.watch.chosen.connect(self._show_sides)
        self.watch.compared.connect(self._compared)
        self.watch.waiting.connect(self._waiting)
        self.context.jobs.news.connect(self._news)
        self.context.compare_wanted.connect(self.compare)

    # The contract

    def summary(self) -> str:
        """``98 and 96 tensors``."""
        left, right = self.watch.left, self.watch.right
        if left is None and right is None:
            return tr("Nothing is compared")
        counts = ("–" if d is None else str(len(d.index)) for d in (left, right))
        return tr("{left} and {right} tensors", **dict(zip(("left", "right"), counts, strict=True)))

    def findings(self) -> tuple[str, ...]:
        """Notes of the comparison."""
        table = self.watch.table
        return () if table is None else tuple(map(say, table.report.notes))

    def accepts(self, found: PathLook, *, in_front: bool) -> bool:
        """While it is in front, every file."""
        return in_front and not found.is_folder

    def open_path(self, path: Path) -> None:
        """Open a file for the side that is free."""
        operations.open_document(self.context, path, show="compare", done=self._opened)

    def ask_open(self) -> bool:
        """A file for the side that is free."""
        self.ask_side(0 if self.watch.left is None else 1)
        return True

    def focus_search(self) -> bool:
        """The filter of the table."""
        self.lines.filter.setFocus()
        self.lines.filter.selectAll()
        return True

    def step_problem(self, by: int) -> bool:
        """The next or previous row that differs."""
        self.lines.step(by)
        return True

    def entered(self) -> None:
        """Take the documents that are open, if none was chosen yet."""
        documents = self.context.session.documents
        if self.watch.left is None and self.watch.right is None and documents:
            active = self.context.session.active
            first = active if active is not None else documents[0]
            self.watch.choose(0, first.id)
            others = [d for d in documents if d is not first]
            if others:
                self.watch.choose(1, others[0].id)
        self.watch.refresh()
        self._show_sides()

    def left(self) -> None:
        """Drop what is only looked at; a comparison that runs goes on."""
        self.lines.leave()
        self.maps.leave()

    def set_dropping(self, *, active: bool) -> None:
        """Light up the drop zone."""
        self.welcome.set_dropping(active=active)

    # Gestures

    def compare(self, left: int, right: int, options: CompareOptions) -> None:
        """Put two documents beside each other, compare their values, and come to the front."""
        self.watch.choose(0, left)
        self.watch.choose(1, right)
        self.watch.ask_with(options)
        self.watch.want_values()
        self.context.workspace_wanted.emit("compare")

    def copy_command(self) -> None:
        """Copy the command that gives the same answer."""
        compare_operations.copy_command(self.context, self.watch)

    def ask_first(self) -> None:
        """Ask for one file or two."""
        found, _ = QFileDialog.getOpenFileNames(
            self, tr("Compare two files"), str(self.context.folder)
        )
        for name in found[:2]:
            self.open_path(Path(name))

    def ask_side(self, side: int) -> None:
        """Ask for the file of a side."""
        found, _ = QFileDialog.getOpenFileName(
            self, tr("Open a file to compare"), str(self.context.folder)
        )
        if found:

            def done(document: Document) -> None:
                self.watch.choose(side, document.id)

            operations.open_document(self.context, Path(found), show="compare", done=done)

    def ask_export(self) -> None:
        """Ask where the report goes and write it."""
        table = self.watch.table
        if table is None:
            return
        report_operations.ask_and_export(
            self.context,
            self,
            tr("Export the comparison"),
            "comparison.html",
            partial(write_comparison, table.report),
        )

    def _opened(self, document: Document) -> None:
        self.watch.fill(document.id)

    def _asked(self, options: CompareOptions) -> None:
        self.watch.ask_with(options)

    def _guide(self) -> None:
        self.context.guide_wanted.emit("compare")

    def _sample(self) -> None:
        operations.open_sample(self.context)

    def _recent(self, path: str) -> None:
        self.open_path(Path(path))

    # Drawing

    def _show_sides(self) -> None:
        documents = self.context.session.documents
        left, right = self.watch.left, self.watch.right
        self._pages.setCurrentIndex(1 if documents else 0)
        if not documents:
            recents = tuple(r for r in self.context.storage.recents if r.kind == "weights")
            self.welcome.show_page(recents, has_sample=operations.has_sample(self.context))
        chosen = (None if left is None else left.id, None if right is None else right.id)
        self.head.offer(documents, chosen)
        self.options.show_options(self.watch.options)
        self._buttons()
        self.context.summary_changed.emit()

    def _compared(self) -> None:
        self.options.show_options(self.watch.options)
        self.lines.show_table(self.watch.table, self.watch.problem)
        self._buttons()

    def _drawn(self) -> None:
        self.head.show_page(self.lines.page, self.watch.problem)
        self.context.summary_changed.emit()

    def _waiting(self) -> None:
        running = self.watch.job_id is not None
        self.head.show_running(on=running, values=self.watch.options.values)
        self._buttons()

    def _buttons(self) -> None:
        idle = self.watch.job_id is None
        table = self.watch.table
        self.head.can(compare=self.watch.is_ready and idle, export=table is not None and idle)

    def _news(self, news: JobNews) -> None:
        if news.job_id == self.watch.job_id and not news.state.is_final:
            self.head.show_news(news)


def _is_ready(workspace: CompareWorkspace) -> bool:
    return workspace.watch.is_ready


def _has_table(workspace: CompareWorkspace) -> bool:
    return workspace.watch.table is not None


def _values(workspace: CompareWorkspace) -> None:
    workspace.context.workspace_wanted.emit("compare")
    workspace.watch.want_values()


def _swap(workspace: CompareWorkspace) -> None:
    workspace.watch.swap()


def _export(workspace: CompareWorkspace) -> None:
    workspace.ask_export()


CompareWorkspace.ACTIONS = (
    UserAction(
        "compare.values",
        later("Compare values"),
        _values,
        later("Compare"),
        icon="compare",
        keys="Ctrl+Shift+V",
        available=_is_ready,
        words=later("difference tolerance every"),
    ),
    UserAction(
        "compare.swap",
        later("Let the sides change places"),
        _swap,
        later("Compare"),
        icon="swap",
        available=_is_ready,
    ),
    UserAction(
        "compare.export",
        later("Export the comparison…"),
        _export,
        later("Compare"),
        icon="export",
        available=_has_table,
        words=later("report html csv json markdown"),
    ),
)
