"""Which models a document fits, and how well: asked in jobs, on headers only."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from ruda.models import architectures
from ruda.progress import Monitor
from ruda.session import (
    Document,
    JobFailure,
    ModelCoverage,
    ModelFit,
    model_coverages,
    model_fits,
    say,
    tr,
)
from ruda.store import Recipe, TensorIndex
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest


class FitWatch(QObject):
    """What is known of the models that the document in front could be laid onto."""

    found = Signal()
    """The models are known that the document is complete for, or that there are none."""
    covered = Signal()
    """It is known how much of every other model the document has."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._question = Latest(context.jobs, self)
        self._asked: tuple[TensorIndex, Recipe] | None = None
        self.fits: tuple[ModelFit, ...] = ()
        """Models that the document is complete for, the largest first."""
        self.coverages: tuple[ModelCoverage, ...] = ()
        """Models of which the document has something, the best first."""
        self.is_found = False
        """True once ``fits`` are those of the document."""
        self.is_halted = False
        """True after a stop, until somebody looks again."""

    def look(self, document: Document) -> None:
        """Find out about a document, unless that is known or under way."""
        if self._is_of(document) and not self.is_halted:
            return
        self._asked = (document.index, document.recipe)
        self._tell((), is_found=False)

        def work(monitor: Monitor) -> tuple[ModelFit, ...]:
            return model_fits(document, monitor=monitor)

        def done(fits: tuple[ModelFit, ...]) -> None:
            self._tell(fits, is_found=True)
            self._cover(document)

        def failed(failure: JobFailure) -> None:
            self._tell_fault(title, failure)
            self._tell((), is_found=True)

        title = tr("Looking for models")
        self._question.ask(title, work, done, failed, self._halt)

    def follow(self, document: Document | None) -> None:
        """Forget what was found out about anything else."""
        if self._asked is not None and (document is None or not self._is_of(document)):
            self._question.drop()
            self._asked = None
            self._tell((), is_found=False)

    def leave(self) -> None:
        """Stop looking; the next look begins anew."""
        if self._question.is_waiting:
            self._question.drop()
            self._asked = None

    def fit_of(self, document: Document, name: str) -> ModelFit | None:
        """What the document is complete for under the name of a model, as it stands."""
        fits = self.fits if self._is_of(document) else ()
        return next((fit for fit in fits if fit.choice.name == name), None)

    def coverage_of(self, document: Document, name: str) -> ModelCoverage | None:
        """What is said of a model beside its name, for the document as it stands."""
        said = self.coverages if self._is_of(document) else ()
        return next((each for each in said if each.name == name), None)

    def offers(self) -> tuple[tuple[str, str], ...]:
        """Names of all models with what a menu says of them, the best first, then a line."""
        covered = {each.name: each for each in self.coverages}
        texts = {each.name: f"{each.name}\t{say(each.title)}\t" for each in architectures()}
        best = [(name, f"{texts.pop(name)}{each.text}") for name, each in covered.items()]
        line = [("---", "")] if best and texts else []
        return (*best, *line, *texts.items())

    def _is_of(self, document: Document) -> bool:
        asked = self._asked
        return asked is not None and asked[0] is document.index and asked[1] == document.recipe

    def _cover(self, document: Document) -> None:
        fits = self.fits

        def work(monitor: Monitor) -> tuple[ModelCoverage, ...]:
            return model_coverages(document, fits, monitor=monitor)

        def done(coverages: tuple[ModelCoverage, ...]) -> None:
            self.coverages = coverages
            self.covered.emit()

        def failed(failure: JobFailure) -> None:
            self._tell_fault(title, failure)
            done(())

        title = tr("Counting what models would find")
        self._question.ask(title, work, done, failed, self._halt)

    def _tell_fault(self, title: str, failure: JobFailure) -> None:
        """Tell of a fault of the program; a file that cannot be laid onto a model is none."""
        if not failure.expected:
            self._context.fail(title, failure)

    def _halt(self) -> None:
        """Somebody stopped it: what is known stays, and the next look begins anew."""
        self.is_halted = True
        self.found.emit()

    def _tell(self, fits: tuple[ModelFit, ...], *, is_found: bool) -> None:
        self.is_halted = False
        self.fits, self.coverages, self.is_found = fits, (), is_found
        self.found.emit()
        self.covered.emit()
