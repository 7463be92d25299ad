"""Session state on disk: what to open again at the next start, and what a crash would lose.

Two files of one shape: the state written at the end of a session, and the recovery file that is
written after every edit and removed by a clean end. A recovery file at start means a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ruda.errors import RudaError
from ruda.session.document import Document, SettingValue, TargetChoice
from ruda.session.pages.rules import RuleDraft
from ruda.session.session import Session
from ruda.session.side_by_side import CompareOptions, CompareSide, Comparison, SideView
from ruda.session.textfile import read_struct, write_struct

if TYPE_CHECKING:
    from ruda.session.datasets import OpenDataset
    from ruda.store import Recipe


class TargetState(msgspec.Struct, frozen=True):
    """A target as it is kept on disk."""

    name: str
    settings: dict[str, SettingValue] = msgspec.field(default_factory=dict)
    is_file: bool = False


class DocumentState(msgspec.Struct, frozen=True):
    """One open document as it is kept on disk; ``recipe`` is the text of a recipe file."""

    path: str
    recipe: str = ""
    target: TargetState | None = None
    top_level_key: str | None = None
    dirty: bool = False


class SideState(msgspec.Struct, frozen=True):
    """One side of a comparison as it is kept on disk."""

    document: int | None = None
    """Position of the document in ``documents``."""
    view: SideView = SideView.FILE
    rules: list[tuple[str, str, bool]] = msgspec.field(default_factory=list)
    """Pattern, replacement, and whether it is used."""


class ComparisonState(msgspec.Struct, frozen=True):
    """A comparison as it is kept on disk. Values are compared again only when asked for."""

    left: SideState
    right: SideState
    absolute: float | None = None
    relative: float | None = None
    ulp: int = 0
    any_dtype: bool = False
    only: str = ""


class SessionState(msgspec.Struct, frozen=True):
    """Everything that a session can be brought back from. ``geometry`` is the window's own text."""

    version: int = 1
    documents: list[DocumentState] = msgspec.field(default_factory=list)
    active: int | None = None
    """Position of the active document in ``documents``."""
    dataset: str | None = None
    workspace: str = "weights"
    geometry: str = ""
    dataset_split: str | None = None
    comparison: ComparisonState | None = None


@dataclass(frozen=True, slots=True)
class StateFile:
    """What reading a state file gave; ``state`` is None where there is nothing to bring back."""

    state: SessionState | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionCapture:
    """What a session is at one moment: taken at once, made into a state where there is time.

    It holds the documents, and with them their files; whoever waits to write one keeps no more
    than the last.
    """

    documents: tuple[Document, ...]
    dirty: frozenset[int]
    active: int | None
    comparison: Comparison
    dataset: OpenDataset | None
    workspace: str = "weights"
    geometry: str = ""

    @classmethod
    def of(
        cls, session: Session, *, workspace: str = "weights", geometry: str = ""
    ) -> SessionCapture:
        """Of a session, in its own thread."""
        return cls(
            session.documents,
            frozenset(document.id for document in session.dirty),
            None if session.active is None else session.active.id,
            session.comparison,
            session.dataset,
            workspace,
            geometry,
        )


