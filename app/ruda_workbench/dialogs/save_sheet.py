"""The save sheet: where to, in which format, what it will be, and whether it is read back."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import Document, JobFailure, SaveOptions, SavePlanPage, size_text, tr
from ruda.store import TensorIndex
from ruda_workbench import save_operations
from ruda_workbench.context import Context
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import Segments, Switch, push_button
from ruda_workbench.widgets.labels import Facts, label, set_role
from ruda_workbench.widgets.painting import round_region

FORMATS = (("safetensors", ".safetensors"), ("rudapack", ".bpk"))


class SaveSheet(QDialog):
    """Asks for everything that a save needs; ``options`` are what was chosen."""

    def __init__(
        self, context: Context, document: Document, view: TensorIndex, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._context = context
        self._document = document
        self._view = view
        self._page: SavePlanPage | None = None
        self._question = Latest(context.jobs, self)
        self.setObjectName("save")
        self.setWindowTitle(tr("Save converted"))
        self.setModal(True)
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self.setMinimumWidth(640)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._build()
        self.path.setText(str(save_operations.proposed_path(document)))
        self._path_changed()

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        sheet = QFrame()
        sheet.setProperty("surface", "sheet")
        outer.addWidget(sheet)
        column = QVBoxLayout(sheet)
        column.setContentsMargins(Space.XL, Space.L, Space.XL, Space.L)
        column.setSpacing(Space.M)
        column.addWidget(label(tr("Save converted"), font=text_font(Type.TITLE, bold=True)))
        self._what = label(role="dim", wrap=True)
        column.addWidget(self._what)
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.path = QLineEdit()
        self.path.setObjectName("save.path")
        self.path.setAccessibleName(tr("File to write"))
        browse = push_button(tr("Choose…"), "save.browse")
        row.addWidget(self.path, 1)
        row.addWidget(browse)
        column.addLayout(row)
        second = QHBoxLayout()
        second.setSpacing(Space.M)
        self.formats = Segments(
            (("safetensors", "safetensors"), ("rudapack", "Rudapack")), "save.format"
        )
        self.verify = Switch(tr("Verify after writing"), "save.verify")
        self.verify.setToolTip(tr("Read the new file back and compare every tensor"))
        self.verify.setChecked(self._context.storage.settings.verify_saved)
        self.mark = Switch(tr("Mark as PyTorch"), "save.mark")
        self.mark.setToolTip(tr("Write the metadata entry format=pt, which transformers asks for"))
        second.addWidget(self.formats)
        second.addWidget(self.verify)
        second.addWidget(self.mark)
        second.addStretch(1)
        column.addLayout(second)
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(Space.M, Space.M, Space.M, Space.M)
        self._facts = Facts(key_width=130)
        inner.addWidget(self._facts)
        column.addWidget(card)
        self.banner = Banner("save.banner")
        column.addWidget(self.banner)
        self.replace = Switch(tr("Replace the file that is there"), "save.replace")
        column.addWidget(self.replace)
        column.addStretch(1)
        column.addLayout(self._foot())
        browse.clicked.connect(self._browse)
        self.path.textEdited.connect(self._path_changed)
        self.formats.chosen.connect(self._format_chosen)
        self.replace.toggled.connect(self._refresh)
        self.mark.toggled.connect(self._refresh)

    def _foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        row.addStretch(1)
        cancel = push_button(tr("Cancel"), "save.cancel")
        self.save_button = push_button(tr("Save"), "save.save", primary=True)
        self.save_button.setDefault(True)
        cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(self._save)
        row.addWidget(cancel)
        row.addWidget(self.save_button)
        return row

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the corners off where perhaps no compositor makes them transparent."""
        super().resizeEvent(event)
        if QGuiApplication.platformName() == "xcb":
            self.setMask(round_region(self.size(), Radius.CARD))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Move the sheet, which has no title bar to take hold of."""
        handle = self.windowHandle()
        if event.button() == Qt.MouseButton.LeftButton and handle is not None:
            handle.startSystemMove()

    @property
    def options(self) -> SaveOptions:
        """What is chosen now."""
        return SaveOptions(
            Path(self.path.text()).expanduser(),
            metadata=(("format", "pt"),) if self.mark.isChecked() else (),
            overwrite=self.replace.isChecked(),
            verify=self.verify.isChecked(),
        )

    @property
    def page(self) -> SavePlanPage | None:
        """The plan of what is chosen; None where no format can be told."""
        return self._page

    def _path_changed(self) -> None:
        suffix = Path(self.path.text()).suffix.lower()
        for name, known in FORMATS:
            if suffix == known:
                self.formats.choose(name)
        self.replace.setChecked(False)
        self._refresh()

    def _format_chosen(self, name: str) -> None:
        self.path.setText(str(Path(self.path.text()).with_suffix(dict(FORMATS)[name])))
        self._path_changed()

    def _browse(self) -> None:
        found, _ = QFileDialog.getSaveFileName(
            self,
            tr("Save converted"),
            self.path.text(),
            tr("Weights (*.safetensors *.bpk)"),
            options=QFileDialog.Option.DontConfirmOverwrite,
        )
        if found:
            self.path.setText(found)
            self._path_changed()

    def _refresh(self) -> None:
        path = Path(self.path.text()).expanduser()
        exists = path.is_file()
        self.replace.setVisible(exists)
        safe = self.formats.value == "safetensors"
        self.mark.setVisible(safe and "format" not in self._document.index.metadata)
        if not safe:
            self.mark.setChecked(False)
        steps = self._document.recipe.is_identity
        self._what.setText(
            f"{self._document.name}, {tr('as it is') if steps else tr('after its recipe')}"
        )
        document, view, options = self._document, self._view, self.options
        if len(view) <= save_operations.AT_ONCE:
            try:
                self._show_plan(save_operations.plan_page(document, view, options), "")
            except RudaError as error:
                self._show_plan(None, str(error))
            return

        def work(_: Monitor) -> SavePlanPage:
            return save_operations.plan_page(document, view, options)

        def done(page: SavePlanPage) -> None:
            self._show_plan(page, "")

        def failed(failure: JobFailure) -> None:
            self._show_plan(None, failure.summary)

        self.save_button.setEnabled(False)
        self.banner.show_text("warning", tr("Working out what is written…"))
        self._question.ask(tr("Planning {name}", name=options.path.name), work, done, failed)

    def _show_plan(self, page: SavePlanPage | None, problem: str) -> None:
        self._page = page
        exists = self.options.path.is_file()
        if page is not None:
            self._facts.show_facts(_facts(page))
            if exists and not self.replace.isChecked():
                problem = tr("The file is there already. Allow replacing it, or take another name.")
            elif page.blockers:
                problem = page.blockers[0]
        warning = page.warnings[0] if page is not None and page.warnings else ""
        text = problem or warning
        self.banner.show_text("error" if problem else "warning", text[:1].upper() + text[1:])
        set_role(self.path, "invalid", bool(problem) and not exists)
        self.save_button.setEnabled(not problem)

    def _save(self) -> None:
        options = self.options
        self._context.storage.change(verify_saved=self.verify.isChecked())
        save_operations.save(self._context, self._document, self._view, options)
        self.accept()


def _facts(page: SavePlanPage) -> tuple[tuple[str, str], ...]:
    before = ", ".join(share.text for share in page.dtypes_before)
    after = ", ".join(share.text for share in page.dtypes_after)
    facts = [
        (tr("tensors before"), before),
        (tr("tensors after"), after),
        (tr("file"), f"{size_text(page.size_after)}, {page.format}"),
        (tr("memory"), tr("{peak} at most while writing", peak=size_text(page.peak))),
    ]
    if page.left_out:
        facts.append((tr("left out"), str(page.left_out)))
    return tuple(facts)
