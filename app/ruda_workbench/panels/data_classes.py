"""How many items each class has, counted in a job."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from ruda.progress import Monitor
from ruda.session import ClassPage, JobFailure, OpenDataset, class_page, count_text, tr
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.column_bars import ColumnBar, ColumnBars
from ruda_workbench.widgets.labels import ElidedLabel


class ClassCard(QFrame):
    """A card with the headline and one column per class; each dataset is counted once."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("data.classes")
        self.setProperty("surface", "card")
        self._question = Latest(context.jobs, self)
        self._counted: OpenDataset | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.S)
        row = QHBoxLayout()
        self._headline = ElidedLabel(font=text_font(bold=True))
        self._headline.setObjectName("data.classes.headline")
        self._note = ElidedLabel(ink="dim")
        self._note.setObjectName("data.classes.note")
        row.addWidget(self._headline)
        row.addStretch(1)
        row.addWidget(self._note)
        column.addLayout(row)
        self.bars = ColumnBars("data.classes.bars", height=76)
        column.addWidget(self.bars)

    @property
    def headline(self) -> str:
        """The sentence that is shown."""
        return self._headline.text()

    @property
    def note(self) -> str:
        """What stands beside the sentence."""
        return self._note.text()

    def show_dataset(self, opened: OpenDataset) -> None:
        """Count this dataset, unless it was counted last."""
        if self._counted is opened:
            return
        self._counted = opened
        dataset = opened.dataset
        self._headline.set_text(tr("Counting classes…"))
        self._note.set_text("")
        self.bars.show_bars((), tr("Counting classes"))

        def work(monitor: Monitor) -> ClassPage:
            return class_page(dataset, monitor=monitor)

        def failed(failure: JobFailure) -> None:
            self._headline.set_text(tr("The classes could not be counted"))
            self._note.set_text(failure.summary)

        self._question.ask(tr("Counting classes"), work, self._draw, failed, self._stopped)

    def leave(self) -> None:
        """Stop counting; it starts anew when the dataset is shown again."""
        if self._question.is_waiting:
            self._question.drop()
            self._counted = None

    def _stopped(self) -> None:
        self._counted = None
        self._headline.set_text(tr("The classes were not counted"))
        self._note.set_text(tr("Stopped"))

    def _draw(self, page: ClassPage) -> None:
        self._headline.set_text(page.headline)
        self._note.set_text(page.note)
        bars = tuple(
            ColumnBar(bar.name, float(bar.count), count_text(bar.count), bar.text)
            for bar in page.bars
        )
        self.bars.show_bars(bars, page.headline)
        self.bars.setVisible(bool(bars))
