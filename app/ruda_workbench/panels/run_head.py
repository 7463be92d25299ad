"""The head of a run: which weights as which model, on what, and the buttons that start it."""

from __future__ import annotations

from PySide6.QtCore import Signal

from ruda.session import RunSetup, tr
from ruda_workbench.key_words import keys_text
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Type
from ruda_workbench.widgets.buttons import Picker, push_button
from ruda_workbench.widgets.head import Head, fact_line
from ruda_workbench.widgets.labels import ElidedLabel


class RunHead(Head):
    """Draws a ``RunSetup``; the model is picked in the sentence itself."""

    model_picked = Signal(str)
    batch_asked = Signal()
    dataset_asked = Signal()
    stop_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._running = False
        font = text_font(Type.TITLE, bold=True)
        self._weights = ElidedLabel(font=font)
        self._weights.setObjectName("run.weights")
        self._weights.setMinimumHeight(24)
        self._word = ElidedLabel(tr("run as"), font=text_font(Type.TITLE), ink="dim")
        self.model = Picker("run.model", tr("Model"), quiet=True)
        self.model.setFont(font)
        self.model.picked.connect(self.model_picked)
        self._facts = fact_line("run.facts")
        self.whole = push_button(tr("Run the whole dataset"), "run.whole")
        self.run = push_button(tr("Run the batch"), "run.run", primary=True)
        self.run.setToolTip(f"{tr('Run the model on the batch')}  {keys_text('Ctrl+R')}")
        self.lay_out((self._weights, self._word, self.model), self._facts, (self.whole, self.run))
        self.whole.clicked.connect(self._whole)
        self.run.clicked.connect(self.batch_asked)

    @property
    def facts(self) -> str:
        """The facts that are shown."""
        return self._facts.text()

    def offer(self, models: tuple[tuple[str, str], ...]) -> None:
        """Offer these models."""
        self.model.offer(models, self.model.value)

    def show_setup(self, setup: RunSetup, *, running_batch: bool, running_dataset: bool) -> None:
        """Draw another setup; while something runs its button says so."""
        self._running = running_dataset
        self._weights.set_text(setup.weights or tr("Run a model"))
        self._word.setVisible(bool(setup.weights))
        self.model.setVisible(bool(setup.weights))
        self.model.show_value(setup.model, setup.model or tr("choose a model"))
        self._facts.set_text(setup.facts)
        self.run.setVisible(bool(setup.weights))
        self.whole.setVisible(bool(setup.weights))
        self.run.setEnabled(setup.can_run and not running_batch)
        self.whole.setEnabled(running_dataset or setup.can_run)
        text = tr("Stop") if running_dataset else tr("Run the whole dataset")
        self.whole.setText(text)
        self.whole.setAccessibleName(text)
        self.setAccessibleName(
            tr("{weights} run as {model}", weights=setup.weights, model=setup.model)
        )

    def _whole(self) -> None:
        (self.stop_asked if self._running else self.dataset_asked).emit()
