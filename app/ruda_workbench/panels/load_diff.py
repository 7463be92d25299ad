"""The load diff: coverage, status chips, the table of rows and the recipe under it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu, QVBoxLayout, QWidget

from ruda.progress import SILENT, Monitor
from ruda.session import (
    DiffLine,
    DiffPage,
    Document,
    Fit,
    Query,
    RuleDraft,
    SuggestLine,
    diff_banner,
    diff_page,
    fits,
    status_look,
    tr,
)
from ruda.store import Decision, DiffRow, Recipe, Status
from ruda_workbench import recipe_operations as edits
from ruda_workbench.context import Context
from ruda_workbench.document_watch import DocumentWatch
from ruda_workbench.item_models.diff_table import DiffTableModel
from ruda_workbench.panels.decision_sheet import DecisionSheet
from ruda_workbench.panels.rules import RulesCard
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import StatusChip, Switch
from ruda_workbench.widgets.chip_bar import ChipBar
from ruda_workbench.widgets.coverage import CoverageCard
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.fields import FilterField
from ruda_workbench.widgets.overview_strip import OverviewStrip

OVERVIEW = ("applied", "skipped", "unused", "missing", "error")
"""Statuses by how much they want to be looked at; the first is not marked."""
RANKS = np.array([OVERVIEW.index(status.value) for status in Status], dtype=np.int64)
LOW = 700
"""Height of the window under which the coverage takes one line."""
AT_ONCE = 20_000
"""Rows up to which a page is made without a job."""


class LoadDiffPanel(QWidget):
    """Draws pages of a report; ``selected`` carries the ``DiffRow``s of the chosen line."""

    selected = Signal(object)

    def __init__(self, context: Context, watch: DocumentWatch) -> None:
        super().__init__()
        self._context = context
        self._watch = watch
        self._question = Latest(context.jobs, self)
        self._statuses = frozenset(Status)
        self._query = Query()
        self._opened: frozenset[str] = frozenset()
        self._wanted_key: str | None = None
        self._is_halted = False
        self._build()
        watch.laid_anew.connect(self.refresh)
        watch.tabled.connect(self._tabled)
        watch.suggested.connect(self._suggested)
        watch.halted.connect(self._laying_halted)

    def _build(self) -> None:
        self.coverage = CoverageCard()
        self.banner = Banner("diff.banner")
        self.banner.pressed.connect(self._banner_pressed)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        column.addWidget(self.coverage)
        column.addWidget(self.banner)
        self._chip_box = self._chip_row()
        column.addWidget(self._chip_box)
        column.addWidget(self._table_card(), 3)
        self.rules = RulesCard(self._context, self._watch)
        column.addWidget(self.rules, 2)

    def _chip_row(self) -> ChipBar:
        self.chips: dict[Status, StatusChip] = {}
        for status in Status:
            look = status_look(status)
            chip = StatusChip(status.value, look.word)
            chip.setAccessibleDescription(look.meaning)
            chip.toggled.connect(self._chips_changed)
            chip.only.connect(self._only)
            self.chips[status] = chip
        self.fold = Switch(tr("Families"), "diff.fold")
        self.fold.setChecked(True)
        self.fold.setToolTip(tr("Show rows whose keys differ in numbers only as one"))
        self.fold.toggled.connect(self.refresh)
        self.filter = FilterField("diff.filter", tr("Filter keys"))
        self.filter.setMaximumWidth(260)
        self.filter.asked.connect(self._search)
        return ChipBar((*self.chips.values(),), self.fold, self.filter)

    def _table_card(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        card.setMinimumHeight(140)
        inner = QHBoxLayout(card)
        inner.setContentsMargins(1, 1, 1, 1)
        inner.setSpacing(0)
        self.table = DataTable("diff.table", tr("Load diff"))
        self.model = DiffTableModel()
        self.model.setParent(self)
        self.table.setModel(self.model)
        self.table.fold_asked.connect(self._toggle_line)
        self.table.row_shown.connect(self._row_shown)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._menu)
        self.table.installEventFilter(self)
        self.overview = OverviewStrip("diff.overview", self.table, OVERVIEW)
        self.overview.row_asked.connect(self._go_to_row)
        inner.addWidget(self.table, 1)
        inner.addWidget(self.overview)
        return card

    # Showing

    @property
    def page(self) -> DiffPage | None:
        """The page that is drawn."""
        return self.model.page

    def reset(self) -> None:
        """Forget the opened lines of another document."""
        self._question.drop()
        self._opened = frozenset()
        self.model.show_page(None)
        self.rules.show_suggestions(())
        self.rules.refresh()

    def refresh(self) -> None:
        """Ask for the page anew."""
        self._is_halted = False
        laid = self._watch.laid
        self.rules.refresh()
        if laid is None:
            return
        report, rows = laid.report, laid.rows
        if report is None or rows is None:
            self._question.drop()
            self.model.show_page(None)
            self.selected.emit(())
            self.overview.show_ranks(RANKS[:0], "")
            self.coverage.hide()
            self.table.empty_text = laid.problem
            self.banner.show_text("error", laid.problem if laid.document.target else "")
            return
        statuses, query, opened = self._statuses, self._query, self._opened
        folded = self.fold.isChecked()

        def work(monitor: Monitor) -> DiffPage:
            return diff_page(
                rows,
                document=laid.document,
                statuses=statuses,
                query=query,
                folded=folded,
                opened=opened,
                monitor=monitor,
            )

        if len(report.rows) <= AT_ONCE:
            self._question.drop()
            self._show(work(SILENT))
        else:
            self._question.ask(tr("Searching"), work, self._show, cancelled=self._search_halted)

    def _search_halted(self) -> None:
        """Somebody stopped it: what is drawn is not what was asked for."""
        self._is_halted = True
        self.table.empty_text = tr("Stopped")
        self.banner.show_text("warning", tr("Stopped"), tr("Go on"))

    def _laying_halted(self) -> None:
        if self._watch.laid is None:
            self.coverage.hide()
            self.table.empty_text = tr("Stopped") if self._watch.is_halted else ""
            self.table.viewport().update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Space leaves the row out or takes it in; the menu key opens its menu."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            if event.key() == Qt.Key.Key_Space and not event.modifiers():
                self.toggle_skip()
                return True
            if event.key() == Qt.Key.Key_Menu or (shift and event.key() == Qt.Key.Key_F10):
                self.open_row_menu()
                return True
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the table what little room there is."""
        super().resizeEvent(event)
        self.coverage.set_low(on=self.window().height() < LOW)
        self._chip_box.set_narrow(on=event.size().width() < self._chip_box.wide)

    def leave(self) -> None:
        """Drop the question that is open, and keep what was typed."""
        self._question.drop()
        self.rules.commit()

    def reveal(self, key: str) -> None:
        """Show the row of a tensor by its key on either side."""
        self._wanted_key = key
        if self._query.text:
            self.filter.clear()
            self._query = Query()
        self.refresh()

    def step_problem(self, by: int) -> None:
        """Go to the next or previous row that a person has to look at."""
        page = self.page
        if page is not None:
            row = page.next_problem(self.table.currentIndex().row(), by)
            if row is not None:
                self.table.select_row(row)
                self.table.setFocus()

    def _show(self, page: DiffPage) -> None:
        problem = page.problem
        self.filter.show_problem(problem)
        if problem is not None and self.model.page is not None:
            return
        kept = self.model.line(self.table.currentIndex().row())
        self.coverage.show()
        self.coverage.show_page(page)
        for chip in page.chips:
            self.chips[chip.status].set_count(chip.count)
        laid = self._watch.laid
        hints = () if laid is None or laid.report is None else laid.report.hints
        self._show_banner(page, bool(hints))
        self.table.empty_text = self._empty(page)
        self.model.show_page(page, self._opened)
        self._show_overview(page)
        self._keep_row(kept)

    def _show_overview(self, page: DiffPage) -> None:
        words = ", ".join(f"{c.word} {c.count}" for c in page.chips if c.count and c.shown)
        self.overview.show_ranks(RANKS[page.lines.status_codes], words)

    def _go_to_row(self, row: int) -> None:
        self.table.select_row(row)
        self.table.setFocus()

    def _show_banner(self, page: DiffPage, has_hint: bool) -> None:
        banner, laid = page.banner, self._watch.laid
        if banner is None:
            self.banner.show_text("warning", "")
        else:
            steps = tuple(line.step for line in self._certain())
            if steps and laid is not None and laid.report is not None:
                banner = diff_banner(laid.report, steps) or banner
            certain = len(steps)
            button = tr("Take the suggestion") if has_hint or certain else ""
            if certain > 1:
                button = tr("Take all {count} certain suggestions", count=certain)
            self.banner.show_text(banner.level, banner.text, button)

    def _certain(self) -> tuple[SuggestLine, ...]:
        """The suggestions that leave no other choice; none before this laying was looked at."""
        if not self._watch.is_suggested:
            return ()
        return tuple(line for line in self._watch.suggestions if line.is_certain and line.can_take)

    def _suggested(self) -> None:
        page, laid = self.page, self._watch.laid
        if page is not None and laid is not None and laid.report is not None:
            self._show_banner(page, bool(laid.report.hints))

    def _empty(self, page: DiffPage) -> str:
        if self._query.text:
            return tr("No key contains “{text}”.", text=self._query.text)
        return tr("Every status is switched off.") if page.total else tr("Nothing to compare.")

    def _keep_row(self, kept: DiffLine | None) -> None:
        row = -1
        if self._wanted_key is not None:
            row = self.model.row_of_key(self._wanted_key)
            self._wanted_key = None
        elif kept is not None:
            row = self.model.row_of_key(kept.target_key or kept.source_key or "")
        if row >= 0 or kept is None:
            self.table.select_row(max(0, row))
        if not self.table.currentIndex().isValid():
            self.selected.emit(())  # the row that was chosen is gone, and a reset tells nobody

    def _tabled(self) -> None:
        self.rules.refresh()

    # Gestures

    def _chips_changed(self) -> None:
        self._statuses = frozenset(s for s, chip in self.chips.items() if chip.isChecked())
        self.refresh()

    def _only(self, name: str) -> None:
        alone = self._statuses == frozenset({Status(name)})
        for status, chip in self.chips.items():
            chip.show_checked(on=alone or status.value == name)
        self._chips_changed()

    def _search(self, text: str, regex: bool, case: bool) -> None:
        self._query = Query(text, regex, case)
        self.refresh()

    def _toggle_line(self, place: int) -> None:
        line = self.model.line(place)
        if line is not None:
            self._opened ^= {line.name}
            self.refresh()
            self.table.select_row(place)

    def _row_shown(self, place: int) -> None:
        line = self.model.line(place)
        self.selected.emit(() if line is None else line.rows)

    def _banner_pressed(self) -> None:
        if self._is_halted:
            self.refresh()
        else:
            self.take_suggestions()

    @property
    def can_suggest(self) -> bool:
        """True if there is something to take."""
        laid = self._watch.laid
        return (
            laid is not None
            and laid.report is not None
            and bool(self._certain() or laid.report.hints)
        )

    def take_suggestions(self) -> None:
        """Take every certain suggestion, or without any the first hint."""
        laid, document = self._watch.laid, self._watch.document
        if laid is None or laid.report is None or document is None:
            return
        certain = self._certain()
        if certain:
            edits.take_suggestions(self._context, document, certain)
        elif laid.report.hints:
            edits.take_hint(self._context, document, laid.report.hints[0])

    def _menu(self, at: QPoint) -> None:
        line = self.model.line(self.table.indexAt(at).row())
        document = self._watch.document
        if line is None or document is None:
            return
        menu = QMenu(self)
        menu.setObjectName("diff.menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def offer(text: str, what: str, *words: str) -> None:
            menu.addAction(text).setData(_Choice(document.id, line, what, words))

        for text, key in (
            (tr("Copy the file's key"), line.source_key),
            (tr("Copy the model's key"), line.target_key),
        ):
            if key:
                offer(text, "copy", key)
        menu.addSeparator()
        is_out, is_decided = _decided(document, line)
        if is_out is not False:
            offer(tr("Take in again"), "take")
        if line.source_key is not None and is_out is not True:
            offer(tr("Leave out"), "skip")
        if line.source_key is not None and "." in line.source_key:
            first = line.source_key.split(".")[0]
            offer(tr("Strip “{first}.” from every key", first=first), "strip", first)
        for fit in _fits_of(line.rows[0]) if line.status is Status.ERROR else ():
            offer(fit.title, "fit", fit.title)
        if document.target is not None and line.target_key is not None:
            offer(tr("Decide…"), "decide")
        if is_decided:
            offer(tr("Take the decision back"), "take")
        quick = self.page is not None and self.page.total <= AT_ONCE
        for near in line.nearest if quick else ():
            text = tr("Rename {key} to {target_key}", key=near.key, target_key=line.target_key)
            offer(text, "rename", near.key, line.target_key or "")
        menu.triggered.connect(self._menu_chosen)
        menu.popup(self.table.viewport().mapToGlobal(at))

    def _fit(self, document: Document, line: DiffLine, title: str) -> None:
        """Take the fit of this title for every tensor of the line that has it."""

        def decisions(monitor: Monitor) -> list[Decision]:
            chosen = next(fit for fit in _fits_of(line.rows[0]) if fit.title == title)
            found: list[Decision] = []
            for row, keys in line.keys.by_kind(monitor):
                alike = [fit for fit in _fits_of(row) if fit.kind == chosen.kind]
                exact = [fit for fit in alike if fit.title == title] or alike
                for key in keys if exact else ():
                    found += exact[0].decisions(key)
            return found

        edits.decide(self._context, document, title, line.count, decisions)

    def ask_decision(self) -> None:
        """Open the sheet where a decision on the current row is written, and its effect seen."""
        line = self.model.line(self.table.currentIndex().row())
        document = self._watch.document
        if line is not None and document is not None:
            self._ask_decision(document, line)

    def _ask_decision(self, document: Document, line: DiffLine) -> None:
        sheet = DecisionSheet(self._context, document, line, self.window())

        def decided(recipe: Recipe) -> None:
            title = tr("Decide on {key}", key=line.target_key or line.source_key)
            self._context.session.edit(document.id, title, recipe)

        sheet.decided.connect(decided)
        sheet.open()

    def toggle_skip(self) -> None:
        """Leave the tensors of the current row out, or take them in again."""
        line = self.model.line(self.table.currentIndex().row())
        document = self._watch.document
        if line is not None and document is not None and line.source_key is not None:
            edits.skip(self._context, document, line.keys)

    def open_row_menu(self) -> None:
        """Open the menu of the current row, for the keyboard."""
        index = self.table.currentIndex()
        if index.isValid():
            self._menu(self.table.visualRect(index).center())

    def _menu_chosen(self, action: QAction) -> None:
        choice, document = action.data(), self._watch.document
        if document is None or document.id != choice.document_id:
            return
        what, words, line = choice.what, choice.words, choice.line
        if what == "copy":
            QGuiApplication.clipboard().setText(words[0])
        elif what == "decide":
            self._ask_decision(document, line)
        elif what == "fit":
            self._fit(document, line, words[0])
        elif what in ("skip", "take"):
            edits.skip(self._context, document, line.keys, on=what == "skip")
        elif what == "strip":
            self.rules.add_draft(RuleDraft(f"^{re.escape(words[0])}\\.", ""))
        else:
            draft = RuleDraft(f"^{re.escape(words[0])}$", words[1].replace("$", "$$"))
            self.rules.add_draft(draft)


@dataclass(frozen=True, slots=True)
class _Choice:
    """What an entry of a row's menu does, with the line that it was opened for.

    The page may be another one by the time that it is chosen.
    """

    document_id: int
    line: DiffLine
    what: str
    words: tuple[str, ...]


def _decided(document: Document, line: DiffLine) -> tuple[bool | None, bool]:
    """Whether all tensors of a line are left out, and whether anything else is decided of any.

    Of very many that is not looked at: None, and whether anything is decided at all.
    """
    decide = document.recipe.decide
    if not decide:
        return False, False
    if len(decide) > AT_ONCE:
        return None, True
    skipped = document.recipe.skipped_keys
    others = {decision.key for decision in decide} - skipped
    if line.count > AT_ONCE:
        return (None if skipped else False), bool(others)
    return all(key in skipped for key in line.keys), any(key in others for key in line.keys)


def _fits_of(row: DiffRow) -> tuple[Fit, ...]:
    """Ways to bring the tensor of a row to the shape that the model wants."""
    found = row.adapted if row.adapted is not None else row.source
    if found is None or row.target is None:
        return ()
    return fits(found.shape, row.target.shape)
