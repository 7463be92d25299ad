"""Paging through batches: number, size and order over the picture grid."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ruda.session import BatchChoice, BatchPage, count_text, tr
from ruda_workbench import data_operations
from ruda_workbench.context import Context
from ruda_workbench.panels.batch_card import BatchCard
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Switch, icon_button
from ruda_workbench.widgets.labels import ElidedLabel, label
from ruda_workbench.widgets.number_field import NumberField

MOST_PER_BATCH = 1024
MOST_SEED = 2**31 - 1
DEFAULT_SEED = 42


class Pager(QWidget):
    """Which batch, how large, in which order."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.S)
        self.back = icon_button("chevron-left", tr("Batch before  Page Up"), "data.back")
        self.ahead = icon_button("chevron-right", tr("Next batch  Page Down"), "data.ahead")
        self.number = NumberField("data.batch", tr("Number of the batch"), 1, 1, digits=5)
        self._total = label(role="dim")
        self.per_batch = NumberField("data.size", tr("Items in a batch"), 1, MOST_PER_BATCH)
        self.shuffle = Switch(tr("Shuffle"), "data.shuffle")
        self._seed_word = label(tr("with seed"), role="dim")
        self.seed = NumberField("data.seed", tr("Seed of the order"), 0, MOST_SEED, digits=6)
        self.seed.show_value(DEFAULT_SEED)
        self._span = ElidedLabel(ink="dim")
        self._span.setObjectName("data.span")
        for widget in (
            label(tr("Batch"), role="dim"),
            self.back,
            self.number,
            self.ahead,
            self._total,
        ):
            row.addWidget(widget)
        row.addSpacing(Space.M)
        row.addWidget(self.per_batch)
        row.addWidget(label(tr("per batch"), role="dim"))
        row.addSpacing(Space.M)
        for option in (self.shuffle, self._seed_word, self.seed):
            row.addWidget(option)
        row.addStretch(1)
        row.addWidget(self._span)
        self._connect()

    def _connect(self) -> None:
        self.back.clicked.connect(self._back)
        self.ahead.clicked.connect(self._ahead)
        self.number.changed.connect(self._number)
        self.per_batch.changed.connect(self._size)
        self.shuffle.toggled.connect(self._order)
        self.seed.changed.connect(self._order)

    @property
    def span(self) -> str:
        """Which items are shown, in words."""
        return self._span.text()

    def show_choice(self, batch: BatchChoice, batches: int) -> None:
        """Show which batch is looked at, telling no one."""
        self.number.set_range(1, batches)
        self.number.show_value(batch.number + 1)
        self._total.setText(tr("of {batches}", batches=count_text(batches)))
        self.per_batch.show_value(batch.size)
        self.shuffle.blockSignals(True)
        self.shuffle.setChecked(batch.shuffle is not None)
        self.shuffle.blockSignals(False)
        if batch.shuffle is not None:
            self.seed.show_value(batch.shuffle)
        self._seed_word.setVisible(batch.shuffle is not None)
        self.seed.setVisible(batch.shuffle is not None)
        self.back.setEnabled(batch.number > 0)
        self.ahead.setEnabled(batch.number + 1 < batches)
        self.shuffle.update()

    def show_span(self, text: str) -> None:
        """Say which items are shown."""
        self._span.set_text(text)

    def _back(self) -> None:
        data_operations.step_batch(self._context, -1)

    def _ahead(self) -> None:
        data_operations.step_batch(self._context, 1)

    def _number(self, value: int) -> None:
        data_operations.go_to_batch(self._context, value - 1)

    def _size(self, value: int) -> None:
        data_operations.resize_batches(self._context, value)

    def _order(self) -> None:
        on = self.shuffle.isChecked()
        data_operations.shuffle(self._context, self.seed.value if on else None)


class BatchPanel(QWidget):
    """Pager over the card with the grid."""

    item_shown = Signal(int)
    """Index of the item that was chosen; -1 for none."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        self.pager = Pager(context)
        column.addWidget(self.pager)
        self._card = BatchCard(context, "data.grid", tr("Items of the batch"))
        self.model, self.grid = self._card.model, self._card.grid
        self._card.item_shown.connect(self.item_shown)
        column.addWidget(self._card, 1)

    def show_choice(self, batch: BatchChoice, batches: int) -> None:
        """Show which batch is looked at."""
        self.pager.show_choice(batch, batches)

    def show_page(self, page: BatchPage | None, problem: str) -> None:
        """Draw a batch, or why there is none."""
        nothing = tr("The dataset has no items.") if page is not None else ""
        self.grid.empty_text = problem or nothing
        self.pager.show_span("" if page is None else page.span)
        self._card.show_page(page)

    def forget(self) -> None:
        """Show nothing: the dataset was changed or closed."""
        self.grid.empty_text = ""
        self.model.forget()
