"""The list of jobs: what runs, how far it is and how fast, and what came of those that ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ruda.progress import Progress
from ruda.session.jobs import JobNews, JobState
from ruda.session.language import later, tr
from ruda.session.wording import count_text, size_text

_STATES = {
    JobState.PENDING: (later("Waiting"), "skipped"),
    JobState.RUNNING: (later("Running"), "unused"),
    JobState.DONE: (later("Done"), "applied"),
    JobState.FAILED: (later("Failed"), "error"),
    JobState.CANCELLED: (later("Stopped"), "missing"),
}
"""The word of each state, and the status whose shape and colour it has."""

UNITS = (
    later("bytes"),
    later("files"),
    later("tensors"),
    later("values"),
    later("rows"),
    later("items"),
    later("batches"),
    later("keys"),
)
"""What work counts."""


@dataclass(frozen=True, slots=True)
class JobLine:
    """One job as the list shows it."""

    id: int
    title: str
    word: str
    mark: str
    """Name of the status whose mark stands before the word."""
    done: str
    """``3.10 of 4.90 GB``; empty while nothing is known."""
    share: str
    """``62 %``."""
    rate: str
    """``1.20 GB/s``."""
    note: str
    """Why it failed."""
    report: str
    """The whole report of a failure, to be copied; empty for none."""
    can_stop: bool


def job_lines(live: Iterable[JobNews], past: Iterable[JobNews]) -> tuple[JobLine, ...]:
    """Jobs that are not over, oldest first, then those that ended, the last one first."""
    ended = sorted(past, key=lambda news: news.job_id, reverse=True)
    return (*map(job_line, live), *map(job_line, ended))


def job_line(news: JobNews) -> JobLine:
    """One job."""
    word, mark = _STATES[news.state]
    progress, error = news.progress, news.error
    over = news.state.is_final
    return JobLine(
        id=news.job_id,
        title=news.title,
        word=tr("Stopping") if news.stopping else tr(word),
        mark=mark,
        done="" if progress is None else done_text(progress),
        share="" if progress is None or over else share_of(progress),
        rate="" if over else rate_text(news),
        note="" if error is None else error.summary,
        report="" if error is None else error.report,
        can_stop=not over and not news.stopping,
    )


def done_text(progress: Progress) -> str:
    """``3.10 GB of 4.90 GB``, ``18 of 98 tensors``."""
    in_bytes = progress.unit == "bytes"
    done, unit = count_text(progress.done), tr(progress.unit)
    if progress.total is None:
        return size_text(progress.done) if in_bytes else f"{done} {unit}"
    if in_bytes:
        sizes = (size_text(progress.done), size_text(progress.total))
        return tr("{done} of {total}", done=sizes[0], total=sizes[1])
    return tr("{done} of {total} {unit}", done=done, total=count_text(progress.total), unit=unit)


def share_of(progress: Progress) -> str:
    """``62 %``; nothing where the end is unknown."""
    share = progress.fraction
    return "" if share is None else f"{share * 100:.0f} %"


def rate_text(news: JobNews) -> str:
    """``1.20 GB/s``; nothing while it is unknown."""
    if not news.rate or news.progress is None:
        return ""
    if news.progress.unit == "bytes":
        return f"{size_text(int(news.rate))}/s"
    return f"{count_text(round(news.rate))} {tr(news.progress.unit)}/s"
