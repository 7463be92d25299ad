"""The rules of a recipe below each other: added, removed, and put in order by hand or by keys."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from ruda.session import RuleDraft, tr
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.rule_row import RuleRow

EDGE = 20
"""Pixels from an end of the list where pulling a rule scrolls it."""
PULL_EVERY, PULL_MOST = 30, 16
"""Milliseconds between two steps of that, and their pixels at most."""


class RuleList(QScrollArea):
    """Edits rules as drafts."""

    edited = Signal()
    """Something is being typed."""
    finished = Signal()
    """What stands there is meant: a field was left, a rule switched, moved or removed."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[RuleRow] = []
        self._as_schemas = False
        self._pulled: RuleRow | None = None
        self._pull = QTimer(self)
        self._pull.setInterval(PULL_EVERY)
        self._pull.timeout.connect(self._pull_on)
        body = QWidget()
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(0, 0, Space.S, 0)
        self._column.setSpacing(Space.S)
        self._none = label(
            tr(
                "No rules. Add one, or take a preset: each rule finds a pattern in every key and "
                "replaces it, in order."
            ),
            role="dim",
            wrap=True,
        )
        self._column.addWidget(self._none)
        self._column.addStretch(1)
        self.setWidgetResizable(True)
        self.setWidget(body)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setAutoFillBackground(False)
        body.setAutoFillBackground(False)

    @property
    def rows(self) -> tuple[RuleRow, ...]:
        """The rules in order."""
        return tuple(self._rows)

    @property
    def drafts(self) -> tuple[RuleDraft, ...]:
        """The rules as they stand in the fields."""
        return tuple(row.draft for row in self._rows)

    def show_drafts(self, drafts: tuple[RuleDraft, ...]) -> None:
        """Put rules into the fields, without telling anyone."""
        while len(self._rows) > len(drafts):
            row = self._rows.pop()
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        while len(self._rows) < len(drafts):
            self._add_row()
        for row, draft in zip(self._rows, drafts, strict=True):
            row.show_draft(draft)
        self._none.setVisible(not drafts)

    def add_empty(self) -> None:
        """Add an empty rule and put the cursor into it."""
        self.show_drafts((*self.drafts, RuleDraft("", "")))
        self._rows[-1].pattern.setFocus()
        QTimer.singleShot(0, self, self._show_last)  # once the new row has its place

    def move_focused(self, by: int) -> None:
        """Move the rule in which the focus is; nothing without one."""
        row = next((row for row in self._rows if row.focused_field), None)
        if row is not None:
            self._move(row.number, by)

    def write_as_schemas(self, on: bool) -> None:
        """Write the rules as schemas where they can be, or as regexes."""
        self._as_schemas = on
        for row in self._rows:
            row.write_as_schema(on=on)

    def _add_row(self) -> None:
        row = RuleRow(len(self._rows))
        row.edited.connect(self.edited)
        row.finished.connect(self.finished)
        row.switched.connect(self.finished)
        row.removed.connect(self._remove)
        row.moved.connect(self._move)
        row.dragged.connect(self._drag)
        row.dropped.connect(self._dropped)
        row.held.connect(self._held)
        row.write_as_schema(on=self._as_schemas)
        self._column.insertWidget(len(self._rows), row)
        self._rows.append(row)

    def _show_last(self) -> None:
        if self._rows:
            self.ensureWidgetVisible(self._rows[-1], 0, Space.S)

    def _remove(self, number: int) -> None:
        self.show_drafts(tuple(d for i, d in enumerate(self.drafts) if i != number))
        self.finished.emit()

    def _move(self, number: int, by: int) -> None:
        drafts = list(self.drafts)
        to = number + by
        if 0 <= to < len(drafts):
            drafts[number], drafts[to] = drafts[to], drafts[number]
            field = self._rows[number].focused_field
            self.show_drafts(tuple(drafts))
            self._rows[to].focus_field(field)
            self.ensureWidgetVisible(self._rows[to], 0, Space.S)
            self.finished.emit()

    def _drag(self, number: int, to: int) -> None:
        """Show the rules with one of them at another place, while it is pulled."""
        drafts = list(self.drafts)
        if number < len(drafts):
            drafts.insert(min(to, len(drafts) - 1), drafts.pop(number))
            self.show_drafts(tuple(drafts))

    def _held(self, row: RuleRow) -> None:
        self._pulled = row
        self._pull.start()

    def _pull_on(self) -> None:
        """Near an end of the list, the list comes along with the rule that is pulled."""
        row, view = self._pulled, self.viewport()
        if row is None:
            return
        y = view.mapFromGlobal(row.pointer).y()
        beyond = min(y - EDGE, 0) + max(y - (view.height() - EDGE), 0)
        if beyond:
            bar = self.verticalScrollBar()
            bar.setValue(bar.value() + max(-PULL_MOST, min(beyond, PULL_MOST)))
            row.follow()

    def _dropped(self) -> None:
        self._pull.stop()
        self._pulled = None
        self.finished.emit()
