"""The inspector of an item: its picture, what a model said of it, facts and values."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView, QStackedWidget, QTableView, QVBoxLayout, QWidget

from ruda.progress import Monitor
from ruda.session import BatchRun, Evaluation, ItemPage, JobFailure, item_page, later, tr
from ruda_workbench.context import Context
from ruda_workbench.item_models.values_grid import ValuesGridModel
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.labels import ElidedLabel, Facts, label, set_role
from ruda_workbench.widgets.pictures import PictureView
from ruda_workbench.widgets.score_bars import ScoreBars

CHOOSE = later("Choose an item to see its picture and values.")


class ItemPanel(QWidget):
    """Shows one item of the session's dataset; ``name`` is the prefix of its object names."""

    def __init__(self, context: Context, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._context = context
        self._name = name
        self._question = Latest(context.jobs, self)
        self._page: ItemPage | None = None
        self._build()
        self.show_nothing()

    @property
    def page(self) -> ItemPage | None:
        """The item that is shown; None for none, or while it is read."""
        return self._page

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self._pages = QStackedWidget()
        outer.addWidget(self._pages)
        empty = QWidget()
        middle = QVBoxLayout(empty)
        middle.setContentsMargins(Space.L, Space.L, Space.L, Space.L)
        self._nothing = label(tr(CHOOSE), role="dim", wrap=True)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        middle.addStretch(1)
        middle.addWidget(self._nothing)
        middle.addStretch(2)
        self._pages.addWidget(empty)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M)
        self._title = ElidedLabel(font=text_font(bold=True))
        self._title.setObjectName(f"{self._name}.title")
        self._title.setMinimumHeight(24)
        self._problem = label(role="error", wrap=True)
        self._problem.setObjectName(f"{self._name}.problem")
        self._picture = PictureView(f"{self._name}.picture")
        self._facts = Facts()
        self._verdict = label(font=text_font(bold=True), wrap=True)
        self._verdict.setObjectName(f"{self._name}.verdict")
        self._scores = ScoreBars(f"{self._name}.scores")
        self._caption = label(tr("Values"), role="caption")
        for widget in (self._title, self._problem, self._picture, self._verdict, self._scores):
            column.addWidget(widget)
        column.addWidget(self._facts)
        column.addWidget(self._caption)
        column.addWidget(self._values(), 1)
        self._rest = QWidget()
        column.addWidget(self._rest, 1)
        self._pages.addWidget(body)

    def _values(self) -> QTableView:
        self._grid = QTableView()
        self._grid.setObjectName(f"{self._name}.values")
        self._grid.setAccessibleName(tr("Values of the picture"))
        self._model = ValuesGridModel()
        self._model.setParent(self)
        self._grid.setModel(self._model)
        self._grid.setFont(mono_font(11))
        self._grid.setShowGrid(False)
        self._grid.setCornerButtonEnabled(False)
        self._grid.setTabKeyNavigation(False)
        for header, size in (
            (self._grid.verticalHeader(), 20),
            (self._grid.horizontalHeader(), 28),
        ):
            header.setFont(text_font(10))
            header.setHighlightSections(False)
            header.setMinimumSectionSize(18)
            header.setDefaultSectionSize(size)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        return self._grid

    def show_nothing(self, text: str = "") -> None:
        """Show no item, and say why."""
        self._question.drop()
        self._page = None
        self._nothing.setText(text or tr(CHOOSE))
        self._pages.setCurrentIndex(0)

    def show_item(self, index: int, run: BatchRun | Evaluation | None = None) -> None:
        """Read and show an item; with ``run``, what the model said of it."""
        opened = self._context.session.dataset
        if opened is None or index < 0:
            self.show_nothing()
            return
        dataset = opened.dataset

        def work(monitor: Monitor) -> ItemPage:
            return item_page(dataset, index, run=run, monitor=monitor)

        def failed(failure: JobFailure) -> None:
            self.show_nothing(failure.summary)

        self._question.ask(tr("Reading item {index}", index=index), work, self._draw, failed)

    def leave(self) -> None:
        """Drop the question that is open."""
        self._question.drop()

    def _draw(self, page: ItemPage) -> None:
        self._page = page
        self._pages.setCurrentIndex(1)
        self._title.set_text(page.title)
        self._problem.setText(page.problem)
        self._problem.setVisible(bool(page.problem))
        self._picture.show_picture(page.picture, page.title)
        self._facts.show_facts(tuple((fact.label, fact.text) for fact in page.facts))
        self._verdict.setText(page.said)
        set_role(self._verdict, "role", {"right": "applied", "wrong": "error"}.get(page.verdict))
        self._verdict.setVisible(bool(page.scores))
        self._scores.show_scores(page.scores)
        # Beside probabilities there is no room for the values; the Data screen shows them.
        values = page.plane is not None and not page.scores
        self._caption.setVisible(values)
        self._grid.setVisible(values)
        self._rest.setVisible(not values)
        whole = page.plane is None or page.plane.dtype.kind in "uib"
        self._grid.horizontalHeader().setDefaultSectionSize(28 if whole else 70)
        self._model.show_plane(page.plane)
