"""What is known of the document in front: its table, its load diff and its converted view.

Everything is made in jobs; whoever draws it listens to the signals. A newer recipe or target
drops the answers to older questions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Signal

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import (
    Changes,
    Derived,
    DiffTable,
    Document,
    JobFailure,
    ResolvedTarget,
    SaveOptions,
    SavePlanPage,
    SuggestLine,
    TensorTable,
    say,
    suggest_lines,
    tensor_table,
    tr,
    wanted_keys,
)
from ruda.store import DiffReport, TensorIndex
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.save_operations import AT_ONCE, plan_page, proposed_path

MOST_SUGGESTED = 200_000
"""Tensors up to which suggestions are looked for without being asked."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A document laid onto its target, and what its recipe makes of it.

    ``report`` and ``wanted`` are None without a target. ``view`` and ``plan`` follow later (of a
    large file the plan only when ``want_plan`` asks for it), and stay None where the recipe cannot
    be carried out; ``problem`` says why.
    """

    document: Document
    target: ResolvedTarget | None
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
    suggested = Signal()
    """Steps that would let more of it load are known, or that there are none."""
    halted = Signal()
    """Something of it was stopped before it was known, or is none of that any more."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._tables: dict[int, tuple[TensorIndex, TensorTable]] = {}
        self._laid: Laid | None = None
        self._document: Document | None = None
        self._table_question = Latest(context.jobs, self)
        self._laying_question = Latest(context.jobs, self)
        self._view_question = Latest(context.jobs, self)
        self._suggest_question = Latest(context.jobs, self)
        self._suggestions: tuple[SuggestLine, ...] = ()
        self._suggested_for: DiffReport | None = None
        self._halted: dict[str, Callable[[], None]] = {}
        self._table_problem = ""
        context.changed.connect(self._changed)

    @property
    def document(self) -> Document | None:
        """The document in front."""
        return self._document

    @property
    def table(self) -> TensorTable | None:
        """Its tensors; None until they are read."""
        document = self._document
        if document is None:
            return None
        index, table = self._tables.get(document.id, (None, None))
        return table if index is document.index else None

    @property
    def table_problem(self) -> str:
        """Why there is no table of it, where no job makes one; empty while one does."""
        return tr("Stopped") if "table" in self._halted else self._table_problem

    @property
    def laid(self) -> Laid | None:
        """The last laying of this document, also while a newer one is being made."""
        laid, document = self._laid, self._document
        if laid is None or document is None or laid.document.index is not document.index:
            return None
        return laid

    @property
    def current(self) -> Laid | None:
        """The laying of this document as it stands; None while it is being made."""
        laid = self.laid
        return laid if laid is not None and laid.document is self._document else None

    @property
    def suggestions(self) -> tuple[SuggestLine, ...]:
        """Steps that would let more of the document load, as it stands."""
        return self._suggestions

    @property
    def is_suggested(self) -> bool:
        """True once suggestions were looked for, for the laying that is shown."""
        laid = self.laid
        return laid is not None and laid.report is not None and laid.report is self._suggested_for

    @property
    def is_halted(self) -> bool:
        """True if something was stopped before it was known; ``go_on`` asks for it anew."""
        return bool(self._halted)

    def go_on(self) -> None:
        """Ask again for what was stopped."""
        asked = tuple(self._halted.values())
        self._forget_halts()
        for again in asked:
            again()

    def _halt(self, name: str, again: Callable[[], None]) -> None:
        self._halted[name] = again
        self.halted.emit()

    def _forget_halts(self) -> None:
        if self._halted:
            self._halted = {}
            self.halted.emit()

    def start(self) -> None:
        """Look at the session for the first time."""
        self._changed(Changes.ALL)

    def want_plan(self) -> None:
        """Make the plan of the document as it stands, unless it is there or being made."""
        laid = self.current
        if laid is not None and laid.view is not None and laid.plan is None and not laid.problem:
            self._ask_view(laid, planned=True)

    def stop(self) -> None:
        """Drop every question."""
        self._table_question.drop()
        self._laying_question.drop()
        self._view_question.drop()
        self._suggest_question.drop()

    def _changed(self, changes: Changes) -> None:
        if not changes & ~(Changes.SAVED | Changes.DATASET | Changes.BATCH | Changes.COMPARISON):
            return
        before, self._document = self._document, self._context.session.active
        if changes & Changes.DOCUMENTS:
            open_ids = {d.id for d in self._context.session.documents}
            self._tables = {k: v for k, v in self._tables.items() if k in open_ids}
            self._context.derived.forget(self._context.session.documents)
        document = self._document
        if before is not document:
            self._forget_halts()
        if document is None:
            self.stop()
            self._laid = self._suggested_for = None
            self._suggestions = ()
            if before is not None:
                self.switched.emit()
            return
        if before is None or before.id != document.id or before.index is not document.index:
            self.switched.emit()
            self._ask_table(document)
        if before is not document:
            self._ask_laying(document)

    def _ask_table(self, document: Document) -> None:
        self._table_problem = ""
        if self.table is not None:
            self.tabled.emit()
            return

        def work(monitor: Monitor) -> TensorTable:
            return tensor_table(document.index, monitor=monitor)

        def done(table: TensorTable) -> None:
            self._tables[document.id] = (document.index, table)
            self.tabled.emit()

        def failed(failure: JobFailure) -> None:
            self._table_problem = failure.summary
            self._context.fail(tr("{name} could not be listed", name=document.name), failure)
            self.tabled.emit()

        stopped = partial(self._halt, "table", partial(self._ask_table, document))
        title = tr("Listing {name}", name=document.name)
        self._table_question.ask(title, work, done, failed, stopped)

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
                self._ask_suggestions(laid)

        def failed(failure: JobFailure) -> None:
            self._tell_fault(title, failure)
            done(Laid(document, None, None, None, None, None, None, failure.summary))

        self._view_question.drop()
        self._suggest_question.drop()
        stopped = partial(self._halt, "laying", partial(self._ask_laying, document))
        title = tr("Comparing {name}", name=document.name)
        self._laying_question.ask(title, work, done, failed, stopped)

    def _ask_suggestions(self, laid: Laid) -> None:
        """Look for steps that would let more load, unless the file is very large."""
        report, document = laid.report, laid.document
        derived = self._context.derived
        if report is None or report.is_complete or len(document.index) > MOST_SUGGESTED:
            self._suggestions, self._suggested_for = (), report
            self.suggested.emit()
            return

        def work(monitor: Monitor) -> tuple[SuggestLine, ...]:
            return suggest_lines(derived.suggestions(document, monitor=monitor))

        def done(lines: tuple[SuggestLine, ...]) -> None:
            self._suggestions, self._suggested_for = lines, report
            self.suggested.emit()

        def failed(failure: JobFailure) -> None:
            self._tell_fault(title, failure)
            done(())  # a recipe that cannot be used is said by the load diff

        stopped = partial(self._halt, "suggestions", partial(self._ask_suggestions, laid))
        title = tr("Looking for suggestions")
        self._suggest_question.ask(title, work, done, failed, stopped)

    def _ask_view(self, laid: Laid, *, planned: bool = False) -> None:
        derived = self._context.derived
        if planned and self._view_question.is_waiting:
            return

        def work(monitor: Monitor) -> Laid:
            return with_view(laid, derived, monitor, planned=planned)

        def done(made: Laid) -> None:
            self._laid = made
            self.viewed.emit()

        def failed(failure: JobFailure) -> None:
            self._tell_fault(title, failure)
            done(replace(laid, view=None, plan=None, problem=failure.summary))

        stopped = partial(self._halt, "view", partial(self._ask_view, laid, planned=planned))
        title = tr("Planning {name}", name=laid.document.name)
        self._view_question.ask(title, work, done, failed, stopped)

    def _tell_fault(self, title: str, failure: JobFailure) -> None:
        """Tell of a fault of the program; what is refused is said where its answer would stand."""
        if not failure.expected:
            self._context.fail(title, failure)


def lay(document: Document, derived: Derived, monitor: Monitor) -> Laid:
    """Compare a document with its target; a refusal becomes ``problem``."""
    target: ResolvedTarget | None = None
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
                # A loop, not a call: that of a million keys holds up the window.
                wanted = frozenset({key for key in target.index})  # noqa: C416
    except RudaError as error:
        problem = say(str(error))
    return Laid(document, target, report, rows, None, None, wanted, problem)


def with_view(laid: Laid, derived: Derived, monitor: Monitor, *, planned: bool) -> Laid:
    """Add what the recipe makes of the document; a refusal becomes ``problem``.

    With ``planned``, or at once for a small file, what saving it would write as well.
    """
    document = laid.document
    plan: SavePlanPage | None = None
    try:
        view = derived.view(document, monitor=monitor)
        if planned or len(view) <= AT_ONCE:
            plan = plan_page(document, view, SaveOptions(proposed_path(document)))
    except RudaError as error:
        return replace(laid, view=None, plan=None, problem=say(str(error)))
    return replace(laid, view=view, plan=plan)
