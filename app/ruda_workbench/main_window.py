"""The frame: top bar, rail, workspaces, inspector, status line and notices."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QPoint, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QDialog,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMainWindow,
    QMenu,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from ruda.session import Changes, JobNews, listed, tr
from ruda.store import available_formats
from ruda_workbench import operations, settings_operations
from ruda_workbench.action_book import Action, ActionBook
from ruda_workbench.actions import CONTEXT_ACTIONS, WINDOW_ACTIONS
from ruda_workbench.context import Context
from ruda_workbench.dialogs.quit_sheet import QuitSheet
from ruda_workbench.icons import icon
from ruda_workbench.item_models.command_list import Entry, find, find_keys
from ruda_workbench.panels.command_field import CommandField
from ruda_workbench.panels.drawer import HEIGHT as DRAWER_HEIGHT
from ruda_workbench.panels.drawer import VIEWS, Drawer
from ruda_workbench.tokens import Size, Space
from ruda_workbench.widgets.buttons import icon_button, push_button
from ruda_workbench.widgets.document_tabs import DocumentTabs
from ruda_workbench.widgets.drop_veil import DropVeil
from ruda_workbench.widgets.logo import Logo
from ruda_workbench.widgets.notices import Notice, NoticeStack
from ruda_workbench.widgets.rail import Rail
from ruda_workbench.widgets.roomy import Pages, Roomy
from ruda_workbench.widgets.status_line import StatusLine
from ruda_workbench.workspaces.table import WORKSPACES
from ruda_workbench.workspaces.workspace import Workspace

LEAST = (640, 360)
"""A screen of 1280 × 720 at 200 %. What finds no room then is scrolled to."""
INSPECTOR_FROM = 1140
"""Width of the window from which there is room for the inspector."""
RECOVERY_DELAY = 500
"""Milliseconds of rest after an edit before the recovery file is written."""


class MainWindow(QMainWindow):
    """The window. Its state is the session's; it only arranges and forwards."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context
        context.setParent(self)
        self.setObjectName("MainWindow")
        self.setWindowTitle("Ruda")
        self.setWindowIcon(icon("logo"))
        self.setAcceptDrops(True)
        self.resize(1440, 900)
        self.setMinimumSize(*LEAST)
        self.book = ActionBook(self)
        self._workspaces: dict[str, Workspace] = {}
        self._inspectors: dict[str, QWidget] = {}
        self._current = ""
        self._inspector_wanted = True
        self._released = False
        self._asked = False
        self._keep = QTimer(self)
        self._keep.setSingleShot(True)
        self._keep.setInterval(RECOVERY_DELAY)
        self._keep.timeout.connect(self._keep_recovery)
        self._build()
        self.notices = NoticeStack(self)
        self._veil = DropVeil(self)
        self._connect()
        self._stack.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.show_workspace(WORKSPACES[0].name)
        self._stack.setFocus()
        self._theme_changed()
        self._settings_changed()
        self._refresh(Changes.ALL)

    # Building

    def _build(self) -> None:
        centre = QWidget()
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.rail = Rail()
        self.status = StatusLine()
        self._stack = Pages()
        self._inspector = QFrame()
        self._inspector.setObjectName("Inspector")
        self._inspector.setMinimumWidth(Size.INSPECTOR)
        inner = QVBoxLayout(self._inspector)
        inner.setContentsMargins(0, 0, 0, 0)
        self._inspector_stack = Pages()
        inner.addWidget(Roomy(self._inspector_stack, "inspectors"))
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setHandleWidth(1)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(Roomy(self._stack, "workspaces"))
        self._splitter.addWidget(self._inspector)
        self._splitter.setStretchFactor(0, 1)
        self._splitter.setStretchFactor(1, 0)
        self._splitter.setSizes([1440 - Size.RAIL - Size.INSPECTOR, Size.INSPECTOR])
        self.drawer = Drawer(self.context)
        self._floors = QSplitter(Qt.Orientation.Vertical)
        self._floors.setHandleWidth(1)
        self._floors.setChildrenCollapsible(False)
        self._floors.addWidget(self._splitter)
        self._floors.addWidget(self.drawer)
        self._floors.setStretchFactor(0, 1)
        self._floors.setStretchFactor(1, 0)
        self._floors.setSizes([900 - DRAWER_HEIGHT, DRAWER_HEIGHT])
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addWidget(self._floors, 1)
        self.setCentralWidget(centre)
        column.addWidget(self._top_bar())
        column.addLayout(row, 1)
        column.addWidget(self.status)
        self._register()

    def _top_bar(self) -> QFrame:
        bar = QFrame()
        bar.setObjectName("TopBar")
        bar.setFixedHeight(Size.TOP_BAR)
        row = QHBoxLayout(bar)
        row.setContentsMargins(0, 0, Space.M, 0)
        row.setSpacing(Space.S)
        holder = QHBoxLayout()
        holder.setContentsMargins(0, 0, 0, 0)
        self.logo = Logo()
        self.logo.setFixedWidth(Size.RAIL)
        holder.addWidget(self.logo)
        row.addLayout(holder)
        row.setSpacing(0)
        self.tabs = DocumentTabs()
        row.addWidget(self.tabs, 4)
        row.addSpacing(Space.L)
        self.command = CommandField(self._find, self)
        row.addWidget(self.command, 1)
        row.addSpacing(Space.S)
        self._open = push_button(tr("Open…"), "open")
        row.addWidget(self._open)
        return bar

    def _register(self) -> None:
        self.book.add(CONTEXT_ACTIONS, self.context)
        self.book.add(WINDOW_ACTIONS, self)
        for entry in WORKSPACES:
            workspace = entry.build(self.context)
            self._workspaces[entry.name] = workspace
            self._stack.addWidget(workspace)
            self.rail.add_workspace(entry.name, tr(entry.title), entry.icon, entry.keys)
            self.book.add(type(workspace).ACTIONS, workspace)
            panel = workspace.inspector()
            if panel is not None:
                self._inspectors[entry.name] = panel
                self._inspector_stack.addWidget(panel)
            go = partial(self.show_workspace, entry.name)
            self.book.add_keys(f"go.{entry.name}", entry.title, entry.icon, entry.keys, go)
        self._theme_button = icon_button("moon", tr("Switch between light and dark"), "rail.theme")
        self._settings_button = icon_button("settings", tr("Settings"), "rail.settings")
        self.rail.add_foot(self._settings_button)
        self._menu_button = icon_button("menu", tr("Menu  F10"), "rail.menu")
        self.rail.add_foot(self._theme_button)
        self.rail.add_foot(self._menu_button)

    def _connect(self) -> None:
        context = self.context
        context.changed.connect(self._refresh)
        context.noticed.connect(self.add_notice)
        context.workspace_wanted.connect(self.show_workspace)
        context.guide_wanted.connect(self.open_guide)
        context.summary_changed.connect(self._show_summary)
        context.jobs.news.connect(self._news)
        context.theme.changed.connect(self._theme_changed)
        context.settings_changed.connect(self._settings_changed)
        self.drawer.closed.connect(self.close_drawer)
        self.status.jobs_asked.connect(self.toggle_jobs)
        self._settings_button.clicked.connect(self.open_settings)
        self.status.cancel_asked.connect(self._cancel)
        self.rail.chosen.connect(self.show_workspace)
        self.tabs.shown.connect(self._tab_shown)
        self.tabs.closed.connect(self._tab_closed)
        self.command.action_chosen.connect(self._run)
        self.command.key_chosen.connect(context.key_wanted)
        self._open.clicked.connect(self.ask_open)
        self._theme_button.clicked.connect(self.toggle_theme)
        self._menu_button.clicked.connect(self.open_menu)
        self.logo.clicked.connect(self.open_menu)

    # Workspaces

    @property
    def command_opener(self) -> CommandField:
        """The command field."""
        return self.command

    def searchable(self) -> Workspace:
        """The workspace in front."""
        return self.workspace()

    def workspace(self, name: str = "") -> Workspace:
        """A workspace by its name; the one in front without."""
        return self._workspaces[name or self._current]

    @property
    def current(self) -> str:
        """Name of the workspace in front."""
        return self._current

    def show_workspace(self, name: str) -> None:
        """Bring a workspace to the front."""
        if name not in self._workspaces:
            return
        if name != self._current:
            if self._current:
                self._workspaces[self._current].left()
            self._current = name
            self._stack.setCurrentWidget(self._workspaces[name])
            self.rail.choose(name)
            self._workspaces[name].entered()
        self._show_inspector()
        self._show_summary()
        self.book.refresh()

    def toggle_inspector(self) -> None:
        """Show or hide the inspector."""
        self._inspector_wanted = not self._inspector_wanted
        self._show_inspector()

    def next_pane(self) -> None:
        """Give the focus to the next of: workspace, inspector, top bar, rail."""
        panes: list[QWidget] = [self._stack, self._inspector, self.tabs, self.rail]
        panes = [pane for pane in panes if pane.isVisible()]
        focus = QGuiApplication.focusObject()
        held = next(
            (
                i
                for i, p in enumerate(panes)
                if isinstance(focus, QWidget) and p.isAncestorOf(focus)
            ),
            -1,
        )
        pane = panes[(held + 1) % len(panes)]
        first = next(
            (
                w
                for w in [pane, *pane.findChildren(QWidget)]
                if w.isVisible() and w.isEnabled() and w.focusPolicy() & Qt.FocusPolicy.TabFocus
            ),
            pane,
        )
        first.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _show_inspector(self) -> None:
        panel = self._inspectors.get(self._current)
        wanted = self.workspace().wants_inspector() and self._inspector_wanted
        if panel is not None:
            self._inspector_stack.setCurrentWidget(panel)
        fits = self.width() >= INSPECTOR_FROM
        self._inspector.setVisible(panel is not None and wanted and fits)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the room of the inspector to the workspace where the window is narrow."""
        super().resizeEvent(event)
        if self._current:
            self._show_inspector()

    def _show_summary(self) -> None:
        workspace = self.workspace()
        self.status.show_summary(workspace.summary())
        self.status.show_findings(workspace.findings())
        self._show_inspector()
        self.book.refresh()

    # Session

    def _refresh(self, changes: Changes) -> None:
        session = self.context.session
        active = session.active
        self.tabs.show_documents(
            tuple((d.id, d.name, str(d.path)) for d in session.documents),
            None if active is None else active.id,
            {d.id for d in session.dirty},
        )
        self.drawer.show_history()
        self.setWindowTitle("Ruda" if active is None else f"{active.name} – Ruda")
        self._show_summary()
        if session.documents or changes != Changes.ALL:
            self._keep.start()

    def _tab_shown(self, document_id: int) -> None:
        self.context.session.activate(document_id)
        self.show_workspace("weights")

    def _tab_closed(self, document_id: int) -> None:
        operations.close_document(self.context, document_id)

    def _news(self, news: JobNews) -> None:
        self.status.show_news(news)
        if news.state.is_final:
            self.book.refresh()

    def _cancel(self, job_id: int) -> None:
        for job in self.context.jobs.running:
            if job.id == job_id:
                job.cancel()

    def stop_job(self) -> None:
        """Stop the job that the status line shows, or the oldest."""
        running = self.context.jobs.running
        shown = [job for job in running if job.id == self.status.shown_job]
        for job in (shown or list(running))[:1]:
            job.cancel()

    # Commands

    def _find(self, text: str) -> tuple[list[Entry], list[Entry]]:
        offers = [
            (
                Entry("action", a.id, tr(a.title), a.keys.split(";")[0], a.icon or ""),
                _found_by(a),
            )
            for a in self.book.records()
            if self.book.is_available(a.id) and a.id != "view.command"
        ]
        document = self.context.session.active
        keys = [] if document is None else find_keys(document.index, text)
        return find(offers, text), keys

    def _run(self, action_id: str) -> None:
        self.book.run(action_id)

    def open_menu(self) -> None:
        """Show every action in a menu, by group."""
        self.book.refresh()
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        groups: dict[str, QMenu] = {}
        for action in self.book.records():
            if action.group not in groups:
                groups[action.group] = menu.addMenu(tr(action.group))
            groups[action.group].addAction(self.book.qaction(action.id))
        corner = self._menu_button.mapToGlobal(QPoint(self._menu_button.width() + 4, 0))
        menu.popup(QPoint(corner.x(), corner.y() - menu.sizeHint().height() + 28))

    # The drawer and the other windows

    def show_drawer(self, view: str) -> None:
        """Show a view of the drawer; hide it if it is shown already."""
        if self.drawer.isVisible() and self.drawer.views.value == view:
            self.close_drawer()
            return
        if not self.drawer.isVisible():
            self.drawer.show()
            height = sum(self._floors.sizes())
            self._floors.setSizes([height - DRAWER_HEIGHT, DRAWER_HEIGHT])
        self.drawer.show_view(view)

    def toggle_jobs(self) -> None:
        """Show or hide the jobs."""
        self.show_drawer("jobs")

    def close_drawer(self) -> None:
        """Hide the drawer."""
        self.drawer.hide()
        self._stack.setFocus()

    def open_settings(self) -> None:
        """Open the settings, or bring them to the front."""
        from ruda_workbench.dialogs.settings_window import SettingsWindow

        self._open_once("settings", lambda: SettingsWindow(self.context, self))

    def open_guide(self, page: str = "") -> None:
        """Open the guide, or bring it to the front; at a page where one is named."""
        from ruda_workbench.dialogs.help_window import HelpWindow

        found = self._open_once("help", lambda: HelpWindow(self))
        if page and isinstance(found, HelpWindow):
            found.show_page(page)

    def open_about(self) -> None:
        """Open what the program is made of, or bring it to the front."""
        from ruda_workbench.dialogs.about_window import AboutWindow

        self._open_once("about", lambda: AboutWindow(self))

    def _open_once(self, name: str, make: Callable[[], QDialog]) -> QDialog:
        found = self.findChild(QDialog, name)
        if found is None:
            found = make()
        found.show()
        found.raise_()
        found.activateWindow()
        return found

    def _settings_changed(self) -> None:
        self.status.show_memory(on=self.context.storage.settings.show_memory)

    def choose_theme(self, choice: str) -> None:
        """Hold a theme and remember it."""
        settings_operations.change(self.context, "theme", choice)

    def toggle_theme(self) -> None:
        """Switch between light and dark, and remember it."""
        dark = self.context.theme.scheme.is_dark
        self.choose_theme("light" if dark else "dark")

    def _theme_changed(self) -> None:
        dark = self.context.theme.scheme.is_dark
        self._theme_button.setIcon(icon("sun" if dark else "moon"))
        self.update()

    def add_notice(self, notice: Notice) -> None:
        """Show a notice and remember it; one with a report can be copied."""
        self.drawer.add_message(notice)
        if notice.report:
            report = notice.report
            copy = (tr("Copy report"), lambda: QGuiApplication.clipboard().setText(report))
            notice = Notice(notice.kind, notice.title, notice.text, (*notice.buttons, copy))
        self.notices.add(notice)

    # Opening

    def open_paths(self, paths: list[Path]) -> None:
        """Open each path in the workspace that takes it; the one in front is asked first."""
        order = [self._current, *(n for n in self._workspaces if n != self._current)]
        order.sort(key=lambda name: name == "weights")  # it takes any file, so it is asked last
        for path in paths:
            taker = next((n for n in order if self._workspaces[n].accepts(path)), "weights")
            self.show_workspace(taker)
            self._workspaces[taker].open_path(path)

    def ask_open(self) -> None:
        """Ask for what the workspace in front opens: files of weights, unless it has its own."""
        if self.workspace().ask_open():
            return
        suffixes = (suffix for each in available_formats() for suffix in each.suffixes)
        known = " ".join(f"*{suffix}" for suffix in (*dict.fromkeys(suffixes), ".index.json"))
        found, _ = QFileDialog.getOpenFileNames(
            self,
            tr("Open"),
            str(self.context.folder),
            ";;".join([tr("Weights ({suffixes})", suffixes=known), tr("All files (*)")]),
        )
        self.open_paths([Path(name) for name in found])

    def ask_open_folder(self) -> None:
        """Ask for a folder and open it."""
        found = QFileDialog.getExistingDirectory(
            self, tr("Open a folder"), str(self.context.folder)
        )
        if found:
            self.open_paths([Path(found)])

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take files."""
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()
            self._dropping(active=True)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """Nothing hangs over the window any more."""
        self._dropping(active=False)

    def dropEvent(self, event: QDropEvent) -> None:
        """Open what was dropped, wherever it fell."""
        self._dropping(active=False)
        urls = event.mimeData().urls()
        event.acceptProposedAction()
        self.open_paths([Path(url.toLocalFile()) for url in urls if url.isLocalFile()])

    def _dropping(self, *, active: bool) -> None:
        self._veil.set_active(active=active)
        self.workspace().set_dropping(active=active)

    # State

    def geometry_text(self) -> str:
        """Size, place and arrangement of the window, as text for the session's state."""
        kept = {
            "window": base64.b64encode(self.saveGeometry().data()).decode(),
            "inspector": self._inspector_wanted,
            "columns": self._splitter.sizes(),
            "floors": self._floors.sizes(),
            "drawer": self.drawer.views.value if self.drawer.isVisible() else "",
        }
        return json.dumps(kept)

    def restore_geometry_text(self, text: str) -> None:
        """Take size, place and arrangement from the session's state; what is broken stays away."""
        try:
            kept = json.loads(text)
            window = base64.b64decode(kept["window"])
            inspector, drawer = bool(kept["inspector"]), str(kept["drawer"])
            columns, floors = ([int(n) for n in kept[name]] for name in ("columns", "floors"))
        except (ValueError, TypeError, KeyError):
            return
        self.restoreGeometry(QByteArray(window))
        self._inspector_wanted = inspector
        if all(columns):
            self._splitter.setSizes(columns)
        if drawer in VIEWS:
            self.show_drawer(drawer)
            self._floors.setSizes(floors)
        self._show_inspector()

    def _keep_recovery(self) -> None:
        self.context.storage.keep_recovery(
            self.context.session, self._current, self.geometry_text()
        )

    def release(self) -> None:
        """Let the context go to another window; this one is to be destroyed."""
        self._keep.stop()
        for workspace in self._workspaces.values():
            workspace.left()
        self.context.setParent(None)
        self._released = True

    def close_now(self) -> bool:
        """Close without asking."""
        self._asked = True
        return self.close()

    def _reasons_to_stay(self) -> tuple[str, ...]:
        """What closing would stop or lose; a session that is restored keeps its recipes."""
        context = self.context
        saves = [job.title for job in context.jobs.running if job.lane == "write"]
        reasons = [tr("{title}: it would be stopped, the old file stays.", title=t) for t in saves]
        if not context.storage.settings.restore_session:
            names = [document.name for document in context.session.dirty]
            if names:
                reasons.append(tr("Not saved: the recipe of {names}.", names=listed(names)))
        return tuple(reasons)

    def _ask_to_quit(self, reasons: tuple[str, ...]) -> None:
        if self.findChild(QuitSheet) is not None:
            return
        sheet = QuitSheet(reasons, self)
        sheet.accepted.connect(self.close_now)
        sheet.open()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the session, stop the jobs, close the files; ask first where something is lost."""
        reasons = () if self._asked or self._released else self._reasons_to_stay()
        if reasons:
            event.ignore()
            self._ask_to_quit(reasons)
            return
        self._keep.stop()
        if self._released:
            event.accept()
            return
        context = self.context
        context.storage.keep_session(context.session, self._current, self.geometry_text())
        for workspace in self._workspaces.values():
            workspace.left()
        context.close()
        context.session.close_files()
        event.accept()


def _found_by(action: Action[Any]) -> str:
    """The words that the command field finds an action by, also in English."""
    texts = (action.title, action.group, action.words)
    return " ".join(dict.fromkeys([*map(tr, texts), *texts])).lower()
