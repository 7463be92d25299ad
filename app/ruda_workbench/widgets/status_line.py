"""The status line: what is open, the job that runs, memory and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QMenu

from ruda.session import tr
from ruda_workbench.key_words import keys_text
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Size, Space, Type
from ruda_workbench.widgets.bars import ProgressStrip
from ruda_workbench.widgets.buttons import icon_button, push_button
from ruda_workbench.widgets.labels import ElidedLabel, label

if TYPE_CHECKING:
    from ruda.session import JobNews

LINGER = 250
"""Milliseconds before a job is shown: shorter ones would only flicker."""
MEMORY_EVERY = 2000
MOST = 20
"""Findings that are listed; of more, how many there are."""
NARROW = 900
"""Width under which a running job takes the place of the memory."""


def job_text(news: JobNews) -> str:
    """``62 % · 1.2 GB/s`` for a job."""
    from ruda.session import count_text, size_text

    if news.stopping:
        return tr("stopping…")
    parts: list[str] = []
    progress = news.progress
    if progress is not None:
        share = progress.fraction
        if share is not None:
            parts.append(f"{share * 100:.0f} %")
        elif progress.done:
            parts.append(f"{count_text(progress.done)} {tr(progress.unit)}")
        if news.rate:
            rate = f"{count_text(round(news.rate))} {tr(progress.unit)}"
            parts.append(f"{size_text(int(news.rate)) if progress.unit == 'bytes' else rate}/s")
    return " · ".join(parts)


class StatusLine(QFrame):
    """The line at the foot of the window."""

    cancel_asked = Signal(int)
    jobs_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("StatusLine")
        self.setFixedHeight(Size.STATUS_LINE)
        font = text_font(Type.CAPTION + 1)
        self._summary = ElidedLabel(font=font, ink="dim", elide=Qt.TextElideMode.ElideRight)
        self._summary.setObjectName("status.summary")
        self._job_title = ElidedLabel(font=font, ink="dim")
        self._job_title.setObjectName("status.job")
        self._strip = ProgressStrip()
        self._job_text = label(role="dim", font=font)
        self._cancel = icon_button("close", tr("Stop this job"), "status.cancel")
        self._cancel.setIconSize(QSize(12, 12))
        self._jobs = push_button(tr("Jobs"), "status.jobs", link=True)
        self._jobs.setFont(font)
        self._jobs.setProperty("quiet", True)
        self._jobs.setToolTip(f"{tr('Show or hide the jobs')}  {keys_text('Ctrl+J')}")
        self._jobs.clicked.connect(self.jobs_asked)
        self._memory = label(role="dim", font=font)
        self._memory.setObjectName("status.memory")
        self._findings = push_button(tr("No findings"), "status.findings", link=True)
        self._findings.setFont(font)
        self._findings.setProperty("quiet", True)
        self._sentences: tuple[str, ...] = ()
        self._build()
        self._news: dict[int, JobNews] = {}
        self._shown: int | None = None
        self._linger = QTimer(self)
        self._linger.setSingleShot(True)
        self._linger.setInterval(LINGER)
        self._linger.timeout.connect(self._show_job)
        self._clock = QTimer(self)
        self._total = 0
        self._clock.setInterval(MEMORY_EVERY)
        self._clock.timeout.connect(self._show_memory)
        self._has_memory = False  # until the settings are read
        self._hide_job()

    def _build(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(Space.L, 0, Space.M, 0)
        row.setSpacing(Space.S)
        row.addWidget(self._summary)
        row.addSpacing(Space.M)
        row.addWidget(self._job_title)
        row.addWidget(self._strip)
        row.addWidget(self._job_text)
        row.addWidget(self._cancel)
        row.addStretch(1)
        row.addWidget(self._memory)
        row.addSpacing(Space.S)
        row.addWidget(self._jobs)
        row.addWidget(self._findings)
        self._cancel.clicked.connect(self._cancel_clicked)

    @property
    def shown_job(self) -> int | None:
        """Id of the job that is shown."""
        return self._shown

    def show_summary(self, text: str) -> None:
        """Say what is open."""
        self._summary.set_text(text)

    def show_findings(self, findings: tuple[str, ...]) -> None:
        """Say how many findings there are; a click lists them."""
        count = len(findings)
        text = (
            tr("No findings")
            if not count
            else tr("1 finding")
            if count == 1
            else tr("{count} findings", count=count)
        )
        self._findings.setText(text)
        self._findings.setAccessibleName(text)
        self._findings.setEnabled(bool(count))
        if findings == self._sentences:
            return
        self._sentences = findings
        old = self._findings.menu()
        menu = QMenu(self._findings)
        for sentence in findings[:MOST]:
            menu.addAction(sentence if len(sentence) < 160 else f"{sentence[:157]}…")
        if count > MOST:
            more = menu.addAction(tr("and {count} more", count=count - MOST))
            more.setEnabled(False)
        self._findings.setMenu(menu)
        if old is not None:
            old.deleteLater()

    def show_memory(self, *, on: bool) -> None:
        """Show or hide the memory that the program uses."""
        self._has_memory = on
        self._make_room()
        if on:
            self._clock.start()
            self._show_memory()
        else:
            self._clock.stop()

    def show_news(self, news: JobNews) -> None:
        """Take note of a job; the one that has run longest is shown."""
        if news.state.is_final:
            self._news.pop(news.job_id, None)
        else:
            self._news[news.job_id] = news
        text = tr("Jobs ({count})", count=len(self._news)) if self._news else tr("Jobs")
        self._jobs.setText(text)
        self._jobs.setAccessibleName(text)
        if not self._news:
            self._linger.stop()
            self._hide_job()
        elif self._shown in self._news:
            self._show_job()
        elif not self._linger.isActive():
            self._linger.start()

    def _show_job(self) -> None:
        if not self._news:
            return
        if self._shown not in self._news:
            self._shown = min(self._news)
        news = self._news[self._shown]
        more = f"  (+{len(self._news) - 1})" if len(self._news) > 1 else ""
        self._job_title.set_text(news.title + more)
        self._job_text.setText(job_text(news))
        self._strip.set_fraction(None if news.progress is None else news.progress.fraction)
        for widget in (self._job_title, self._strip, self._job_text, self._cancel):
            widget.show()
        self._make_room()

    def _hide_job(self) -> None:
        self._shown = None
        for widget in (self._job_title, self._strip, self._job_text, self._cancel):
            widget.hide()
        self._make_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the job what little width there is."""
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        """A job goes before the memory where there is no room for both."""
        roomy = self._shown is None or self.width() >= NARROW
        self._memory.setVisible(self._has_memory and roomy)

    def _cancel_clicked(self) -> None:
        if self._shown is not None:
            self.cancel_asked.emit(self._shown)

    def _show_memory(self) -> None:
        import psutil

        from ruda.session import size_text

        if not self._total:
            self._total = psutil.virtual_memory().total
        used = psutil.Process().memory_info().rss
        self._memory.setText(
            tr("Memory {used} of {total}", used=size_text(used), total=size_text(self._total))
        )
        self._memory.setAlignment(Qt.AlignmentFlag.AlignVCenter)
