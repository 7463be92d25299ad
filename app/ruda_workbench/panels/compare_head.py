"""The head of a comparison: "this file and that file", one line of facts, and the buttons."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from ruda.session import ComparePage, Document, JobNews, tr
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.bars import ProgressStrip
from ruda_workbench.widgets.buttons import Picker, icon_button, push_button
from ruda_workbench.widgets.labels import ElidedLabel, label
from ruda_workbench.widgets.status_line import job_text

OPEN = "\0open"
PATIENCE = 300
"""Milliseconds of comparing headers after which its progress is shown."""


class CompareHead(QWidget):
    """Names both documents; each is picked in the sentence itself."""

    picked = Signal(int, int)
    """Side and document: 0 is the left side."""
    open_asked = Signal(int)
    """A file is to be opened for this side."""
    swap_asked = Signal()
    values_asked = Signal()
    stop_asked = Signal()
    command_asked = Signal()
    export_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._values = False
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE)
        self._patience.timeout.connect(self._show_strip)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(Space.S)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addLayout(self._sentence())
        column.addWidget(self._second_line())
        outer.addLayout(column, 1)
        self._command = push_button(tr("Copy command"), "compare.command")
        self._export = push_button(tr("Export…"), "compare.export")
        self.values = push_button(tr("Compare values"), "compare.values", primary=True)
        for button in (self._command, self._export, self.values):
            outer.addWidget(button)
        self._command.clicked.connect(self.command_asked)
        self._export.clicked.connect(self.export_asked)
        self.values.clicked.connect(self.values_asked)

    def _sentence(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(6)
        self.sides = (
            Picker("compare.left", tr("Left document"), quiet=True, flush=True),
            Picker("compare.right", tr("Right document"), quiet=True),
        )
        for picker in self.sides:
            picker.setFont(text_font(Type.TITLE, bold=True))
            # Names may be long: they are shortened before the buttons are pushed out.
            picker.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.sides[0].picked.connect(self._left_picked)
        self.sides[1].picked.connect(self._right_picked)
        swap = icon_button("swap", tr("Let the sides change places"), "compare.swap")
        swap.clicked.connect(self.swap_asked)
        row.addWidget(self.sides[0])
        row.addWidget(ElidedLabel(tr("and"), font=text_font(Type.TITLE), ink="dim"))
        row.addWidget(self.sides[1])
        row.addWidget(swap)
        row.addStretch(1)
        return row

    def _second_line(self) -> QStackedWidget:
        self._lines = QStackedWidget()
        self._lines.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        facts = QWidget()
        row = QHBoxLayout(facts)
        row.setContentsMargins(0, 0, 0, 0)
        self._facts = ElidedLabel(ink="dim")
        self._facts.setObjectName("compare.facts")
        row.addWidget(self._facts, 1)
        running = QWidget()
        second = QHBoxLayout(running)
        second.setContentsMargins(0, 0, 0, 0)
        second.setSpacing(Space.S)
        self._strip = ProgressStrip()
        self._running = label(role="dim")
        self._running.setObjectName("compare.progress")
        stop = push_button(tr("Stop"), "compare.stop", link=True)
        stop.setProperty("small", True)
        stop.clicked.connect(self.stop_asked)
        for widget in (self._strip, self._running, stop):
            second.addWidget(widget)
        second.addStretch(1)
        self._lines.addWidget(facts)
        self._lines.addWidget(running)
        self._lines.setFixedHeight(26)
        return self._lines

    # Showing

    def offer(self, documents: tuple[Document, ...], chosen: tuple[int | None, int | None]) -> None:
        """Offer the open documents for both sides."""
        names = [document.name for document in documents]
        for picker, number in zip(self.sides, chosen, strict=True):
            offers = [(str(d.id), _title(d, names)) for d in documents]
            if offers:
                offers.append(("-", ""))
            offers.append((OPEN, tr("Open a file…")))
            picker.offer(offers, "" if number is None else str(number))
            if number is None:
                picker.show_value("", tr("choose a document"))

    def show_page(self, page: ComparePage | None, problem: str) -> None:
        """Say how alike both are, or why that is not known."""
        text = problem
        if page is not None and not problem:
            text = f"{page.headline} · {page.summary}"
        self._facts.set_ink("error" if problem else "dim")
        self._facts.set_text(text)

    @property
    def facts(self) -> str:
        """The line of facts."""
        return self._facts.text()

    def can(self, *, compare: bool, export: bool) -> None:
        """Enable what can be done now."""
        self.values.setEnabled(compare)
        self._command.setEnabled(compare)
        self._export.setEnabled(export)

    def show_running(self, *, on: bool, values: bool) -> None:
        """Show the strip of a job, or the facts again.

        Headers of small files are compared in no time: their strip comes only where it lasts.
        """
        self._values = values
        self._patience.stop()
        if on and not values:
            self._patience.start()
        self._lines.setCurrentIndex(1 if on and values else 0)
        if not on:
            self._running.setText("")
            self._strip.set_fraction(None)

    def _show_strip(self) -> None:
        self._lines.setCurrentIndex(1)

    def show_news(self, news: JobNews) -> None:
        """Say how far the comparison is."""
        self._strip.set_fraction(None if news.progress is None else news.progress.fraction)
        text = tr("Comparing values…") if self._values else tr("Comparing headers…")
        self._running.setText(f"{text} {job_text(news)}")

    def _left_picked(self, value: str) -> None:
        self._side_picked(0, value)

    def _right_picked(self, value: str) -> None:
        self._side_picked(1, value)

    def _side_picked(self, side: int, value: str) -> None:
        if value == OPEN:
            self.open_asked.emit(side)
        elif value:
            self.picked.emit(side, int(value))


def _title(document: Document, names: list[str]) -> str:
    """The name, with its folder where two documents have the same."""
    part = "" if document.top_level_key is None else f" › {document.top_level_key}"
    if names.count(document.name) == 1:
        return f"{document.name}{part}"
    return f"{document.name}{part}  ({document.path.parent.name}, {document.id})"
