"""A decision about the tensors of a row, written by hand, with its effect before it is taken."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QDialog, QFileDialog, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import (
    DiffLine,
    Document,
    JobFailure,
    counted,
    diff_headline,
    reason_text,
    say,
    say_steps,
    shape_text,
    status_look,
    tr,
)
from ruda.store import (
    Action,
    Decision,
    DiffRow,
    Pad,
    Recipe,
    Reshape,
    Slice,
    Status,
    Take,
    Transpose,
)
from ruda.tensor import DType
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.buttons import push_button
from ruda_workbench.widgets.labels import Facts, label, sentence, set_role
from ruda_workbench.widgets.placing import room_for

ASK_AFTER = 200
"""Milliseconds without a key after which the effect is worked out."""
CHECK_EVERY = 4096
"""Tensors between two points where the work can be stopped."""
_CHANGES = (
    Slice(0, 0, 10),
    Pad(0, 0, 2, 0.0),
    Transpose((1, 0)),
    Reshape((10, 4)),
    Take("other.safetensors", "key"),
)
FORMS = (
    *(change.text for change in _CHANGES),
    Decision("", Action.CAST, DType.F16).text,
    Decision("", Action.KEEP).text,
    Decision("", Action.SKIP).text,
)
"""An example of everything that can be decided."""


class Effect(NamedTuple):
    """What a decision would do, worked out in a job."""

    recipe: Recipe
    then: str
    """What becomes of the row."""
    headline: str
    is_good: bool
    """True if the row is no problem any more."""


class DecisionSheet(QDialog):
    """Edits the decisions about a line of the load diff; ``decided`` carries the recipe then."""

    decided = Signal(object)

    def __init__(
        self, context: Context, document: Document, line: DiffLine, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._context = context
        self._document = document
        self._keys = line.keys
        self._effect: Effect | None = None
        self._question = Latest(context.jobs, self)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(ASK_AFTER)
        self._timer.timeout.connect(self.look)
        self.setObjectName("decision")
        self.setWindowTitle(tr("Decide on a tensor"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(600)
        self._build(line.rows[0])

    def _build(self, row: DiffRow) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        more = len(self._keys) - 1
        name = self._keys[0] if not more else f"{self._keys[0]} + {counted(more, 'tensor')}"
        column.addWidget(label(name, font=text_font(Type.TITLE, bold=True), wrap=True))
        if row.reason:
            column.addWidget(label(sentence(reason_text(row)), role="dim", wrap=True))
        line = QHBoxLayout()
        self.text = QLineEdit()
        self.text.setObjectName("decision.text")
        self.text.setAccessibleName(tr("The decision"))
        self.text.setFont(mono_font())
        self.text.setPlaceholderText(FORMS[0])
        there = [d.text for d in self._document.recipe.decide if d.key == self._keys[0]]
        self.text.setText("; ".join(there))
        self.text.textEdited.connect(self._edited)
        self.file = push_button(tr("From a file…"), "decision.file")
        self.file.setToolTip(tr("Take the tensor of another file in its place"))
        self.file.setEnabled(not more)
        self.file.clicked.connect(self._ask_file)
        line.addWidget(self.text, 1)
        line.addWidget(self.file)
        column.addLayout(line)
        forms = tr("One of: {forms}; several with ; between them.", forms=" · ".join(FORMS))
        column.addWidget(label(forms, role="dim", wrap=True))
        self.effect = Facts(key_width=90)
        self.effect.hide()
        column.addWidget(self.effect)
        self.problem = label(role="error", wrap=True)
        self.problem.setObjectName("decision.problem")
        column.addWidget(self.problem)
        foot = QHBoxLayout()
        self.take = push_button(tr("Decide"), "decision.take", primary=True)
        close = push_button(tr("Close"), "decision.close")
        foot.addStretch(1)
        foot.addWidget(close)
        foot.addWidget(self.take)
        close.clicked.connect(self.reject)
        self.take.clicked.connect(self._take)
        column.addLayout(foot)
        self.take.setEnabled(False)

    @property
    def parts(self) -> tuple[str, ...]:
        """What is written, decision by decision."""
        return tuple(filter(None, (part.strip() for part in self.text.text().split(";"))))

    def look(self) -> None:
        """Work out what the decision would do, without taking it."""
        self._timer.stop()
        self._forget()
        self.effect.show_facts(())
        self.effect.hide()  # empty, it would leave a gap
        document, derived, keys, parts = (
            self._document,
            self._context.derived,
            self._keys,
            self.parts,
        )
        try:
            document.recipe.with_decision(*(Decision.parse(keys[0], part) for part in parts))
        except RudaError as error:
            self._show_problem(say(str(error)))
            return
        self._show_problem("")
        if not parts:
            return

        def work(monitor: Monitor) -> Effect:
            recipe = document.recipe.with_decision(*_decisions(keys, parts, monitor))
            report = derived.report(document.with_recipe(recipe), monitor=monitor)
            named, headline = report.table.keys, diff_headline(report)
            if keys[0] not in named:
                return Effect(recipe, tr("no row has this key any more"), headline, is_good=False)
            found = report.table[named.index(keys[0])]
            is_good = found.status is not Status.ERROR
            return Effect(recipe, _words(found), headline, is_good)

        def done(effect: Effect) -> None:
            self._effect = effect
            self.effect.show_facts(((tr("then"), effect.then), (tr("with it"), effect.headline)))
            self.effect.show()
            QTimer.singleShot(0, self, self.fit)
            self.take.setEnabled(effect.is_good)

        def failed(failure: JobFailure) -> None:
            self._show_problem(failure.summary)

        self._question.ask(tr("Trying a decision"), work, done, failed)

    def _forget(self) -> None:
        """What is written is not worked out."""
        self._question.drop()
        self._effect = None
        self.take.setEnabled(False)

    def _show_problem(self, sentence: str) -> None:
        set_role(self.text, "invalid", bool(sentence))
        self.problem.setText(sentence)
        self.problem.setVisible(bool(sentence))
        QTimer.singleShot(0, self, self.fit)  # once the words have their height

    def fit(self) -> None:
        """Grow to what there is to read, as far as the screen has room for it."""
        layout = self.layout()
        assert layout is not None
        wanted = room_for(self, self.width(), layout.totalHeightForWidth(self.width()))
        self.resize(wanted.expandedTo(self.size()))

    def _edited(self) -> None:
        self._forget()
        self._timer.start()

    def _ask_file(self) -> None:
        found, _ = QFileDialog.getOpenFileName(
            self, tr("Take the tensor from a file"), str(self._context.folder)
        )
        if found:
            self.text.setText(f"take {shlex.join((found, self._keys[0]))}")
            self.look()

    def _take(self) -> None:
        if self._effect is not None:
            self.decided.emit(self._effect.recipe)
            self.accept()


def _decisions(keys: Sequence[str], parts: Sequence[str], monitor: Monitor) -> Iterator[Decision]:
    """What is written, for every tensor."""
    for count, key in enumerate(keys):
        if not count % CHECK_EVERY:
            monitor.check()
        yield from (Decision.parse(key, part) for part in parts if key)


def _words(row: DiffRow) -> str:
    """``Applied · slice 0 0:10 · [10, 4]``; the reason where it is refused."""
    word = status_look(row.status).word
    made = row.adapted
    if made is None or row.status is Status.ERROR:
        return f"{word} · {reason_text(row)}" if row.reason else word
    return " · ".join(filter(None, (word, say_steps(made.trail), shape_text(made.shape))))
