"""What a model holds likely: a row for each class, its name, a bar and the probability."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from ruda.session import Score, tr
from ruda_workbench.theme import colour, text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.painting import draw_round, draw_text

ROW = 20
FIGURE = 52


class ScoreBars(QWidget):
    """Draws scores, most probable first; the class that the item has is said to be its label."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self._scores: tuple[Score, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_scores(self, scores: tuple[Score, ...]) -> None:
        """Draw other scores."""
        self._scores = scores
        words = ", ".join(f"{score.name} {score.text}" for score in scores)
        self.setAccessibleName(tr("Probabilities: {words}", words=words))
        self.setVisible(bool(scores))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        """A row each."""
        return QSize(200, ROW * len(self._scores))

    def minimumSizeHint(self) -> QSize:
        """No row is cut off."""
        return QSize(120, ROW * len(self._scores))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the rows."""
        painter = QPainter(self)
        metrics = QFontMetrics(text_font(bold=True))
        names = max((metrics.horizontalAdvance(s.name) for s in self._scores), default=0) + 4
        names = min(names, int(self.width() * 0.42))
        room = self.width() - names - FIGURE - 2 * Space.S
        for row, score in enumerate(self._scores):
            line = QRectF(0, row * ROW, self.width(), ROW)
            name = QRectF(0, line.top(), names, ROW)
            draw_text(painter, name, score.name, font=text_font(bold=score.is_label), ink="text")
            track = QRectF(names + Space.S, line.center().y() - 3, room, 6)
            draw_round(painter, track, 3, fill=colour("hairline"))
            if score.share >= 0.005:
                filled = QRectF(track.left(), track.top(), max(6.0, room * score.share), 6)
                ink = "accent" if row == 0 else "faint"
                draw_round(painter, filled, Radius.TAG - 1, fill=colour(ink))
            figure = QRectF(self.width() - FIGURE, line.top(), FIGURE, ROW)
            right = Qt.AlignmentFlag.AlignRight
            font = text_font(Type.CAPTION + 1)
            draw_text(painter, figure, score.text, font=font, ink="dim", align=right)
