"""The frame's actions. Those of a workspace are in its class."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from ruda.session import later
from ruda_workbench import operations
from ruda_workbench.action_book import UserAction
from ruda_workbench.context import Context


class CommandOpener(Protocol):
    """The command field, as far as its action needs it."""

    def open(self) -> None:
        """Take the focus and offer everything."""


class Searchable(Protocol):
    """A workspace, as far as the frame's actions need it."""

    def focus_search(self) -> bool:
        """Give the focus to the search field."""

    def step_problem(self, by: int) -> bool:
        """Go to the next or previous thing to look at."""

    def copy_command(self) -> None:
        """Copy the command that does what is shown."""


class ActingWindow(Protocol):
    """The window, as far as its actions need it; it is ``MainWindow``."""

    context: Context

    @property
    def command_opener(self) -> CommandOpener:
        """The command field."""

    def searchable(self) -> Searchable:
        """The workspace in front."""

    def ask_open(self) -> None:
        """Ask for files."""

    def ask_open_folder(self) -> None:
        """Ask for a folder."""

    def open_menu(self) -> None:
        """Show every action."""

    def toggle_theme(self) -> None:
        """Light or dark."""

    def choose_theme(self, choice: str) -> None:
        """Hold a theme."""

    def toggle_inspector(self) -> None:
        """Show or hide it."""

    def next_pane(self) -> None:
        """Move the focus."""

    def show_drawer(self, view: str) -> None:
        """Show or hide a view of the drawer."""

    def open_settings(self) -> None:
        """Open the settings."""

    def open_guide(self, page: str = "") -> None:
        """Open the guide."""

    def open_about(self) -> None:
        """Open what the program is made of."""

    def stop_job(self) -> None:
        """Stop the job that is shown."""

    def close(self) -> bool:
        """Close the window."""


CONTEXT_ACTIONS: tuple[UserAction[Context], ...] = (
    UserAction(
        "file.sample",
        later("Open the sample"),
        operations.open_sample,
        later("File"),
        icon="sample",
        available=operations.has_sample,
        words=later("digits example demo"),
    ),
    UserAction(
        "file.close",
        later("Close the document"),
        operations.close_active,
        later("File"),
        icon="close",
        keys="Ctrl+W",
        available=operations.has_document,
    ),
    UserAction(
        "file.next",
        later("Next document"),
        partial(operations.step_document, by=1),
        later("File"),
        icon="chevron-right",
        keys="Ctrl+Tab",
        available=operations.has_document,
    ),
    UserAction(
        "file.previous",
        later("Previous document"),
        partial(operations.step_document, by=-1),
        later("File"),
        icon="chevron-left",
        keys="Ctrl+Shift+Tab",
        available=operations.has_document,
    ),
    UserAction(
        "edit.undo",
        later("Undo"),
        operations.undo,
        later("Edit"),
        icon="undo",
        keys="Ctrl+Z",
        available=operations.can_undo,
        words=later("recipe back"),
    ),
    UserAction(
        "edit.redo",
        later("Redo"),
        operations.redo,
        later("Edit"),
        icon="redo",
        keys="Ctrl+Shift+Z; Ctrl+Y",
        available=operations.can_redo,
        words=later("recipe again"),
    ),
)


def _open(window: ActingWindow) -> None:
    window.ask_open()


def _open_folder(window: ActingWindow) -> None:
    window.ask_open_folder()


def _command(window: ActingWindow) -> None:
    window.command_opener.open()


def _search(window: ActingWindow) -> None:
    window.searchable().focus_search()


def _next_problem(window: ActingWindow) -> None:
    window.searchable().step_problem(1)


def _previous_problem(window: ActingWindow) -> None:
    window.searchable().step_problem(-1)


def _copy_command(window: ActingWindow) -> None:
    window.searchable().copy_command()


def _has_document(window: ActingWindow) -> bool:
    return window.context.session.active is not None


def _menu(window: ActingWindow) -> None:
    window.open_menu()


def _theme(window: ActingWindow) -> None:
    window.toggle_theme()


def _system_theme(window: ActingWindow) -> None:
    window.choose_theme("system")


def _inspector(window: ActingWindow) -> None:
    window.toggle_inspector()


def _panes(window: ActingWindow) -> None:
    window.next_pane()


def _stop(window: ActingWindow) -> None:
    window.stop_job()


