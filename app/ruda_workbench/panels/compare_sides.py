"""How a comparison is asked: tolerances, and how each side is brought to the other's keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from ruda.session import CompareOptions, CompareSide, RuleDraft, SideView, later, tr
from ruda_workbench.icons import icon
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Picker, Switch, icon_button, push_button
from ruda_workbench.widgets.decimal_field import DecimalField
from ruda_workbench.widgets.labels import ElidedLabel, hairline, label, set_role
from ruda_workbench.widgets.number_field import NumberField

VIEWS = (
    (SideView.FILE, later("As in the file")),
    (SideView.RECIPE, later("After its recipe")),
    (SideView.UNCAST, later("After its recipe, types kept")),
)
MOST_ULP = 1_000_000


class _Rule(QWidget):
    """One remap rule of a side."""

    def __init__(self, name: str, draft: RuleDraft, changed: Callable[[], None]) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.XS)
        self.pattern = self._field(f"{name}.pattern", tr("find (regex)"), draft.pattern, changed)
        self.replacement = self._field(
            f"{name}.replacement", tr("nothing"), draft.replacement, changed
        )
        self.remove = icon_button("trash", tr("Remove the rule"), f"{name}.remove")
        row.addWidget(self.pattern, 3)
        row.addWidget(label("→", role="dim"))
        row.addWidget(self.replacement, 2)
        row.addWidget(self.remove)

    @staticmethod
    def _field(name: str, hint: str, text: str, changed: Callable[[], None]) -> QLineEdit:
        made = QLineEdit(text)
        made.setObjectName(name)
        made.setAccessibleName(hint)
        made.setPlaceholderText(hint)
        made.setFont(mono_font())
        made.editingFinished.connect(changed)
        return made

    @property
    def draft(self) -> RuleDraft:
        """The rule as it stands in the fields."""
        return RuleDraft(self.pattern.text(), self.replacement.text())


class SideColumn(QWidget):
    """What of one document is compared, and under which keys."""

    changed = Signal()

    def __init__(self, name: str, title: str) -> None:
        super().__init__()
        self._name = name
        self._rules: list[_Rule] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(Space.XS)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.view = Picker(f"{name}.view", tr("What of {side} is compared", side=title))
        self.view.offer([(v.value, tr(text)) for v, text in VIEWS], SideView.FILE.value)
        self.view.picked.connect(self._view_picked)
        self.add = push_button(tr("Add rule"), f"{name}.add")
        self.add.clicked.connect(self.add_rule)
        row.addWidget(label(title, font=text_font(bold=True)))
        row.addStretch(1)
        row.addWidget(self.view)
        row.addWidget(self.add)
        self._column.addLayout(row)
        self._column.addStretch(1)

    @property
    def side(self) -> CompareSide:
        """What is asked for."""
        drafts = tuple(rule.draft for rule in self._rules)
        kept = tuple(draft for draft in drafts if draft.pattern)
        return CompareSide(SideView(self.view.value), kept)

    @property
    def rules(self) -> tuple[_Rule, ...]:
        """The rows of rules."""
        return tuple(self._rules)

    def show_side(self, side: CompareSide) -> None:
        """Show what is asked for, without telling anyone."""
        self.view.show_value(side.view.value)
        if side.rules != self.side.rules:
            while self._rules:
                self._drop(self._rules[-1])
            for draft in side.rules:
                self._insert(draft)

    def add_rule(self) -> None:
        """Add an empty rule and put the cursor into it."""
        self._insert(RuleDraft("", "")).pattern.setFocus()

    def _insert(self, draft: RuleDraft) -> _Rule:
        rule = _Rule(f"{self._name}.rule.{len(self._rules)}", draft, self.changed.emit)
        rule.remove.clicked.connect(self._removed)
        self._column.insertWidget(len(self._rules) + 1, rule)
        self._rules.append(rule)
        return rule

    def _removed(self) -> None:
        sender = self.sender()
        for rule in list(self._rules):
            if rule.remove is sender:
                self._drop(rule)
                self.changed.emit()

    def _drop(self, rule: _Rule) -> None:
        self._rules.remove(rule)
        self._column.removeWidget(rule)
        rule.hide()
        rule.deleteLater()

    def _view_picked(self, _value: str) -> None:
        self.changed.emit()


class CompareOptionsCard(QFrame):
    """Everything a comparison is asked with; ``asked`` carries the ``CompareOptions``."""

    asked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("compare.options")
        self.setProperty("surface", "card")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._options = CompareOptions()
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.M, Space.S, Space.M, Space.S)
        column.setSpacing(Space.S)
        column.addLayout(self._head())
        self._body = QWidget()
        row = QHBoxLayout(self._body)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.L)
        self.left = SideColumn("compare.side.left", tr("Left"))
        self.right = SideColumn("compare.side.right", tr("Right"))
        row.addWidget(self.left, 1)
        row.addWidget(hairline(vertical=True))
        row.addWidget(self.right, 1)
        column.addWidget(self._body)
        column.addWidget(self._scope())
        for side in (self.left, self.right):
            side.changed.connect(self._changed)
        self.set_open(on=False)

    def _scope(self) -> QWidget:
        self._scope_row = QWidget()
        row = QHBoxLayout(self._scope_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.S)
        self.only = QLineEdit()
        self.only.setObjectName("compare.only")
        self.only.setAccessibleName(tr("Only keys that match"))
        self.only.setPlaceholderText(tr("every key (regex)"))
        self.only.setFont(mono_font())
        self.only.editingFinished.connect(self._changed)
        row.addWidget(label(tr("Only keys that match"), font=text_font(bold=True)))
        row.addWidget(self.only, 1)
        row.addWidget(label(tr("of either side, after its rules; others are not read"), role="dim"))
        return self._scope_row

    def _head(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.toggle = icon_button("chevron-right", tr("Show or hide both sides"), "compare.toggle")
        self.toggle.clicked.connect(self._toggled)
        self._summary = ElidedLabel(ink="dim")
        self._summary.setObjectName("compare.sides")
        self._summary.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row.addWidget(self.toggle)
        row.addWidget(label(tr("Sides"), font=text_font(bold=True)))
        row.addWidget(self._summary, 1)
        row.addWidget(label(tr("Values may differ by"), role="dim"))
        self.absolute = DecimalField("compare.atol", tr("Largest difference that is allowed"))
        self.relative = DecimalField(
            "compare.rtol", tr("Largest difference as a share of the value, 0 to 1"), high=1.0
        )
        self.ulp = NumberField(
            "compare.ulp", tr("Steps between neighbouring floats"), 0, MOST_ULP, digits=5
        )
        self.any_dtype = Switch(tr("Any type"), "compare.any-dtype")
        self.any_dtype.setToolTip(tr("Another element type alone is no difference"))
        for field, word in ((self.absolute, "atol"), (self.relative, "rtol"), (self.ulp, "ulp")):
            row.addWidget(label(word, role="dim", font=mono_font()))
            row.addWidget(field)
        row.addSpacing(Space.S)
        row.addWidget(self.any_dtype)
        self.absolute.changed.connect(self._changed)
        self.relative.changed.connect(self._changed)
        self.ulp.changed.connect(self._changed)
        self.any_dtype.clicked.connect(self._changed)
        return row

    @property
    def is_open(self) -> bool:
        """True while both sides are shown."""
        return not self._body.isHidden()

    @property
    def problem(self) -> str:
        """Why the fields cannot be used; empty for none."""
        return self.absolute.problem or self.relative.problem or self._scope_problem()

    def _scope_problem(self) -> str:
        text = CompareOptions(only=self.only.text()).problem
        set_role(self.only, "invalid", bool(text))
        self.only.setToolTip(text)
        return text

    def set_open(self, *, on: bool) -> None:
        """Show or hide both sides."""
        self._body.setVisible(on)
        self._scope_row.setVisible(on)
        self.toggle.setIcon(icon("chevron-down" if on else "chevron-right"))

    def show_options(self, options: CompareOptions) -> None:
        """Show what is asked for, without telling anyone."""
        self._options = options
        self.absolute.show_value(options.absolute)
        self.relative.show_value(options.relative)
        self.ulp.show_value(options.ulp)
        self.any_dtype.setChecked(options.any_dtype)
        if self.only.text() != options.only:
            self.only.setText(options.only)
            self._scope_problem()
        self.left.show_side(options.left)
        self.right.show_side(options.right)
        sides = ((tr("Left"), options.left), (tr("Right"), options.right))
        words = [_side_text(*side) for side in sides]
        if options.only:
            words.append(tr("only keys that match {only}", only=options.only))
        self._summary.set_text(" · ".join(words))

    def _changed(self) -> None:
        made = replace(
            self._options,
            absolute=self.absolute.value,
            relative=self.relative.value,
            ulp=self.ulp.value,
            any_dtype=self.any_dtype.isChecked(),
            only=self.only.text(),
            left=self.left.side,
            right=self.right.side,
        )
        if made != self._options and not self.problem:
            self.asked.emit(made)

    def _toggled(self) -> None:
        self.set_open(on=not self.is_open)


def _side_text(title: str, side: CompareSide) -> str:
    view = tr(dict(VIEWS)[side.view])
    words = f"{title}: {view[:1].lower()}{view[1:]}"  # German nouns keep their capitals
    if not side.rules:
        return words
    if len(side.rules) == 1:
        return words + tr(", 1 rule")
    return words + tr(", {count} rules", count=len(side.rules))
