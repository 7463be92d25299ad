"""Document: one opened source with its recipe and target, and the history of its edits.

Both are frozen. An edit makes a new Document; undo is the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ruda.errors import SettingError
from ruda.session.language import tr

if TYPE_CHECKING:
    from ruda.store import Recipe, TensorIndex

T = TypeVar("T")
HISTORY_LIMIT = 200
"""Edits that a history remembers; older ones can no longer be undone."""

SettingValue = int
"""Architectures are built with whole numbers."""


@dataclass(frozen=True, slots=True)
class TargetChoice:
    """What a document is laid onto: an architecture with settings, or a file.

    A file is one of weights, or describes a model (``arch.toml``).
    """

    name: str
    settings: tuple[tuple[str, SettingValue], ...] = ()
    is_file: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        settings: Mapping[str, SettingValue] | None = None,
        *,
        is_file: bool = False,
    ) -> TargetChoice:
        """A choice with its settings in order of their names. Raises SettingError for files."""
        if is_file and settings:
            raise SettingError(f"{name}: a file as target takes no settings")
        return cls(name, tuple(sorted((settings or {}).items())), is_file)

    @property
    def title(self) -> str:
        """What a person reads: the architecture's name, or the file's."""
        return Path(self.name).name if self.is_file else self.name


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """One opened source: its header-only index, the recipe that is laid on it, and the target.

    Compared by identity: an index is a view of a file, not a value.
    """

    id: int
    path: Path
    index: TensorIndex
    recipe: Recipe
    target: TargetChoice | None = None
    top_level_key: str | None = None
    parts: tuple[str, ...] = ()
    """Keys of the checkpoint's root of which one can be taken alone, as ``top_level_key``."""

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.path.name

    def with_recipe(self, recipe: Recipe) -> Document:
        """The same source under another recipe."""
        return replace(self, recipe=recipe)

    def with_part(self, index: TensorIndex, top_level_key: str | None) -> Document:
        """Another part of the same source, opened as ``index``."""
        return replace(self, index=index, top_level_key=top_level_key)

    def with_target(self, target: TargetChoice | None) -> Document:
        """The same source against another target."""
        return replace(self, target=target)


@dataclass(frozen=True, slots=True)
class HistoryStep:
    """A document as it was after the edit that ``title`` names."""

    title: str
    document: Document


@dataclass(frozen=True, slots=True)
class History:
    """The states of one document, where it stands in them, and which of them is saved."""

    steps: tuple[HistoryStep, ...]
    position: int = 0
    saved: int | None = 0

    @classmethod
    def begin(cls, document: Document, title: str = "", *, dirty: bool = False) -> History:
        """History of a document that was just opened; nothing to undo.

        Nothing to save either, unless it is ``dirty``: brought back as it was, which was not saved.
        """
        return cls((HistoryStep(title or tr("Open"), document),), saved=None if dirty else 0)

    @property
    def document(self) -> Document:
        """The document as it stands."""
        return self.steps[self.position].document

    @property
    def undo_title(self) -> str | None:
        """Title of the edit that ``undo`` takes back; None when there is none."""
        return self.steps[self.position].title if self.position else None

    @property
    def redo_title(self) -> str | None:
        """Title of the edit that ``redo`` brings back; None when there is none."""
        ahead = self.position + 1
        return self.steps[ahead].title if ahead < len(self.steps) else None

    @property
    def is_dirty(self) -> bool:
        """True if the document differs from what was saved last."""
        return self.saved != self.position

    def push(self, title: str, document: Document) -> History:
        """After an edit. What could be redone is gone; the oldest step too, beyond the limit."""
        steps = (*self.steps[: self.position + 1], HistoryStep(title, document))
        kept = self.saved if self.saved is not None and self.saved <= self.position else None
        over = max(0, len(steps) - HISTORY_LIMIT - 1)
        if kept is not None:
            kept = kept - over if kept >= over else None
        return History(steps[over:], len(steps) - over - 1, kept)

    def undo(self) -> History:
        """One edit back; itself when there is nothing to undo."""
        return replace(self, position=max(0, self.position - 1))

    def redo(self) -> History:
        """One edit forward; itself when there is nothing to redo."""
        return replace(self, position=min(len(self.steps) - 1, self.position + 1))

    def go(self, position: int) -> History:
        """To any remembered step. Raises SettingError outside the history."""
        if not 0 <= position < len(self.steps):
            raise SettingError(f"step {position} is outside a history of {len(self.steps)}")
        return replace(self, position=position)

    def mark_saved(self, document: Document | None = None) -> History:
        """The document as it stands is the saved one, or that step of it which ``document`` was.

        A save takes its time: what was edited meanwhile is not saved. Where that step is
        remembered no more, no step is.
        """
        place = self.position if document is None else self._place_of(document)
        return replace(self, saved=place)

    def saved_over(self, saved: Document, fresh: Document) -> History:
        """After a save of ``saved`` into its own file, which is opened anew as ``fresh``.

        What that save did is in the file and no step any more. Edits that were made meanwhile stay
        edits, of the file as it is now, as far as they go beyond what was saved.
        """
        place = self._place_of(saved)
        later = (self.steps[self.position],) if place is None else self.steps[place + 1 :]
        first = replace(fresh, target=saved.target)
        steps = [HistoryStep(self.steps[0].title, first)]
        for step in later:
            recipe, target = step.document.recipe, step.document.target
            left = replace(fresh, recipe=_beyond(recipe, saved.recipe), target=target)
            if place is None and left.recipe.is_identity and target == first.target:
                break  # a save before this one did the same, and its step is gone
            steps.append(HistoryStep(step.title, left))
        position = len(steps) - 1 if place is None else max(0, self.position - place)
        return History(tuple(steps), position)

    def _place_of(self, document: Document) -> int | None:
        """The last step up to now, or else after it, that has what was edited in this document.

        Its index may be another one: the file may have been opened anew.
        """
        places: Iterable[int] = (
            *range(self.position, -1, -1),
            *range(self.position + 1, len(self.steps)),
        )
        for place in places:
            found = self.steps[place].document
            is_same = found.recipe is document.recipe and found.target == document.target
            if is_same and found.top_level_key == document.top_level_key:
                return place
        return None


def _beyond(recipe: Recipe, done: Recipe) -> Recipe:
    """What a recipe does that is not done yet, after another one that it was edited from.

    A kind of step that was changed, rather than added to, stays whole: what was done cannot be
    told from it, and dropping it would lose an edit.
    """
    from ruda.store import KeyRemapper, PathFilter

    remap = recipe.remap
    rules = _added(remap.rules, done.remap.rules)
    if replace(remap, rules=()) == replace(done.remap, rules=()):
        remap = KeyRemapper()
    return replace(
        recipe,
        select=PathFilter() if recipe.select == done.select else recipe.select,
        remap=replace(remap, rules=rules),
        adapt=_added(recipe.adapt, done.adapt),
        cast=None if recipe.cast == done.cast else recipe.cast,
        decide=tuple(each for each in recipe.decide if each not in done.decide),
        policy=() if recipe.policy == done.policy else recipe.policy,
        merge=_added(recipe.merge, done.merge),
    )


def _added(now: tuple[T, ...], done: tuple[T, ...]) -> tuple[T, ...]:
    return now[len(done) :] if now[: len(done)] == done else now
