"""The head of a document: the sentence "file onto model", one line of facts, and the buttons."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout

from ruda.session import later, tr
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.buttons import Picker, push_button
from ruda_workbench.widgets.head import Head, fact_line
from ruda_workbench.widgets.labels import ElidedLabel, label, set_role

FILE_TARGET = "\0file"
NARROW = 620
"""Width under which there is no room for the second button."""
WHOLE = later("the whole file")


class TitleRow(Head):
    """Names the document and its target; the target is picked in the sentence itself."""

    target_picked = Signal(str)
    part_picked = Signal(str)
    """A key of the checkpoint's root, or nothing for the whole file."""
    command_asked = Signal()
    save_asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        font = text_font(Type.TITLE, bold=True)
        self._name = ElidedLabel(font=font)
        self._name.setObjectName("title.name")
        self._onto = label(tr("onto"), role="dim", font=text_font(Type.TITLE))
        self.target = Picker("title.target", tr("Target model"), quiet=True)
        self.target.setFont(font)
        self.target.picked.connect(self.target_picked)
        self._command = push_button(tr("Copy command"), "title.command")
        self._save = push_button(tr("Save converted…"), "title.save", primary=True)
        words = (self._name, self._onto, self.target)
        self.lay_out(words, self._fact_row(), (self._command, self._save))
        self._command.clicked.connect(self.command_asked)
        self._save.clicked.connect(self.save_asked)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the names what little width there is; the command is also in the menu."""
        super().resizeEvent(event)
        self._command.setHidden(event.size().width() < NARROW)

    def minimumSizeHint(self) -> QSize:
        """The room without the button that gives way."""
        least = super().minimumSizeHint()
        shown = 0 if self._command.isHidden() else self._command.sizeHint().width() + Space.S
        return QSize(least.width() - shown, least.height())

    def _fact_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(2)
        self._tensors = ElidedLabel(ink="dim")
        self.part = Picker("title.part", tr("Part of the checkpoint"), quiet=True)
        self.part.setProperty("small", True)
        self.part.setToolTip(
            tr("Take one part of the checkpoint: its keys lose the name of the part")
        )
        self.part.picked.connect(self.part_picked)
        self._facts = fact_line("title.facts")
        row.addWidget(self._tensors)
        row.addWidget(self.part)
        row.addWidget(self._facts, 1)
        return row

    def show_document(self, name: str, target: str, path: str) -> None:
        """Name another document and target."""
        self._name.set_text(name)
        self._name.setToolTip(path)
        self.setAccessibleName(
            tr("{name} onto {target}", name=name, target=target) if target else name
        )

    def show_facts(self, tensors: str, parts: tuple[str, ...], part: str | None, rest: str) -> None:
        """``18 tensors in state_dict · 58.0 kB · …``; the part can be picked if there are any."""
        has_parts = bool(parts) or part is not None
        self._tensors.set_text(tr("{tensors} in", tensors=tensors) if has_parts else tensors)
        offers = [("", tr(WHOLE)), ("-", ""), *((key, key) for key in parts)]
        self.part.offer(offers, part or "")
        set_role(self.part, "chosen", part is not None)
        self.part.show_value(part or "", part or tr(WHOLE))
        self.part.setVisible(has_parts)
        self._facts.set_text(f"· {rest}")

    def offer_targets(self, names: tuple[tuple[str, str], ...], value: str) -> None:
        """Offer these architectures, a file, and none; show the one that is picked."""
        offers = [*names, ("-", ""), (FILE_TARGET, tr("A weights file or a description…"))]
        if value:
            offers += [("--", ""), ("", tr("No target"))]
        self.target.offer(offers, value)
        shown = value.replace("\\", "/").rsplit("/", 1)[-1] if value else tr("choose a model")
        self.target.show_value(value, shown)

    def can_save(self, *, on: bool) -> None:
        """Enable or disable saving."""
        self._save.setEnabled(on)

    @property
    def facts(self) -> str:
        """The line of facts."""
        part = "" if self.part.isHidden() else f" {self.part.text()}"
        return f"{self._tensors.text()}{part} {self._facts.text()}"
