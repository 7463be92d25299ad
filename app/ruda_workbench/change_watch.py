"""Open files that another program wrote to: noticed when work fails, and opened anew in place."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal

from ruda.progress import Monitor
from ruda.session import Document, JobNews, JobState, tr
from ruda_workbench import operations
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.widgets.banner import Banner


class ChangeWatch(QObject):
    """Looks after the files of all documents whenever a job has failed."""

    changed = Signal()
    """Another document is stale, or none is."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._question = Latest(context.jobs, self)
        self._stale: dict[int, Document] = {}
        context.jobs.news.connect(self._heard)

    def is_stale(self, document: Document | None) -> bool:
        """True if a document's file was seen changed, and has not been opened anew."""
        seen = None if document is None else self._stale.get(document.id)
        return seen is not None and document is not None and seen.index is document.index

    def _heard(self, news: JobNews) -> None:
        if news.state is JobState.FAILED and news.error is not None and news.error.expected:
            self._look()

    def _look(self) -> None:
        documents = self._context.session.documents
        if not documents:
            return

        def work(_: Monitor) -> tuple[Document, ...]:
            return tuple(each for each in documents if not _is_current(each))

        self._question.ask(tr("Looking whether files have changed"), work, self._found)

    def _found(self, documents: tuple[Document, ...]) -> None:
        fresh = [each for each in documents if not self.is_stale(each)]
        self._stale.update({each.id: each for each in fresh})
        for document in fresh:
            self._context.notify(
                "warning",
                tr("{name} was written to", name=document.name),
                stale_text(document),
                (tr("Reopen"), partial(operations.reopen_document, self._context, document.id)),
            )
        if fresh:
            self.changed.emit()


class StaleBanner(Banner):
    """Says that the document in front is not what its file holds, and opens it anew."""

    def __init__(self, context: Context, watch: ChangeWatch) -> None:
        super().__init__("weights.stale")
        self._context = context
        self._watch = watch
        self.pressed.connect(self._reopen)
        watch.changed.connect(self.refresh)
        context.changed.connect(self.refresh)

    def refresh(self) -> None:
        """Show it for a stale document, and only for one."""
        document = self._context.session.active
        if document is None or not self._watch.is_stale(document):
            self.show_text("error", "")
            return
        self.show_text("error", stale_text(document), tr("Reopen"))

    def _reopen(self) -> None:
        document = self._context.session.active
        if document is not None:
            operations.reopen_document(self._context, document.id)


def stale_text(document: Document) -> str:
    """What a person is told of a file that has changed."""
    return tr(
        "Another program wrote to {name} after it was opened, so its values cannot be read any "
        "more. Reopening keeps the recipe and the target.",
        name=document.name,
    )


def _is_current(document: Document) -> bool:
    return all(stamp.is_current for stamp in document.index.stamps)
