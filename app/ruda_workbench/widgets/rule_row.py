"""One remap rule in the editor: on or off, pattern, replacement, and what it does."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QWidget

from ruda.session import RuleDraft, RuleLine, schema_draft, schema_of, tr
from ruda_workbench.key_words import keys_text
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.buttons import Switch, icon_button
from ruda_workbench.widgets.labels import ElidedLabel, label, set_role

MOVE_KEYS = ("Ctrl+Shift+Up", "Ctrl+Shift+Down")
"""Keys that move the rule in which the focus is."""


class RuleRow(QWidget):
    """Edits one ``RuleDraft``; every gesture is told with the row's number from 0."""

    edited = Signal(int)
    """The text changes while it is typed."""
    finished = Signal(int)
    """Enter, or the focus went elsewhere."""
    switched = Signal(int)
    removed = Signal(int)
    moved = Signal(int, int)
    dragged = Signal(int, int)
    """The rule at the first number is pulled to the second one; not yet let go."""
    held = Signal(object)
    """This row is being pulled."""
    dropped = Signal()

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self._as_schema = False
        self.setObjectName(f"rule.{number}")
        place = number + 1
        self.enabled = Switch("", f"rule.{number}.on")
        self.enabled.setAccessibleName(tr("Rule {place} is used", place=place))
        self.pattern = self._field(
            f"rule.{number}.pattern", tr("Rule {place}: find", place=place), tr("find (regex)")
        )
        self.replacement = self._field(
            f"rule.{number}.replacement", tr("Rule {place}: replace by", place=place), tr("nothing")
        )
        up = icon_button("up", _with_keys(tr("Earlier"), 0), f"rule.{number}.up")
        down = icon_button("down", _with_keys(tr("Later"), 1), f"rule.{number}.down")
        remove = icon_button("trash", tr("Remove the rule"), f"rule.{number}.remove")
        self._grip = _Grip(self)
        arrow = label("→", role="dim")
        self._effect = ElidedLabel(
            font=text_font(Type.CAPTION), ink="dim", elide=Qt.TextElideMode.ElideRight
        )
        self._effect.setObjectName(f"rule.{number}.effect")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.XS)
        grid.setVerticalSpacing(2)
        fields = (self._grip, self.enabled, self.pattern, arrow, self.replacement)
        for column, widget in enumerate((*fields, up, down, remove)):
            grid.addWidget(widget, 0, column)
        grid.addWidget(self._effect, 1, 2, 1, -1)  # under the field that it is about
        grid.setColumnStretch(2, 3)
        grid.setColumnStretch(4, 2)
        self.enabled.clicked.connect(self._switched)
        up.clicked.connect(self._up)
        down.clicked.connect(self._down)
        remove.clicked.connect(self._removed)

    def _field(self, name: str, title: str, hint: str) -> QLineEdit:
        made = QLineEdit()
        made.setObjectName(name)
        made.setAccessibleName(title)
        made.setPlaceholderText(hint)
        made.setFont(mono_font())
        made.textEdited.connect(self._edited)
        made.editingFinished.connect(self._finished)
        return made

    @property
    def draft(self) -> RuleDraft:
        """The rule as it stands in the fields."""
        before, after = self.pattern.text(), self.replacement.text()
        if self._as_schema and (before or after):
            return schema_draft(before, after, enabled=self.enabled.isChecked())
        return RuleDraft(before, after, self.enabled.isChecked())

    def write_as_schema(self, *, on: bool) -> None:
        """Write the rule as schemas where it can be, or as regexes; it stays the same rule."""
        draft = self.draft
        schema = None if not draft.pattern else schema_of(draft)
        self._as_schema = on and (schema is not None or not draft.pattern)
        self.pattern.setPlaceholderText(
            tr("find (schema: a.{n}.b)", n="{n}") if self._as_schema else tr("find (regex)")
        )
        before, after = schema if self._as_schema and schema else (draft.pattern, draft.replacement)
        for field, text in ((self.pattern, before), (self.replacement, after)):
            field.setText(text)
            field.setCursorPosition(0)

    @property
    def effect(self) -> str:
        """The words under the fields."""
        return self._effect.text()

    def show_draft(self, draft: RuleDraft) -> None:
        """Put a rule into the fields, without telling anyone."""
        if self.draft == draft:
            return
        schema = schema_of(draft) if self._as_schema else None
        self._as_schema = self._as_schema and (schema is not None or not draft.pattern)
        if schema is not None:
            draft = RuleDraft(*schema, draft.enabled)
        for field, text in ((self.pattern, draft.pattern), (self.replacement, draft.replacement)):
            if field.text() != text:
                field.setText(text)
                field.setCursorPosition(0)
        self.enabled.setChecked(draft.enabled)

    def show_line(self, line: RuleLine) -> None:
        """Say what the rule does, or why it cannot be used."""
        if line.is_error:
            self._effect.set_ink("error")
            self._effect.set_text(_problem(line))
        elif line.problem:
            self._effect.set_ink("missing")
            self._effect.set_text(f"{line.effect} · {line.problem}")
        else:
            self._effect.set_ink("dim")
            self._effect.set_text(line.effect)
        set_role(self.pattern, "invalid", line.is_error)
        self.pattern.setAccessibleDescription(line.problem)

    @property
    def focused_field(self) -> str:
        """Which of its widgets has the focus; empty for none."""
        found = next((w for w in self.findChildren(QWidget) if w.hasFocus()), None)
        return "" if found is None else found.objectName().rpartition(".")[2]

    def focus_field(self, name: str) -> None:
        """Give the focus to the widget of this name: after a move to the one of the other row."""
        found = self.findChild(QWidget, f"rule.{self.number}.{name}") if name else None
        if found is not None:
            found.setFocus()

    @property
    def pointer(self) -> QPoint:
        """Where on the screen the pointer was that pulls this row."""
        return self._grip.pointer

    def follow(self) -> None:
        """Go where the pointer is: the list has moved under it."""
        self._grip.follow()

    def _edited(self) -> None:
        self.edited.emit(self.number)

    def _finished(self) -> None:
        self.finished.emit(self.number)

    def _switched(self) -> None:
        self.switched.emit(self.number)

    def _removed(self) -> None:
        self.removed.emit(self.number)

    def _up(self) -> None:
        self.moved.emit(self.number, -1)

    def _down(self) -> None:
        self.moved.emit(self.number, 1)


