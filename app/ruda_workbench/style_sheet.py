"""The small style sheet, filled from the tokens; painting code does the rest."""

from __future__ import annotations

from string import Template

from ruda_workbench.tokens import Colours, Radius, Size, Space, Type

_TEMPLATE = Template(
    """
QWidget { color: $text; }
QMainWindow, QDialog { background: $window; }
QDialog#save { background: transparent; }
QFrame#TopBar, QFrame#Rail, QFrame#Inspector, QFrame#StatusLine { background: $panel; border: 0; }
QFrame#TopBar { border-bottom: 1px solid $hairline; }
QFrame#Rail { border-right: 1px solid $hairline; }
QFrame#Inspector { border-left: 1px solid $hairline; }
QFrame#Drawer { background: $window; border: 0; border-top: 1px solid $hairline; }
QFrame#StatusLine { border-top: 1px solid $hairline; }
QFrame[surface="card"] {
    background: $panel; border: 1px solid $hairline; border-radius: ${card}px;
}
QFrame[surface="sheet"] {
    background: $window; border: 1px solid $control_line; border-radius: ${card}px;
}
QFrame[surface="popup"] {
    background: $raised; border: 1px solid $control_line; border-radius: ${card}px;
}
QFrame[surface="drop"] {
    background: $panel; border: 2px dashed $control_line; border-radius: ${card}px;
}
QFrame[surface="drop"][active="true"] { background: $tint; border: 2px dashed $accent; }
QFrame[surface="plain"] { background: transparent; border: 0; }
QFrame[line="true"] { background: $hairline; border: 0; }

QLabel { background: transparent; }
QLabel[role="dim"] { color: $dim; }
QLabel[role="caption"] { color: $dim; font-size: ${caption}px; }
QLabel[role="faint"] { color: $faint; }
QLabel[role="error"] { color: $error; }
QLabel[role="missing"] { color: $missing; }
QLabel[role="applied"] { color: $applied; }

QPushButton {
    background: $raised; border: 1px solid $control_line; border-radius: ${control}px;
    padding: 0 ${m}px; min-height: ${inner}px; color: $text;
}
QPushButton:hover { background: $hover; }
QPushButton:pressed, QPushButton:open { background: $selection; }
QPushButton:focus { border-color: $accent; }
QPushButton:disabled { color: $faint; background: $panel; border-color: $hairline; }
QPushButton[primary="true"] {
    background: $accent; border-color: $accent; color: $on_accent; font-weight: 600;
}
QPushButton[primary="true"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[primary="true"]:focus { border-color: $text; }
QPushButton[primary="true"]:disabled {
    background: $hairline; border-color: $hairline; color: $faint;
}
QPushButton[link="true"] {
    background: transparent; border: 1px solid transparent; color: $accent;
    padding: 0 ${xs}px; min-height: 22px;
}
QPushButton[link="true"][flush="true"] { padding-left: 0; margin-left: -1px; }
QPushButton[link="true"][small="true"] { min-height: 16px; max-height: 16px; }
QPushButton[small="true"][chosen="true"] { font-weight: 600; }
QPushButton[link="true"]:hover { background: $tint; }
QPushButton[link="true"]:focus { border-color: $accent; }
QPushButton[link="true"]:disabled { color: $faint; }
QPushButton[quiet="true"], QPushButton[quiet="true"]:disabled { color: $dim; }
QPushButton::menu-indicator { image: none; width: 0; }

QToolButton {
    background: transparent; border: 1px solid transparent; border-radius: ${control}px;
    padding: 3px;
}
QToolButton:hover { background: $hover; }
QToolButton:pressed { background: $selection; }
QToolButton:checked { background: $tint; }
QToolButton:focus { border-color: $accent; }
QToolButton::menu-indicator { image: none; width: 0; }
QToolButton[mark="true"] {
    border: 1px solid $control_line; border-radius: ${tag}px; padding: 0 4px; color: $dim;
    font-size: ${caption}px; min-height: 18px;
}
QToolButton[mark="true"]:checked { background: $tint; color: $accent; border-color: $accent; }

QLineEdit, QPlainTextEdit, QSpinBox, QDoubleSpinBox {
    background: $field; border: 1px solid $control_line; border-radius: ${control}px;
    padding: 0 ${s}px; color: $text;
    selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit, QSpinBox, QDoubleSpinBox { min-height: ${inner}px; }
QLineEdit:focus, QPlainTextEdit:focus, QSpinBox:focus { border-color: $accent; }
QLineEdit[invalid="true"], QLineEdit[invalid="true"]:focus { border-color: $error; }
QLineEdit:disabled { color: $faint; }
QLineEdit#command { background: $sunken; }
QLineEdit[bare="true"] { background: transparent; border: 0; padding: 0; }

QAbstractScrollArea { background: transparent; border: 0; }
QAbstractScrollArea::corner { background: transparent; border: 0; }
QAbstractItemView {
    background: transparent; border: 0; outline: 0;
    selection-background-color: $selection; selection-color: $text;
}
/* The list that a field for names drops down is a window of its own: nothing shows through. */
.QListView { background: $raised; border: 1px solid $control_line; }
QFrame[surface="popup"] .QListView { background: transparent; border: 0; }
QTextBrowser {
    background: $panel; border: 1px solid $hairline; border-radius: ${card}px; color: $text;
    selection-background-color: $accent; selection-color: $on_accent;
}
QTextBrowser:focus { border-color: $accent; }
QListWidget::item { padding: 4px ${s}px; border-radius: ${control}px; color: $text; }
QListWidget::item:hover { background: $hover; }
QListWidget::item:selected { background: $tint; color: $text; }
QListWidget:focus { outline: 0; }
QHeaderView { background: transparent; border: 0; }
QHeaderView::section { background: transparent; border: 0; color: $dim; }
QTableCornerButton::section { background: transparent; border: 0; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 2px; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 2px; }
QScrollBar::handle { background: $control_line; border-radius: 3px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QMenu {
    background: $raised; border: 1px solid $control_line; padding: ${xs}px; menu-scrollable: 1;
}
QMenu::item { padding: 6px ${xl}px 6px ${m}px; border-radius: ${tag}px; color: $text; }
QMenu::item:selected { background: $tint; color: $text; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $hairline; margin: ${xs}px ${s}px; }
QMenu::icon { padding-left: ${s}px; }
QToolTip {
    background: $raised; color: $text; border: 1px solid $control_line; padding: ${xs}px ${s}px;
}
QSlider { min-height: 22px; background: transparent; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $hairline; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: $accent; }
QSlider::handle:horizontal {
    width: 12px; height: 12px; margin: -5px 0; border-radius: 7px;
    background: $raised; border: 1px solid $faint;
}
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { border-color: $accent; }
QSlider::handle:horizontal:focus { background: $tint; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: $tint; }
QCheckBox { spacing: ${s}px; background: transparent; }
"""
)


def style_sheet(c: Colours) -> str:
    """Style sheet of one colour set."""
    return _TEMPLATE.substitute(
        dict(c.items()),
        card=Radius.CARD,
        control=Radius.CONTROL,
        tag=Radius.TAG,
        caption=Type.CAPTION,
        inner=Size.CONTROL - 2,
        xs=Space.XS,
        s=Space.S,
        m=Space.M,
        xl=Space.XL,
    )


def page_style(c: Colours) -> str:
    """Style of a page of the guide."""
    return f"a {{ color: {c.accent}; }} code {{ color: {c.text}; }}"


STILL_SHEET = "QWidget { widget-animation-duration: 0; }"
"""Takes the animations of the style away: of scroll bars, tabs and check marks."""
