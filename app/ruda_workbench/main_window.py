"""The frame: top bar, rail, workspaces, inspector, status line and notices."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer
from PySide6.QtGui import (
    QCloseEvent,
    QGuiApplication,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

from ruda.session import tr
from ruda_workbench.frame import Frame
from ruda_workbench.glance import Glance
from ruda_workbench.icons import icon
from ruda_workbench.panels.command_field import CommandField
from ruda_workbench.theme import Theme
from ruda_workbench.tokens import Size
from ruda_workbench.workspaces.table import WORKSPACES

if TYPE_CHECKING:
    from PySide6.QtWidgets import QDialog

    from ruda.session import Changes, JobNews
    from ruda_workbench.context import Context
    from ruda_workbench.item_models.command_list import Entry
    from ruda_workbench.path_looks import PathLook
    from ruda_workbench.widgets.notices import Notice
    from ruda_workbench.workspaces.workspace import Workspace

INSPECTOR_FROM = 1140
"""Width of the window from which there is room for the inspector."""
_log = logging.getLogger(__name__)
RECOVERY_DELAY = 500
"""Milliseconds of rest after an edit before the recovery file is written."""


class MainWindow(Frame):
    """The window. Its state is the session's; it only arranges and forwards.

    Painted first and completed afterwards, in steps (``steps``) or at once (``complete``); this
    module, too, imports what only the complete window needs where it is needed.
    """

    context: Context
    """From the first step of completing on."""
    _current = ""

    def __init__(self, theme: Theme, seen: Glance | None = None) -> None:
        super().__init__(theme, Glance() if seen is None else seen)
        self._workspaces: dict[str, Workspace] = {}
        self._inspectors: dict[str, QWidget] = {}
        self._is_begun = False
        self._inspector_wanted = True
        self._released = False
        self._asked = False
        self._keep = QTimer(self)
        self._keep.setSingleShot(True)
        self._keep.setInterval(RECOVERY_DELAY)
        self._keep.timeout.connect(self._keep_recovery)
        self._listen()

    def _listen(self) -> None:
        """Take the gestures of what is painted first."""
        self.status.jobs_asked.connect(lambda: self.soon(self.toggle_jobs))
        self.rail.chosen.connect(lambda name: self.soon(partial(self.show_workspace, name)))
        self._settings_button.clicked.connect(lambda: self.soon(self.open_settings))
        self._theme_button.clicked.connect(lambda: self.soon(self.toggle_theme))
        self._menu_button.clicked.connect(lambda: self.soon(self.open_menu))
        self.logo.clicked.connect(lambda: self.soon(self.open_menu))
        self._open.clicked.connect(lambda: self.soon(self.ask_open))
        page = self.welcome
        assert page is not None
        page.open_asked.connect(lambda: self._welcomed(self.ask_open))
        page.sample_asked.connect(lambda: self._welcomed(partial(self._run, "file.sample")))
        page.guide_asked.connect(lambda: self._welcomed(partial(self.open_guide, "start")))
        page.recent_asked.connect(
            lambda name: self._welcomed(partial(self.open_paths, [Path(name)]))
        )

    def _welcomed(self, call: Callable[[], None]) -> None:
        """A gesture of the welcome page, until the workspace of weights answers them itself."""
        if self.welcome is not None:
            self.soon(call)

    # Completing

    def complete(self, context: Context) -> None:
        """Build everything that is not painted first, now."""
        for _ in self.steps(context):
            pass

    def steps(self, context: Context) -> Iterator[None]:
        """Build everything that is not painted first, in steps that events may come between."""
        from ruda.session import Changes
        from ruda_workbench.actions import CONTEXT_ACTIONS, WINDOW_ACTIONS

        self.context = context
        self._is_begun = True
        context.setParent(self)
        self._build_rest()
        yield
        self.book.add(CONTEXT_ACTIONS, context)
        self.book.add(WINDOW_ACTIONS, self)
        for entry in WORKSPACES:
            yield from self._add_workspace(entry.name)
            yield
        self._connect()
        self.show_workspace(WORKSPACES[0].name)
        self._theme_changed()
        self._settings_changed()
        self._refresh(Changes.ALL)
        self.command.use_finder(self._find)
        self._done()

    def _build_rest(self) -> None:
        from PySide6.QtWidgets import QSplitter

        from ruda_workbench.action_book import ActionBook
        from ruda_workbench.panels.drawer import HEIGHT as DRAWER_HEIGHT
        from ruda_workbench.panels.drawer import Drawer
        from ruda_workbench.path_looks import PathLooks
        from ruda_workbench.widgets.document_tabs import DocumentTabs
        from ruda_workbench.widgets.drop_veil import DropVeil
        from ruda_workbench.widgets.notices import NoticeStack
        from ruda_workbench.widgets.roomy import Pages, Roomy

        focus = self.focusWidget()
        self.book = ActionBook(self, self.soon)
        self._looks = PathLooks(self)
        self._looks.slow.connect(self._say_slow)
        self.tabs = DocumentTabs()
        self._top.takeAt(1)  # the room that was kept for the tabs
        self._top.insertWidget(1, self.tabs, 4)
        self._inspector = QFrame()
        self._inspector.setObjectName("Inspector")
        self._inspector.setMinimumWidth(Size.INSPECTOR)
        inner = QVBoxLayout(self._inspector)
        inner.setContentsMargins(0, 0, 0, 0)
        self._inspector_stack = Pages()
        inner.addWidget(Roomy(self._inspector_stack, "inspectors"))
        self._inspector.hide()
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._middle.removeWidget(self._stack)
        self._splitter.addWidget(Roomy(self._stack, "workspaces"))
        self._splitter.addWidget(self._inspector)
        self.drawer = Drawer(self.context)
        self._floors = QSplitter(Qt.Orientation.Vertical)
        self._floors.addWidget(self._splitter)
        self._floors.addWidget(self.drawer)
        for splitter in (self._splitter, self._floors):
            splitter.setHandleWidth(1)
            splitter.setChildrenCollapsible(False)
            splitter.setStretchFactor(0, 1)
            splitter.setStretchFactor(1, 0)
        self._splitter.setSizes([1440 - Size.RAIL - Size.INSPECTOR, Size.INSPECTOR])
        self._floors.setSizes([900 - DRAWER_HEIGHT, DRAWER_HEIGHT])
        self._middle.addWidget(self._floors, 1)
        self.notices = NoticeStack(self)
        self._veil = DropVeil(self)
        (focus or self._stack).setFocus()

    def _add_workspace(self, name: str) -> Iterator[None]:
        entry = next(each for each in WORKSPACES if each.name == name)
        given = {"welcome": self.welcome} if name == "weights" else {}
        workspace = entry.build(self.context, **given)
        for _ in workspace.building():
            yield
        focus = self.focusWidget()
        self.welcome = None
        self._workspaces[name] = workspace
        self._stack.addWidget(workspace)
        self.book.add(type(workspace).ACTIONS, workspace)
        panel = workspace.inspector()
        if panel is not None:
            self._inspectors[name] = panel
            self._inspector_stack.addWidget(panel)
        go = partial(self.show_workspace, name)
        self.book.add_keys(f"go.{name}", entry.title, entry.icon, entry.keys, go)
        if focus is not None:
            focus.setFocus()

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
        self.status.cancel_asked.connect(self._cancel)
        self.tabs.shown.connect(self._tab_shown)
        self.tabs.closed.connect(self._tab_closed)
        self.command.action_chosen.connect(self._run)
        self.command.key_chosen.connect(context.key_wanted)

    def run_keys(self, keys: QKeySequence) -> bool:
        """Run the action of these keys; False where there is none."""
        found = self.book.by_keys(keys)
        return found is not None and self.book.run(found)

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
        from ruda_workbench.panes import step_on

        panes: list[QWidget] = [self._stack, self._inspector, self.tabs, self.rail]
        step_on([pane for pane in panes if pane.isVisible()])

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

    def changeEvent(self, event: QEvent) -> None:
        """Say that the window came to the front."""
        super().changeEvent(event)
        is_other = event.type() is QEvent.Type.ActivationChange
        if is_other and self.is_complete and not self._released and self.isActiveWindow():
            self.context.came_to_front.emit()

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
        from ruda.session import Changes

        if session.documents or changes != Changes.ALL:
            self._keep.start()

    def _tab_shown(self, document_id: int) -> None:
        self.context.session.activate(document_id)
        self.show_workspace("weights")

    def _tab_closed(self, document_id: int) -> None:
        from ruda_workbench import operations

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
        from ruda_workbench.command_finder import found

        return found(self.book, self.context.session.active, text)

    def _run(self, action_id: str) -> None:
        self.book.run(action_id)

    def open_menu(self) -> None:
        """Show every action in a menu, by group."""
        self.book.refresh()
        menu = self.book.menu(self)
        corner = self._menu_button.mapToGlobal(QPoint(self._menu_button.width() + 4, 0))
        menu.popup(QPoint(corner.x(), corner.y() - menu.sizeHint().height() + 28))

    # The drawer and the other windows

    def show_drawer(self, view: str) -> None:
        """Show a view of the drawer; hide it if it is shown already."""
        from ruda_workbench.panels.drawer import HEIGHT as DRAWER_HEIGHT

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
        from PySide6.QtWidgets import QDialog

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
        from ruda_workbench import settings_operations

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
        from ruda_workbench.widgets.notices import Notice

        if notice.report:
            report = notice.report
            copy = (tr("Copy report"), lambda: QGuiApplication.clipboard().setText(report))
            notice = Notice(notice.kind, notice.title, notice.text, (*notice.buttons, copy))
        self.notices.add(notice)

    # Opening

    def open_paths(self, paths: list[Path]) -> None:
        """Open each path in the workspace that takes it; the one in front is asked first."""
        self.soon(partial(self._open_paths, paths))

    def _open_paths(self, paths: list[Path]) -> None:
        self._looks.ask(paths, partial(self._open_found, self._current))

    def _open_found(self, front: str, paths: Sequence[PathLook]) -> None:
        order = [front, *(n for n in self._workspaces if n != front)]
        order.sort(key=lambda name: name == "weights")  # it takes any file, so it is asked last
        for found in paths:
            takers = (n for n in order if self._workspaces[n].accepts(found, in_front=n == front))
            taker = next(takers, "weights")
            self.show_workspace(taker)
            self._workspaces[taker].open_path(found.path)

    def _say_slow(self, paths: Sequence[Path]) -> None:
        title = tr("The disk of {name} does not answer yet", name=paths[0].name)
        self.context.notify("info", title, tr("It is opened as soon as it does."))

    def ask_open(self) -> None:
        """Ask for what the workspace in front opens: files of weights, unless it has its own."""
        if self.workspace().ask_open():
            return
        from PySide6.QtWidgets import QFileDialog

        from ruda.store import format_suffixes

        known = " ".join(f"*{suffix}" for suffix in (*format_suffixes(), ".index.json"))
        found, _ = QFileDialog.getOpenFileNames(
            self,
            tr("Open"),
            str(self.context.folder),
            ";;".join([tr("Weights ({suffixes})", suffixes=known), tr("All files (*)")]),
        )
        self.open_paths([Path(name) for name in found])

    def ask_open_folder(self) -> None:
        """Ask for a folder and open it."""
        from PySide6.QtWidgets import QFileDialog

        found = QFileDialog.getExistingDirectory(
            self, tr("Open a folder"), str(self.context.folder)
        )
        if found:
            self.open_paths([Path(found)])

    def dropping(self, *, active: bool) -> None:
        """Show that a file hangs over the window, or that it does no more."""
        if not self.is_complete:
            if self.welcome is not None:
                self.welcome.set_dropping(active=active)
            return
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
        from ruda_workbench.panels.drawer import VIEWS

        try:
            kept = json.loads(text)
            inspector, drawer = bool(kept["inspector"]), str(kept["drawer"])
            columns, floors = ([int(n) for n in kept[name]] for name in ("columns", "floors"))
        except (ValueError, TypeError, KeyError):
            return
        if text != self._placed_by:  # since then a person may have moved it
            self.place(text)
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

    def _reasons(self) -> tuple[str, ...]:
        from ruda_workbench.dialogs.quit_sheet import reasons_to_stay

        return reasons_to_stay(self.context)

    def _ask_to_quit(self, reasons: tuple[str, ...]) -> None:
        from ruda_workbench.dialogs.quit_sheet import QuitSheet

        if self.findChild(QuitSheet) is not None:
            return
        sheet = QuitSheet(reasons, self)
        sheet.accepted.connect(self.close_now)
        sheet.open()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Keep the session, stop the jobs, close the files; ask first where something is lost."""
        self.is_closed = True
        if not self.is_complete:
            if self._is_begun:  # what the last session left is still in its file, untouched
                self.context.close()
            event.accept()
            return
        reasons = () if self._asked or self._released else self._reasons()
        if reasons:
            self.is_closed = False
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
        left = context.close(self._say_waiting)
        if left:  # their files are closed under them: none is left half written
            _log.warning(tr("Ended while this was at work: {titles}", titles=", ".join(left)))
        context.session.close_files()
        event.accept()

    def _say_waiting(self, titles: tuple[str, ...]) -> None:
        """Say what the end waits for, at once: no event is worked on until then."""
        from ruda.session import listed

        self.status.show_summary(
            tr("Waiting until this has stopped: {titles}", titles=listed(titles))
        )
        room = self.status.layout()
        if room is not None:
            room.activate()  # or it would be as wide as the text before
        self.status.repaint()
