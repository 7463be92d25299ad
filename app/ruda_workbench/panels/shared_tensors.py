"""Shared tensors on the save sheet: whether each key is written, and which key owns the values."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ruda.session import listed, tr
from ruda.store import Aliases
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Picker, Segments
from ruda_workbench.widgets.labels import ElidedLabel, label
from ruda_workbench.widgets.scrolled import scrolled

MOST = 100
"""Groups that are listed; of others the first key owns the values."""


class SharedTensors(QWidget):
    """Chooses how keys that stand for one tensor are written."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._groups: tuple[tuple[str, ...], ...] = ()
        self._owners: dict[frozenset[str], str] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        row = QHBoxLayout()
        self.how = Segments(
            (
                ("", tr("As before")),
                ("full", tr("Each key in full")),
                ("once", tr("Once, with a note")),
            ),
            "save.aliases",
        )
        self.how.chosen.connect(self._how_chosen)
        row.addWidget(self.how)
        row.addStretch(1)
        column.addLayout(row)
        self._note = label(role="dim", wrap=True)
        column.addWidget(self._note)
        body = QWidget()
        self._list = QVBoxLayout(body)
        self._list.setContentsMargins(0, 0, Space.S, 0)
        self._list.setSpacing(Space.XS)
        self._list.addStretch(1)
        column.addWidget(scrolled(body), 1)
        self._rows: list[QWidget] = []
        self.owners_pickers: list[Picker] = []
        self._say()

    @property
    def has_groups(self) -> bool:
        """True if any keys stand for one tensor."""
        return bool(self._groups)

    @property
    def aliases(self) -> Aliases | None:
        """How they are written; None for as the source has it, and where there are none."""
        return Aliases(self.how.value) if self._groups and self.how.value else None

    @property
    def owners(self) -> tuple[str, ...]:
        """Keys that were chosen to own what they share."""
        if self.how.value != "once":
            return ()
        known = [frozenset(group) for group in self._groups]
        return tuple(self._owners[group] for group in known if group in self._owners)

    def show_groups(self, groups: tuple[tuple[str, ...], ...]) -> None:
        """List groups of keys, the owner of each first."""
        if {frozenset(g) for g in groups} == {frozenset(g) for g in self._groups}:
            self._groups = groups
            return
        self._groups = groups
        for row in self._rows:
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows, self.owners_pickers = [], []
        for number, group in enumerate(groups[:MOST]):
            self._add_row(number, group)
        self._say()

    def _add_row(self, number: int, group: tuple[str, ...]) -> None:
        row = QWidget()
        inner = QHBoxLayout(row)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(Space.S)
        picker = Picker(f"save.owner.{number}", tr("Key that owns the values"))
        picker.offer([(key, key) for key in group], group[0])
        picker.setFont(mono_font())

        def picked(key: str) -> None:
            self._owners[frozenset(group)] = key
            self.changed.emit()

        picker.picked.connect(picked)
        inner.addWidget(picker, 1)
        inner.addWidget(ElidedLabel(listed(group), font=mono_font(), ink="dim"), 2)
        self._list.insertWidget(number, row)
        self._rows.append(row)
        self.owners_pickers.append(picker)

    def _how_chosen(self, _value: str) -> None:
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        once = self.how.value == "once"
        texts = {
            "": tr("Shared where the format can share and the file did, else in full."),
            "full": tr("Every program finds every key; the values are written for each of them."),
            "once": tr("The owner is written; an entry of metadata tells the other keys."),
        }
        self._note.setText(texts[self.how.value])
        for picker in self.owners_pickers:
            picker.setEnabled(once)
