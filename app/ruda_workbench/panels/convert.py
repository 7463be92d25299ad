"""Half precision: which types tensors are saved in, and what that does to their values."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from ruda.progress import Monitor, track
from ruda.session import JobFailure, SavePlanPage, counted, size_text, tr
from ruda.store import TensorIndex, TensorSnapshot, fold, read_with_counts
from ruda.tensor import CastCounts
from ruda_workbench import recipe_operations as edits
from ruda_workbench.context import Context
from ruda_workbench.document_watch import DocumentWatch
from ruda_workbench.item_models.convert_table import ConvertTableModel
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import Segments, Switch, push_button
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.labels import ElidedLabel, label, set_role

MEMBERS = 100
"""Tensors of a line that the inspector can step through."""
DEFAULT_KEEP = "BatchNorm"


def scan_casts(view: TensorIndex, monitor: Monitor) -> dict[str, CastCounts]:
    """What casting does to the values of every family; reads each tensor that is cast."""
    cast = [s for s in view.values() if any(t.startswith("cast") for t in s.trail)]
    families: dict[str, int] = {}
    for snapshot in view.values():
        families[fold(snapshot.key)] = families.get(fold(snapshot.key), 0) + 1
    found: dict[str, CastCounts] = {}
    for snapshot in track(cast, monitor, "tensors", len(cast)):
        _, counts = read_with_counts(snapshot)
        family = fold(snapshot.key)
        for key in {family, snapshot.key}:
            found[key] = found.get(key, CastCounts()) + (counts or CastCounts())
    return found


class ConvertPanel(QWidget):
    """Edits the cast of the recipe and shows what becomes of every family.

    ``selected`` carries the converted tensors of the chosen line.
    """

    selected = Signal(object)

    def __init__(self, context: Context, watch: DocumentWatch) -> None:
        super().__init__()
        self._context = context
        self._watch = watch
        self._question = Latest(context.jobs, self)
        self._view: TensorIndex | None = None
        self._plan: SavePlanPage | None = None
        self._build()
        watch.viewed.connect(self.refresh)

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        column.addWidget(self._policy_card())
        self.banner = Banner("convert.banner")
        column.addWidget(self.banner)
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(1, 1, 1, 1)
        self.table = DataTable("convert.table", tr("Conversion of every family of tensors"))
        self.model = ConvertTableModel()
        self.model.setParent(self)
        self.table.setModel(self.model)
        self.table.row_shown.connect(self._row_shown)
        inner.addWidget(self.table)
        column.addWidget(card, 1)

    def _policy_card(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        column = QVBoxLayout(card)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.S)
        row = QHBoxLayout()
        row.setSpacing(Space.M)
        row.addWidget(label(tr("Save floats as"), font=text_font(bold=True)))
        self.types = Segments([(v, tr(text)) for v, text in edits.CASTS], "convert.type")
        self.types.chosen.connect(self._changed)
        row.addWidget(self.types)
        self.every = Switch(tr("Every float tensor"), "convert.every")
        self.every.setToolTip(tr("Off: only kinds of module that stand half precision are cast"))
        self.every.clicked.connect(self._changed)
        row.addWidget(self.every)
        row.addSpacing(Space.S)
        row.addWidget(label(tr("Keep"), role="dim"))
        self.keep = QLineEdit(DEFAULT_KEEP)
        self.keep.setObjectName("convert.keep")
        self.keep.setAccessibleName(tr("Kinds of module that keep their type"))
        self.keep.setToolTip(tr("Kinds of module that keep their type, with commas between them"))
        self.keep.setMaximumWidth(240)
        self.keep.editingFinished.connect(self._changed)
        row.addWidget(self.keep, 1)
        row.addStretch(1)
        self.scan = push_button(tr("Check values"), "convert.scan")
        self.scan.setToolTip(tr("Read every tensor that is cast and count what does not fit"))
        self.scan.clicked.connect(self._scan)
        row.addWidget(self.scan)
        column.addLayout(row)
        self._summary = ElidedLabel(ink="dim")
        self._summary.setObjectName("convert.summary")
        column.addWidget(self._summary)
        return card

    # Showing

    @property
    def summary(self) -> str:
        """The line under the choices."""
        return self._summary.text()

    def refresh(self) -> None:
        """Draw the recipe of the document in front and what it makes."""
        document, laid = self._watch.document, self._watch.current
        if document is None:
            return
        cast = document.recipe.cast
        to = "" if cast is None else cast.to.label
        self.types.offer(to, to)  # recipes from files cast to more types than are offered
        self.types.choose(to)
        self.every.setChecked(edits.casts_every(cast))
        self.every.setEnabled(cast is not None and cast.to.label != "f32")
        if cast is not None and not self.keep.hasFocus():
            self.keep.setText(", ".join(sorted(cast.keep)))
        if laid is None:
            return
        view = laid.view
        if view is None and not laid.problem:
            return  # it is being made
        if view is None:
            self.model.show_lines(())
            self.table.empty_text = laid.problem
            self._summary.set_text("")
            self.banner.show_text("error", laid.problem)
            self.scan.setEnabled(False)
            return
        if laid.plan is None and self.isVisible():
            self._watch.want_plan()
        if view is self._view and laid.plan is self._plan:
            return
        self._question.drop()
        self._view, self._plan = view, laid.plan
        self.table.empty_text = "" if laid.plan is not None else tr("Working out what is written…")
        self.scan.setEnabled(cast is not None)
        self.banner.show_text("warning", "")
        row = self.table.currentIndex().row()
        self.model.show_lines(() if laid.plan is None else laid.plan.lines)
        if self.isVisible():
            self.table.select_row(max(0, row))
        self._summary.set_text("" if laid.plan is None else _sizes(laid.plan))
        notes = () if laid.plan is None else laid.plan.notes
        if notes and cast is not None:
            self.banner.show_text("warning", notes[0])

    def showEvent(self, event: QShowEvent) -> None:
        """Ask for the plan of a large file, which is made only when it is looked at."""
        super().showEvent(event)
        self._watch.want_plan()

    def leave(self) -> None:
        """Drop the scan."""
        self._question.drop()

    # Gestures

    def kept_kinds(self) -> tuple[str, ...]:
        """The kinds of module that stand in the field."""
        words = (word.strip() for word in self.keep.text().replace(";", ",").split(","))
        return tuple(word for word in words if word)

    def choose(self, to: str) -> None:
        """Pick a type as a click on its segment does."""
        self.types.choose(to)
        self._changed()

    def _changed(self) -> None:
        document = self._watch.document
        if document is None:
            return
        problem = edits.choose_cast(
            self._context,
            document,
            self.types.value,
            every=self.every.isChecked(),
            keep=self.kept_kinds(),
        )
        set_role(self.keep, "invalid", bool(problem))
        self.banner.show_text("error", problem)

    def select_again(self) -> None:
        """Tell which line is chosen; the first where none was."""
        row = self.table.currentIndex().row()
        if row < 0 and self.model.rowCount():
            self.table.select_row(0)
        else:
            self._row_shown(row)

    def _row_shown(self, place: int) -> None:
        found: tuple[TensorSnapshot, ...] = ()
        if self._view is not None and 0 <= place < len(self.model.lines):
            line = self.model.lines[place]
            if line.count == 1:
                found = (self._view[line.key],)
            else:
                same = (s for s in self._view.values() if fold(s.key) == line.key)
                found = tuple(islice((s for s in same if s.dtype_label == line.dtype), MEMBERS))
        self.selected.emit(found)

    def _scan(self) -> None:
        view = self._view
        if view is None:
            return

        def work(monitor: Monitor) -> dict[str, CastCounts]:
            return scan_casts(view, monitor)

        def failed(failure: JobFailure) -> None:
            self.banner.show_text("error", failure.summary)

        self._question.ask(tr("Checking values"), work, self._scanned, failed)

    def _scanned(self, counts: Mapping[str, CastCounts]) -> None:
        self.model.show_counts(counts)
        lines = {line.key for line in self.model.lines}
        total = CastCounts()
        for key, found in counts.items():
            if key in lines:
                total += found
        if total.overflow:
            text = tr(
                "{overflow} would overflow to infinity.", overflow=counted(total.overflow, "value")
            )
            self.banner.show_text("error", text)
        elif total.underflow:
            text = tr("{underflow} would become zero.", underflow=counted(total.underflow, "value"))
            self.banner.show_text("warning", text)


def _sizes(page: SavePlanPage) -> str:
    before = page.size_before
    after = sum(share.nbytes for share in page.dtypes_after)
    change = ""
    if before and before != after:
        change = f" ({(after - before) / before * 100:+.0f} %)"
    shares = " · ".join(share.text for share in page.dtypes_after)
    return f"{size_text(before)} → {size_text(after)}{change} · {shares}"
