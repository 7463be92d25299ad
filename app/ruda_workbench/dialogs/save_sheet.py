"""The save sheet: where to, in which format, what it will be, and whether it is read back."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QMouseEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from ruda.errors import RudaError, SettingError
from ruda.progress import Monitor
from ruda.session import (
    Document,
    JobFailure,
    SaveOptions,
    SavePlanPage,
    counted,
    later,
    say,
    size_text,
    tr,
)
from ruda.store import Aliases, TensorIndex, parse_size
from ruda_workbench import save_operations
from ruda_workbench.context import Context
from ruda_workbench.panels.metadata_editor import PYTORCH, MetadataEditor
from ruda_workbench.panels.shared_tensors import SharedTensors
from ruda_workbench.plain_words import without_options
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.theme import text_font
from ruda_workbench.tokens import Radius, Space, Type
from ruda_workbench.widgets.banner import Banner
from ruda_workbench.widgets.buttons import Segments, Switch, push_button
from ruda_workbench.widgets.labels import Facts, label, set_role
from ruda_workbench.widgets.painting import round_region
from ruda_workbench.widgets.placing import room_for
from ruda_workbench.widgets.roomy import Roomy

FORMATS = (
    ("safetensors", ".safetensors", "safetensors"),
    ("rudapack", ".bpk", "Rudapack"),
    ("pytorch", ".pt", "PyTorch"),
    ("numpy", ".npz", "NumPy"),
)
"""Formats with the suffix that is proposed, and their names."""
SUFFIXES = {".pth": "pytorch", ".bin": "pytorch", ".ckpt": "pytorch", ".npy": "numpy"}
"""Further suffixes of the formats."""
UNMARKED = later(
    "The metadata has no entry format=pt, without which transformers refuses the file. "
    "“Mark as PyTorch” adds it, here or under Metadata."
)
THERE = later("The file is there already. Allow replacing it, or take another name.")
PARTS = ("file", "metadata", "shared", "notes")
WIDTH = 800
BODY_HEIGHT = 210


class SaveSheet(QDialog):
    """Asks for everything that a save needs; ``options`` are what was chosen."""

    types_wanted = Signal()
    """Types are to be chosen in their view; the sheet is hidden until ``resume``."""

    def __init__(
        self, context: Context, document: Document, view: TensorIndex, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._context = context
        self._document = document
        self._view = view
        self._page: SavePlanPage | None = None
        self._question = Latest(context.jobs, self)
        # Its own, which ends with it: a single shot would keep a sheet that is closed before it.
        self._fit_soon = QTimer(self)
        self._fit_soon.setSingleShot(True)
        self._fit_soon.timeout.connect(self.fit)
        self.setObjectName("save")
        self.setWindowTitle(tr("Save converted"))
        self.setModal(True)
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)
        self.setMinimumWidth(560)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._build()
        self.metadata.begin(dict(view.metadata))
        self.path.setText(str(save_operations.proposed_path(document)))
        self._path_changed()

    # Building

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
        self._area = Roomy(self._middle(), "save.middle")
        column.addWidget(self._area, 1)
        column.addLayout(self._foot())

    def _middle(self) -> QWidget:
        middle = QWidget()
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.M)
        self._what = label(role="dim", wrap=True)
        column.addWidget(self._what)
        column.addLayout(self._path_row())
        column.addLayout(self._choices())
        self.parts = Segments(tuple((name, "") for name in PARTS), "save.parts")
        self.parts.chosen.connect(self._part_chosen)
        row = QHBoxLayout()
        row.addWidget(self.parts)
        row.addStretch(1)
        types = push_button(tr("Choose types: f16, bf16…"), "save.types", link=True)
        types.setToolTip(tr("f16, bf16 or f32, and what stays as it is: under Convert"))
        types.clicked.connect(self._leave_for_types)
        row.addWidget(types)
        column.addLayout(row)
        column.addWidget(self._body())
        self.banner = Banner("save.banner")
        self.banner.pressed.connect(self._mark)
        column.addWidget(self.banner)
        self.replace = Switch(tr("Replace the file that is there"), "save.replace")
        self.replace.toggled.connect(self._refresh)
        column.addWidget(self.replace)
        column.addStretch(1)
        return middle

    def fit(self) -> None:
        """Grow to what there is to see, as far as the screen has room for it."""
        hidden = self._area.verticalScrollBar().maximum()  # lines that words wrapped into
        height = max(self.sizeHint().height(), self.height() + hidden)
        wanted = room_for(self.parentWidget() or self, WIDTH, height)
        self.resize(wanted.expandedTo(QSize(0, self.height())))

    def _path_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        self.path = QLineEdit()
        self.path.setObjectName("save.path")
        self.path.setAccessibleName(tr("File to write"))
        browse = push_button(tr("Choose…"), "save.browse")
        row.addWidget(self.path, 1)
        row.addWidget(browse)
        browse.clicked.connect(self._browse)
        self.path.textEdited.connect(self._path_changed)
        return row

    def _choices(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.M)
        self.formats = Segments([(n, title) for n, _, title in FORMATS], "save.format")
        self.formats.chosen.connect(self._format_chosen)
        self.shards = QLineEdit()
        self.shards.setObjectName("save.shards")
        self.shards.setAccessibleName(tr("Size of each file of a set"))
        self.shards.setPlaceholderText(tr("one file"))
        self.shards.setToolTip(tr("A size such as 5GB spreads the tensors over several files"))
        self.shards.setFixedWidth(104)
        self.shards.editingFinished.connect(self._refresh)
        self.verify = Switch(tr("Verify after writing"), "save.verify")
        self.verify.setToolTip(tr("Read the new file back and compare every tensor"))
        self.verify.setChecked(self._context.storage.settings.verify_saved)
        row.addWidget(self.formats)
        self._shard_words = label(tr("Files of at most"), role="dim")
        row.addWidget(self._shard_words)
        row.addWidget(self.shards)
        row.addStretch(1)
        row.addWidget(self.verify)
        return row

    def _body(self) -> QFrame:
        card = QFrame()
        card.setProperty("surface", "card")
        inner = QVBoxLayout(card)
        inner.setContentsMargins(Space.M, Space.M, Space.M, Space.M)
        self._pages = QStackedWidget()
        self._pages.setFixedHeight(BODY_HEIGHT)
        facts = QWidget()
        column = QVBoxLayout(facts)
        column.setContentsMargins(0, 0, 0, 0)
        self._facts = Facts(key_width=130)
        column.addWidget(self._facts)
        column.addStretch(1)
        self.metadata = MetadataEditor()
        self.metadata.changed.connect(self._refresh)
        self.shared = SharedTensors()
        self.shared.changed.connect(self._refresh)
        self._notes = label(wrap=True)
        self._notes.setObjectName("save.notes")
        self._notes.setAlignment(Qt.AlignmentFlag.AlignTop)
        for page in (facts, self.metadata, self.shared, self._notes):
            self._pages.addWidget(page)
        inner.addWidget(self._pages)
        return card

    def _foot(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(Space.S)
        copy = push_button(tr("Copy command"), "save.command")
        cancel = push_button(tr("Cancel"), "save.cancel")
        self.save_button = push_button(tr("Save"), "save.save", primary=True)
        self.save_button.setDefault(True)
        copy.clicked.connect(self._copy)
        cancel.clicked.connect(self.reject)
        self.save_button.clicked.connect(self._save)
        row.addWidget(copy)
        row.addStretch(1)
        row.addWidget(cancel)
        row.addWidget(self.save_button)
        return row

    def showEvent(self, event: QShowEvent) -> None:
        """Come up as large as need be."""
        self.fit()
        super().showEvent(event)

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

    # What is chosen

    @property
    def options(self) -> SaveOptions:
        """What is chosen now. Raises SettingError for a size of shards that is none."""
        size = self.shards.text().strip()
        sharded = bool(size) and self.formats.value == "safetensors"
        return SaveOptions(
            Path(self.path.text()).expanduser(),
            metadata=self.metadata.changes,
            drop_metadata=self.metadata.dropped,
            overwrite=self.replace.isChecked(),
            verify=self.verify.isChecked(),
            shard_size=parse_size(size) if sharded else None,
            aliases=self._aliases(),
            owners=self.shared.owners,
        )

    def _aliases(self) -> Aliases | None:
        chosen = self.shared.aliases
        if chosen is None and self.formats.value == "numpy" and self.shared.has_groups:
            return Aliases.FULL  # it can neither share nor note
        return chosen

    @property
    def page(self) -> SavePlanPage | None:
        """The plan of what is chosen; None where no format can be told."""
        return self._page

    def _path_changed(self) -> None:
        suffix = Path(self.path.text()).suffix.lower()
        for name, known, _ in FORMATS:
            if suffix == known or SUFFIXES.get(suffix) == name:
                self.formats.choose(name)
        self.replace.setChecked(False)
        self._refresh()

    def _format_chosen(self, name: str) -> None:
        suffix = next(known for each, known, _ in FORMATS if each == name)
        self.path.setText(str(Path(self.path.text()).with_suffix(suffix)))
        self._path_changed()

    def _leave_for_types(self) -> None:
        self.hide()
        self.types_wanted.emit()

    def resume(self, document: Document, view: TensorIndex) -> None:
        """Come back with what has become of the document; what was chosen before still is."""
        before, after = map(save_operations.proposed_path, (self._document, document))
        path = Path(self.path.text())
        if path.with_suffix("") == before.with_suffix(""):  # the name says the type
            self.path.setText(str(after.with_suffix(path.suffix)))
        self._document, self._view = document, view
        self._path_changed()
        self.path.setFocus()  # as at first: Enter saves, and does not leave for the types again
        self.open()

    def _mark(self) -> None:
        self.metadata.mark(on=True)

    def _part_chosen(self, name: str) -> None:
        self._pages.setCurrentIndex(PARTS.index(name))

    def _browse(self) -> None:
        found, _ = QFileDialog.getSaveFileName(
            self,
            tr("Save converted"),
            self.path.text(),
            tr("Weights (*.safetensors *.bpk *.pt *.npz)"),
            options=QFileDialog.Option.DontConfirmOverwrite,
        )
        if found:
            self.path.setText(found)
            self._path_changed()

    # The plan

    def _refresh(self) -> None:
        self._question.drop()  # whatever it answers is about what was chosen before
        exists = Path(self.path.text()).expanduser().is_file()
        self.replace.setVisible(exists)
        safe = self.formats.value == "safetensors"
        self.shards.setVisible(safe)
        self._shard_words.setVisible(safe)
        plain = self._document.recipe.is_identity
        how = tr("as it is") if plain else tr("after its recipe")
        self._what.setText(f"{self._document.name}, {how}")
        try:
            options = self.options
        except SettingError as error:
            set_role(self.shards, "invalid", True)
            self._show_plan(None, str(error))
            return
        set_role(self.shards, "invalid", False)
        document, view = self._document, self._view
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

        def stopped() -> None:
            self._show_plan(None, tr("Stopped"))

        title = tr("Planning {name}", name=options.path.name)
        self._question.ask(title, work, done, failed, stopped)

    def _show_plan(self, page: SavePlanPage | None, problem: str) -> None:
        self._page = page
        exists = Path(self.path.text()).expanduser().is_file()
        if page is not None:
            self._show_page(page)
            if exists and not self.replace.isChecked():
                problem = tr(THERE)
            elif page.blockers:
                problem = _blockers(page)[0]
        warnings = () if page is None else _warnings(page)
        text = without_options(say(problem)) or next(iter(warnings), "")
        button = tr("Mark as PyTorch") if text == tr(UNMARKED) else ""
        level = "error" if problem else "warning"
        self.banner.show_text(level, text[:1].upper() + text[1:], button)
        set_role(self.path, "invalid", bool(problem) and not exists and page is not None)
        self.save_button.setEnabled(not problem)
        self._fit_soon.start()  # once the banner has its height

    def _show_page(self, page: SavePlanPage) -> None:
        self._facts.show_facts(_facts(page))
        self.metadata.show_lines(page.metadata)
        self.shared.show_groups(page.shared)
        notes = (*_blockers(page), *_warnings(page), *page.notes)
        self._notes.setText("\n".join(f"• {note}" for note in notes))
        titles = (
            tr("File"),
            tr("Metadata ({count})", count=len(page.metadata)),
            tr("Shared tensors ({count})", count=len(page.shared)),
            tr("Notes ({count})", count=len(notes)),
        )
        for name, title in zip(PARTS, titles, strict=True):
            self.parts.set_text(name, title)
            self.parts.button(name).setAccessibleName(title)
        self.parts.button("shared").setVisible(bool(page.shared))
        self.parts.button("notes").setVisible(bool(notes))

    def _copy(self) -> None:
        try:
            options = self.options
        except SettingError as error:
            self.banner.show_text("error", say(str(error)))
            return
        save_operations.copy_save_command(self._context, self._document, options)

    def _save(self) -> None:
        try:
            options = self.options
        except SettingError as error:
            self._show_plan(None, str(error))
            return
        self._context.storage.change(verify_saved=self.verify.isChecked())
        save_operations.save(self._context, self._document, self._view, options)
        self.accept()


def _blockers(page: SavePlanPage) -> tuple[str, ...]:
    """What forbids a save, with the switch of the sheet for the argument of a script."""
    return tuple(
        tr(THERE) if "overwrite=True" in text else without_options(text) for text in page.blockers
    )


def _warnings(page: SavePlanPage) -> tuple[str, ...]:
    """What is said before a save, with the controls of the sheet for options of the command."""
    entry = "=".join(PYTORCH)
    return tuple(
        tr(UNMARKED) if entry in text and "--" in text else without_options(text)
        for text in page.warnings
    )


def _facts(page: SavePlanPage) -> tuple[tuple[str, str], ...]:
    before = ", ".join(share.text for share in page.dtypes_before)
    after = ", ".join(share.text for share in page.dtypes_after)
    size = f"{size_text(page.size_after)}, {page.format}"
    if page.files > 1:
        size += tr(", {files} with their index", files=counted(page.files, "file"))
    facts = [
        (tr("tensors before"), before),
        (tr("tensors after"), after),
        (tr("file"), size),
        (tr("memory"), tr("{peak} at most while writing", peak=size_text(page.peak))),
    ]
    if page.left_out:
        facts.append((tr("left out"), counted(page.left_out, "tensor")))
    struck = [line.key for line in page.metadata if line.state in ("removed", "lost")]
    if struck:
        facts.append((tr("metadata left out"), ", ".join(struck)))
    return tuple(facts)
