"""The table of a file's tensors: searched, sorted, and folded into families."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ruda.progress import Monitor
from ruda.session import (
    Query,
    SortKey,
    TensorPage,
    TensorTable,
    count_text,
    size_text,
    tensor_page,
    tr,
)
from ruda_workbench.context import Context
from ruda_workbench.item_models.tensor_table import TensorTableModel
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Switch
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.fields import FilterField
from ruda_workbench.widgets.labels import label

AT_ONCE = 20_000
"""Tensors up to which a page is made without a job: it takes a few milliseconds."""


class TensorsPanel(QWidget):
    """Draws pages of one table; ``selected`` names the keys of the row that is chosen.

    Of a family of very many they are the first ones; the number of all comes with them.
    """

    selected = Signal(object, int)

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._table: TensorTable | None = None
        self._query = Query()
        self._sort: SortKey = "file"
        self._descending = False
        self._opened: frozenset[str] = frozenset()
        self._question = Latest(context.jobs, self)
        self._wanted_key: str | None = None
        self._build()

    def _build(self) -> None:
        self.filter = FilterField("tensors.filter", tr("Filter keys"))
        self.filter.setMaximumWidth(360)
        self.fold = Switch(tr("Families"), "tensors.fold")
        self.fold.setToolTip(tr("Show keys that differ in numbers only as one row"))
        self.fold.setChecked(True)
        self._count = label(role="dim")
        self._count.setObjectName("tensors.count")
        row = QHBoxLayout()
        row.setSpacing(Space.M)
        row.addWidget(self.filter, 1)
        row.addWidget(self._count)
        row.addStretch(1)
        row.addWidget(self.fold)
        self.table = DataTable("tensors.table", tr("Tensors in the file"))
        self.model = TensorTableModel()
        self.model.setParent(self)
        self.table.setModel(self.model)
        self.table.setSortingEnabled(True)
        self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.table.horizontalHeader().setSortIndicatorClearable(True)
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(1, 1, 1, 1)
        inner.addWidget(self.table)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        column.addLayout(row)
        column.addWidget(card, 1)
        self.filter.asked.connect(self._search)
        self.fold.toggled.connect(self.refresh)
        self.model.sort_asked.connect(self._sorted)
        self.table.fold_asked.connect(self._toggle_family)
        self.table.row_shown.connect(self._row_shown)

    def show_table(self, table: TensorTable | None, why: str = "") -> None:
        """Draw another table, or why there is none; the search stays."""
        if table is None:
            self.table.empty_text = why
            self.table.viewport().update()
        if table is self._table:
            return
        self._table = table
        self._opened = frozenset()
        self.refresh()

    def reveal(self, key: str) -> None:
        """Show a tensor, opening its family and dropping a search that hides it."""
        table = self._table
        position = None if table is None else table.places.find(key)
        if table is None or position is None:
            return
        self._wanted_key = key
        self._opened |= {table.families[position]}
        hidden = self._query.regex or self._query.text.lower() not in key.lower()
        if self._query.text and hidden:
            self.filter.clear()
            self._query = Query()
        self.refresh()

    def refresh(self) -> None:
        """Ask for the page anew."""
        table = self._table
        if table is None:
            self._question.drop()
            self.model.show_page(None)
            self._count.setText("")
            return
        query, sort, descending = self._query, self._sort, self._descending
        fold, opened = self.fold.isChecked(), self._opened

        def work(monitor: Monitor) -> TensorPage:
            return tensor_page(
                table,
                query=query,
                sort=sort,
                descending=descending,
                fold=fold,
                opened=opened,
                monitor=monitor,
            )

        if len(table) <= AT_ONCE:
            from ruda.progress import SILENT

            self._question.drop()
            self._show(work(SILENT))
        else:
            self._question.ask(tr("Searching"), work, self._show)

    def leave(self) -> None:
        """Drop the question that is open."""
        self._question.drop()

    def _show(self, page: TensorPage) -> None:
        kept = self._wanted_key or self._current_key()
        problem = page.problem
        self.filter.show_problem(problem)
        if problem is not None and self.model.page is not None:
            return  # the last valid result stays
        self.table.empty_text = (
            tr("No key contains “{text}”.", text=self._query.text)
            if self._query.text
            else tr("No tensors.")
        )
        self.model.show_page(page)
        found = tr("{shown} of {total}", shown=count_text(page.shown), total=count_text(page.total))
        self._count.setText(f"{found} · {size_text(page.nbytes)}")
        if kept is None and len(page) and self.isVisible():
            self.table.select_row(0)
        elif kept is not None:
            row = page.position_of(kept)
            if row is not None:
                self.table.select_row(row)
                self._wanted_key = None

    def _current_key(self) -> str | None:
        row = self.model.row(self.table.currentIndex().row())
        return None if row is None or row.is_family else row.key

    def _search(self, text: str, regex: bool, case: bool) -> None:
        self._query = Query(text, regex, case)
        self.refresh()

    def _sorted(self, sort: SortKey, descending: bool) -> None:
        section = self.table.horizontalHeader().sortIndicatorSection()
        self._sort = sort if section >= 0 else "file"
        self._descending = descending and section >= 0
        self.refresh()

    def _toggle_family(self, place: int) -> None:
        row = self.model.row(place)
        if row is None:
            return
        self._opened ^= {row.key}
        self.refresh()
        self.table.select_row(place)

    def _row_shown(self, place: int) -> None:
        row = self.model.row(place)
        keys, count = ((), 0) if row is None else (row.keys, row.count)
        self.selected.emit(keys, count)
