"""The head of a dataset: what it is, how many items, its part, and the buttons."""

from __future__ import annotations

from PySide6.QtCore import Signal

from ruda.session import DatasetPage, tr
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Type
from ruda_workbench.widgets.buttons import Picker, push_button
from ruda_workbench.widgets.head import Head, fact_line
from ruda_workbench.widgets.labels import ElidedLabel


class DataHead(Head):
    """Draws a ``DatasetPage``."""

    split_picked = Signal(str)
    open_asked = Signal()
    run_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = ElidedLabel(font=text_font(Type.TITLE, bold=True))
        self._title.setObjectName("data.title")
        self._title.setMinimumHeight(24)
        self._count = ElidedLabel(font=text_font(Type.TITLE), ink="dim")
        self._count.setObjectName("data.count")
        self.split = Picker("data.split", tr("Part of the dataset"), quiet=True)
        self.split.picked.connect(self.split_picked)
        self._facts = fact_line("data.facts")
        another = push_button(tr("Open another…"), "data.open-another")
        run = push_button(tr("Run a model on it"), "data.run", primary=True)
        another.clicked.connect(self.open_asked)
        run.clicked.connect(self.run_asked)
        self.lay_out((self._title, self._count, self.split), self._facts, (another, run))

    @property
    def title(self) -> str:
        """The sentence that is shown: ``digits test images · 1 000 items``."""
        return f"{self._title.text()} {self._count.text()}"

    @property
    def facts(self) -> str:
        """The facts that are shown."""
        return self._facts.text()

    def show_page(self, page: DatasetPage) -> None:
        """Draw another dataset."""
        self._title.set_text(page.title)
        self._title.setToolTip(page.path)
        self._count.set_text(f"· {page.count}")
        self._count.setMinimumWidth(self._count.sizeHint().width())  # the title gives way
        self._facts.set_text(page.facts)
        self.split.setVisible(bool(page.splits))
        self.split.offer(tuple((name, name) for name in page.splits), page.split)
        self.setAccessibleName(self.title)
