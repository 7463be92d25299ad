"""What is known of the document in front: its table, its load diff and its converted view.

Everything is made in jobs; whoever draws it listens to the signals. A newer recipe or target
drops the answers to older questions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, Signal

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import (
    Changes,
    Derived,
    DiffTable,
    Document,
    JobFailure,
    SaveOptions,
    SavePlanPage,
    Target,
    TensorTable,
    tensor_table,
    wanted_keys,
)
from ruda.store import DiffReport, TensorIndex
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.save_operations import plan_page, proposed_path


@dataclass(frozen=True, slots=True)
class Laid:
    """A document laid onto its target, and what its recipe makes of it.

    ``report`` and ``wanted`` are None without a target. ``view`` and ``plan`` follow later, and
    stay None where the recipe cannot be carried out; ``problem`` says why.
    """

    document: Document
    target: Target | None
    report: DiffReport | None
    rows: DiffTable | None
    """The rows of the report as columns, of which every page is quick."""
    view: TensorIndex | None
    plan: SavePlanPage | None
    """What saving the view would write, in the format of the proposed path."""
    wanted: frozenset[str] | None
    problem: str


class DocumentWatch(QObject):
    """Follows the session's active document."""

    switched = Signal()
    """Another document is in front, or none."""
    tabled = Signal()
    """Its table of tensors is there."""
    laid_anew = Signal()
    """It has been compared with its target."""
    viewed = Signal()
    """What its recipe makes of it is known, or why it cannot be made."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._tables: dict[int, TensorTable] = {}
        self._laid: Laid | None = None
        self._document: Document | None = None
        self._table_question = Latest(context.jobs, self)
        self._laying_question = Latest(context.jobs, self)
        self._view_question = Latest(context.jobs, self)
        context.changed.connect(self._changed)

    @property
    def document(self) -> Document | None:
        """The document in front."""
        return self._document

    @property
    def table(self) -> TensorTable | None:
        """Its tensors; None until they are read."""
        return None if self._document is None else self._tables.get(self._document.id)

    @property
    def laid(self) -> Laid | None:
        """The last laying of this document, also while a newer one is being made."""
        laid, document = self._laid, self._document
        if laid is None or document is None or laid.document.id != document.id:
            return None
        return laid

    @property
    def current(self) -> Laid | None:
        """The laying of this document as it stands; None while it is being made."""
        laid = self.laid
        return laid if laid is not None and laid.document is self._document else None

    def start(self) -> None:
        """Look at the session for the first time."""
        self._changed(Changes.ALL)

    def stop(self) -> None:
        """Drop every question."""
        self._table_question.drop()
        self._laying_question.drop()
        self._view_question.drop()

    def _changed(self, changes: Changes) -> None:
        if not changes & ~(Changes.SAVED | Changes.DATASET | Changes.BATCH):
            return
        before, self._document = self._document, self._context.session.active
        if changes & Changes.DOCUMENTS:
            open_ids = {d.id for d in self._context.session.documents}
            self._tables = {k: v for k, v in self._tables.items() if k in open_ids}
            self._context.derived.forget()
        document = self._document
        if document is None:
            self.stop()
            self._laid = None
            if before is not None:
                self.switched.emit()
            return
        if before is None or before.id != document.id:
            self.switched.emit()
            self._ask_table(document)
        if before is not document:
            self._ask_laying(document)

    def _ask_table(self, document: Document) -> None:
        if document.id in self._tables:
            self.tabled.emit()
            return

        def work(monitor: Monitor) -> TensorTable:
            return tensor_table(document.index, monitor=monitor)

        def done(table: TensorTable) -> None:
            self._tables[document.id] = table
            self.tabled.emit()

        self._table_question.ask(f"Listing {document.name}", work, done)

    def _ask_laying(self, document: Document) -> None:
        derived = self._context.derived

        def work(monitor: Monitor) -> Laid:
            return lay(document, derived, monitor)

        def done(laid: Laid) -> None:
            self._laid = laid
            self.laid_anew.emit()
            if laid.problem:
                self.viewed.emit()
            else:
                self._ask_view(laid)

        def failed(failure: JobFailure) -> None:
            done(Laid(document, None, None, None, None, None, None, failure.summary))

        self._view_question.drop()
        self._laying_question.ask(f"Comparing {document.name}", work, done, failed)

    def _ask_view(self, laid: Laid) -> None:
        derived = self._context.derived

        def work(monitor: Monitor) -> Laid:
            return with_view(laid, derived, monitor)

        def done(made: Laid) -> None:
            self._laid = made
            self.viewed.emit()

        def failed(failure: JobFailure) -> None:
            done(replace(laid, problem=failure.summary))

        self._view_question.ask(f"Planning {laid.document.name}", work, done, failed)


def lay(document: Document, derived: Derived, monitor: Monitor) -> Laid:
    """Compare a document with its target; a refusal becomes ``problem``."""
    target: Target | None = None
    report: DiffReport | None = None
    rows: DiffTable | None = None
    wanted: frozenset[str] | None = None
    problem = ""
    try:
        if document.target is not None:
            target = derived.target(document.target, monitor=monitor)
            report = derived.report(document, monitor=monitor)
            rows = derived.diff_table(document, monitor=monitor)
            spec = target.spec
            if spec is not None:
                wanted = wanted_keys(spec, document.recipe)
            elif target.index is not None:
                wanted = frozenset(target.index)
    except RudaError as error:
        problem = str(error)
    return Laid(document, target, report, rows, None, None, wanted, problem)


def with_view(laid: Laid, derived: Derived, monitor: Monitor) -> Laid:
    """Add what the recipe makes of the document; a refusal becomes ``problem``."""
    document = laid.document
    try:
        view = derived.view(document, monitor=monitor)
        plan = plan_page(document, view, SaveOptions(proposed_path(document)))
    except RudaError as error:
        return replace(laid, problem=str(error))
    return replace(laid, view=view, plan=plan)
