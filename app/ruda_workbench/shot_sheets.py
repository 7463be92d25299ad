"""Every screen in every look, and contact sheets of them: what a person looks through.

A screen is staged once for each language; colours and sizes change while it is open, so that a
sweep over all looks takes minutes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QMenu

from ruda_workbench.application import let_go, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.theme import text_font

SIZES = {"large": QSize(1440, 900), "low": QSize(960, 600), "least": QSize(0, 0)}
"""Sizes of the window by name; ``least`` is the smallest that it can have."""
SCHEMES = ("light", "dark", "high-light", "high-dark")
ACROSS = 3
DOWN = 3
THUMB = QSize(640, 400)
"""Size of a picture on a contact sheet."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A picture that was taken: which screen, in which look."""

    screen: str
    size: str
    scheme: str
    path: Path


def picture(window: MainWindow) -> QPixmap:
    """The window with its open sheets over its middle, and its menus where they are."""
    made = window.grab()
    ratio = made.devicePixelRatio()
    painter = QPainter(made)
    for sheet in [each for each in window.findChildren(QDialog) if each.isVisible()]:
        painter.fillRect(window.rect(), QColor(0, 0, 0, 90))
        painter.drawPixmap(window.rect().center() - sheet.rect().center(), sheet.grab())
    for menu in [each for each in QApplication.topLevelWidgets() if isinstance(each, QMenu)]:
        if menu.isVisible():
            at = window.mapFromGlobal(menu.mapToGlobal(QPoint(0, 0)))
            painter.drawPixmap(at, menu.grab())
    painter.end()
    made.setDevicePixelRatio(ratio)
    return made


def sweep(
    screens: Mapping[str, Callable[[Scene], None]],
    make: Callable[[Path], MainWindow],
    folder: Path,
    *,
    language: str = "en",
    sizes: Sequence[str] = ("large", "low"),
    schemes: Sequence[str] = SCHEMES,
) -> list[Path]:
    """Take every screen in every size and scheme; returns the contact sheets, one look each.

    ``make`` builds a window in ``language`` that keeps its settings in a folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    taken: list[Taken] = []
    for name, stage in screens.items():
        sys.stderr.write(f"{name}\n")
        with tempfile.TemporaryDirectory() as made:
            window = make(Path(made))
            window.resize(SIZES["large"])
            window.show()
            try:
                stage(Scene(window, Path(made)))
                settle(window)
                stem = folder / f"{name}-{language}"
                taken += _take_looks(window, name, stem, sizes, schemes)
            finally:
                let_go(window)
    return [
        sheet
        for size in sizes
        for scheme in schemes
        for sheet in _sheets(
            [t for t in taken if (t.size, t.scheme) == (size, scheme)],
            folder,
            f"sheet-{language}-{size}-{scheme}",
        )
    ]


def _take_looks(
    window: MainWindow, name: str, stem: Path, sizes: Sequence[str], schemes: Sequence[str]
) -> Iterator[Taken]:
    for size in sizes:
        window.resize(SIZES[size].expandedTo(window.minimumSize()))
        for scheme in schemes:
            theme = window.context.theme
            theme.choose_contrast("high" if scheme.startswith("high") else "normal")
            theme.choose("dark" if scheme.endswith("dark") else "light")
            settle(window)
            path = stem.with_name(f"{stem.name}-{size}-{scheme}.png")
            picture(window).save(str(path))
            yield Taken(name, size, scheme, path)


def _sheets(taken: Sequence[Taken], folder: Path, stem: str) -> Iterator[Path]:
    """Pictures side by side, each under its name."""
    many = ACROSS * DOWN
    cell = QSize(THUMB.width() + 16, THUMB.height() + 34)
    for number, start in enumerate(range(0, len(taken), many)):
        sheet = QPixmap(QSize(cell.width() * ACROSS, cell.height() * DOWN))
        sheet.fill(QColor("#808080"))
        painter = QPainter(sheet)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.setPen(QColor("#ffffff"))
        painter.setFont(text_font(15, bold=True))
        for place, each in enumerate(taken[start : start + many]):
            corner = QPoint(cell.width() * (place % ACROSS), cell.height() * (place // ACROSS))
            painter.drawText(QRect(corner.x() + 8, corner.y(), 600, 26), 0, each.screen)
            shown = QPixmap(str(each.path)).scaled(
                THUMB,
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
            shown.setDevicePixelRatio(1.0)
            painter.drawPixmap(corner + QPoint(8, 26), shown)
        painter.end()
        path = folder / f"{stem}-{number:02}.png"
        sheet.save(str(path))
        yield path
