"""What is known of a comparison: its two documents, how they are compared, and the answer.

Headers are compared whenever something changes; values only when they are asked for.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from ruda.progress import Monitor
from ruda.session import (
    Changes,
    CompareOptions,
    CompareTable,
    Comparison,
    Document,
    JobFailure,
    SideView,
    compare_documents,
    tr,
)
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest


class CompareWatch(QObject):
    """Follows two open documents."""

    chosen = Signal()
    """Another document stands on a side, or the comparison is asked otherwise."""
    compared = Signal()
    """The answer is there, or why there is none."""
    waiting = Signal()
    """A comparison has begun, or was stopped."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._seen: tuple[object, ...] = (None,) * 4
        self._asks = False
        self._question = Latest(context.jobs, self)
        self.table: CompareTable | None = None
        self.problem = ""
        context.changed.connect(self._changed)

    @property
    def options(self) -> CompareOptions:
        """How both are compared."""
        return self._context.session.comparison.options

    @property
    def left(self) -> Document | None:
        """The document on the left."""
        return self._document(0)

    @property
    def right(self) -> Document | None:
        """The document on the right."""
        return self._document(1)

    @property
    def is_ready(self) -> bool:
        """True if both sides have a document."""
        return self.left is not None and self.right is not None

    @property
    def job_id(self) -> int | None:
        """Number of the job that compares now."""
        return self._question.job_id

    def choose(self, side: int, document_id: int | None) -> None:
        """Put a document on a side: 0 is the left one."""
        sides = list(self._context.session.comparison.sides)
        if sides[side] != document_id:
            sides[side] = document_id
            self._keep(self._context.session.comparison.with_sides(*sides))
            self._look()

    def fill(self, document_id: int) -> None:
        """Put a document on the side that is free, or on the right."""
        sides = self._context.session.comparison.sides
        if document_id not in sides:
            self.choose(0 if sides[0] is None else 1, document_id)

    def swap(self) -> None:
        """Let the sides change places, with their rules."""
        self._keep(self._context.session.comparison.swapped())
        self._look()

    def ask_with(self, options: CompareOptions) -> None:
        """Compare in another way; values have to be asked for again."""
        self._set_options(options.with_values(on=False))
        self._look()

    def want_values(self) -> None:
        """Compare every value."""
        if self.is_ready:
            self._set_options(self.options.with_values(on=True))
            self._ask()

    def stop(self) -> None:
        """Drop the question that is open."""
        self._question.drop()
        self.waiting.emit()

    def refresh(self) -> None:
        """Compare now if something changed while nobody looked."""
        if not self._is_seen():
            self._look()

    def _subjects(self) -> tuple[object, ...]:
        """What the answer hangs on: the files, and the recipes where they count."""
        found: list[object] = []
        for document, side in ((self.left, self.options.left), (self.right, self.options.right)):
            through = document is not None and side.view is not SideView.FILE
            found.append(None if document is None else document.index)
            found.append(document.recipe if document is not None and through else None)
        return tuple(found)

    def _is_seen(self) -> bool:
        pairs = zip(self._seen, self._subjects(), strict=True)
        return all(one is other for one, other in pairs)

    def _keep(self, comparison: Comparison) -> None:
        """Note in the session what is asked, without being told of it as news."""
        self._asks = True
        try:
            self._context.session.compare(comparison)
        finally:
            self._asks = False

    def _set_options(self, options: CompareOptions) -> None:
        self._keep(self._context.session.comparison.with_options(options))

    def _document(self, side: int) -> Document | None:
        wanted = self._context.session.comparison.sides[side]
        found = (d for d in self._context.session.documents if d.id == wanted)
        return next(found, None)

    def _changed(self, changes: Changes) -> None:
        if self._asks:
            return
        if changes & Changes.COMPARISON:
            self._look()
        elif changes & (Changes.DOCUMENTS | Changes.RECIPE | Changes.PART):
            if not self._is_seen():
                self._set_options(self.options.with_values(on=False))
                self._look()
            else:
                self.chosen.emit()

    def _look(self) -> None:
        self._seen = self._subjects()
        self.chosen.emit()
        self._ask()

    def _ask(self) -> None:
        left, right, options = self.left, self.right, self.options
        if left is None or right is None:
            self._question.drop()
            self._answer(None, "")
            return

        def work(monitor: Monitor) -> CompareTable:
            table = CompareTable(compare_documents(left, right, options, monitor=monitor))
            monitor.check()
            _ = table.numbers  # made here, so that the first view is quick
            return table

        def done(table: CompareTable) -> None:
            self._answer(table, "")

        def failed(failure: JobFailure) -> None:
            if options.values:
                self._set_options(options.with_values(on=False))
            self._answer(None if not options.values else self.table, failure.summary)

        def cancelled() -> None:
            self._set_options(self.options.with_values(on=False))
            self.waiting.emit()

        title = tr("Comparing {left} and {right}", left=left.name, right=right.name)
        self._question.ask(title, work, done, failed, cancelled)
        self.waiting.emit()

    def _answer(self, table: CompareTable | None, problem: str) -> None:
        self.table, self.problem = table, problem
        self.waiting.emit()
        self.compared.emit()
