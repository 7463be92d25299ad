"""Norms along both axes of the plane: channels that are dead or far larger than the others."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from ruda.session import OTHERS, NormsView, PlanePage, norms_view, tr
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.column_bars import ColumnBar, ColumnBars
from ruda_workbench.widgets.labels import Facts, label


class _Axis(QWidget):
    def __init__(self, name: str) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.XS)
        self.caption = label(role="caption")
        self.bars = ColumnBars(name, height=78)
        self.findings = label(role="missing", wrap=True)
        self.facts = Facts()
        for widget in (self.caption, self.bars, self.findings, self.facts):
            column.addWidget(widget)

    def show_view(self, view: NormsView) -> None:
        self.caption.setText(view.caption)
        bars = tuple(ColumnBar(bar.name, bar.weight, "", bar.words) for bar in view.bars)
        self.bars.show_bars(bars, view.caption)
        self.findings.setText(", ".join(view.findings))
        self.findings.setVisible(bool(view.findings))
        self.facts.show_facts(view.facts)


class NormsTab(QWidget):
    """Draws the norms of a ``PlanePage``."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        self.rows = _Axis("inspector.norms.rows")
        self.columns = _Axis("inspector.norms.columns")
        column.addWidget(self.rows)
        column.addWidget(self.columns)
        column.addStretch(1)

    def show_page(self, page: PlanePage | None) -> None:
        """Draw other norms, or nothing."""
        self.rows.setVisible(page is not None)
        self.columns.setVisible(page is not None)
        if page is None:
            return
        choice = page.choice
        across = (
            tr("all other axes")
            if choice.columns == OTHERS
            else tr("axis {axis}", axis=choice.columns)
        )
        self.rows.show_view(norms_view(page.row_norms, tr("axis {axis}", axis=choice.rows)))
        self.columns.show_view(norms_view(page.column_norms, across))
