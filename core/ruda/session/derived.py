"""Derived: what follows from a document (target, load diff, converted view), made once and kept.

Everything here is a pure function of the frozen document, so it may be made in any thread; the
last few results are kept so that a screen that comes back does not wait.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ruda.errors import RecipeError
from ruda.progress import SILENT, Monitor
from ruda.session.document import Document, TargetChoice
from ruda.session.pages.diff_lines import DiffTable
from ruda.session.targets import ResolvedTarget, resolve_target
from ruda.store import Stamp, convert, diff, suggest

if TYPE_CHECKING:
    from ruda.store import DiffReport, SuggestReport, TensorIndex

T = TypeVar("T")
KEPT = 16
"""Results that are kept of each kind."""
KEPT_TENSORS = 100_000
"""Tensors that the results of each kind are of, together: some 90 MB for all kinds."""
AT_LEAST = 2
"""Results of each kind that are kept whatever their size: an edit, and what undo leads back to."""


@dataclass(frozen=True, slots=True)
class _Result:
    made: object
    owner: object
    """Its ids are the key, and must not be given out again."""
    index: TensorIndex | None = None
    """Of the document that it was made of."""
    target: ResolvedTarget | None = None
    tensors: int = 0


class Derived:
    """The cache. Safe to use from any thread; two threads may make the same result twice.

    ``kept`` results of each kind are kept, as far as they are of no more than ``tensors`` together.
    """

    def __init__(self, *, kept: int = KEPT, tensors: int = KEPT_TENSORS) -> None:
        self._kept = kept
        self._tensors = tensors
        self._lock = threading.Lock()
        self._results: dict[str, OrderedDict[Hashable, _Result]] = {}
        self._targets: OrderedDict[TargetChoice, ResolvedTarget] = OrderedDict()
        self._in_use: list[ResolvedTarget] = []
        self._leaving: list[ResolvedTarget] = []
        """Targets that nobody will be given any more, to be closed when nobody uses them."""

    def target(self, choice: TargetChoice, *, monitor: Monitor = SILENT) -> ResolvedTarget:
        """The resolved target of a choice; a file that was replaced is opened anew.

        Raises as ``resolve_target``.
        """
        target = self._take(choice, monitor)
        self._put_back(target)
        return target

    def report(self, document: Document, *, monitor: Monitor = SILENT) -> DiffReport:
        """The load diff. Raises RecipeError without a target, and as ``resolve_target``."""
        with self._using(document, monitor) as target:
            if document.target is None or target is None:
                raise RecipeError(f"{document.name}: choose a target to compare with")
            choice = document.target

            def make() -> DiffReport:
                found = diff(
                    document.index, target.expectation, recipe=document.recipe, monitor=monitor
                )
                return replace(found, target_name=choice.title)

            return self._once("report", document, target, make)

    def diff_table(self, document: Document, *, monitor: Monitor = SILENT) -> DiffTable:
        """The table of the load diff, of which every view is quick. Raises as ``report``."""
        with self._using(document, monitor) as target:
            report = self.report(document, monitor=monitor)

            def make() -> DiffTable:
                return DiffTable.of(report).prepared(monitor)

            return self._once("diff table", document, target, make, key=id(report), owner=report)

    def suggestions(self, document: Document, *, monitor: Monitor = SILENT) -> SuggestReport:
        """Steps that would let more of the document load. Raises as ``report``."""
        with self._using(document, monitor) as target:
            if target is None:
                raise RecipeError(f"{document.name}: choose a target to compare with")

            def make() -> SuggestReport:
                return suggest(
                    document.index, target.expectation, recipe=document.recipe, monitor=monitor
                )

            return self._once("suggest", document, target, make)

    def view(self, document: Document, *, monitor: Monitor = SILENT) -> TensorIndex:
        """The document after its recipe: snapshots under their new keys.

        Kinds of module come from the target where there is one. Raises KeyCollisionError and as
        ``resolve_target``.
        """
        with self._using(document, monitor) as target:

            def make() -> TensorIndex:
                expectation = None if target is None else target.expectation
                return convert(document.index, recipe=document.recipe, target=expectation)

            return self._once("view", document, target, make)

    def forget(self, open_documents: Collection[Document] = ()) -> None:
        """Let go of what is of no open document, when one was closed; without any, of everything.

        The files of targets that no document is laid onto are released as soon as nothing works
        with them.
        """
        indexes = {id(document.index) for document in open_documents}
        choices = {document.target for document in open_documents}
        with self._lock:
            self._drop(lambda result: id(result.index) not in indexes)
            used = {each.target for kind in self._results.values() for each in kind.values()}
            for choice, target in list(self._targets.items()):
                if choice not in choices and target not in used:
                    self._let_go(choice)
        self._close_unused()

    @contextmanager
    def _using(self, document: Document, monitor: Monitor) -> Iterator[ResolvedTarget | None]:
        """The target of a document, which stays open meanwhile."""
        if document.target is None:
            yield None
            return
        target = self._take(document.target, monitor)
        try:
            yield target
        finally:
            self._put_back(target)

    def _take(self, choice: TargetChoice, monitor: Monitor) -> ResolvedTarget:
        """The target of a choice, marked as in use until it is put back."""
        known = self._targets.get(choice)
        is_current = known is not None and known.is_current  # asks the disk: not under the lock
        with self._lock:
            if known is not None and self._targets.get(choice) is known:
                if is_current:
                    self._targets.move_to_end(choice)
                    self._in_use.append(known)
                    return known
                self._let_go(choice)
        made = resolve_target(choice, monitor=monitor)
        with self._lock:
            if choice in self._targets:  # another thread was faster, and uses its own
                self._leaving.append(made)
                made = self._targets[choice]
            self._targets[choice] = made
            self._in_use.append(made)
            while len(self._targets) > max(self._kept, AT_LEAST):
                self._let_go(next(iter(self._targets)))
        return made

    def _put_back(self, target: ResolvedTarget) -> None:
        with self._lock:
            self._in_use.remove(target)
        self._close_unused()

    def _once(
        self,
        kind: str,
        document: Document,
        target: ResolvedTarget | None,
        make: Callable[[], T],
        *,
        key: Hashable = None,
        owner: object = None,
    ) -> T:
        key = _identity(document, target) if key is None else key
        with self._lock:
            results = self._results.setdefault(kind, OrderedDict())
            if key in results:
                results.move_to_end(key)
                return results[key].made  # type: ignore[return-value]
        made = make()
        index = document.index
        tensors = 0 if made is index else len(index)
        with self._lock:
            is_outdated = target is not None and target in self._leaving
            if not is_outdated:
                results[key] = _Result(made, (document, owner), index, target, tensors)
            total = sum(result.tensors for result in results.values())
            while len(results) > self._kept or (len(results) > AT_LEAST and total > self._tensors):
                _, oldest = results.popitem(last=False)
                total -= oldest.tensors
        return made

    def _close_unused(self) -> None:
        with self._lock:
            closing = [target for target in self._leaving if target not in self._in_use]
            self._leaving = [target for target in self._leaving if target in self._in_use]
        for target in closing:
            target.close()

    # Under the lock

    def _drop(self, is_gone: Callable[[_Result], bool]) -> None:
        for results in self._results.values():
            for key in [key for key, result in results.items() if is_gone(result)]:
                del results[key]

    def _let_go(self, choice: TargetChoice) -> None:
        """Of a target and of what was made with it: that is kept by its identity."""
        target = self._targets.pop(choice)
        self._drop(lambda result: result.target is target)
        self._leaving.append(target)


def _identity(document: Document, target: ResolvedTarget | None) -> Hashable:
    # By identity, because a recipe may hold adapters that cannot be hashed. It stays the same when
    # a file changes that its decisions take from.
    files = {take.file for take in document.recipe.takes.values()}
    others = frozenset(Stamp.of(Path(file)) for file in files)
    return (id(document.index), id(document.recipe), id(target), others)
