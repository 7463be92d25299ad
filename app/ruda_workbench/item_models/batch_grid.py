"""The items of one batch as a list: a tile each, its picture made when it is first painted."""

from __future__ import annotations

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QImage

from ruda.session import BatchPage, Tile
from ruda_workbench.widgets.pictures import picture_image
from ruda_workbench.widgets.tile_grid import PICTURE_ROLE, TILE_ROLE

Index = QModelIndex | QPersistentModelIndex

_ROOT = QModelIndex()
_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemNeverHasChildren
_NO_FLAGS = Qt.ItemFlag.NoItemFlags


class BatchGridModel(QAbstractListModel):
    """Draws the tiles of a ``BatchPage``."""

    def __init__(self) -> None:
        super().__init__()
        self._page: BatchPage | None = None
        self._tiles: tuple[Tile, ...] = ()
        self._pictures: dict[int, QImage] = {}

    @property
    def page(self) -> BatchPage | None:
        """The batch that is shown."""
        return self._page

    def show_page(self, page: BatchPage | None) -> None:
        """Show another batch; where the indices are the same, the chosen one stays chosen."""
        before, self._page = self._page, page
        tiles = () if page is None else page.tiles
        same = before is not None and page is not None and before.indices == page.indices
        if same and len(tiles) == len(self._tiles):
            self._pictures = {}
            self._tiles = tiles
            if tiles:
                self.dataChanged.emit(self.index(0), self.index(len(tiles) - 1))
            return
        self.beginResetModel()
        self._tiles = tiles
        self._pictures = {}
        self.endResetModel()

    def forget(self) -> None:
        """Show nothing, and let the pictures go."""
        self.beginResetModel()
        self._page, self._tiles, self._pictures = None, (), {}
        self.endResetModel()

    def tile(self, row: int) -> Tile | None:
        """The tile of a row; None outside."""
        return self._tiles[row] if 0 <= row < len(self._tiles) else None

    def row_of(self, index: int) -> int:
        """Row of the item with this index; -1 if it is not in the batch."""
        return next((row for row, tile in enumerate(self._tiles) if tile.index == index), -1)

    def rowCount(self, parent: Index = _ROOT) -> int:
        """Tiles; none below a tile."""
        return 0 if parent.isValid() else len(self._tiles)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """The tile, its picture, its label, or the whole in words."""
        if not index.isValid():
            return None
        tile = self._tiles[index.row()]
        if role == TILE_ROLE:
            return tile
        if role == PICTURE_ROLE:
            return self._picture(index.row())
        if role == Qt.ItemDataRole.DisplayRole:
            return tile.label
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return tile.words
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Every tile can be selected."""
        return _FLAGS if index.isValid() else _NO_FLAGS

    def _picture(self, row: int) -> QImage | None:
        image = self._tiles[row].image
        if image is None:
            return None
        if row not in self._pictures:
            self._pictures[row] = picture_image(image)
        return self._pictures[row]
