"""The whole dataset after a run: the figure, the confusion matrix and the wrong items."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from ruda.session import BatchPage, RunPage, tr
from ruda_workbench.item_models.batch_grid import BatchGridModel
from ruda_workbench.panels.run_figure import FigureCard
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.confusion import ConfusionMatrix
from ruda_workbench.widgets.labels import ElidedLabel, label
from ruda_workbench.widgets.tile_grid import TileGrid


class RunDatasetPanel(QWidget):
    """Figure card over the matrix with the wrong items beside it."""

    run_asked = Signal()
    item_shown = Signal(int)
    """Index of the wrong item that was chosen; -1 for none."""

    def __init__(self) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        self.figure = FigureCard("run.dataset")
        column.addWidget(self.figure)
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        self._pages = QStackedWidget()
        inner.addWidget(self._pages)
        self._pages.addWidget(self._nothing())
        self._pages.addWidget(self._confusion())
        column.addWidget(card, 1)

    def _nothing(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setSpacing(Space.M)
        centre = Qt.AlignmentFlag.AlignHCenter
        self._words = label(role="dim")
        self._words.setObjectName("run.dataset.words")
        self._start = push_button(tr("Run the whole dataset"), "run.dataset.start")
        self._start.clicked.connect(self.run_asked)
        column.addStretch(1)
        column.addWidget(self._words, 0, centre)
        column.addWidget(self._start, 0, centre)
        column.addStretch(2)
        return page

    def _confusion(self) -> QWidget:
        page = QWidget()
        row = QHBoxLayout(page)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.XL)
        left = QVBoxLayout()
        left.setSpacing(Space.S)
        left.addWidget(label(tr("What each class was taken for"), font=text_font(bold=True)))
        self.matrix = ConfusionMatrix("run.confusion")
        left.addWidget(self.matrix, 1)
        row.addLayout(left, 1)
        right = QVBoxLayout()
        right.setSpacing(Space.XS)
        self._wrong = ElidedLabel(font=text_font(bold=True))
        self._wrong.setObjectName("run.wrong")
        self._worst = ElidedLabel(ink="dim", elide=Qt.TextElideMode.ElideRight)
        self._worst.setObjectName("run.worst")
        self._worst.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.model = BatchGridModel()
        self.model.setParent(self)
        self.grid = TileGrid("run.mistakes", tr("Wrong items"), lines=2)
        self.grid.setModel(self.model)
        self.grid.tile_shown.connect(self._shown)
        for widget in (self._wrong, self._worst):
            right.addWidget(widget)
        right.addWidget(self.grid, 1)
        row.addLayout(right, 1)
        return page

    @property
    def worst(self) -> str:
        """The most frequent mistakes in words."""
        return self._worst.text()

    def current_item(self) -> int:
        """Index of the wrong item that is chosen; -1 for none."""
        tile = self.model.tile(self.grid.currentIndex().row())
        return -1 if tile is None else tile.index

    def _shown(self, row: int) -> None:
        tile = self.model.tile(row)
        self.item_shown.emit(-1 if tile is None else tile.index)

    def show_page(
        self, page: RunPage, mistakes: BatchPage | None, *, running: bool, can_run: bool
    ) -> None:
        """Draw what is known of the whole dataset."""
        if page.dataset is not None:
            self.figure.show_figure(page.dataset)
        elif running:
            self.figure.show_words(tr("Running the whole dataset…"), "")
        else:
            self.figure.show_words(tr("Not run yet"), "")
        view = page.confusion
        self._pages.setCurrentIndex(0 if view is None else 1)
        self.matrix.show_view(view)
        self._wrong.set_text("" if mistakes is None else mistakes.title)
        self._worst.set_text("" if view is None else " · ".join(view.worst))
        self.model.show_page(mistakes)
        if mistakes is not None and mistakes.tiles and not self.grid.currentIndex().isValid():
            self.grid.select_row(0)
        known = page.dataset is not None
        words = tr("There are no labels to compare with.") if known else ""
        self._words.setText(tr("Progress is in the status line.") if running else words)
        self._start.setVisible(can_run and not running and not known)
