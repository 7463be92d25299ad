"""Open files that another program changed: noticed, told once, and opened anew in place.

Looked for when the window comes to the front, when a document does, and when work has failed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from ruda.session import Changes, Document, JobNews, JobState, later, tr
from ruda.store import Stamp
from ruda_workbench import operations
from ruda_workbench.context import Context
from ruda_workbench.widgets.banner import Banner

_TITLES = {
    "written": later("{name} was written to"),
    "replaced": later("{name} was replaced on disk"),
    "gone": later("{name} is not there any more"),
}
_TEXTS = {
    "written": later(
        "Another program wrote to {name} after it was opened, so its values cannot be read any "
        "more. Reopening keeps the recipe and the target."
    ),
    "replaced": later(
        "Another file has taken the place of {name}. What is shown is the file that was opened, as "
        "far as it can still be read. Reopening keeps the recipe and the target."
    ),
    "gone": later(
        "{name} is not at its place any more: it was moved or deleted, or its disk is away. What "
        "is shown is the file that was opened, as far as it can still be read."
    ),
    "own": later(
        "{name} was saved anew in this window. What is shown is the file that was opened before, "
        "as far as it can still be read. Reopening keeps the recipe and the target."
    ),
}


@dataclass(frozen=True, slots=True)
class Change:
    """How a file differs from the one that was opened: written, replaced, gone, or own."""

    kind: str
    name: str
    now: tuple[Stamp, ...]
    """Stamps of the files that differ, as they are now; none for one that is gone."""

    @property
    def title(self) -> str:
        """The sentence in short."""
        return tr(_TITLES[self.kind], name=self.name)

    @property
    def text(self) -> str:
        """What a person is told."""
        return tr(_TEXTS[self.kind], name=self.name)

    @property
    def can_reopen(self) -> bool:
        """False where there is nothing to open."""
        return self.kind != "gone"


Found = dict[int, Change | None]
"""What became of the files of each document that was looked at, by its number."""


class ChangeWatch(QObject):
    """Looks after the files of all documents."""

    changed = Signal()
    """Another document is stale, or none is."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._stale: dict[int, tuple[Document, Change]] = {}
        self._again = False
        context.jobs.news.connect(self._heard)
        context.changed.connect(self._turned)
        context.came_to_front.connect(self.look)
        context.writes.ended.connect(self.look)

    def change_of(self, document: Document | None) -> Change | None:
        """What was seen of a document's file; None while it is as it was opened."""
        if document is None or document.id not in self._stale:
            return None
        seen, change = self._stale[document.id]
        return change if seen.index is document.index else None

    def look(self) -> None:
        """Look at the files of all documents, which costs no more than asking for their size."""
        documents, writes = self._context.session.documents, self._context.writes
        if not documents or writes.is_busy:  # the end of a save looks again
            return
        number = writes.number

        def work() -> Found:
            return {each.id: change_of(each.index.stamps) for each in documents}

        def done(found: Found) -> None:
            if number != writes.number:
                self.look()
                return
            self._found(documents, found)
            if self._again:
                self._again = False
                self.look()

        if not self._context.aside.ask(work, done):
            self._again = True

    def _heard(self, news: JobNews) -> None:
        if news.state is JobState.FAILED and news.error is not None and news.error.expected:
            self.look()

    def _turned(self, changes: Changes) -> None:
        if changes & Changes.DOCUMENTS:  # nothing of a closed one is kept
            stale = self._stale.items()
            self._stale = {id_: found for id_, found in stale if self._is_open(found[0])}
        if changes & Changes.ACTIVE:
            self.look()

    def _found(self, documents: tuple[Document, ...], found: Found) -> None:
        is_other, writes = False, self._context.writes
        for document in documents:
            change, before = found[document.id], self.change_of(document)
            if not self._is_open(document):
                continue
            if change is not None and change.can_reopen and writes.has_left(change.now):
                change = Change("own", change.name, change.now)
            if change == before:
                continue
            is_other = True
            if change is None:
                del self._stale[document.id]  # it was put back
                continue
            self._stale[document.id] = (document, change)
            if change.kind != "own":
                self._tell(document, change)
        if is_other:
            self.changed.emit()

    def _is_open(self, document: Document) -> bool:
        return any(each.index is document.index for each in self._context.session.documents)

    def _tell(self, document: Document, change: Change) -> None:
        reopen: Callable[[], None] = partial(operations.reopen_document, self._context, document.id)
        buttons = [(tr("Reopen"), reopen)] if change.can_reopen else []
        self._context.notify("warning", change.title, change.text, *buttons)


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
        change = self._watch.change_of(self._context.session.active)
        if change is None:
            self.show_text("error", "")
            return
        level = "error" if change.kind == "written" else "warning"
        self.show_text(level, change.text, tr("Reopen") if change.can_reopen else "")

    def _reopen(self) -> None:
        document = self._context.session.active
        if document is not None:
            operations.reopen_document(self._context, document.id)


def change_of(stamps: tuple[Stamp, ...]) -> Change | None:
    """What became of files since they had these stamps; None where nothing did, or none can tell.

    Where several changed, the one is told that takes most away.
    """
    now = {stamp: Stamp.of(Path(stamp.path)) for stamp in stamps}
    gone = [each for each, is_now in now.items() if is_now is None and _is_gone(each.path)]
    other = {each: is_now for each, is_now in now.items() if is_now not in (None, each)}
    written = [each for each, is_now in other.items() if is_now and is_now.inode == each.inode]
    kinds = (("gone", gone), ("written", written), ("replaced", list(other)))
    for kind, files in kinds:
        if files:
            return Change(kind, Path(files[0].path).name, tuple(filter(None, other.values())))
    return None


def _is_gone(path: str) -> bool:
    """True if nothing lies there; False where that cannot be told: a network that is away, say."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return True  # a folder took its place
