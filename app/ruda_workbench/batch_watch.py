"""Follows the batch of the session's dataset: its page is read in a job while someone looks."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from ruda.progress import Monitor
from ruda.session import BatchChoice, BatchPage, JobFailure, OpenDataset, batch_page, tr
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest


class BatchWatch(QObject):
    """One screen's reading of the batch. A newer question drops the answers to older ones."""

    page_read = Signal()
    """``page`` or ``problem`` is another one."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._question = Latest(context.jobs, self)
        self._asked: tuple[OpenDataset | None, BatchChoice] | None = None
        self.page: BatchPage | None = None
        self.problem = ""

    @property
    def is_waiting(self) -> bool:
        """True while the batch is being read."""
        return self._question.is_waiting

    def look(self) -> None:
        """Read the batch of the session, unless it is the one that was read or asked for last."""
        opened, batch = self._context.session.dataset, self._context.session.batch
        wanted = (opened, batch)
        if wanted == self._asked:
            return
        if self._asked is None or self._asked[0] is not opened:
            self._question.drop()
            self._take(None)  # nothing of another dataset may stay in sight
        self._asked = wanted
        if opened is None:
            return
        dataset = opened.dataset

        def work(monitor: Monitor) -> BatchPage:
            return batch_page(
                dataset, batch.number, size=batch.size, shuffle=batch.shuffle, monitor=monitor
            )

        def failed(failure: JobFailure) -> None:
            self._take(None, failure.summary)

        def stopped() -> None:
            self._asked = None

        title = tr("Reading batch {number}", number=batch.number + 1)
        self._question.ask(title, work, self._take, failed, stopped)

    def stop(self) -> None:
        """Drop the question that is open; it is asked again at the next look."""
        if self._question.is_waiting:
            self._question.drop()
            self._asked = None

    def _take(self, page: BatchPage | None, problem: str = "") -> None:
        self.page, self.problem = page, problem
        self.page_read.emit()