def _has_job(window: ActingWindow) -> bool:
    return bool(window.context.jobs.running)


def _drawer(view: str, window: ActingWindow) -> None:
    window.show_drawer(view)


def _settings(window: ActingWindow) -> None:
    window.open_settings()


def _guide(window: ActingWindow) -> None:
    window.open_guide()


def _about(window: ActingWindow) -> None:
    window.open_about()


def _quit(window: ActingWindow) -> None:
    window.close()


WINDOW_ACTIONS: tuple[UserAction[ActingWindow], ...] = (
    UserAction(
        "file.open",
        later("Open…"),
        _open,
        later("File"),
        icon="open",
        keys="Ctrl+O",
        words=later("weights file"),
    ),
    UserAction(
        "file.open-folder",
        later("Open a folder…"),
        _open_folder,
        later("File"),
        icon="data",
        keys="Ctrl+Shift+O",
        words=later("dataset directory shards"),
    ),
    UserAction(
        "view.command",
        later("Search or run a command"),
        _command,
        later("View"),
        icon="search",
        keys="Ctrl+K; Ctrl+Shift+P",
    ),
    UserAction(
        "view.search",
        later("Find in the table"),
        _search,
        later("View"),
        icon="search",
        keys="Ctrl+F",
        words=later("filter keys"),
    ),
    UserAction(
        "view.next-problem",
        later("Next problem"),
        _next_problem,
        later("View"),
        icon="down",
        keys="F8; Alt+Down",
        available=_has_document,
        words=later("difference missing error"),
    ),
    UserAction(
        "view.previous-problem",
        later("Previous problem"),
        _previous_problem,
        later("View"),
        icon="up",
        keys="Shift+F8; Alt+Up",
        available=_has_document,
        words=later("difference missing error"),
    ),
    UserAction(
        "view.copy-command",
        later("Copy command"),
        _copy_command,
        later("View"),
        icon="terminal",
        keys="Ctrl+Shift+C",
        available=_has_document,
        words=later("cli shell"),
    ),
    UserAction("view.menu", later("Show the menu"), _menu, later("View"), icon="menu", keys="F10"),
    UserAction(
        "view.theme",
        later("Switch between light and dark"),
        _theme,
        later("View"),
        icon="moon",
        keys="Ctrl+Shift+L",
        words=later("theme colours"),
    ),
    UserAction(
        "view.theme-system",
        later("Follow the system's light or dark"),
        _system_theme,
        later("View"),
        icon="sun",
        words=later("theme colours"),
    ),
    UserAction(
        "view.inspector",
        later("Show or hide the inspector"),
        _inspector,
        later("View"),
        icon="info",
        keys="Ctrl+I",
    ),
    UserAction(
        "view.panes",
        later("Go to the next pane"),
        _panes,
        later("View"),
        icon="keyboard",
        keys="F6",
    ),
    UserAction(
        "edit.settings",
        later("Settings…"),
        _settings,
        later("Edit"),
        icon="settings",
        keys="Ctrl+,",
        words=later("preferences language contrast theme"),
    ),
    UserAction(
        "jobs.show",
        later("Show or hide the jobs"),
        partial(_drawer, "jobs"),
        later("Jobs"),
        icon="jobs",
        keys="Ctrl+J",
        words=later("progress running"),
    ),
    UserAction(
        "edit.history",
        later("Show or hide the history"),
        partial(_drawer, "history"),
        later("Edit"),
        icon="history",
        keys="Ctrl+H",
        words=later("undo redo steps"),
    ),
    UserAction(
        "view.messages",
        later("Show or hide past messages"),
        partial(_drawer, "messages"),
        later("View"),
        icon="info",
        keys="Ctrl+Shift+M",
        words=later("notices errors report"),
    ),
    UserAction(
        "help.guide",
        later("Open the guide"),
        _guide,
        later("Help"),
        icon="book",
        keys="F1",
        words=later("manual documentation how to"),
    ),
    UserAction(
        "help.about",
        later("About Ruda"),
        _about,
        later("Help"),
        icon="help",
        words=later("version licence"),
    ),
    UserAction(
        "jobs.stop",
        later("Stop the running job"),
        _stop,
        later("Jobs"),
        icon="stop",
        keys="Ctrl+.",
        available=_has_job,
        words=later("cancel"),
    ),
    UserAction("file.quit", later("Quit"), _quit, later("File"), icon="quit", keys="Ctrl+Q"),
)
