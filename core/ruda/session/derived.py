"""Derived: what follows from a document (target, load diff, converted view), made once and kept.

Everything here is a pure function of the frozen document, so it may be made in any thread; the
last few results are kept so that a screen that comes back does not wait.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

from ruda.errors import RecipeError
from ruda.progress import SILENT, Monitor
from ruda.session.document import Document, TargetChoice
from ruda.session.targets import Target, resolve_target
from ruda.store import convert, diff

if TYPE_CHECKING:
    from ruda.store import DiffReport, TensorIndex

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
        """The resolved target of a choice. Raises as ``resolve_target``."""
        return self._once("target", choice, choice, lambda: resolve_target(choice, monitor=monitor))

    def report(self, document: Document, *, monitor: Monitor = SILENT) -> DiffReport:
        """The load diff. Raises RecipeError without a target, and as ``resolve_target``."""
        if document.target is None:
            raise RecipeError(f"{document.name}: choose a target to compare with")
        target = self.target(document.target, monitor=monitor)

        def make() -> DiffReport:
            return diff(document.index, target.expectation, recipe=document.recipe, monitor=monitor)

        return self._once("report", _identity(document), document, make)

    def view(self, document: Document, *, monitor: Monitor = SILENT) -> TensorIndex:
        """The document after its recipe: lazy tensors under their new keys.

        Kinds of module come from the target where there is one. Raises KeyCollisionError and as
        ``resolve_target``.
        """
        expectation = None
        if document.target is not None:
            expectation = self.target(document.target, monitor=monitor).expectation

        def make() -> TensorIndex:
            return convert(document.index, recipe=document.recipe, target=expectation)

        return self._once("view", _identity(document), document, make)

    def forget(self) -> None:
        """Let everything go and release the files of targets, when a document was closed."""
        with self._lock:
            targets = [made for _, made in self._results.get("target", {}).values()]
            self._results.clear()
        for target in targets:
            if isinstance(target, Target) and target.index is not None:
                target.index.close()

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


def _identity(document: Document) -> Hashable:
    # By identity, because a recipe may hold adapters that cannot be hashed.
    return (id(document.index), id(document.recipe), document.target)
