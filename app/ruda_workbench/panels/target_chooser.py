"""What stands in the load diff while no model is chosen: what fits, a file, every model."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from ruda.models import architectures
from ruda.session import ModelCoverage, ModelFit, say, tr
from ruda_workbench.fit_watch import FitWatch
from ruda_workbench.icons import paint_icon
from ruda_workbench.panels.title import FILE_TARGET
from ruda_workbench.theme import colour, colours, mono_font, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.labels import label
from ruda_workbench.widgets.painting import draw_mark, draw_round, draw_text, mark_rect
from ruda_workbench.widgets.scrolled import scrolled


class _Model(QAbstractButton):
    def __init__(self, name: str, title: str, summary: str, fit: ModelFit | None = None) -> None:
        super().__init__()
        self.fit = fit
        self.name = name
        self._summary = summary
        self._coverage: ModelCoverage | None = None
        self.setText(title)
        place = "fit" if fit is not None else "file" if name == FILE_TARGET else ""
        self.setObjectName(".".join(filter(None, ("chooser", place, name.strip("\0")))))
        self.setAccessibleName(f"{title}. {summary}")
        self.setToolTip(summary)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_coverage(self, coverage: ModelCoverage | None) -> None:
        self._coverage = coverage
        words = () if coverage is None else (coverage.help,)
        self.setAccessibleName(". ".join((self.text(), self._summary.rstrip("."), *words)))
        self.setToolTip("\n".join((self._summary, *words)))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(400, 52)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, 52)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = QRectF(self.rect())
        if self.underMouse():
            draw_round(painter, area, Radius.CONTROL, fill=colour("hover"))
        if self.hasFocus():
            draw_round(painter, area, Radius.CONTROL, line=colour("accent"))
        inner = area.adjusted(Space.M, 7, -Space.M - 20, -7)
        inner.setRight(self._paint_coverage(painter, inner))
        upper = QRectF(inner.left(), inner.top(), inner.width(), inner.height() / 2)
        width = draw_text(painter, upper, self.text(), font=text_font(bold=True), ink="text")
        name = upper.adjusted(width + Space.S, 0, 0, 0)
        if self.name != FILE_TARGET:
            draw_text(painter, name, self.name, font=mono_font(11), ink="dim")
        lower = QRectF(inner.left(), inner.center().y(), inner.width(), inner.height() / 2)
        draw_text(painter, lower, self._summary, font=text_font(Type.CAPTION + 1), ink="dim")
        mark = QRectF(area.right() - 28, area.center().y() - 8, 16, 16)
        paint_icon(painter, "chevron-right", mark, colours().dim)

    def _paint_coverage(self, painter: QPainter, area: QRectF) -> float:
        """Say at the right how much of the model is there; returns where the room ends."""
        if self._coverage is None:
            return area.right()
        text, font = self._coverage.text, text_font()
        ink = "applied" if self._coverage.is_complete else "dim"
        align = Qt.AlignmentFlag.AlignRight
        draw_text(painter, area, text, font=font, ink=ink, align=align)
        left = area.right() - QFontMetrics(font).horizontalAdvance(text)
        if self._coverage.is_complete:
            left -= 10 + Space.S
            draw_mark(painter, mark_rect(left, area.center().y()), "applied", colour("applied"))
        return left - Space.L


class TargetChooser(QWidget):
    """Offers what a document is complete for, a file, and every registered architecture."""

    picked = Signal(str)
    """Name of an architecture, or ``FILE_TARGET``."""
    fit_picked = Signal(object)
    """A ``ModelFit``."""

    def __init__(self, watch: FitWatch) -> None:
        super().__init__()
        self._watch = watch
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(Space.S, Space.M, Space.S, Space.S)
        inner.setSpacing(0)
        title = label(tr("Which model should take these weights?"), font=text_font(bold=True))
        title.setContentsMargins(Space.M, 0, 0, 0)
        inner.addWidget(title)
        note = label(tr("Names, shapes and types are compared; no values are read."), role="dim")
        note.setContentsMargins(Space.M, 0, 0, Space.S)
        inner.addWidget(note)
        inner.addWidget(self._models())
        column.addWidget(card)
        watch.found.connect(self._show_fits)
        watch.covered.connect(self._show_coverages)

    @property
    def fits(self) -> tuple[ModelFit, ...]:
        """The models that are offered as complete."""
        rows = (self._fit_rows.itemAt(place) for place in range(self._fit_rows.count()))
        widgets = (None if row is None else row.widget() for row in rows)
        return tuple(w.fit for w in widgets if isinstance(w, _Model) and w.fit is not None)

    def _show_fits(self) -> None:
        fits = self._watch.fits
        while self._fit_rows.count():
            item = self._fit_rows.takeAt(0)
            widget = None if item is None else item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for fit in fits:
            row = _Model(fit.choice.name, fit.title, fit.facts, fit)
            row.setToolTip("\n".join((fit.facts, *fit.doubts)))
            row.clicked.connect(self._clicked)
            self._fit_rows.addWidget(row)
        if self._watch.is_found:
            note = tr("No model finds all it wants; the load diff shows what is missing.")
        elif self._watch.is_halted:
            note = tr("Stopped")
        else:
            note = tr("Looking for models that find all they want in this file…")
        self._note.setText(note)
        self._note.setVisible(not fits)

    def _show_coverages(self) -> None:
        """Say beside each model how much of it is there, and put the best first."""
        covered = {each.name: each for each in self._watch.coverages}
        best = [name for name in covered if name in self._rows]
        names = (*best, *(name for name in self._rows if name not in covered))
        before: QWidget | None = None
        for place, name in enumerate(names):
            row = self._rows[name]
            row.show_coverage(covered.get(name))
            self._all.removeWidget(row)
            self._all.insertWidget(place, row)
            if before is not None:
                QWidget.setTabOrder(before, row)
            before = row
        self._all_caption.setText(tr("All models, the best first") if best else tr("All models"))

    def _models(self) -> QScrollArea:
        rows = QWidget()
        column = QVBoxLayout(rows)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        caption = _caption(tr("Complete for"))
        self._note = label(role="dim", wrap=True)
        self._note.setObjectName("chooser.note")
        self._note.setContentsMargins(Space.M, 0, 0, Space.S)
        self._fit_rows = QVBoxLayout()
        self._fit_rows.setSpacing(0)
        column.addWidget(caption)
        column.addWidget(self._note)
        column.addLayout(self._fit_rows)
        column.addWidget(_caption(tr("A file")))
        file_row = _Model(
            FILE_TARGET,
            tr("A weights file or a description…"),
            tr("The tensors of another file, or what an arch.toml says that a model wants"),
        )
        file_row.clicked.connect(self._clicked)
        column.addWidget(file_row)
        self._all_caption = _caption(tr("All models"))
        column.addWidget(self._all_caption)
        self._all = QVBoxLayout()
        self._all.setSpacing(0)
        self._rows: dict[str, _Model] = {}
        for architecture in architectures():
            row = _Model(architecture.name, say(architecture.title), say(architecture.summary))
            row.clicked.connect(self._clicked)
            self._rows[architecture.name] = row
            self._all.addWidget(row)
        column.addLayout(self._all)
        column.addStretch(1)
        return scrolled(rows, focus=False)

    def _clicked(self) -> None:
        row = self.sender()
        if isinstance(row, _Model) and row.fit is not None:
            self.fit_picked.emit(row.fit)
        elif isinstance(row, _Model):
            self.picked.emit(row.name)


def _caption(text: str) -> QLabel:
    made = label(text, role="caption")
    made.setContentsMargins(Space.M, Space.S, 0, Space.XS)
    return made
