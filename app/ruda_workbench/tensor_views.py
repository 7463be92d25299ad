"""Further views of a tensor for the inspector: planes, bytes, and beside a pinned one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from ruda.progress import Monitor
from ruda.session import (
    Changes,
    CompareValues,
    HexPage,
    JobFailure,
    PlaneChoice,
    PlanePage,
    PlaneWindow,
    compare_values,
    hex_page,
    plane_page,
    plane_window,
    shape_text,
    size_text,
    tr,
)
from ruda.store import TensorIndex, TensorSnapshot, values_mark
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest

KEPT = 8
"""Planes that are remembered."""


class Beside(Protocol):
    """What shows two tensors beside each other."""

    def show_note(self, text: str, *, pinned: bool = False, offer: str = "") -> None:
        """Say why there is nothing to see; ``offer`` is the text of a button that reads it."""

    def show_values(self, found: CompareValues, pinned: str) -> None:
        """Show them."""


class TensorViews(QObject):
    """Asks for views in jobs; what is asked anew or left stops what was asked before.

    A pinned tensor stays while other documents come to the front, until its own file is closed.
    """

    unpinned = Signal()
    """The file of the pinned tensor was closed."""

    def __init__(self, context: Context, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._plane_question = Latest(context.jobs, self)
        self._window_question = Latest(context.jobs, self)
        self._bytes_question = Latest(context.jobs, self)
        self._beside_question = Latest(context.jobs, self)
        self._planes: dict[Hashable, tuple[TensorSnapshot, PlanePage]] = {}
        self._pinned: tuple[TensorSnapshot, TensorIndex] | None = None
        self._closed_key = ""
        self.bytes_of: TensorSnapshot | None = None
        """The tensor whose bytes were asked for last."""
        context.changed.connect(self._changed)

    @property
    def pinned(self) -> TensorSnapshot | None:
        """The tensor that others are laid beside."""
        return None if self._pinned is None else self._pinned[0]

    def pin(self, snapshot: TensorSnapshot | None) -> None:
        """Lay others beside this tensor of the document in front, or beside none."""
        document = self._context.session.active
        self._closed_key = ""
        self._pinned = None
        if snapshot is not None and document is not None:
            self._pinned = (snapshot, document.index)

    def _changed(self, changes: Changes) -> None:
        if self._pinned is None or not changes & (Changes.DOCUMENTS | Changes.PART):
            return
        snapshot, index = self._pinned
        session = self._context.session
        histories = (session.history(document.id) for document in session.documents)
        # Undoing leads back to another part of a file, so that one is open as well.
        if not any(step.document.index is index for each in histories for step in each.steps):
            self._pinned, self._closed_key = None, snapshot.key
            self._beside_question.drop()
            self.unpinned.emit()

    def leave(self) -> None:
        """Drop every question."""
        self.bytes_of = None
        for question in (
            self._plane_question,
            self._window_question,
            self._bytes_question,
            self._beside_question,
        ):
            question.drop()

    def ask_plane(
        self,
        snapshot: TensorSnapshot,
        choice: PlaneChoice,
        show: Callable[[PlanePage | None, str], None],
    ) -> None:
        """Read a plane, unless it is remembered."""
        key = (values_mark(snapshot), choice)
        known = self._planes.get(key)
        if known is not None:
            self._plane_question.drop()
            show(known[1], "")
            return

        def work(monitor: Monitor) -> PlanePage:
            return plane_page(snapshot, choice, monitor=monitor)

        def done(page: PlanePage) -> None:
            self._planes[key] = (snapshot, page)
            while len(self._planes) > KEPT:
                self._planes.pop(next(iter(self._planes)))
            show(page, "")

        def failed(failure: JobFailure) -> None:
            show(None, failure.summary)

        self._plane_question.ask(tr("Values of {key}", key=snapshot.key), work, done, failed)

    def ask_window(
        self,
        snapshot: TensorSnapshot,
        choice: PlaneChoice,
        cell: tuple[int, int],
        show: Callable[[PlaneWindow | None, str], None],
    ) -> None:
        """Read the part of a large plane that holds a cell."""

        def work(monitor: Monitor) -> PlaneWindow:
            return plane_window(snapshot, choice, *cell, monitor=monitor)

        def done(window: PlaneWindow) -> None:
            show(window, "")

        def failed(failure: JobFailure) -> None:
            show(None, failure.summary)

        self._window_question.ask(tr("Values of {key}", key=snapshot.key), work, done, failed)

    def ask_bytes(
        self, snapshot: TensorSnapshot, start: int, show: Callable[[HexPage | None, str], None]
    ) -> None:
        """Read a page of bytes."""
        self.bytes_of = snapshot

        def work(monitor: Monitor) -> HexPage:
            return hex_page(snapshot, start, monitor=monitor)

        def done(page: HexPage) -> None:
            show(page, "")

        def failed(failure: JobFailure) -> None:
            show(None, failure.summary)

        self._bytes_question.ask(tr("Bytes of {key}", key=snapshot.key), work, done, failed)

    def lay_beside(self, snapshot: TensorSnapshot, beside: Beside, limit: int) -> None:
        """Compare a tensor with the pinned one; above ``limit`` bytes, only offer to."""
        pinned = self.pinned
        self._beside_question.drop()
        if pinned is None:
            beside.show_note(self._nothing_pinned())
            return
        name = tr("Pinned: {key}", key=pinned.key)
        if pinned is snapshot:
            beside.show_note(tr("{name}. Choose another one.", name=name), pinned=True)
            return
        if pinned.shape != snapshot.shape:
            shapes = (shape_text(pinned.shape), shape_text(snapshot.shape))
            text = tr(
                "{name}, of shape {a}; this one has {b}.", name=name, a=shapes[0], b=shapes[1]
            )
            beside.show_note(text, pinned=True)
            return
        larger = max(pinned.nbytes, snapshot.nbytes)
        if larger > limit:
            text = tr("This tensor is large; its values are read when you ask.")
            offer = tr("Compute ({nbytes})", nbytes=size_text(pinned.nbytes + snapshot.nbytes))
            beside.show_note(text, pinned=True, offer=offer)
            return

        def work(monitor: Monitor) -> CompareValues:
            return compare_values(pinned, snapshot, monitor=monitor)

        def done(found: CompareValues) -> None:
            beside.show_values(found, pinned.key)

        def failed(failure: JobFailure) -> None:
            beside.show_note(failure.summary, pinned=True)

        beside.show_note(tr("Reading values…"), pinned=True)
        title = tr("{key} beside {other}", key=snapshot.key, other=pinned.key)
        self._beside_question.ask(title, work, done, failed)

    def _nothing_pinned(self) -> str:
        pin = tr("Pin a tensor to lay others beside it.")
        if not self._closed_key:
            return pin
        closed = tr("The file of {key} was closed; it is pinned no more.", key=self._closed_key)
        return f"{closed} {pin}"