class StateMaker:
    """Makes states of sessions, and makes those of documents once that did not change.

    For one thread at a time, which need not be the session's. It keeps no document.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Recipe, TargetChoice | None, str | None, DocumentState]] = {}

    def make(self, found: SessionCapture) -> SessionState:
        """The state; it asks the disk where the files really are, and writes recipes as text."""
        documents = found.documents
        kept = [self._document(d, dirty=d.id in found.dirty) for d in documents]
        ids = [document.id for document in documents]
        self._known = {number: self._known[number] for number in ids}
        dataset = found.dataset
        return SessionState(
            documents=kept,
            active=None if found.active is None else ids.index(found.active),
            dataset=None if dataset is None else str(dataset.path.resolve()),
            workspace=found.workspace,
            geometry=found.geometry,
            dataset_split=None if dataset is None else dataset.split,
            comparison=_comparison_state(found),
        )

    def _document(self, document: Document, *, dirty: bool) -> DocumentState:
        key = document.recipe, document.target, document.top_level_key
        known = self._known.get(document.id)
        if known is None or known[0] is not key[0] or known[1:3] != key[1:]:
            known = (*key, _document_state(document))
            self._known[document.id] = known
        return msgspec.structs.replace(known[3], dirty=dirty)


def capture_session(
    session: Session, *, workspace: str = "weights", geometry: str = ""
) -> SessionState:
    """The state of a session at this moment."""
    found = SessionCapture.of(session, workspace=workspace, geometry=geometry)
    return StateMaker().make(found)


def with_pending(state: SessionState, pending: SessionState) -> SessionState:
    """A state with what an earlier one names and the session has not opened again yet.

    Documents that wait come first, as they will stand once they are open.
    """
    many = len(pending.documents)
    active = pending.active if state.active is None else state.active + many
    comparison = pending.comparison
    if state.comparison is not None:
        comparison = _moved(state.comparison, many)
    keeps_dataset = state.dataset is None
    return msgspec.structs.replace(
        state,
        documents=[*pending.documents, *state.documents],
        active=active,
        comparison=comparison,
        dataset=pending.dataset if keeps_dataset else state.dataset,
        dataset_split=pending.dataset_split if keeps_dataset else state.dataset_split,
    )


def _moved(comparison: ComparisonState, by: int) -> ComparisonState:
    left, right = (
        side
        if side.document is None
        else msgspec.structs.replace(side, document=side.document + by)
        for side in (comparison.left, comparison.right)
    )
    return msgspec.structs.replace(comparison, left=left, right=right)


def write_state(file: Path, state: SessionState) -> None:
    """Write a state file, all or nothing. Raises OSError where the system refuses."""
    write_struct(file, state)


def read_state(file: Path) -> StateFile:
    """The state in a file; none where it is absent or broken (a broken one is kept beside it).

    Raises OSError if the file is there and cannot be read.
    """
    return StateFile(*read_struct(file, SessionState, "nothing is restored"))


def clear_state(file: Path) -> None:
    """Remove a state file, if there is one: the clean end of a session does so with recovery."""
    file.unlink(missing_ok=True)


def recipe_of_state(state: DocumentState) -> tuple[Recipe, str | None]:
    """The recipe of a kept document, and a note where its text cannot be understood any more."""
    from ruda.store import Recipe, recipe_from_json

    if not state.recipe:
        return Recipe(), None
    try:
        return recipe_from_json(state.recipe), None
    except RudaError as error:
        return Recipe(), f"{state.path}: the recipe of the last session is not restored: {error}"


def comparison_of_state(state: ComparisonState, ids: Mapping[int, int]) -> Comparison:
    """The kept comparison; ``ids`` has the document of every position that is open again."""
    kept = (state.left, state.right)
    left, right = (None if s.document is None else ids.get(s.document) for s in kept)
    sides = [CompareSide(s.view, tuple(RuleDraft(*rule) for rule in s.rules)) for s in kept]
    options = CompareOptions(
        absolute=state.absolute,
        relative=state.relative,
        ulp=state.ulp,
        any_dtype=state.any_dtype,
        only=state.only,
        left=sides[0],
        right=sides[1],
    )
    return Comparison(left, right, options)


def target_of_state(state: DocumentState) -> TargetChoice | None:
    """The target of a kept document."""
    kept = state.target
    if kept is None:
        return None
    return TargetChoice.of(kept.name, kept.settings, is_file=kept.is_file)


def _document_state(document: Document) -> DocumentState:
    from ruda.store import recipe_to_json, with_absolute_files

    return DocumentState(
        path=str(document.path.resolve()),
        recipe=recipe_to_json(with_absolute_files(document.recipe)),
        target=None if document.target is None else _target_state(document.target),
        top_level_key=document.top_level_key,
    )


def _comparison_state(capture: SessionCapture) -> ComparisonState | None:
    found = capture.comparison
    if found == Comparison():
        return None
    places = {document.id: place for place, document in enumerate(capture.documents)}
    options = found.options
    sides = [
        SideState(
            None if number is None else places.get(number),
            side.view,
            [(rule.pattern, rule.replacement, rule.enabled) for rule in side.rules],
        )
        for number, side in zip(found.sides, (options.left, options.right), strict=True)
    ]
    return ComparisonState(
        left=sides[0],
        right=sides[1],
        absolute=options.absolute,
        relative=options.relative,
        ulp=options.ulp,
        any_dtype=options.any_dtype,
        only=options.only,
    )


def _target_state(target: TargetChoice) -> TargetState:
    name = str(Path(target.name).resolve()) if target.is_file else target.name
    return TargetState(name, dict(target.settings), target.is_file)
