"""The chosen tensor of a comparison: left, right and difference as heat maps side by side."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ruda.progress import Monitor
from ruda.session import (
    CompareValues,
    JobFailure,
    PlaneChoice,
    compare_values,
    difference_text,
    size_text,
    tr,
)
from ruda.store import CompareRow, position_of
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.axis_picker import AxisPicker
from ruda_workbench.widgets.buttons import icon_button, push_button
from ruda_workbench.widgets.labels import ElidedLabel, label, set_role
from ruda_workbench.widgets.plots import HeatMap
from ruda_workbench.widgets.scrolled import scrolled

KEPT = 8
"""Tensors whose maps are remembered."""
MOST_HEIGHT = 200
LEAST_HEIGHT = 230
"""Of the panel: a layout does not ask for the lines that words wrap into."""


class CompareMapsPanel(QFrame):
    """Reads both sides of one row and draws them; a family is stepped through."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("compare.maps")
        self.setProperty("surface", "card")
        self.setMinimumHeight(LEAST_HEIGHT)
        self._context = context
        self._question = Latest(context.jobs, self)
        self._rows: tuple[CompareRow, ...] = ()
        self._place = 0
        self._known: dict[int, tuple[CompareRow, CompareValues]] = {}
        self._choices: dict[tuple[int, ...], PlaneChoice] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        column.setSpacing(Space.S)
        column.addLayout(self._head())
        self._note = label(role="dim", wrap=True)
        self._note.setObjectName("compare.note")
        column.addWidget(self._note)
        self._spots = label(role="dim", font=mono_font(11), wrap=True)
        self._spots.setObjectName("compare.spots")
        column.addWidget(self._spots)
        self.axes = AxisPicker("compare.plane", beside=True)
        self.axes.chosen.connect(self._choose)
        column.addWidget(self.axes)
        column.addWidget(self._maps(), 1)
        self._hover = label(role="dim", font=mono_font(11))
        self._hover.setObjectName("compare.hover")
        column.addWidget(self._hover)
        self._rest = QWidget()  # keeps the words at the top while there are no maps
        column.addWidget(self._rest, 1)
        self.show_rows(())

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.XS)
        self._key = ElidedLabel(font=mono_font(bold=True))
        self._key.setObjectName("compare.key")
        self._key.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._step_text = label(role="dim")
        self._back = icon_button("chevron-left", tr("Previous of the family"), "compare.back")
        self._ahead = icon_button("chevron-right", tr("Next of the family"), "compare.next")
        self._back.clicked.connect(self._step_back)
        self._ahead.clicked.connect(self._step_ahead)
        self.scan = push_button("", "compare.scan")
        self.scan.clicked.connect(self._start)
        row.addWidget(self._key, 1)
        for widget in (self._step_text, self._back, self._ahead, self.scan):
            row.addWidget(widget)
        return row

    def _maps(self) -> QScrollArea:
        inner = QWidget()
        grid = QGridLayout(inner)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.M)
        grid.setVerticalSpacing(Space.XS)
        self._captions = []
        self.maps: list[HeatMap] = []
        for place, name in enumerate(("left", "right", "difference")):
            caption = label(role="caption")
            chart = HeatMap(most_height=MOST_HEIGHT)
            chart.setObjectName(f"compare.map.{name}")
            chart.pointed.connect(self._pointed)
            grid.addWidget(caption, 0, place)
            grid.addWidget(chart, 1, place)
            grid.setColumnStretch(place, 1)
            self._captions.append(caption)
            self.maps.append(chart)
        grid.setRowStretch(2, 1)
        self._area = scrolled(inner, sideways=True)
        return self._area

    # Showing

    @property
    def values(self) -> CompareValues | None:
        """What was read of the row that is shown; None until it is there."""
        row = self._row
        known = None if row is None else self._known.get(id(row))
        return known[1] if known is not None and known[0] is row else None

    @property
    def note(self) -> str:
        """The sentence above the maps."""
        return self._note.text()

    def show_rows(self, rows: Sequence[CompareRow]) -> None:
        """Show the first of these rows."""
        self._question.drop()
        self._rows, self._place = tuple(rows), 0
        self._show_row()

    def leave(self) -> None:
        """Drop the question that is open."""
        self._question.drop()

    @property
    def _row(self) -> CompareRow | None:
        return self._rows[self._place] if self._rows else None

    def _show_row(self) -> None:
        row = self._row
        self.setVisible(row is not None)
        if row is None:
            return
        family = len(self._rows) > 1
        for widget in (self._step_text, self._back, self._ahead):
            widget.setVisible(family)
        place = tr("{place} of {count}", place=self._place + 1, count=len(self._rows))
        self._step_text.setText(place)
        self._key.set_text(row.key)
        self._draw()
        if not self._can_draw(row) or self._size(row) > self._limit():
            return
        found = self.values
        wanted = None if row.left is None else self._choices.get(tuple(row.left.shape))
        if found is None or (wanted is not None and wanted != found.choice):
            self._start()

    def _draw(self, problem: str = "") -> None:
        row, found = self._row, self.values
        if row is None:
            return
        waits = found is None and self._can_draw(row) and self._size(row) > self._limit()
        self.scan.setVisible(waits)
        self.scan.setText(tr("Draw ({size})", size=size_text(self._size(row))))
        self.scan.setAccessibleName(self.scan.text())
        note = problem or self._words(row, found, waits=waits)
        set_role(self._note, "role", "error" if problem else "dim")
        self._note.setText(note)
        self._note.setVisible(bool(note))
        spots = _spots(row)
        self._spots.setText(spots)
        self._spots.setVisible(bool(spots))
        self._area.setVisible(found is not None)
        if found is not None and row.left is not None and len(row.left.shape) > 2:
            self.axes.show_choice(found.choice, tuple(row.left.shape))
        else:
            self.axes.hide()
        self._rest.setVisible(found is None)
        self._hover.setVisible(found is not None)
        pages = (None,) * 3 if found is None else (found.left, found.right, found.difference)
        for chart, page in zip(self.maps, pages, strict=True):
            chart.show_page(page)
        if found is not None:
            words = (tr("Left"), tr("Right"), tr("Right − left, {what}", what=found.caption))
            for caption, text in zip(self._captions, words, strict=True):
                caption.setText(text)
            self._captions[0].setText(f"{words[0]} · {found.left.caption}")

    def _words(self, row: CompareRow, found: CompareValues | None, *, waits: bool) -> str:
        if not self._can_draw(row):
            if row.left is None or row.right is None:
                return tr("Only one side has this tensor.")
            reason = difference_text(row)
            return f"{reason[:1].upper()}{reason[1:]}."
        if waits:
            return tr("This tensor is large; its values are read when you ask.")
        return "" if found is not None else tr("Reading values…")

    @staticmethod
    def _can_draw(row: CompareRow) -> bool:
        left, right = row.left, row.right
        return left is not None and right is not None and left.shape == right.shape

    @staticmethod
    def _size(row: CompareRow) -> int:
        return sum(side.nbytes for side in (row.left, row.right) if side is not None)

    def _limit(self) -> int:
        return self._context.storage.settings.statistics_limit * 1_000_000

    # Gestures

    def _start(self) -> None:
        row = self._row
        if row is None or row.left is None or row.right is None:
            return
        left, right, shown = row.left, row.right, row
        choice = self._choices.get(tuple(left.shape))

        def work(monitor: Monitor) -> CompareValues:
            return compare_values(left, right, choice, monitor=monitor)

        def done(found: CompareValues) -> None:
            self._known[id(shown)] = (shown, found)
            while len(self._known) > KEPT:
                self._known.pop(next(iter(self._known)))
            self._draw()

        def failed(failure: JobFailure) -> None:
            self._draw(failure.summary)

        self._question.ask(tr("Reading {key}", key=row.key), work, done, failed)

    def _choose(self, choice: PlaneChoice) -> None:
        """Draw another plane; tensors of the same shape keep to it."""
        row, found = self._row, self.values
        if row is None or row.left is None or found is None or found.choice == choice:
            return
        self._choices[tuple(row.left.shape)] = choice
        self._start()

    def _step_back(self) -> None:
        self._step(-1)

    def _step_ahead(self) -> None:
        self._step(1)

    def _step(self, by: int) -> None:
        if self._rows:
            self._question.drop()
            self._place = (self._place + by) % len(self._rows)
            self._show_row()

    def _pointed(self, row: int, column: int) -> None:
        if row < 0:
            self._hover.setText("")
            return
        left, right, delta = (chart.words(row, column) for chart in self.maps)
        place, _, first = left.partition("  ")
        second, third = right.partition("  ")[2], delta.partition("  ")[2]
        text = tr("left {a}, right {b}, difference {c}", a=first, b=second, c=third)
        self._hover.setText(f"{place}  {text}")


def _spots(row: CompareRow) -> str:
    """The first values that differ: ``[3, 40]: 0.1 and 0.2``."""
    found = row.deviation
    if found is None or row.left is None or not found.first:
        return ""
    shape = row.left.shape
    return "   ".join(
        tr(
            "{place}: {left} and {right}",
            place=position_of(spot.offset, shape),
            left=f"{spot.left:.6g}" if isinstance(spot.left, float) else spot.left,
            right=f"{spot.right:.6g}" if isinstance(spot.right, float) else spot.right,
        )
        for spot in found.first
    )
