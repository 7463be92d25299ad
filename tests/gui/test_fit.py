"""No screen cuts anything off: every screen in German, whose words are long, at three sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QApplication,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ruda.session import use_catalogue, use_sentences
from ruda_workbench.application import let_go, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.command_field import CommandField
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.shot_sheets import SIZES
from ruda_workbench.shots import SCREENS, Look
from ruda_workbench.widgets.buttons import Picker
from ruda_workbench.widgets.data_table import CELL_ROLE, PAD, Cell, DataTable
from ruda_workbench.widgets.fields import FilterField
from ruda_workbench.widgets.placing import TITLE_BAR
from ruda_workbench.widgets.roomy import Pages

pytestmark = pytest.mark.gui

LEAST = (640, 360)
"""A screen of 1280 × 720 at 200 %."""
FREE = ("title.target", "title.part", "run.target", "compare.left", "compare.right", "shared.owner")
"""Pickers that show a name somebody else gave, which may be of any length."""


@pytest.fixture
def staged(qapp: QApplication, tmp_path: Path) -> Iterator[Callable[[str], MainWindow]]:
    """Brings up a screen in German."""
    window = Look(language="de").window(tmp_path)

    def show(name: str) -> MainWindow:
        window.resize(SIZES["large"])
        window.show()
        SCREENS[name](Scene(window, tmp_path))
        settle(window)
        return window

    yield show
    for sheet in window.findChildren(QDialog):
        sheet.close()
    let_go(window)
    use_catalogue({})
    use_sentences(None)


def within(widget: QWidget) -> bool:
    """True for what a person can see or scroll to."""
    return widget.isVisible() and not widget.objectName().startswith("qt_")


def needed(widget: QWidget) -> int:
    """Width that the words of a control take."""
    if isinstance(widget, Picker):
        return 0 if widget.objectName() in FREE else widget.sizeHint().width()
    if isinstance(widget, QToolButton):
        return QFontMetrics(widget.font()).horizontalAdvance(widget.text()) * 11 // 13
    if isinstance(widget, QAbstractButton):
        return widget.minimumSizeHint().width()
    if isinstance(widget, QLabel):
        return 0 if widget.wordWrap() else widget.sizeHint().width()
    if isinstance(widget, FilterField | CommandField):
        words = QFontMetrics(widget.font()).horizontalAdvance(widget.placeholderText())
        margins = widget.textMargins()
        return words + margins.left() + margins.right() if words else 0
    return 0


def cut_off(root: QWidget) -> list[str]:
    """What has less room than its words take, or is pressed into less than its parts need."""
    found: list[str] = []
    for widget in root.findChildren(QWidget):
        if not within(widget):
            continue
        name = f"{type(widget).__name__} {widget.objectName()}"
        if needed(widget) > widget.width() + 1:
            text = widget.text() if isinstance(widget, QAbstractButton | QLabel) else ""
            found.append(f"{name} {text!r}: {widget.width()} of {needed(widget)} wide")
        if isinstance(widget, QLabel) and widget.wordWrap() and widget.text():
            high = widget.heightForWidth(widget.width())
            if high > widget.height() + 2:
                found.append(f"{name} {widget.text()!r}: {widget.height()} of {high} high")
        if isinstance(widget, QHeaderView) and root.width() > LEAST[0]:
            found += heads_cut_off(widget)
        if isinstance(widget.layout(), QHBoxLayout | QVBoxLayout | QGridLayout):
            found += pressed(widget, name)
    return found


def pressed(widget: QWidget, name: str) -> list[str]:
    """A widget that is smaller than what lies in it."""
    layout, width = widget.layout(), widget.width()
    assert layout is not None
    least = layout.totalMinimumSize()
    if isinstance(widget, QLineEdit | Pages | QAbstractScrollArea) or least.width() <= 0:
        return []
    high = layout.totalMinimumHeightForWidth(width) if layout.hasHeightForWidth() else -1
    high = least.height() if high < 0 else high
    if high <= widget.height() + 2 and least.width() <= width + 2:
        return []
    return [f"{name}: {width}x{widget.height()} of {least.width()}x{high}"]


def heads_cut_off(header: QHeaderView) -> list[str]:
    """Captions of columns that are shortened."""
    if header.orientation() is not Qt.Orientation.Horizontal or header.objectName():
        return []
    model, found = header.model(), []
    metrics = QFontMetrics(header.font())
    for section in range(header.count()):
        text = str(model.headerData(section, Qt.Orientation.Horizontal) or "")
        if metrics.horizontalAdvance(text) * 11 // 13 > header.sectionSize(section) - 14:
            found.append(f"head {text!r}: {header.sectionSize(section)}")
    return found


def out_of_reach(root: QWidget) -> list[str]:
    """Controls that lie outside of their window, with nothing around them that scrolls."""
    found = []
    for widget in root.findChildren(QAbstractButton):
        if not within(widget) or scrolls(widget):
            continue
        window = widget.window()
        area = QRect(widget.mapTo(window, QPoint(0, 0)), widget.size())
        if not window.rect().contains(area):
            found.append(f"{widget.objectName()} at {area}")
    return found


def too_large(root: QWidget) -> list[str]:
    """Sheets that cannot be made as small as the smallest screen."""
    room = QSize(LEAST[0], LEAST[1] - TITLE_BAR)
    found = []
    for sheet in root.findChildren(QDialog):
        layout = sheet.layout()
        assert layout is not None
        least = layout.totalMinimumSize().expandedTo(sheet.minimumSize())
        if sheet.isVisible() and least != least.boundedTo(room):
            found.append(f"{sheet.objectName()}: {least.width()}x{least.height()}")
    return found


def scrolls(widget: QWidget) -> bool:
    around = widget.parentWidget()
    while around is not None and not isinstance(around, QScrollArea):
        around = around.parentWidget()
    return around is not None


@pytest.mark.parametrize("name", SCREENS)
def test_nothing_is_cut_off(staged: Callable[[str], MainWindow], name: str) -> None:
    window = staged(name)
    faults: dict[str, list[str]] = {}
    for size in SIZES:
        window.resize(SIZES[size].expandedTo(window.minimumSize()))
        settle(window)
        faults[size] = [*cut_off(window), *out_of_reach(window)]
    assert faults == {size: [] for size in SIZES}
    assert too_large(window) == []


def test_long_steps_leave_the_names_their_room(staged: Callable[[str], MainWindow]) -> None:
    window = staged("convert")
    table = window.findChild(DataTable, "convert.table")
    assert table is not None
    model = table.model()
    for row in range(model.rowCount()):
        cell: Cell = model.index(row, 0).data(CELL_ROLE)
        assert cell.width() + 2 * PAD <= table.columnWidth(0), cell.text
        steps: Cell = model.index(row, 4).data(CELL_ROLE)
        assert model.index(row, 4).data(Qt.ItemDataRole.ToolTipRole) == steps.text
        assert steps.middle, "the last step stays to be read"


def test_a_short_page_scrolls_no_more_than_it_has_to(staged: Callable[[str], MainWindow]) -> None:
    window = staged("inspector-missing")
    window.resize(1200, 480)
    settle(window)
    area = window.findChild(QScrollArea, "inspectors")
    assert area is not None
    assert area.isVisible()
    assert area.verticalScrollBar().maximum() == 0
