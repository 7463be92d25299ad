"""The batch after a run: tiles with what was predicted, and the time of every layer under them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ruda.session import BatchPage, RunPage, tr
from ruda_workbench.context import Context
from ruda_workbench.key_words import keys_text
from ruda_workbench.panels.batch_card import BatchCard
from ruda_workbench.panels.run_figure import FigureCard
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.column_bars import ColumnBar, ColumnBars
from ruda_workbench.widgets.labels import ElidedLabel


class LayerStrip(QFrame):
    """A card with one column per layer: where the time went, at a glance."""

    more_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("run.strip")
        self.setProperty("surface", "card")
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.L, Space.S, Space.L, Space.S)
        column.setSpacing(Space.XS)
        row = QHBoxLayout()
        self._headline = ElidedLabel(font=text_font(bold=True))
        row.addWidget(self._headline)
        row.addStretch(1)
        more = push_button(tr("Shapes and parameters"), "run.more", link=True)
        more.clicked.connect(self.more_asked)
        row.addWidget(more)
        column.addLayout(row)
        self.bars = ColumnBars("run.bars", height=76)
        column.addWidget(self.bars)

    def show_page(self, page: RunPage) -> None:
        """Draw the layers of a run; hidden where there are none."""
        self.setVisible(bool(page.layers))
        self._headline.set_text(tr("Time per layer, {timing}", timing=page.timing))
        bars = tuple(
            ColumnBar(
                line.path,
                line.milliseconds,
                f"{line.milliseconds:.2f}",
                f"{line.kind}, {line.time}, {line.share_text}",
            )
            for line in page.layers
        )
        self.bars.show_bars(bars, tr("Time per layer, {timing}", timing=page.timing))


class RunBatchPanel(QWidget):
    """Figure, grid and strip."""

    item_shown = Signal(int)
    """Index of the item that was chosen; -1 for none."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        self.figure = FigureCard("run.batch")
        column.addWidget(self.figure)
        self._card = BatchCard(context, "run.grid", tr("Items and predictions"), lines=2)
        self.model, self.grid = self._card.model, self._card.grid
        self._card.item_shown.connect(self.item_shown)
        column.addWidget(self._card, 1)
        self.strip = LayerStrip()
        column.addWidget(self.strip)

    def show_page(self, page: RunPage, batch: BatchPage | None, *, running: bool) -> None:
        """Draw the batch with what is known of it."""
        if page.batch is not None:
            self.figure.show_figure(page.batch)
        elif running:
            self.figure.show_words(tr("Running…"), "")
        else:
            self.figure.show_words(
                tr("Not run yet"),
                tr("{keys} runs the model on this batch", keys=keys_text("Ctrl+R")),
            )
        self.strip.show_page(page)
        self._card.show_page(batch)

    def current_item(self) -> int:
        """Index of the item that is chosen; -1 for none."""
        return self._card.current_item()