class _Grip(QLabel):
    """Pulls its rule to another place."""

    def __init__(self, row: RuleRow) -> None:
        super().__init__("⋮")
        self._row = row
        self._at = row.number
        self.pointer = QPoint()
        self.setCursor(Qt.CursorShape.SizeVerCursor)
        self.setProperty("role", "dim")
        self.setToolTip(tr("Drag to change the order"))
        self.setObjectName(f"rule.{row.number}.grip")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take hold."""
        self._at = self._row.number
        self.pointer = event.globalPosition().toPoint()
        self._row.held.emit(self._row)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the pointer from row to row."""
        self.pointer = event.globalPosition().toPoint()
        self.follow()

    def follow(self) -> None:
        """Pull the rule to the row that the pointer is over."""
        step = self._row.height() + Space.S
        to = self._row.number + round(self.mapFromGlobal(self.pointer).y() / step)
        if to != self._at and to >= 0:
            self._row.dragged.emit(self._at, to)
            self._at = to

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        self._row.dropped.emit()


def _with_keys(text: str, place: int) -> str:
    return f"{text}  {keys_text(MOVE_KEYS[place])}"


def _problem(line: RuleLine) -> str:
    """Why a rule cannot be used, without naming the rule that stands above it."""
    draft = line.draft
    text = line.problem.removeprefix(f"remap {draft.pattern!r} -> {draft.replacement!r}: ")
    if line.position is not None and "position" not in text:
        text += tr(" (at position {position})", position=line.position)
    return text
