"""The pictures of a batch in a card, from which the keys lead on to the batch before and after."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QVBoxLayout

from ruda.session import BatchPage
from ruda_workbench import data_operations
from ruda_workbench.context import Context
from ruda_workbench.item_models.batch_grid import BatchGridModel
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.tile_grid import TileGrid


class BatchCard(QFrame):
    """Draws a ``BatchPage``, on the Data screen as on the Run screen."""

    item_shown = Signal(int)
    """Index of the item that was chosen; -1 for none."""

    def __init__(self, context: Context, name: str, title: str, *, lines: int = 1) -> None:
        super().__init__()
        self._context = context
        self.setProperty("surface", "card")
        inner = QVBoxLayout(self)
        inner.setContentsMargins(Space.S, Space.S, Space.XS, Space.S)
        self.model = BatchGridModel()
        self.model.setParent(self)
        self.grid = TileGrid(name, title, lines=lines)
        self.grid.setModel(self.model)
        inner.addWidget(self.grid)
        self.grid.batch_asked.connect(self._step)
        self.grid.end_asked.connect(self._end)
        self.grid.tile_shown.connect(self._shown)

    def show_page(self, page: BatchPage | None) -> None:
        """Draw a batch; its first item is chosen where none is."""
        self.model.show_page(page)
        if page is not None and page.tiles and not self.grid.currentIndex().isValid():
            self.grid.select_row(0)

    def current_item(self) -> int:
        """Index of the item that is chosen; -1 for none."""
        return self._index_of(self.grid.currentIndex().row())

    def _index_of(self, row: int) -> int:
        tile = self.model.tile(row)
        return -1 if tile is None else tile.index

    def _step(self, by: int) -> None:
        data_operations.step_batch(self._context, by)

    def _end(self, last: bool) -> None:
        data_operations.go_to_batch(self._context, -1 if last else 0)

    def _shown(self, row: int) -> None:
        self.item_shown.emit(self._index_of(row))
