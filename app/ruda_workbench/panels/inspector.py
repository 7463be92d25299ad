"""The inspector: facts, statistics, heat map and values of the chosen tensor."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QTableView,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from ruda.progress import Monitor
from ruda.session import (
    InspectorPage,
    JobFailure,
    PlaneChoice,
    PlanePage,
    PlaneWindow,
    count_text,
    inspector_page,
    later,
    numpy_literal,
    plane_size,
    reading_code,
    reason_text,
    shape_text,
    tr,
)
from ruda.store import DiffRow, Status, TensorSnapshot, values_mark
from ruda_workbench.context import Context
from ruda_workbench.inspection import Inspection, inspect
from ruda_workbench.item_models.values_grid import ValuesGridModel
from ruda_workbench.panels.inspector_hex import HexTab
from ruda_workbench.panels.inspector_map import MapTab
from ruda_workbench.panels.inspector_norms import NormsTab
from ruda_workbench.panels.inspector_pinned import PinnedTab
from ruda_workbench.qt_jobs import Latest
from ruda_workbench.tensor_views import TensorViews
from ruda_workbench.theme import mono_font, text_font
from ruda_workbench.tokens import Size, Space
from ruda_workbench.widgets.buttons import Segments, Switch, icon_button, push_button
from ruda_workbench.widgets.labels import ElidedLabel, Facts, label, sentence, set_role
from ruda_workbench.widgets.plots import HeatMap, Histogram
from ruda_workbench.widgets.roomy import Pages
from ruda_workbench.widgets.scrolled import scrolled

Pair = tuple[TensorSnapshot, TensorSnapshot | None]
"""A tensor as it will be, and as the file has it where that differs."""

CHOOSE = later("Choose a tensor to see its facts and values.")
TABS = (
    ("overview", later("Stats")),
    ("heat", later("Map")),
    ("values", later("Values")),
    ("hex", later("Hex")),
    ("norms", later("Norms")),
    ("pinned", later("Pinned")),
)
KEPT = 8
"""Inspections that are remembered."""


class InspectorPanel(QWidget):
    """Shows one tensor of a row; a family is stepped through."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.setObjectName("inspector")
        self._context = context
        self._question = Latest(context.jobs, self)
        self._pairs: tuple[Pair, ...] = ()
        self._count = 0
        self._place = 0
        self._known: dict[Hashable, tuple[TensorSnapshot, Inspection]] = {}
        self._views = TensorViews(context, self)
        self._views.unpinned.connect(self._lay_beside)
        self._build()
        self.show_pairs(())

    # Building

    def _build(self) -> None:
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self._pages = Pages()
        outer.addWidget(self._pages)
        self._pages.addWidget(self._empty())
        missing = self._missing()
        body = QWidget()
        self._pages.addWidget(body)
        column = QVBoxLayout(body)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M)
        column.addLayout(self._head())
        self.reason = label(wrap=True)
        self.reason.setObjectName("inspector.reason")
        column.addWidget(self.reason)
        self._facts = Facts()
        column.addWidget(self._facts)
        self.tabs = Segments([(n, tr(text)) for n, text in TABS], "inspector.tabs", fill=True)
        self.tabs.chosen.connect(self._choose_tab)
        column.addWidget(self.tabs)
        self._tab_pages = Pages()
        self.heat, self.hex = MapTab(), HexTab()
        self.norms, self.pinned = NormsTab(), PinnedTab()
        for page in (
            self._overview(),
            _scrolled(self.heat),
            self._values(),
            self.hex,
            _scrolled(self.norms),
            _scrolled(self.pinned),
        ):
            self._tab_pages.addWidget(page)
        self.heat.wanted.connect(self._choose_plane)
        self.hex.wanted.connect(self._ask_bytes)
        self.pinned.unpin_asked.connect(self._unpin)
        self.pinned.scan_asked.connect(self._read_beside)
        self._grid_model.wanted.connect(self._ask_window)
        column.addWidget(self._tab_pages, 1)
        self._pages.addWidget(missing)

    def _empty(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(Space.L, Space.L, Space.L, Space.L)
        text = label(tr(CHOOSE), role="dim", wrap=True)
        text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)
        column.addWidget(text)
        column.addStretch(2)
        return page

    def _missing(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(Space.L, Space.M, Space.L, Space.M)
        column.setSpacing(Space.M)
        self._missing_key = ElidedLabel(font=mono_font(bold=True))
        self._missing_facts = Facts()
        self._missing_note = label(role="missing", wrap=True)
        for widget in (self._missing_key, self._missing_facts, self._missing_note):
            column.addWidget(widget)
        column.addStretch(1)
        return page

    def _head(self) -> QVBoxLayout:
        head = QVBoxLayout()
        head.setSpacing(2)
        row = QHBoxLayout()
        row.setSpacing(Space.XS)
        self._key = ElidedLabel(font=mono_font(bold=True))
        self._key.setObjectName("inspector.key")
        self._key.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._copy = icon_button("copy", tr("Copy the key"), "inspector.copy")
        self._copy.clicked.connect(self._copy_key)
        self.pin = icon_button("pin", tr("Pin, to lay others beside it"), "inspector.pin")
        self.pin.clicked.connect(self._pin_shown)
        self._more = icon_button("more", tr("Copy as…"), "inspector.copy-as")
        self._more.setMenu(self._copy_menu())
        self._more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        row.addWidget(self._key, 1)
        for button in (self._copy, self.pin, self._more):
            row.addWidget(button)
        head.addLayout(row)
        self._stepper = QWidget()
        steps = QHBoxLayout(self._stepper)
        steps.setContentsMargins(0, 0, 0, 0)
        steps.setSpacing(0)
        self._step_text = label(role="dim")
        back = icon_button("chevron-left", tr("Previous of the family"), "inspector.back")
        ahead = icon_button("chevron-right", tr("Next of the family"), "inspector.next")
        back.clicked.connect(self._back)
        ahead.clicked.connect(self._ahead)
        steps.addWidget(self._step_text, 1)
        steps.addWidget(back)
        steps.addWidget(ahead)
        head.addWidget(self._stepper)
        return head

    def _overview(self) -> QWidget:
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        self._caption = label(role="caption")
        self._log = Switch(tr("log"), "inspector.log")
        self._log.setToolTip(tr("Heights by the logarithm of the counts"))
        self._histogram = Histogram()
        self._log.toggled.connect(self._histogram.set_log)
        head = QHBoxLayout()
        head.addWidget(self._caption, 1)
        head.addWidget(self._log)
        self._statistics = Facts()
        self._findings = label(role="missing", wrap=True)
        self._scan_note = label(role="dim", wrap=True)
        self._scan_note.setObjectName("inspector.note")
        self._scan = push_button(tr("Compute"), "inspector.scan")
        self._scan.clicked.connect(self._start_scan)
        self._small_caption = label(role="caption")
        self._small = HeatMap(most_height=150)
        self._halves = Facts()
        column.addWidget(self._scan_note)
        column.addLayout(head)
        column.addWidget(self._histogram)
        column.addWidget(self._statistics)
        column.addWidget(self._scan, 0, Qt.AlignmentFlag.AlignLeft)
        column.addWidget(self._findings)
        column.addSpacing(Space.XS)
        column.addWidget(self._small_caption)
        column.addWidget(self._small)
        column.addStretch(1)
        column.addWidget(self._halves)
        return _scrolled(inner)

    def _values(self) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.S)
        self._values_note = label(role="caption", wrap=True)
        self.grid = QTableView()
        self.grid.setObjectName("inspector.values")
        self.grid.setAccessibleName(tr("Values"))
        self._grid_model = ValuesGridModel()
        self._grid_model.setParent(self)
        self.grid.setModel(self._grid_model)
        self.grid.setFont(mono_font(11))
        self.grid.setShowGrid(False)
        self.grid.setCornerButtonEnabled(False)
        self.grid.setTabKeyNavigation(False)
        for header, size in (
            (self.grid.verticalHeader(), 22),
            (self.grid.horizontalHeader(), 78),
        ):
            header.setFont(text_font(10))
            header.setHighlightSections(False)
            header.setMinimumSectionSize(20)
            header.setDefaultSectionSize(size)
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        column.addWidget(self._values_note)
        column.addWidget(self.grid, 1)
        return page

    # Showing

    def show_missing(self, row: DiffRow) -> None:
        """Show what a model expects and a file does not have."""
        self.show_pairs(())
        target = row.target
        self._missing_key.set_text(row.key)
        self._missing_note.setText(sentence(reason_text(row)))
        self._pages.setCurrentIndex(2)
        if target is None:
            return
        module = " › ".join(c.partition(":")[2] or c for c in row.containers)
        facts = (
            (tr("shape"), shape_text(target.shape)),
            (tr("type"), target.dtype.label),
            *(((tr("module"), module),) if module else ()),
        )
        self._missing_facts.show_facts(facts)

        def work(monitor: Monitor) -> str:
            monitor.check()
            return row.nearest[0].key if row.nearest else ""

        def done(key: str) -> None:
            if key:
                self._missing_facts.show_facts((*facts, (tr("closest"), key)))

        # The first answer of a report compares all its names, which takes a while.
        self._question.ask(tr("Looking for {key}", key=row.key), work, done)

    def show_pairs(self, pairs: Sequence[Pair], count: int = 0, row: DiffRow | None = None) -> None:
        """Show these tensors, the first of them now; and why ``row`` does not load as it is.

        ``count`` is how many there are where these are the first of more.
        """
        why = ""
        if row is not None and (row.caution or row.status is not Status.APPLIED):
            why = reason_text(row)
        self.reason.setText(sentence(why))
        self.reason.setVisible(bool(why))
        grave = row is not None and row.status is Status.ERROR
        set_role(self.reason, "role", "error" if grave else "dim")
        self._count = count
        keys = [pair[0].key for pair in pairs]
        if keys and keys == [pair[0].key for pair in self._pairs]:
            self._pairs = tuple(pairs)
            self._show_tensor()
            return
        self._pairs = tuple(pairs)
        self._place = 0
        self._show_tensor()

    def leave(self) -> None:
        """Stop what is being read."""
        self._question.drop()
        self._views.leave()

    @property
    def shown_key(self) -> str:
        """Key of the tensor that is shown; empty for none."""
        return self._pairs[self._place][0].key if self._pairs else ""

    @property
    def missing_key(self) -> str:
        """Key that a model expects and the file does not have, where that is shown; else empty."""
        return self._missing_key.text() if self._pages.currentIndex() == 2 else ""

    @property
    def inspection(self) -> Inspection | None:
        """What the scan of the shown tensor found; None until it is done."""
        if not self._pairs:
            return None
        snapshot = self._pairs[self._place][0]
        known = self._known.get(values_mark(snapshot))
        return None if known is None else known[1]

    def _step_words(self) -> str:
        named = len(self._pairs)
        if self._count > named:
            return tr(
                "{place} of the first {named} of {count} in the family",
                place=self._place + 1,
                named=named,
                count=count_text(self._count),
            )
        return tr("{place} of {count} in the family", place=self._place + 1, count=named)

    def _show_tensor(self) -> None:
        self._question.drop()
        self._views.leave()
        self._pages.setCurrentIndex(1 if self._pairs else 0)
        if not self._pairs:
            return
        self._stepper.setVisible(len(self._pairs) > 1)
        self._step_text.setText(self._step_words())
        self._draw()
        page = self._page()
        if self.inspection is None and page.can_scan and not page.asks_first:
            self._start_scan()
        self._choose_tab(self.tabs.value)

    def _page(self) -> InspectorPage:
        snapshot, source = self._pairs[self._place]
        found = self.inspection
        limit = self._context.storage.settings.statistics_limit * 1_000_000
        stats, spread = (None, None) if found is None else (found.stats, found.spread)
        return inspector_page(snapshot, stats, spread, source=source, limit=limit)

    def _draw(self, problem: str = "") -> None:
        page, found = self._page(), self.inspection
        self._key.set_text(page.key)
        self._facts.show_facts(tuple((fact.label, fact.text) for fact in page.facts))
        self._statistics.show_facts(tuple((f.label, f.text) for f in page.statistics))
        view = page.histogram
        self._caption.setText("" if view is None else view.caption)
        self._caption.setVisible(view is not None)
        self._log.setVisible(view is not None)
        self._histogram.setVisible(view is not None)
        self._histogram.show_view(view)
        self._findings.setText(", ".join(page.findings))
        self._findings.setVisible(bool(page.findings))
        self._scan.setText(page.scan_label)
        self._scan.setVisible(found is None and page.can_scan and page.asks_first)
        note = problem or self._note(page, waiting=found is None)
        self._scan_note.setProperty("role", "error" if problem else "dim")
        self._scan_note.style().polish(self._scan_note)
        self._scan_note.setText(note)
        self._scan_note.setVisible(bool(note))
        self._draw_values(found)

    def _note(self, page: InspectorPage, *, waiting: bool) -> str:
        if not page.can_scan:
            return tr("Values of this type have no order; there are no statistics.")
        if waiting and page.asks_first:
            return tr("This tensor is large; its values are read when you ask.")
        return tr("Reading values…") if waiting else ""

    def _draw_values(self, found: Inspection | None) -> None:
        values = None if found is None else found.values
        caption = "" if values is None else values.caption
        self._small_caption.setText(caption)
        self._small.setVisible(values is not None)
        self._small.show_page(values)
        self._halves.show_facts(() if found is None else found.halves)
        self._draw_plane(None if found is None else found.page)

    def _draw_plane(self, page: PlanePage | None, problem: str = "") -> None:
        """Draw a plane: as a map, as a table, and the norms along its axes."""
        shape = tuple(self._pairs[self._place][0].shape) if self._pairs else ()
        self.heat.show_page(page, shape)
        self.norms.show_page(page)
        plane = None if page is None else page.plane
        if page is not None and plane is None:
            self._grid_model.show_large(plane_size(shape, page.choice))
        else:
            # A vector is read downwards.
            self._grid_model.show_plane(plane.T if plane is not None and len(shape) < 2 else plane)
        self._note_values(problem)

    def _note_values(self, text: str) -> None:
        self._values_note.setText(text)
        self._values_note.setVisible(bool(text))

    def _show_window(self, window: PlaneWindow | None, problem: str) -> None:
        if window is not None:
            self._grid_model.add_window(window)
        self._note_values(problem)

    # Gestures

    def _start_scan(self) -> None:
        snapshot = self._pairs[self._place][0]

        def work(monitor: Monitor) -> Inspection:
            return inspect(snapshot, monitor)

        def done(found: Inspection) -> None:
            # The snapshot is kept as well: the mark is good as long as it is.
            self._known[values_mark(snapshot)] = (snapshot, found)
            while len(self._known) > KEPT:
                self._known.pop(next(iter(self._known)))
            self._draw()

        def failed(failure: JobFailure) -> None:
            self._draw(failure.summary)

        def stopped() -> None:
            self._draw()
            self._scan_note.setText(tr("Stopped"))
            self._scan_note.show()
            self._scan.show()  # the way on

        title = tr("Statistics of {key}", key=snapshot.key)
        self._question.ask(title, work, done, failed, stopped)

    def _choose_tab(self, name: str) -> None:
        self._tab_pages.setCurrentIndex([tab for tab, _ in TABS].index(name))
        if not self._pairs:
            return
        snapshot = self._pairs[self._place][0]
        if name == "hex" and self._views.bytes_of is not snapshot:
            self._ask_bytes(0)
        elif name == "pinned":
            self._lay_beside()

    def _choose_plane(self, choice: PlaneChoice) -> None:
        if not self._pairs:
            return  # the slider tells a moment later, when the document may be closed
        snapshot = self._pairs[self._place][0]
        self._views.ask_plane(snapshot, choice, self._draw_plane)

    def _ask_window(self, row: int, column: int) -> None:
        if self._pairs:
            snapshot = self._pairs[self._place][0]
            self._views.ask_window(snapshot, self.heat.choice, (row, column), self._show_window)

    def _ask_bytes(self, start: int) -> None:
        if self._pairs:
            self._views.ask_bytes(self._pairs[self._place][0], start, self.hex.show_page)

    def _pin_shown(self) -> None:
        self._views.pin(self._pairs[self._place][0])
        self._lay_beside()

    def _unpin(self) -> None:
        self._views.pin(None)
        self._lay_beside()

    def _lay_beside(self) -> None:
        if not self._pairs:
            return
        limit = self._context.storage.settings.statistics_limit * 1_000_000
        self._views.lay_beside(self._pairs[self._place][0], self.pinned, limit)

    def _read_beside(self) -> None:
        self._views.lay_beside(self._pairs[self._place][0], self.pinned, sys.maxsize)

    def _copy_menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setObjectName("inspector.copy-menu")
        for text, what in (
            (tr("Copy the values as NumPy"), self.copy_numpy),
            (tr("Copy Python that reads it"), self.copy_python),
            (tr("Copy the heat map as a picture"), self.copy_picture),
        ):
            menu.addAction(text).triggered.connect(what)
        return menu

    def copy_numpy(self) -> None:
        """Copy the values as an expression of NumPy; why not, where they cannot be."""
        found = self.inspection
        snapshot = self._pairs[self._place][0]
        try:
            if found is None or found.plane is None:
                raise ValueError(tr("The values are not read, or too many to copy."))
            text = numpy_literal(found.plane, tuple(snapshot.shape))
        except ValueError as error:
            self._context.notify("info", tr("Not copied"), str(error))
            return
        QGuiApplication.clipboard().setText(text)

    def copy_python(self) -> None:
        """Copy Python that reads the tensor."""
        snapshot, source = self._pairs[self._place]
        document = self._context.session.active
        read = source or snapshot
        if document is not None:
            key = document.top_level_key
            code = reading_code(document.path, read.key, top_level_key=key)
            QGuiApplication.clipboard().setText(code)

    def copy_picture(self) -> None:
        """Copy the heat map."""
        image = self.heat.image()
        if image is None:
            self._context.notify("info", tr("Not copied"), tr("There is no heat map to copy."))
        else:
            QGuiApplication.clipboard().setImage(image)

    def _back(self) -> None:
        self._step(-1)

    def _ahead(self) -> None:
        self._step(1)

    def _step(self, by: int) -> None:
        self._place = (self._place + by) % max(1, len(self._pairs))
        self._show_tensor()

    def _copy_key(self) -> None:
        QGuiApplication.clipboard().setText(self.shown_key)


def _scrolled(inner: QWidget) -> QScrollArea:
    area = scrolled(inner)
    inner.setMinimumWidth(Size.INSPECTOR - 2 * Space.L - 60)
    return area
