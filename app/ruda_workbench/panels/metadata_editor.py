"""The metadata editor: every entry with what becomes of it, to be changed, struck out or added."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from ruda.session import MetadataLine, tr
from ruda_workbench.theme import mono_font
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import icon_button, push_button
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.scrolled import scrolled
from ruda_workbench.widgets.status_word import StatusWord

MOST = 200
"""Entries that are shown; the rest is kept as it is."""
LONGEST = 4_000
"""Letters of a value that can be edited here; longer ones are shown shortened."""
PYTORCH = ("format", "pt")
"""The entry that transformers asks for."""


class _Row(QWidget):
    changed = Signal()
    struck = Signal(str)

    def __init__(self, number: int, line: MetadataLine) -> None:
        super().__init__()
        self.line = line
        self.is_new = not line.is_own
        gone = line.state in ("removed", "lost")
        self.key = QLineEdit(line.key)
        self.key.setReadOnly(line.is_own)
        self.value = QLineEdit(line.value[:LONGEST])
        self.value.setReadOnly(gone or len(line.value) > LONGEST)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(Space.XS)
        for field, name, title in (
            (self.key, "key", tr("Key of the entry")),
            (self.value, "value", tr("Value of the entry")),
        ):
            field.setObjectName(f"metadata.{number}.{name}")
            field.setAccessibleName(title)
            field.setFont(mono_font())
            field.setEnabled(not gone)
            field.setCursorPosition(0)
            field.editingFinished.connect(self.changed)
        word = StatusWord(line.mark, line.word)
        word.setFixedWidth(96)
        title = tr("Take the entry back") if gone else tr("Strike the entry out")
        strike = icon_button("undo" if gone else "trash", title, f"metadata.{number}.strike")
        strike.setEnabled(line.state != "lost")
        strike.clicked.connect(self._strike)
        row.addWidget(self.key, 2)
        row.addWidget(self.value, 3)
        row.addSpacing(Space.XS)
        row.addWidget(word)
        row.addWidget(strike)

    def _strike(self) -> None:
        self.struck.emit(self.line.key)


class MetadataEditor(QWidget):
    """Edits metadata; what is chosen stands in ``changes`` and ``dropped``."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._source: dict[str, str] = {}
        self._changes: dict[str, str] = {}
        self._dropped: set[str] = set()
        self._rows: list[_Row] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        body = QWidget()
        self._list = QVBoxLayout(body)
        self._list.setContentsMargins(0, 0, Space.S, 0)
        self._list.setSpacing(Space.XS)
        self._nothing = label(tr("The file has no metadata."), role="dim")
        self._list.addWidget(self._nothing)
        self._list.addStretch(1)
        column.addWidget(scrolled(body), 1)
        foot = QHBoxLayout()
        foot.setSpacing(Space.S)
        self.add = push_button(tr("Add entry"), "metadata.add")
        self.pytorch = push_button(tr("Mark as PyTorch"), "metadata.pytorch")
        self.pytorch.setToolTip(tr("Add the entry format=pt, which transformers asks for"))
        self._more = label(role="dim")
        self.add.clicked.connect(self._add)
        self.pytorch.clicked.connect(self._mark)
        foot.addWidget(self.add)
        foot.addWidget(self.pytorch)
        foot.addWidget(self._more, 1)
        column.addLayout(foot)

    @property
    def changes(self) -> tuple[tuple[str, str], ...]:
        """Entries that are added or get another value."""
        return tuple(self._changes.items())

    @property
    def dropped(self) -> tuple[str, ...]:
        """Entries of the source that are struck out."""
        return tuple(sorted(self._dropped))

    @property
    def rows(self) -> tuple[_Row, ...]:
        """The rows that are shown."""
        return tuple(self._rows)

    def begin(self, source: dict[str, str]) -> None:
        """Start from the metadata of a file."""
        self._source = source
        self._changes, self._dropped = {}, set()

    def mark(self, *, on: bool) -> None:
        """Add the entry that PyTorch's files have, or take it back."""
        key, value = PYTORCH
        if on:
            self._changes[key] = value
        else:
            self._changes.pop(key, None)
        self.changed.emit()

    def show_lines(self, lines: tuple[MetadataLine, ...]) -> None:
        """Draw what becomes of every entry."""
        shown = lines[:MOST]
        if [row.line for row in self._rows] == list(shown):
            return
        self._clear()
        for number, line in enumerate(shown):
            self._insert(_Row(number, line))
        rest = len(lines) - len(shown)
        self._more.setText(tr("{rest} more entries", rest=rest) if rest else "")
        self._nothing.setVisible(not lines)
        keys = {line.key for line in lines}
        self.pytorch.setVisible(PYTORCH[0] not in keys)

    def _insert(self, row: _Row) -> None:
        row.changed.connect(self._edited)
        row.struck.connect(self._struck)
        self._list.insertWidget(len(self._rows) + 1, row)
        self._rows.append(row)

    def _clear(self) -> None:
        for row in self._rows:
            row.blockSignals(True)
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows = []

    def _add(self) -> None:
        self._nothing.hide()
        self._insert(_Row(len(self._rows), MetadataLine("", "", "added", False)))
        self._rows[-1].key.setFocus()

    def _mark(self) -> None:
        self.mark(on=True)

    def _edited(self) -> None:
        found: dict[str, str] = {}
        for row in self._rows:
            key, value = row.key.text().strip(), row.value.text()
            if not key or row.line.state in ("removed", "lost"):
                continue
            if len(row.line.value) > LONGEST:
                value = row.line.value
            written_by_us = not row.line.is_own and row.line.key not in self._changes
            untouched = value == row.line.value and key == row.line.key
            if row.line.key and written_by_us and untouched:
                continue  # a note that the save writes itself
            if self._source.get(key) != value:
                found[key] = value
        if found != self._changes:
            self._changes = found
            self._dropped -= set(found)
            self.changed.emit()

    def _struck(self, key: str) -> None:
        if key in self._source:
            self._changes.pop(key, None)
            self._dropped ^= {key}
        else:
            self._changes.pop(key, None)
        self.changed.emit()
