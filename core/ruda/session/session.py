"""Session: what is open, which document is in front, and who wants to know of changes.

Used from one thread only, the owner's; work in other threads hands its results over by Jobs news.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from enum import Flag, auto
from pathlib import Path
from typing import TYPE_CHECKING

from ruda.errors import RudaError
from ruda.session.datasets import BatchChoice, OpenDataset
from ruda.session.document import Document, History, TargetChoice
from ruda.session.language import tr
from ruda.session.side_by_side import Comparison

if TYPE_CHECKING:
    from ruda.store import Recipe, TensorIndex


class Changes(Flag):
    """What an operation altered; every screen decides by this whether to refresh."""

    NOTHING = 0
    DOCUMENTS = auto()
    """A document was opened or closed."""
    ACTIVE = auto()
    """Another document is in front."""
    RECIPE = auto()
    TARGET = auto()
    SAVED = auto()
    """The saved mark or the undo history moved."""
    DATASET = auto()
    BATCH = auto()
    """Another batch of the dataset is looked at."""
    PART = auto()
    """Another part of the file is taken: its index is another one."""
    COMPARISON = auto()
    """Other documents are compared, or they are compared in another way."""
    ALL = DOCUMENTS | ACTIVE | RECIPE | TARGET | SAVED | DATASET | BATCH | PART | COMPARISON


Subscriber = Callable[[Changes], None]


class Session:
    """Open documents with their histories, the active one, and the open dataset."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._histories: dict[int, History] = {}
        self._active: int | None = None
        self._dataset: OpenDataset | None = None
        self._batch = BatchChoice()
        self._comparison = Comparison()
        self._subscribers: tuple[tuple[Changes, Subscriber], ...] = ()
        self._held: list[TensorIndex] = []
        self._leaving: list[TensorIndex] = []
        """Files that no document has any more, to be closed when the work that holds them ends."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """Open documents in the order they were asked for."""
        return tuple(history.document for history in self._histories.values())

    @property
    def active(self) -> Document | None:
        """The document in front; None when nothing is open."""
        return None if self._active is None else self._histories[self._active].document

    @property
    def dataset(self) -> OpenDataset | None:
        """The open dataset."""
        return self._dataset

    @property
    def batch(self) -> BatchChoice:
        """The batch of the dataset that is looked at."""
        return self._batch

    @property
    def comparison(self) -> Comparison:
        """The two documents that are compared, and how."""
        return self._comparison

    @property
    def dirty(self) -> tuple[Document, ...]:
        """Documents whose recipe or target is not saved."""
        return tuple(h.document for h in self._histories.values() if h.is_dirty)

    def document(self, document_id: int) -> Document:
        """The document as it stands. Raises RudaError if it is not open."""
        return self.history(document_id).document

    def history(self, document_id: int) -> History:
        """The history of an open document. Raises RudaError if it is not open."""
        try:
            return self._histories[document_id]
        except KeyError:
            raise RudaError(f"document {document_id} is not open") from None

    def reserve(self) -> int:
        """Id of a document that is to be opened: its place among those that are asked for.

        Opening takes its time, and a small file asked for second may be there first.
        """
        return next(self._ids)

    def open(
        self,
        path: Path,
        index: TensorIndex,
        *,
        document_id: int | None = None,
        recipe: Recipe | None = None,
        target: TargetChoice | None = None,
        top_level_key: str | None = None,
        parts: tuple[str, ...] = (),
        dirty: bool = False,
    ) -> Document:
        """Take in an opened index and bring it to the front.

        A ``dirty`` one comes back with a recipe or target that was not saved. With a
        ``document_id`` that was reserved, the document stands where it was asked for, and does not
        come before one in front that was asked for later.
        """
        from ruda.store import Recipe

        document = Document(
            id=self.reserve() if document_id is None else document_id,
            path=path,
            index=index,
            recipe=Recipe() if recipe is None else recipe,
            target=target,
            top_level_key=top_level_key,
            parts=parts,
        )
        opened = {**self._histories, document.id: History.begin(document, dirty=dirty)}
        self._histories = dict(sorted(opened.items()))
        self._active = max(document.id, self._active or 0)
        self._tell(Changes.DOCUMENTS | Changes.ACTIVE | Changes.RECIPE | Changes.TARGET)
        return document

    def close(self, document_id: int) -> None:
        """Let a document go and release its file; its neighbour comes to the front.

        A file that is held (``hold``) is released when the work that reads it ends.
        """
        history = self.history(document_id)
        ids = list(self._histories)
        place = ids.index(document_id)
        del self._histories[document_id]
        changes = Changes.DOCUMENTS
        if document_id in self._comparison.sides:
            self._comparison = self._comparison.without(document_id)
            changes |= Changes.COMPARISON
        if self._active == document_id:
            rest = [*ids[place + 1 :], *reversed(ids[:place])]
            self._active = rest[0] if rest else None
            changes |= Changes.ACTIVE | Changes.RECIPE | Changes.TARGET
        self._release(history, None)
        self._tell(changes)

    def close_files(self) -> None:
        """Release the files of every document, at the end of the session; held ones, too."""
        self._held.clear()
        for history in self._histories.values():
            self._release(history, None)
        for index in self._leaving:
            index.close()
        self._leaving.clear()

    def hold(self, document: Document) -> Callable[[], None]:
        """Keep the file of a document open for work that reads it; returns what ends that.

        The document may be closed or opened anew meanwhile: its file goes when the work is over.
        """
        index = document.index
        self._held.append(index)
        waiting = [index]

        def end() -> None:
            if waiting:
                _take_out(self._held, waiting.pop())
                if any(each is index for each in self._leaving) and not self._is_held(index):
                    _take_out(self._leaving, index)
                    index.close()

        return end

    def files_at(self, path: Path) -> tuple[TensorIndex, ...]:
        """Every index that the session has open of a file: what stands in the way of replacing it.

        That is also one of a step that can be undone, and of a document that is closed but held.
        """
        from ruda.store import is_same_file

        steps = [step.document.index for h in self._histories.values() for step in h.steps]
        found = {id(index): index for index in (*steps, *self._leaving)}
        return tuple(
            index
            for index in found.values()
            if any(is_same_file(each, path) for each in (index.path, *index.shards))
        )

    def activate(self, document_id: int) -> None:
        """Bring a document to the front."""
        self.document(document_id)
        if self._active != document_id:
            self._active = document_id
            self._tell(Changes.ACTIVE)

    def edit(self, document_id: int, title: str, recipe: Recipe) -> Document:
        """Give a document another recipe, as one step that can be undone."""
        document = self.document(document_id).with_recipe(recipe)
        return self._push(title, document, Changes.RECIPE)

    def retarget(self, document_id: int, target: TargetChoice | None) -> Document:
        """Lay a document onto another target, as one step that can be undone."""
        title = tr("No target") if target is None else tr("Target {title}", title=target.title)
        document = self.document(document_id).with_target(target)
        return self._push(title, document, Changes.TARGET)

    def take_part(
        self, document_id: int, index: TensorIndex, top_level_key: str | None
    ) -> Document:
        """Take another part of a document's file, as one step that can be undone.

        ``index`` is that part, opened; the session closes it.
        """
        title = (
            tr("The whole file")
            if top_level_key is None
            else tr("Only {top_level_key}", top_level_key=top_level_key)
        )
        document = self.document(document_id).with_part(index, top_level_key)
        return self._push(title, document, Changes.PART)

    def reopen(self, document_id: int, index: TensorIndex, parts: tuple[str, ...] = ()) -> Document:
        """Take in a document's file as it is now, opened as ``index``; its edits stay as they are.

        Every step of its history that looked at the same part looks at the file anew, so undoing
        never leads back to what is no longer there. The session closes ``index``.
        """
        before = self.history(document_id)
        old = before.document.index
        steps = tuple(
            replace(step, document=replace(step.document, index=index, parts=parts))
            if step.document.index is old
            else step
            for step in before.steps
        )
        after = replace(before, steps=steps)
        self._histories[document_id] = after
        self._release(before, after)
        self._tell(Changes.PART | Changes.SAVED)
        return after.document

    def saved_over(
        self, saved: Document, index: TensorIndex, parts: tuple[str, ...] = ()
    ) -> Document:
        """Take in a document's file after ``saved`` was saved over it, opened anew as ``index``.

        Its recipe is carried out; edits that were made since stay, as ``History.saved_over``. The
        session closes ``index``.
        """
        from ruda.store import Recipe

        before = self.history(saved.id)
        fresh = replace(saved, index=index, recipe=Recipe(), top_level_key=None, parts=parts)
        after = before.saved_over(saved, fresh)
        self._histories[saved.id] = after
        self._release(before, after)
        self._tell(Changes.PART | Changes.RECIPE | Changes.TARGET | Changes.SAVED)
        return after.document

    def undo(self, document_id: int) -> Document:
        """Take back the last edit of a document."""
        return self._move(document_id, self.history(document_id).undo())

    def redo(self, document_id: int) -> Document:
        """Bring back the edit that was undone last."""
        return self._move(document_id, self.history(document_id).redo())

    def go(self, document_id: int, position: int) -> Document:
        """Bring a document to a state of its history. Raises SettingError outside of it."""
        return self._move(document_id, self.history(document_id).go(position))

    def mark_saved(self, document_id: int, saved: Document | None = None) -> None:
        """Note that the document as it stands is saved, or as it was when it was ``saved``."""
        self._histories[document_id] = self.history(document_id).mark_saved(saved)
        self._tell(Changes.SAVED)

    def set_dataset(self, opened: OpenDataset | None) -> None:
        """Show another dataset from its first batch, or none; told as one change."""
        self._dataset = opened
        self._batch = replace(self._batch, number=0)
        self._tell(Changes.DATASET)

    def choose_batch(self, choice: BatchChoice) -> None:
        """Look at another batch; one that the dataset does not have is the nearest there is."""
        if self._dataset is not None:
            choice = choice.within(len(self._dataset.dataset))
        if choice != self._batch:
            self._batch = choice
            self._tell(Changes.BATCH)

    def compare(self, comparison: Comparison) -> None:
        """Compare other documents, or in another way."""
        if comparison != self._comparison:
            self._comparison = comparison
            self._tell(Changes.COMPARISON)

    def subscribe(self, listener: Subscriber, changes: Changes = Changes.ALL) -> Callable[[], None]:
        """Call ``listener`` after each operation that altered ``changes``; returns the undo."""
        entry = (changes, listener)
        self._subscribers = (*self._subscribers, entry)

        def unsubscribe() -> None:
            self._subscribers = tuple(x for x in self._subscribers if x is not entry)

        return unsubscribe

    def _push(self, title: str, document: Document, changes: Changes) -> Document:
        before = self.history(document.id)
        self._histories[document.id] = before.push(title, document)
        self._release(before, self._histories[document.id])
        self._tell(changes | Changes.SAVED)
        return document

    def _move(self, document_id: int, history: History) -> Document:
        before, after = self.document(document_id), history.document
        self._histories[document_id] = history
        changes = Changes.NOTHING
        if before.recipe is not after.recipe:
            changes |= Changes.RECIPE
        if before.target != after.target:
            changes |= Changes.TARGET
        if before.index is not after.index:
            changes |= Changes.PART
        if before is not after:
            self._tell(changes | Changes.SAVED)
        return after

    def _release(self, before: History, after: History | None) -> None:
        """Close the files that only ``before`` has: of steps that can no longer be come back to."""
        kept = set() if after is None else {id(step.document.index) for step in after.steps}
        for index in {id(s.document.index): s.document.index for s in before.steps}.values():
            if id(index) in kept:
                continue
            if self._is_held(index):
                self._leaving.append(index)
            else:
                index.close()

    def _is_held(self, index: TensorIndex) -> bool:
        return any(each is index for each in self._held)

    def _tell(self, changes: Changes) -> None:
        for wanted, listener in self._subscribers:
            if wanted & changes:
                listener(changes)


def _take_out(indexes: list[TensorIndex], index: TensorIndex) -> None:
    """Take one mention of an index out of a list: by identity, for it compares its tensors."""
    place = next((at for at, each in enumerate(indexes) if each is index), None)
    if place is not None:
        del indexes[place]
