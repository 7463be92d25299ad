"""Half precision: which types tensors are saved in, and what that does to their values."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import (
    SAMPLE,
    JobFailure,
    LossPage,
    SavePlanPage,
    casts_every,
    loss_page,
    say,
    size_text,
    tr,
    with_fix,
)
from ruda.store import TensorIndex, TensorSnapshot
from ruda_workbench import recipe_operations as edits
from ruda_workbench.context import Context
from ruda_workbench.document_watch import DocumentWatch
from ruda_workbench.item_models.convert_table import ConvertTableModel
from ruda_workbench.panels.convert_notes import NORM, NormNote, WayBack
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import Segments, Switch, push_button
from ruda_workbench.widgets.data_table import DataTable
from ruda_workbench.widgets.labels import ElidedLabel, label, set_role


class ConvertPanel(QWidget):
    """Edits the cast of the recipe and shows what becomes of every family.

    ``selected`` carries the converted tensors of the chosen line, of very many the first, and
    their number.
    """

    selected = Signal(object, int)
    back_asked = Signal()
    """The save sheet that waits for types is to come back."""

    def __init__(self, context: Context, watch: DocumentWatch) -> None:
        super().__init__()
        self._context = context
        self._watch = watch
        self._question = Latest(context.jobs, self)
        self._view: TensorIndex | None = None
        self._plan: SavePlanPage | None = None
        self._added: frozenset[str] = frozenset()
        self._build()
        watch.viewed.connect(self.refresh)
        watch.halted.connect(self._halted)

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        self._way_back = WayBack()
        self._way_back.button.clicked.connect(self.back_asked)
        column.addWidget(self._way_back)
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
        column.addLayout(self._fix_row())

    def _fix_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.fix_label = label(tr("For the chosen line"), role="dim")
        row.addWidget(self.fix_label)
        self.fixes: dict[str, QPushButton] = {}
        for name, text, tip in (
            ("keep", tr("Keep the type"), tr("Its tensors are not cast")),
            ("bf16", tr("As bf16"), tr("The range of f32 with fewer digits")),
            (
                "clamp",
                tr("Clamp"),
                tr("Values that do not fit become the largest that do: they change"),
            ),
            ("none", tr("As the others"), tr("Take the choice for this line away")),
        ):
            button = push_button(text, f"convert.fix.{name}")
            button.setToolTip(tip)
            button.clicked.connect(self._fix)
            self.fixes[name] = button
            row.addWidget(button)
        row.addStretch(1)
        return row

    def _policy_card(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        column = QVBoxLayout(card)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.S)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        row.addWidget(label(tr("Save floats as"), font=text_font(bold=True)))
        self.types = Segments([(v, tr(text)) for v, text in edits.CASTS], "convert.type")
        self.types.chosen.connect(self._changed)
        row.addWidget(self.types)
        self.every = Switch(tr("All but what is kept"), "convert.every")
        on = tr(
            "On: every float tensor is cast, but not what stands under Keep or is kept by a line"
        )
        off = tr("Off: only kinds of module that stand half precision are cast")
        self.every.setToolTip(f"{on}\n{off}")
        self.every.clicked.connect(self._changed)
        row.addWidget(self.every)
        row.addWidget(label(tr("Keep"), role="dim"))
        self.keep = QLineEdit(NORM)
        self.keep.setObjectName("convert.keep")
        self.keep.setAccessibleName(tr("Kinds of module that keep their type"))
        self.keep.setToolTip(tr("Kinds of module that keep their type, with commas between them"))
        self.keep.setMinimumWidth(64)
        self.keep.setMaximumWidth(240)
        self.keep.editingFinished.connect(self._changed)
        row.addWidget(self.keep, 9)
        row.addStretch(1)
        self.scan = push_button(tr("Check values"), "convert.scan")
        self.scan.setToolTip(tr("Read every tensor that is cast and count what does not fit"))
        self.scan.clicked.connect(self._scan)
        self.estimate = push_button(tr("Estimate"), "convert.estimate")
        self.estimate.setToolTip(tr("Read the first values of every tensor that is cast"))
        self.estimate.clicked.connect(self._estimate)
        column.addLayout(row)
        self.norm = NormNote()
        self.norm.toggled.connect(self._norm_toggled)
        column.addWidget(self.norm)
        self._summary = ElidedLabel(ink="dim")
        self._summary.setObjectName("convert.summary")
        self._summary.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        foot = QHBoxLayout()
        foot.setSpacing(Space.S)
        foot.addWidget(self._summary, 1)
        foot.addWidget(self.estimate)
        foot.addWidget(self.scan)
        column.addLayout(foot)
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
        self.every.setChecked(casts_every(cast))
        self.every.setEnabled(cast is not None and cast.to.label != "f32")
        if cast is not None and not self.keep.hasFocus():
            self.keep.setText(", ".join(sorted(cast.keep)))
            self.keep.setCursorPosition(0)  # a narrow field shows the beginning
        self._added = frozenset() if cast is None else cast.add
        if laid is None:
            return
        view = laid.view
        if view is None and not laid.problem:
            return  # it is being made
        if view is None:
            self.model.show_lines(())
            self.table.empty_text = tr("Nothing can be converted.")
            self._summary.set_text("")
            self.banner.show_text("error", laid.problem)
            self._can_check(on=False)
            return
        if laid.plan is None and self.isVisible():
            self._watch.want_plan()
        if view is self._view and laid.plan is self._plan:
            return
        self._question.drop()
        self._view, self._plan = view, laid.plan
        self.table.empty_text = "" if laid.plan is not None else tr("Working out what is written…")
        self._can_check(on=document.recipe.casts)
        self.banner.show_text("warning", "")
        row = self.table.currentIndex().row()
        self.model.show_lines(() if laid.plan is None else laid.plan.lines)
        has_norm = any(line.module == NORM for line in self.model.lines)
        self.norm.show_cast(cast, has_norm=has_norm)
        if self.isVisible():
            self.table.select_row(max(0, row))
        self._summary.set_text("" if laid.plan is None else _sizes(laid.plan))
        notes = () if laid.plan is None else laid.plan.notes
        if notes and cast is not None:
            self.banner.show_text("warning", notes[0])

    def reset(self) -> None:
        """Let go of what the last document was made into: nothing of it may stay in sight."""
        self._question.drop()
        self._view = self._plan = None
        self.model.show_lines(())
        self.table.empty_text = tr("Working out what is written…")
        self._summary.set_text("")
        self.banner.show_text("warning", "")
        self._can_check(on=False)

    def _halted(self) -> None:
        waits = tr("Working out what is written…")
        self.table.empty_text = tr("Stopped") if self._watch.is_halted else waits
        self.table.viewport().update()

    def _can_check(self, *, on: bool) -> None:
        for button in (self.scan, self.estimate, *self.fixes.values()):
            button.setEnabled(on)

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
        keep = self.kept_kinds()
        problem = edits.choose_cast(
            self._context,
            document,
            self.types.value,
            every=self.every.isChecked(),
            keep=keep,
            add=sorted(self._added - set(keep)),
        )
        set_role(self.keep, "invalid", bool(problem))
        self.banner.show_text("error", problem)

    def _norm_toggled(self, keep: bool) -> None:
        kinds = [kind for kind in self.kept_kinds() if kind != NORM]
        self.keep.setText(", ".join([*kinds, NORM] if keep else kinds))
        self._added = self._added - {NORM} if keep else self._added | {NORM}
        self._changed()

    def show_way_back(self, *, on: bool) -> None:
        """Show or hide the way back to the save sheet."""
        self._way_back.setVisible(on)

    def select_again(self) -> None:
        """Tell which line is chosen; the first where none was."""
        row = self.table.currentIndex().row()
        if row < 0 and self.model.rowCount():
            self.table.select_row(0)
        else:
            self._row_shown(row)

    def _row_shown(self, place: int) -> None:
        found: tuple[TensorSnapshot, ...] = ()
        count = 0
        if self._view is not None and 0 <= place < len(self.model.lines):
            line = self.model.lines[place]
            found, count = tuple(self._view[key] for key in line.members), line.count
        self.selected.emit(found, count)

    def _estimate(self) -> None:
        self._check(SAMPLE)

    def _scan(self) -> None:
        self._check(None)

    def _check(self, sample: int | None) -> None:
        """Count what is lost: in all values, or in some of every tensor."""
        laid = self._watch.current
        if laid is None or laid.view is None:
            return
        document, target = laid.document, laid.target

        def work(monitor: Monitor) -> LossPage:
            return loss_page(document, target, sample=sample, monitor=monitor)

        def failed(failure: JobFailure) -> None:
            self.banner.show_text("error", failure.summary)

        self._question.ask(tr("Checking values"), work, self._checked, failed)

    def _checked(self, page: LossPage) -> None:
        self.model.show_losses(page.lines)
        text = page.sentence
        if page.sampled:
            note = tr("Only the first values of large tensors were looked at.")
            text = f"{text} {note}".strip()
        self.banner.show_text(page.level if page.sentence else "warning", text)

    def _fix(self) -> None:
        button, document = self.sender(), self._watch.document
        place = self.table.currentIndex().row()
        if document is None or button is None or not 0 <= place < len(self.model.lines):
            return
        line = self.model.lines[place]
        name = button.objectName().rpartition(".")[2]
        try:
            recipe = with_fix(document.recipe, line, "" if name == "none" else name)
        except RudaError as error:
            self.banner.show_text("error", say(str(error)))
            return
        if recipe != document.recipe:
            self._context.session.edit(document.id, tr("Types of {key}", key=line.key), recipe)


def _sizes(page: SavePlanPage) -> str:
    before = page.size_before
    after = sum(share.nbytes for share in page.dtypes_after)
    change = ""
    if before and before != after:
        change = f" ({(after - before) / before * 100:+.0f} %)"
    shares = " · ".join(share.text for share in page.dtypes_after)
    return f"{size_text(before)} → {size_text(after)}{change} · {shares}"
