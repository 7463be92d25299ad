"""The drawer under the workspaces: jobs, the history of the document in front, past messages."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from ruda.session import JobNews, history_lines, job_lines, tr
from ruda_workbench.context import Context
from ruda_workbench.item_models.history_table import HistoryTableModel
from ruda_workbench.item_models.job_table import JobTableModel
from ruda_workbench.item_models.message_table import MessageTableModel
from ruda_workbench.tokens import Size, Space
from ruda_workbench.widgets.buttons import Segments, icon_button, push_button
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.labels import ElidedLabel
from ruda_workbench.widgets.notices import Notice

HEIGHT = 220
REFRESH = 120
"""Milliseconds between two paintings of the jobs' progress."""
VIEWS = ("jobs", "history", "messages")


class Drawer(QFrame):
    """Three lists that explain what happens and what happened; hidden until it is asked for."""

    closed = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("Drawer")
        self._context = context
        self.setMinimumHeight(120)
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.setInterval(REFRESH)
        self._clock.timeout.connect(self._show_jobs)
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.L, Space.S, Space.M, Space.S)
        column.setSpacing(Space.S)
        column.addLayout(self._head())
        self._pages = QStackedWidget()
        for page in (self._jobs_page(), self._history_page(), self._messages_page()):
            self._pages.addWidget(page)
        column.addWidget(self._pages, 1)
        context.jobs.news.connect(self._news)
        self.hide()

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        titles = (tr("Jobs"), tr("History"), tr("Messages"))
        self.views = Segments(tuple(zip(VIEWS, titles, strict=True)), "drawer.views")
        self.views.chosen.connect(self.show_view)
        self._words = ElidedLabel(ink="dim")
        self._words.setObjectName("drawer.words")
        self.stop = push_button(tr("Stop"), "drawer.stop")
        self.copy = push_button(tr("Copy report"), "drawer.copy")
        close = icon_button("close", tr("Close the drawer"), "drawer.close")
        row.addWidget(self.views)
        row.addWidget(self._words, 1)
        for widget in (self.stop, self.copy, close):
            row.addWidget(widget)
        self.stop.clicked.connect(self._stop)
        self.copy.clicked.connect(self._copy)
        close.clicked.connect(self.closed)
        return row

    def _jobs_page(self) -> QWidget:
        self.jobs = DataTable("drawer.jobs", tr("Jobs"))
        self.jobs.empty_text = tr("No job has run yet.")
        self.job_model = JobTableModel()
        return self._page(self.jobs, self.job_model)

    def _history_page(self) -> QWidget:
        self.history = DataTable("drawer.history", tr("History of the document"))
        self.history.empty_text = tr("No document is open.")
        self.history_model = HistoryTableModel()
        self.history.clicked.connect(self._go)
        self.history.activated.connect(self._go)
        return self._page(self.history, self.history_model)

    def _messages_page(self) -> QWidget:
        self.messages = DataTable("drawer.messages", tr("Messages"))
        self.messages.empty_text = tr("No messages yet.")
        self.message_model = MessageTableModel()
        return self._page(self.messages, self.message_model)

    def _page(
        self, table: DataTable, model: JobTableModel | HistoryTableModel | MessageTableModel
    ) -> QWidget:
        table.set_row_height(Size.ROW_COMPACT)
        model.setParent(self)
        table.setModel(model)
        table.row_shown.connect(self._buttons)
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(1, 1, 1, 1)
        inner.addWidget(table)
        return card

    # Showing

    def show_view(self, name: str) -> None:
        """Show one of ``VIEWS``."""
        self.views.choose(name)
        self._pages.setCurrentIndex(VIEWS.index(name))
        self.refresh()

    def refresh(self) -> None:
        """Draw what is there now."""
        self._show_jobs()
        self.show_history()
        self._buttons()

    def show_history(self) -> None:
        """Draw the history of the document in front."""
        if not self.isVisible():
            return
        document = self._context.session.active
        if document is None:
            self.history_model.show_lines(())
            return
        history = self._context.session.history(document.id)
        self.history_model.show_lines(history_lines(history))
        self.history.select_row(history.position)
        self._words.set_text(document.name if self.views.value == "history" else "")

    def add_message(self, notice: Notice) -> None:
        """Remember a notice."""
        self.message_model.add(notice)
        self._buttons()

    def _news(self, news: JobNews) -> None:
        if self.isVisible() and not self._clock.isActive():
            self._clock.start()

    def _show_jobs(self) -> None:
        if not self.isVisible():
            return
        jobs = self._context.jobs
        current = self.job_model.line(self.jobs.currentIndex().row())
        live = [job.news for job in jobs.running if not job.state.is_final]
        self.job_model.show_lines(job_lines(live, jobs.past))
        row = -1 if current is None else self.job_model.row_of(current.id)
        if row >= 0 and row != self.jobs.currentIndex().row():
            self.jobs.select_row(row)
        self._buttons()

    def _buttons(self, _row: int = 0) -> None:
        view = self.views.value
        job = self.job_model.line(self.jobs.currentIndex().row())
        self.stop.setVisible(view == "jobs")
        self.stop.setEnabled(job is not None and job.can_stop)
        self.copy.setVisible(view in ("jobs", "messages"))
        self.copy.setEnabled(bool(self._report()))
        if view != "history":
            self._words.set_text("")

    def _report(self) -> str:
        """What Copy report would copy of the row that is chosen."""
        if self.views.value == "jobs":
            job = self.job_model.line(self.jobs.currentIndex().row())
            return "" if job is None else job.report
        notice = self.message_model.notice(self.messages.currentIndex().row())
        if notice is None:
            return ""
        return notice.report or f"{notice.title}\n{notice.text}".strip()

    # Gestures

    def _stop(self) -> None:
        chosen = self.job_model.line(self.jobs.currentIndex().row())
        for job in self._context.jobs.running:
            if chosen is not None and job.id == chosen.id:
                job.cancel()

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._report())

    def _go(self, index: QModelIndex) -> None:
        line, document = self.history_model.line(index.row()), self._context.session.active
        if line is not None and document is not None and not line.is_current:
            self._context.session.go(document.id, line.position)
