"""The settings: every setting of the table in ``session``, by what it is about."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ruda.session import LANGUAGES, SettingInfo, later, setting_infos, tr
from ruda_workbench import settings_operations
from ruda_workbench.context import Context
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Space, Type
from ruda_workbench.widgets.buttons import Segments, Switch, push_button
from ruda_workbench.widgets.labels import ElidedLabel, hairline, label
from ruda_workbench.widgets.number_field import NumberField
from ruda_workbench.widgets.placing import room_for
from ruda_workbench.widgets.scrolled import scrolled

GROUPS = (("look", later("Look")), ("files", later("Files")), ("work", later("Work")))
CHOICES = {
    "system": later("As the system"),
    "light": later("Light"),
    "dark": later("Dark"),
    "normal": later("Normal"),
    "high": later("High"),
    "always": later("Always"),
    "never": later("Never"),
}
"""Words of the values of choices; languages name themselves."""


class SettingsWindow(QDialog):
    """Edits the settings; each takes effect when it is changed, so there is nothing to confirm."""

    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context
        self._shown: dict[str, Callable[[object], None]] = {}
        self.setObjectName("settings")
        self.setWindowTitle(tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(room_for(parent, 640, 720))
        column = QVBoxLayout(self)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        column.addWidget(label(tr("Settings"), font=text_font(Type.TITLE, bold=True)))
        column.addWidget(scrolled(self._cards()), 1)
        column.addLayout(self._foot())
        context.settings_changed.connect(self._refresh)
        self._refresh()

    def _cards(self) -> QWidget:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, Space.S, 0)
        column.setSpacing(Space.M)
        infos = setting_infos()
        for group, title in GROUPS:
            card = QFrame()
            card.setProperty("surface", "card")
            inner = QVBoxLayout(card)
            inner.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
            inner.setSpacing(Space.M)
            inner.addWidget(label(tr(title), role="caption"))
            mine = [info for info in infos if info.group == group]
            for place, info in enumerate(mine):
                if place:
                    inner.addWidget(hairline())
                inner.addLayout(self._row(info))
            column.addWidget(card)
        column.addStretch(1)
        return body

    def _row(self, info: SettingInfo) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.L)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label(info.title, font=text_font(bold=True)))
        words.addWidget(label(info.help, role="dim", wrap=True))
        row.addLayout(words, 1)
        row.addWidget(self._control(info), 0, Qt.AlignmentFlag.AlignVCenter)
        return row

    def _control(self, info: SettingInfo) -> QWidget:
        name, key = f"settings.{info.key}", info.key

        def take(value: object) -> None:
            settings_operations.change(self._context, key, value)

        if info.kind == "flag":
            switch = Switch("", name)
            switch.setAccessibleName(info.title)
            switch.clicked.connect(take)
            self._shown[key] = lambda value: switch.setChecked(bool(value))
            return switch
        if info.kind == "choice":
            texts = [(value, _choice_text(value)) for value in info.choices]
            segments = Segments(texts, name)
            segments.setAccessibleName(info.title)
            segments.chosen.connect(take)
            self._shown[key] = lambda value: segments.choose(str(value))
            return segments
        low, high = info.minimum or 0, info.maximum or 1 << 30
        field = NumberField(name, info.title, low, high, digits=len(str(high)) + 1)
        field.changed.connect(take)
        self._shown[key] = lambda value: field.show_value(int(str(value)))
        return field

    def _foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self._place = ElidedLabel(str(self._context.storage.folder), ink="dim")
        reset = push_button(tr("Restore the defaults"), "settings.reset")
        close = push_button(tr("Close"), "settings.close", primary=True)
        reset.clicked.connect(self._reset)
        close.clicked.connect(self.close)
        row.addWidget(self._place, 1)
        row.addWidget(reset)
        row.addWidget(close)
        return row

    def _reset(self) -> None:
        for info in setting_infos():
            settings_operations.change(self._context, info.key, info.default)

    def _refresh(self) -> None:
        settings = self._context.storage.settings
        for key, show in self._shown.items():
            show(getattr(settings, key))


def _choice_text(value: str) -> str:
    return LANGUAGES.get(value) or tr(CHOICES[value])
