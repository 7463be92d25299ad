"""Weights: what is in a file, what it would do to a model, and saving it converted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QVBoxLayout,
    QWidget,
)

from ruda.session import (
    Changes,
    Document,
    ModelFit,
    RefusedPage,
    TargetChoice,
    TensorTable,
    counted,
    later,
    say,
    size_text,
    steps_text,
    tr,
)
from ruda.store import DiffRow, TensorSnapshot, format_title, write_diff
from ruda_workbench import operations, report_operations, save_operations
from ruda_workbench import recipe_operations as edits
from ruda_workbench.action_book import UserAction
from ruda_workbench.change_watch import ChangeWatch, StaleBanner
from ruda_workbench.context import Context
from ruda_workbench.dialogs.refused_sheet import RefusedSheet
from ruda_workbench.document_watch import DocumentWatch
from ruda_workbench.fit_watch import FitWatch
from ruda_workbench.halted import HaltedBanner
from ruda_workbench.panels.convert import ConvertPanel
from ruda_workbench.panels.inspector import InspectorPanel, Pair
from ruda_workbench.panels.load_diff import LoadDiffPanel
from ruda_workbench.panels.target_chooser import TargetChooser
from ruda_workbench.panels.tensors import TensorsPanel
from ruda_workbench.panels.title import FILE_TARGET, TitleRow
from ruda_workbench.panels.welcome import WelcomePanel
from ruda_workbench.path_looks import PathLook
from ruda_workbench.plain_words import without_options
from ruda_workbench.saving import Saving
from ruda_workbench.tokens import Space
from ruda_workbench.widgets.buttons import Segments, push_button
from ruda_workbench.widgets.roomy import Pages
from ruda_workbench.workspaces.weights_actions import WEIGHTS_ACTIONS
from ruda_workbench.workspaces.workspace import Workspace

STEPPED = 100
"""Tensors of a line that the inspector steps through."""
VIEWS = (("tensors", later("Tensors")), ("diff", later("Load diff")), ("convert", later("Convert")))


class WeightsWorkspace(Workspace):
    """The document in front, in three views."""

    ACTIONS: ClassVar[tuple[UserAction[Any], ...]] = WEIGHTS_ACTIONS

    def __init__(self, context: Context, welcome: WelcomePanel | None = None) -> None:
        super().__init__(context)
        self.watch = DocumentWatch(context, self)
        self.fits = FitWatch(context, self)
        self._changes = ChangeWatch(context, self)
        self.saving = Saving(context, self.watch, self)
        self._views: dict[int, str] = {}
        self._size_of: tuple[TensorTable | None, int] = (None, 0)
        self._pages = Pages()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._pages)
        self.welcome = welcome or WelcomePanel()

    def building(self) -> Iterator[None]:
        """The inspector, then the views one by one; the welcome page moves in at the end."""
        self._inspector = InspectorPanel(self.context)
        yield
        yield from self._document_page()
        self._pages.insertWidget(0, self.welcome)
        self._pages.setCurrentIndex(0)
        self._connect()
        self._show_recents()
        self.watch.start()

    def _document_page(self) -> Iterator[None]:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M)
        self.title = TitleRow()
        column.addWidget(self.title)
        self.stale = StaleBanner(self.context, self._changes)
        column.addWidget(self.stale)
        self.halted = HaltedBanner(self.watch, self.fits)
        column.addWidget(self.halted)
        row = QHBoxLayout()
        self.views = Segments([(v, tr(text)) for v, text in VIEWS], "weights.views")
        row.addWidget(self.views)
        row.addStretch(1)
        self.export = push_button(tr("Export…"), "weights.export")
        self.export.setToolTip(tr("Write the load diff as HTML, Markdown, CSV or JSON"))
        row.addWidget(self.export)
        column.addLayout(row)
        self._view_pages = Pages()
        column.addWidget(self._view_pages, 1)
        self.tensors = TensorsPanel(self.context)
        self._view_pages.addWidget(self.tensors)
        yield
        self.diff = LoadDiffPanel(self.context, self.watch)
        self._view_pages.addWidget(self.diff)
        yield
        self.convert = ConvertPanel(self.context, self.watch)
        self._view_pages.addWidget(self.convert)
        yield
        self.chooser = TargetChooser(self.fits)
        self._view_pages.addWidget(self.chooser)
        yield
        self._pages.addWidget(page)
        yield

    def _connect(self) -> None:
        self.welcome.open_asked.connect(self._open)
        self.welcome.sample_asked.connect(self._sample)
        self.welcome.guide_asked.connect(self._guide)
        self.welcome.recent_asked.connect(self._recent)
        self.title.target_picked.connect(self.choose_target)
        self.title.target.menu().aboutToShow.connect(self._look_for_fits)
        self.fits.covered.connect(self._show_title)
        self.title.part_picked.connect(self.take_part)
        self.title.command_asked.connect(self.copy_command)
        self.title.save_asked.connect(self.ask_save)
        self.export.clicked.connect(self.ask_export)
        self.views.chosen.connect(self.show_view)
        self.chooser.picked.connect(self.choose_target)
        self.chooser.fit_picked.connect(self.take_fit)
        self.tensors.selected.connect(self._keys_selected)
        self.diff.selected.connect(self._rows_selected)
        self.diff.selected.connect(self.diff.rules.show_selection)
        self.convert.back_asked.connect(self.ask_save)
        self.saving.types_wanted.connect(self._choose_types)
        self.saving.ended.connect(self._saving_ended)
        self.convert.selected.connect(self._converted_selected)
        self.watch.switched.connect(self._switched)
        self.watch.tabled.connect(self._tabled)
        self.watch.halted.connect(self._show_table)
        self.watch.laid_anew.connect(self._laid)
        self.watch.viewed.connect(self._viewed)
        self.context.key_wanted.connect(self.reveal)
        self.context.refused_wanted.connect(self.show_refused)
        self.context.changed.connect(self._changed)

    @property
    def can_save(self) -> bool:
        """True once it is known what the recipe makes of the document, or why it makes nothing."""
        laid = self.watch.current
        return laid is not None and (laid.view is not None or bool(laid.problem))

    # The contract

    def inspector(self) -> InspectorPanel:
        """Facts and values of the chosen tensor."""
        return self._inspector

    def wants_inspector(self) -> bool:
        """Only while a document is open."""
        return self.context.session.active is not None

    def summary(self) -> str:
        """``98 tensors · 272 474 values``."""
        document, table = self.watch.document, self.watch.table
        if document is None:
            return tr("Nothing is open")
        text = counted(len(document.index), "tensor")
        if table is not None:
            text += f" · {counted(int(table.numel.sum()), 'value')}"
        return text

    def findings(self) -> tuple[str, ...]:
        """Notes of the file, refused names of a pickle, and notes of the comparison."""
        document, laid = self.watch.document, self.watch.laid
        if document is None:
            return ()
        unsafe = tuple(tr("refused, not run: {name}", name=name) for name in document.index.unsafe)
        report = () if laid is None or laid.report is None else laid.report.notes
        said = [without_options(say(note)) for note in (*document.index.notes, *report)]
        many = len(document.index.notes)
        return (*said[:many], *unsafe, *said[many:])

    def accepts(self, found: PathLook, *, in_front: bool) -> bool:
        """Every file; folders are for others."""
        return not found.is_folder

    def open_path(self, path: Path) -> None:
        """Open a file of weights."""
        operations.open_document(self.context, path)

    def focus_search(self) -> bool:
        """The filter of the view that is shown."""
        fields = {"tensors": self.tensors.filter, "diff": self.diff.filter}
        field = fields.get(self.views.value)
        if field is None or self.watch.document is None:
            return False
        field.setFocus()
        field.selectAll()
        return True

    def step_problem(self, by: int) -> bool:
        """The next or previous row of the load diff that a person has to look at."""
        if self.watch.document is None or self.watch.document.target is None:
            return False
        if self.views.value != "diff":
            self.show_view("diff")
        self.diff.step_problem(by)
        return True

    def entered(self) -> None:
        """Show what is recent."""
        self._show_recents()

    def left(self) -> None:
        """Drop the questions that are open."""
        for panel in (self.tensors, self.diff, self.convert, self.fits, self._inspector):
            panel.leave()

    def set_dropping(self, *, active: bool) -> None:
        """Light up the drop zone."""
        self.welcome.set_dropping(active=active)

    # Views

    def show_view(self, name: str) -> None:
        """Show the tensors, the load diff or the conversion."""
        self.views.choose(name)
        document = self.watch.document
        if document is not None:
            self._views[document.id] = name
        panel: QWidget = {"tensors": self.tensors, "diff": self.diff, "convert": self.convert}[name]
        if name == "diff" and (document is None or document.target is None):
            panel = self.chooser
            if document is not None:
                self.fits.look(document)
        self._view_pages.setCurrentWidget(panel)
        self.export.setVisible(panel is self.diff)
        self._select_again()

    def is_shown(self, view: str) -> bool:
        """True while the workspace is in front with this view of its document."""
        return self.isVisible() and self.watch.document is not None and self.views.value == view

    def reveal(self, key: str) -> None:
        """Show a tensor by its key, in the load diff if that is open, else in the table."""
        self.context.workspace_wanted.emit("weights")
        if self.views.value == "diff" and self.watch.laid is not None:
            self.diff.reveal(key)
            return
        self.show_view("tensors")
        self.tensors.reveal(key)

    def choose_target(self, name: str) -> None:
        """Lay the document onto an architecture, a file that is asked for, or nothing.

        What the lists say that an architecture finds is what is shown then: the steps of one that
        is complete are taken, those of one that finds a part are offered.
        """
        document = self.watch.document
        if document is None:
            return
        fit = self.fits.fit_of(document, name)
        if fit is not None:
            self.take_fit(fit)
            return
        covered = self.fits.coverage_of(document, name)
        if name == FILE_TARGET:
            found, _ = QFileDialog.getOpenFileName(
                self,
                tr("Lay onto the tensors of a file, or onto a description"),
                str(self.context.folder),
            )
            choice = TargetChoice.of(found, is_file=True) if found else document.target
        else:
            choice = TargetChoice.of(name) if name else None
        operations.choose_target(self.context, document, choice)
        if covered is not None:
            edits.offer_steps(self.context, document, covered)
        self._show_title()
        if choice is not None:
            self.show_view("diff")

    def take_fit(self, fit: ModelFit) -> None:
        """Lay the document onto a model that it is complete for, with the steps that it takes."""
        document = self.watch.document
        if document is not None:
            edits.take_fit(self.context, document, fit)
            self.show_view("diff")

    def take_part(self, key: str) -> None:
        """Take one part of the checkpoint by its key, or with none the whole file."""
        if self.watch.document is not None:
            operations.take_part(self.context, self.watch.document, key or None)

    def copy_command(self) -> None:
        """Copy the command that does the same."""
        if self.watch.document is not None:
            save_operations.copy_command(self.context, self.watch.document)

    def show_refused(self, page: RefusedPage) -> None:
        """Show what a file asked for and did not get."""
        RefusedSheet(page, self.window()).open()

    def ask_export(self) -> None:
        """Ask where the report of the load diff goes and write it."""
        laid = self.watch.laid
        if laid is None or laid.report is None:
            return
        name = f"{laid.document.path.stem}-load-diff.html"
        write = partial(write_diff, laid.report)
        title = tr("Export the load diff")
        report_operations.ask_and_export(self.context, self, title, name, write)

    def ask_save(self) -> None:
        """Open the save sheet."""
        self.diff.rules.commit()
        self.saving.ask()

    def _choose_types(self) -> None:
        self.show_view("convert")
        self.convert.show_way_back(on=True)

    def _saving_ended(self) -> None:
        self.convert.show_way_back(on=False)

    # Drawing

    def _switched(self) -> None:
        document = self.watch.document
        self.fits.follow(document)
        self._pages.setCurrentIndex(0 if document is None else 1)
        self._inspector.show_pairs(())
        self.diff.reset()
        self.convert.reset()
        if document is None:
            self.tensors.show_table(None)
            self._size_of = (None, 0)
            self._show_recents()
        else:
            self._show_table()
            self._show_title()
            default = "tensors" if document.target is None else "diff"
            self.show_view(self._views.get(document.id, default))
            if self.watch.laid is not None:
                self._laid()
        self.context.summary_changed.emit()

    def _look_for_fits(self) -> None:
        if self.watch.document is not None:
            self.fits.look(self.watch.document)

    def _show_table(self) -> None:
        self.tensors.show_table(self.watch.table, self.watch.table_problem)

    def _tabled(self) -> None:
        self._show_table()
        if self.watch.document is not None and self.watch.document.target is None:
            self._look_for_fits()  # the next thing that a person asks
        self._show_title()
        self.context.summary_changed.emit()

    def _laid(self) -> None:
        self._show_title()
        self.context.summary_changed.emit()

    def _viewed(self) -> None:
        self.title.can_save(on=self.can_save)
        self.context.summary_changed.emit()

    def _changed(self, changes: Changes) -> None:
        apart = Changes.DATASET | Changes.BATCH | Changes.COMPARISON
        if changes & ~apart and self.watch.document is not None:
            self.fits.follow(self.watch.document)
            self._show_title()
            self.diff.rules.refresh()
            self.convert.refresh()
            if self.views.value == "diff":
                self.show_view("diff")

    def _show_title(self) -> None:
        document = self.watch.document
        if document is None:
            return
        target = "" if document.target is None else document.target.title
        tensors = counted(len(document.index), "tensor")
        facts = (
            *self._size(document),
            say(format_title(document.index.format)),
            steps_text(document.recipe),
        )
        self.title.show_document(document.name, target, str(document.path))
        self.title.show_facts(tensors, document.parts, document.top_level_key, " · ".join(facts))
        name = "" if document.target is None else document.target.name
        self.title.offer_targets(self.fits.offers(), name)
        self.title.can_save(on=self.can_save)

    def _size(self, document: Document) -> tuple[str, ...]:
        """The size of all tensors that own their memory, once the table is there."""
        table = self.watch.table
        if table is None:
            return ()
        if self._size_of[0] is not table:
            shared = sum(int(table.nbytes[place]) for place in table.shared)
            self._size_of = (table, int(table.nbytes.sum()) - shared)
        return (size_text(self._size_of[1]),)

    def _show_recents(self) -> None:
        recents = self.context.storage.recents
        self.welcome.show_page(recents, has_sample=operations.has_sample(self.context))

    # Inspector

    def _keys_selected(self, keys: Sequence[str], count: int) -> None:
        document = self.watch.document
        pairs: tuple[Pair, ...] = ()
        if document is not None:
            pairs = tuple((document.index[key], None) for key in keys)
        self._inspector.show_pairs(pairs, count)

    def _rows_selected(self, rows: Sequence[DiffRow]) -> None:
        if not rows and self.views.value != "diff":
            return  # what another view chose stays
        pairs: list[Pair] = []
        for row in rows[:STEPPED]:
            if row.adapted is not None:
                pairs.append((row.adapted, row.source))
            elif row.source is not None:
                pairs.append((row.source, None))
        if rows and not pairs:
            self._inspector.show_missing(rows[0])
        else:
            count = len(rows) if len(rows) > STEPPED else 0
            self._inspector.show_pairs(pairs, count, rows[0] if rows else None)

    def _converted_selected(self, snapshots: Sequence[TensorSnapshot], count: int) -> None:
        self._inspector.show_pairs(tuple((snapshot, None) for snapshot in snapshots), count)

    def _select_again(self) -> None:
        if self.views.value == "diff":
            line = self.diff.model.line(self.diff.table.currentIndex().row())
            document, laid = self.watch.document, self.watch.laid
            if document is None or laid is None or laid.document.target != document.target:
                line = None  # a row of another target; the new laying selects its own
            self._rows_selected(() if line is None else line.rows)
        elif self.views.value == "tensors":
            row = self.tensors.model.row(self.tensors.table.currentIndex().row())
            keys, count = ((), 0) if row is None else (row.keys, row.count)
            self._keys_selected(keys, count)
        else:
            self.convert.select_again()

    # Gestures of the welcome page

    def _open(self) -> None:
        window = self.window()
        ask = getattr(window, "ask_open", None)
        if ask is not None:
            ask()

    def _guide(self) -> None:
        self.context.guide_wanted.emit("start")

    def _sample(self) -> None:
        operations.open_sample(self.context)

    def _recent(self, path: str) -> None:
        window = self.window()
        opener = getattr(window, "open_paths", None)
        if opener is not None:
            opener([Path(path)])
