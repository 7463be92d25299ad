"""Turns the tokens into fonts, a palette and a small style sheet, and switches between schemes."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from ruda_workbench import motion
from ruda_workbench.style_sheet import STILL_SHEET, style_sheet
from ruda_workbench.tokens import COLOURS, Colours, Scheme, Type, mix

_current: list[Colours] = [COLOURS[Scheme.LIGHT]]

CHOICES = ("system", "light", "dark")
CONTRASTS = ("system", "normal", "high")


def colours() -> Colours:
    """The colour set in use; painting code asks every time it paints."""
    return _current[0]


def colour(name: str) -> QColor:
    """One colour of the set in use."""
    return QColor(getattr(_current[0], name))


@lru_cache(maxsize=1)
def _text_family() -> str:
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    family = QFontInfo(system).family()
    # Bare systems fall back to DejaVu Sans, whose normal width is too wide for tables.
    narrow = f"{family} Condensed"
    return narrow if family == "DejaVu Sans" and narrow in QFontDatabase.families() else family


@lru_cache(maxsize=1)
def _mono_family() -> str:
    fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    return QFontInfo(fixed).family()


@lru_cache(maxsize=64)
def text_font(size: int = Type.TEXT, *, bold: bool = False) -> QFont:
    """The system's UI font with figures of one width."""
    made = QFont(_text_family())
    made.setPixelSize(size)
    made.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


@lru_cache(maxsize=64)
def mono_font(size: int = Type.MONO, *, bold: bool = False) -> QFont:
    """The system's monospace, for keys, shapes and dtypes."""
    made = QFont(_mono_family())
    made.setPixelSize(size)
    made.setStyleHint(QFont.StyleHint.Monospace)
    made.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    return made


def palette(c: Colours) -> QPalette:
    """Palette of a colour set, for whatever the style sheet does not name."""
    made = QPalette(QColor(c.raised), QColor(c.window))
    role = QPalette.ColorRole
    for target, value in (
        (role.Window, c.window),
        (role.WindowText, c.text),
        (role.Base, c.panel),
        (role.AlternateBase, c.window),
        (role.Text, c.text),
        (role.Button, c.raised),
        (role.ButtonText, c.text),
        (role.Highlight, c.accent),
        (role.HighlightedText, c.on_accent),
        (role.Accent, c.accent),
        (role.Link, c.accent),
        (role.LinkVisited, c.accent),
        (role.PlaceholderText, c.faint),
        (role.ToolTipBase, c.raised),
        (role.ToolTipText, c.text),
        (role.Mid, c.hairline),
        (role.Midlight, c.hairline),
        (role.Dark, c.hairline),
        (role.Light, c.raised),
        (role.Shadow, mix(c.window, "#000000", 0.5)),
    ):
        made.setColor(target, QColor(value))
    for target in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, target, QColor(c.faint))
    return made


class Theme(QObject):
    """The chosen colours: ``system`` follows the desktop, ``light`` and ``dark`` hold.

    Contrast is a wish of its own: ``system``, ``normal`` or ``high``.
    """

    changed = Signal()

    def __init__(
        self, application: QApplication, choice: str = "system", contrast: str = "system"
    ) -> None:
        super().__init__(application)
        self._application = application
        self._choice = choice
        self._contrast = contrast
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._system_changed)
        hints.accessibility().contrastPreferenceChanged.connect(self._system_changed)
        self.apply()

    @property
    def choice(self) -> str:
        """``system``, ``light`` or ``dark``."""
        return self._choice

    @property
    def contrast(self) -> str:
        """``system``, ``normal`` or ``high``."""
        return self._contrast

    @property
    def scheme(self) -> Scheme:
        """The scheme that is shown."""
        hints = QGuiApplication.styleHints()
        dark, high = self._choice == "dark", self._contrast == "high"
        if self._choice == "system":
            dark = hints.colorScheme() == Qt.ColorScheme.Dark
        if self._contrast == "system":
            wish = hints.accessibility().contrastPreference()
            high = wish == Qt.ContrastPreference.HighContrast
        return Scheme.of(dark=dark, high=high)

    def choose(self, choice: str) -> None:
        """Take one of ``CHOICES`` and repaint everything."""
        if choice not in CHOICES:
            raise ValueError(f"a theme is one of {', '.join(CHOICES)}, got {choice!r}")
        self._choice = choice
        native = {
            "system": Qt.ColorScheme.Unknown,
            "light": Qt.ColorScheme.Light,
            "dark": Qt.ColorScheme.Dark,
        }
        QGuiApplication.styleHints().setColorScheme(native[choice])  # native title bars
        self.apply()

    def choose_contrast(self, contrast: str) -> None:
        """Take one of ``CONTRASTS`` and repaint everything."""
        if contrast not in CONTRASTS:
            raise ValueError(f"a contrast is one of {', '.join(CONTRASTS)}, got {contrast!r}")
        self._contrast = contrast
        self.apply()

    def choose_motion(self, choice: str) -> None:
        """Take one of ``motion.CHOICES``; repaint only if something changes."""
        before = motion.is_still()
        motion.choose(choice)
        if motion.is_still() != before:
            self.apply()

    def toggle(self) -> None:
        """Go from light to dark or back and hold it."""
        self.choose("light" if self.scheme.is_dark else "dark")

    def apply(self) -> None:
        """Set style, palette, font and style sheet of the application."""
        made = COLOURS[self.scheme]
        _current[0] = made
        application = self._application
        if application.style().objectName() != "fusion":
            application.setStyle("Fusion")
        application.setFont(text_font())
        application.setPalette(palette(made))
        still = STILL_SHEET if motion.is_still() else ""
        application.setStyleSheet(style_sheet(made) + still)
        self.changed.emit()

    def _system_changed(self) -> None:
        if "system" in (self._choice, self._contrast):
            self.apply()
