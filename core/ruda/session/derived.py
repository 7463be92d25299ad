"""Derived: what follows from a document (target, load diff, converted view), made once and kept.

Everything here is a pure function of the frozen document, so it may be made in any thread; the
last few results are kept so that a screen that comes back does not wait.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ruda.errors import RecipeError
from ruda.progress import SILENT, Monitor
from ruda.session.document import Document, TargetChoice
from ruda.session.pages.diff_lines import DiffTable
from ruda.session.targets import Target, resolve_target
from ruda.store import Stamp, convert, diff, suggest

if TYPE_CHECKING:
    from ruda.store import DiffReport, SuggestReport, TensorIndex

T = TypeVar("T")
KEPT = 16
"""Results that are kept of each kind."""


class Derived:
    """The cache. Safe to use from any thread; two threads may make the same result twice."""

    def __init__(self, *, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._results: dict[str, OrderedDict[Hashable, tuple[object, object]]] = {}

    def target(self, choice: TargetChoice, *, monitor: Monitor = SILENT) -> Target:
        """The resolved target of a choice; a file that was replaced is opened anew.

        Raises as ``resolve_target``.
        """
        self._drop_outdated(choice)
        return self._once("target", choice, choice, lambda: resolve_target(choice, monitor=monitor))

    def report(self, document: Document, *, monitor: Monitor = SILENT) -> DiffReport:
        """The load diff. Raises RecipeError without a target, and as ``resolve_target``."""
        if document.target is None:
            raise RecipeError(f"{document.name}: choose a target to compare with")
        choice = document.target
        target = self.target(choice, monitor=monitor)

        def make() -> DiffReport:
            found = diff(
                document.index, target.expectation, recipe=document.recipe, monitor=monitor
            )
            return replace(found, target_name=choice.title)

        return self._once("report", _identity(document, target), (document, target), make)

    def diff_table(self, document: Document, *, monitor: Monitor = SILENT) -> DiffTable:
        """The table of the load diff, of which every view is quick. Raises as ``report``."""
        report = self.report(document, monitor=monitor)
        make = DiffTable.of(report).prepared
        return self._once("diff table", id(report), report, lambda: make(monitor))

    def suggestions(self, document: Document, *, monitor: Monitor = SILENT) -> SuggestReport:
        """Steps that would let more of the document load. Raises as ``report``."""
        if document.target is None:
            raise RecipeError(f"{document.name}: choose a target to compare with")
        target = self.target(document.target, monitor=monitor)

        def make() -> SuggestReport:
            return suggest(
                document.index, target.expectation, recipe=document.recipe, monitor=monitor
            )

        return self._once("suggest", _identity(document, target), (document, target), make)

    def view(self, document: Document, *, monitor: Monitor = SILENT) -> TensorIndex:
        """The document after its recipe: snapshots under their new keys.

        Kinds of module come from the target where there is one. Raises KeyCollisionError and as
        ``resolve_target``.
        """
        target = None
        if document.target is not None:
            target = self.target(document.target, monitor=monitor)

        def make() -> TensorIndex:
            expectation = None if target is None else target.expectation
            return convert(document.index, recipe=document.recipe, target=expectation)

        return self._once("view", _identity(document, target), (document, target), make)

    def forget(self) -> None:
        """Let everything go and release the files of targets, when a document was closed."""
        with self._lock:
            targets = [made for _, made in self._results.get("target", {}).values()]
            self._results.clear()
        for target in targets:
            if isinstance(target, Target):
                target.close()

    def _drop_outdated(self, choice: TargetChoice) -> None:
        """Let go of a target whose file changed; what was made from it is kept by its identity."""
        with self._lock:
            targets = self._results.get("target", OrderedDict())
            _, target = targets.get(choice, (None, None))
        if isinstance(target, Target) and not target.is_current:
            with self._lock:
                targets.pop(choice, None)

    def _once(self, kind: str, key: Hashable, owner: object, make: Callable[[], T]) -> T:
        with self._lock:
            results = self._results.setdefault(kind, OrderedDict())
            if key in results:
                results.move_to_end(key)
                return results[key][1]  # type: ignore[return-value]
        made = make()
        with self._lock:
            # The owner is kept as well: its ids are the key, and must not be given out again.
            results[key] = (owner, made)
            while len(results) > self._kept:
                results.popitem(last=False)
        return made


def _identity(document: Document, target: Target | None) -> Hashable:
    # By identity, because a recipe may hold adapters that cannot be hashed. It stays the same when
    # a file changes that its decisions take from.
    files = {take.file for take in document.recipe.takes.values()}
    others = frozenset(Stamp.of(Path(file)) for file in files)
    return (id(document.index), id(document.recipe), id(target), others)
