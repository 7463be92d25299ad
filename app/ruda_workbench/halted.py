"""The banner over a document of which something is not known, because somebody stopped the job."""

from __future__ import annotations

from ruda.session import tr
from ruda_workbench.document_watch import DocumentWatch
from ruda_workbench.fit_watch import FitWatch
from ruda_workbench.widgets.banner import Banner


class HaltedBanner(Banner):
    """Says that it was stopped, and goes on when asked."""

    def __init__(self, watch: DocumentWatch, fits: FitWatch) -> None:
        super().__init__("weights.halted")
        self._watch = watch
        self._fits = fits
        self.pressed.connect(self._go_on)
        watch.halted.connect(self.refresh)
        fits.found.connect(self.refresh)

    def refresh(self) -> None:
        """Show it while something that was asked is not known."""
        document = self._watch.document
        no_target = document is not None and document.target is None
        if self._watch.is_halted or (self._fits.is_halted and no_target):
            text = tr("Stopped before everything was known of this file.")
            self.show_text("warning", text, tr("Go on"))
        else:
            self.show_text("warning", "")

    def _go_on(self) -> None:
        document = self._watch.document
        self._watch.go_on()
        if self._fits.is_halted and document is not None:
            self._fits.look(document)
