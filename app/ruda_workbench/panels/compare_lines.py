"""The table of a comparison: chips, filter, and lines that are sorted and unfolded."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ruda.progress import SILENT, Monitor
from ruda.session import (
    ComparePage,
    CompareSort,
    CompareTable,
    Query,
    compare_page,
    later,
    likeness_look,
    tr,
)
from ruda.store import Likeness
from ruda_workbench.context import Context
from ruda_workbench.item_models.compare_table import MARKS, CompareTableModel
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Picker, StatusChip, Switch
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.fields import FilterField
from ruda_workbench.widgets.overview_strip import OverviewStrip

OVERVIEW = tuple(MARKS[status] for status in Likeness)
"""Colours of the strip: the first, of tensors that are the same, is not marked."""
RANKS = np.arange(len(OVERVIEW), dtype=np.int64)
SCOPES = (
    ("all", later("All"), frozenset(Likeness)),
    ("differing", later("What differs"), frozenset(Likeness) - {Likeness.SAME}),
    ("changed", later("On both, changed"), frozenset({Likeness.CHANGED})),
    ("one-side", later("On one side only"), frozenset({Likeness.LEFT, Likeness.RIGHT})),
)
"""Scopes that are often wanted: a name, its words, and the statuses."""
AT_ONCE = 20_000
"""Rows up to which a page is made without a job."""


class CompareLinesPanel(QWidget):
    """Draws pages of a table; ``selected`` carries the ``CompareRow``s of the chosen line."""

    selected = Signal(object)
    drawn = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._question = Latest(context.jobs, self)
        self._table: CompareTable | None = None
        self._statuses = frozenset(Likeness)
        self._query = Query()
        self._sort: CompareSort = "file"
        self._descending = False
        self._opened: frozenset[str] = frozenset()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        column.addLayout(self._chip_row())
        column.addWidget(self._card(), 1)

    def _chip_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S - 2)
        self.chips: dict[Likeness, StatusChip] = {}
        for status in Likeness:
            look = likeness_look(status)
            name = status.value.replace(" ", "-")
            chip = StatusChip(name, look.word, mark=MARKS[status], room="compare.chip")
            chip.setAccessibleDescription(look.meaning)
            chip.toggled.connect(self._chips_changed)
            chip.only.connect(self._only)
            self.chips[status] = chip
            row.addWidget(chip)
        row.addStretch(1)
        self.scope = Picker("compare.scope", tr("Which tensors are shown"))
        self.scope.offer([(name, tr(text)) for name, text, _ in SCOPES], SCOPES[0][0])
        self.scope.picked.connect(self._scope_picked)
        row.addWidget(self.scope)
        row.addSpacing(Space.S)
        self.fold = Switch(tr("Families"), "compare.fold")
        self.fold.setChecked(True)
        self.fold.setToolTip(tr("Show rows whose keys differ in numbers only as one"))
        self.fold.toggled.connect(self.refresh)
        self.filter = FilterField("compare.filter", tr("Filter keys"))
        self.filter.setMaximumWidth(260)
        self.filter.asked.connect(self._search)
        row.addWidget(self.fold)
        row.addSpacing(Space.M)
        row.addWidget(self.filter, 2)
        return row

    def _card(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QHBoxLayout(card)
        inner.setContentsMargins(1, 1, 1, 1)
        inner.setSpacing(0)
        self.table = DataTable("compare.table", tr("Comparison"))
        self.table.setMinimumHeight(120)
        self.model = CompareTableModel()
        self.model.setParent(self)
        self.table.setModel(self.model)
        self.table.setSortingEnabled(True)
        self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.table.horizontalHeader().setSortIndicatorClearable(True)
        self.model.sort_asked.connect(self._sorted)
        self.table.fold_asked.connect(self._toggle_line)
        self.table.row_shown.connect(self._row_shown)
        self.overview = OverviewStrip("compare.overview", self.table, OVERVIEW)
        self.overview.row_asked.connect(self.table.select_row)
        inner.addWidget(self.table, 1)
        inner.addWidget(self.overview)
        return card

    @property
    def page(self) -> ComparePage | None:
        """The page that is drawn."""
        return self.model.page

    def show_table(self, table: CompareTable | None, problem: str) -> None:
        """Draw another comparison, or why there is none."""
        if table is not self._table:
            self._table = table
            self._opened = frozenset()
        self.table.empty_text = problem or tr("Choose two documents to see where they differ.")
        self.refresh()

    def refresh(self) -> None:
        """Ask for the page anew."""
        table = self._table
        if table is None:
            self._question.drop()
            self.model.show_page(None)
            self.overview.show_ranks(RANKS[:0], "")
            for chip in self.chips.values():
                chip.set_count(0)
            self.selected.emit(())
            self.drawn.emit()
            return
        statuses, query, opened = self._statuses, self._query, self._opened
        sort, descending, folded = self._sort, self._descending, self.fold.isChecked()

        def work(monitor: Monitor) -> ComparePage:
            return compare_page(
                table,
                statuses=statuses,
                query=query,
                sort=sort,
                descending=descending,
                folded=folded,
                opened=opened,
                monitor=monitor,
            )

        if len(table.report.rows) <= AT_ONCE:
            self._question.drop()
            self._show(work(SILENT))
        else:
            self._question.ask(tr("Searching"), work, self._show)

    def leave(self) -> None:
        """Drop the question that is open."""
        self._question.drop()

    def step(self, by: int) -> None:
        """Go to the next or previous row that differs."""
        page = self.page
        if page is not None:
            row = page.next_difference(self.table.currentIndex().row(), by)
            if row is not None:
                self.table.select_row(row)
                self.table.setFocus()

    def reveal(self, key: str) -> None:
        """Show the row of a key."""
        page = self.page
        row = None if page is None else page.lines.position_of(key)
        if row is not None:
            self.table.select_row(row)

    def _show(self, page: ComparePage) -> None:
        problem = page.problem
        self.filter.show_problem(problem)
        if problem is not None and self.model.page is not None:
            return
        kept = self.model.line(self.table.currentIndex().row())
        for status, count in page.counts:
            self.chips[status].set_count(count)
        for status, share in page.shares:
            self.chips[status].setToolTip(f"{likeness_look(status).meaning} · {share}")
        if self._query.text:
            self.table.empty_text = tr("No key contains “{text}”.", text=self._query.text)
        elif page.total:
            self.table.empty_text = tr("Every status is switched off.")
        else:
            self.table.empty_text = tr("Neither side has a tensor.")
        self.model.show_page(page, self._opened)
        words = ", ".join(f"{likeness_look(s).word} {n}" for s, n in page.counts if n)
        self.overview.show_ranks(RANKS[page.lines.table.statuses[page.lines.heads]], words)
        row = None if kept is None else page.lines.position_of(kept.rows[0].key)
        if row is not None or kept is None:
            self.table.select_row(0 if row is None else row)
        self.drawn.emit()

    # Gestures

    def _chips_changed(self) -> None:
        self._statuses = frozenset(s for s, chip in self.chips.items() if chip.isChecked())
        known = {statuses: name for name, _, statuses in SCOPES}
        name = known.get(self._statuses, "")
        self.scope.show_value(name, None if name else tr("Some"))
        self.refresh()

    def _scope_picked(self, name: str) -> None:
        statuses = next(statuses for known, _, statuses in SCOPES if known == name)
        self._check(statuses)

    def _only(self, name: str) -> None:
        wanted = Likeness(name.replace("-", " "))
        alone = self._statuses == frozenset({wanted})
        self._check(frozenset(Likeness) if alone else frozenset({wanted}))

    def _check(self, statuses: frozenset[Likeness]) -> None:
        for status, chip in self.chips.items():
            chip.show_checked(on=status in statuses)
        self._chips_changed()

    def _search(self, text: str, regex: bool, case: bool) -> None:
        self._query = Query(text, regex, case)
        self.refresh()

    def _sorted(self, sort: CompareSort, descending: bool) -> None:
        section = self.table.horizontalHeader().sortIndicatorSection()
        self._sort = sort if section >= 0 else "file"
        self._descending = descending and section >= 0
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
