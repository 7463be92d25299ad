"""The save sheet of a workspace: it opens once all is known, and waits while types are chosen."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from ruda.session import tr
from ruda_workbench.context import Context
from ruda_workbench.dialogs.save_sheet import SaveSheet
from ruda_workbench.document_watch import DocumentWatch


class Saving(QObject):
    """Opens the save sheet on the document in front, and the same one again after its types."""

    types_wanted = Signal()
    """Types are to be chosen; the sheet waits."""
    ended = Signal()
    """No sheet waits any more."""

    def __init__(self, context: Context, watch: DocumentWatch, parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context
        self._watch = watch
        self._parent = parent
        self._is_asked = False
        self._sheet: SaveSheet | None = None
        watch.viewed.connect(self._viewed)
        watch.switched.connect(self.drop)

    @property
    def is_waiting(self) -> bool:
        """True while a sheet is hidden until types are chosen."""
        return self._sheet is not None and isValid(self._sheet) and self._sheet.isHidden()

    def ask(self) -> None:
        """Open the sheet, as soon as the recipe is worked out."""
        document, laid = self._watch.document, self._watch.current
        if document is None:
            return
        if laid is None or (laid.view is None and not laid.problem):
            self._is_asked = True
            return
        if laid.view is None:
            self._context.notify("error", tr("This cannot be saved yet"), laid.problem)
            return
        if self._sheet is not None and self.is_waiting:
            self._sheet.resume(document, laid.view)
            self.ended.emit()
            return
        self._sheet = SaveSheet(self._context, document, laid.view, self._parent.window())
        self._sheet.types_wanted.connect(self.types_wanted)
        self._sheet.open()

    def drop(self) -> None:
        """Forget a sheet that waits: another document is in front."""
        self._is_asked = False
        if self._sheet is not None and self.is_waiting:
            self._sheet.deleteLater()
        self._sheet = None
        self.ended.emit()

    def _viewed(self) -> None:
        if self._is_asked:
            self._is_asked = False
            self.ask()
