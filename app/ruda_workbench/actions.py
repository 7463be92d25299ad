"""The frame's actions. Those of a workspace are in its class."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from ruda.session import later
from ruda_workbench import operations
from ruda_workbench.action_book import Action
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


class Frame(Protocol):
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


CONTEXT_ACTIONS: tuple[Action[Context], ...] = (
    Action(
        "file.sample",
        later("Open the sample"),
        operations.open_sample,
        later("File"),
        icon="sample",
        available=operations.has_sample,
        words=later("digits example demo"),
    ),
    Action(
        "file.close",
        later("Close the document"),
        operations.close_active,
        later("File"),
        icon="close",
        keys="Ctrl+W",
        available=operations.has_document,
    ),
    Action(
        "file.next",
        later("Next document"),
        partial(operations.step_document, by=1),
        later("File"),
        icon="chevron-right",
        keys="Ctrl+Tab",
        available=operations.has_document,
    ),
    Action(
        "file.previous",
        later("Previous document"),
        partial(operations.step_document, by=-1),
        later("File"),
        icon="chevron-left",
        keys="Ctrl+Shift+Tab",
        available=operations.has_document,
    ),
    Action(
        "edit.undo",
        later("Undo"),
        operations.undo,
        later("Edit"),
        icon="undo",
        keys="Ctrl+Z",
        available=operations.can_undo,
        words=later("recipe back"),
    ),
    Action(
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


def _open(window: Frame) -> None:
    window.ask_open()


def _open_folder(window: Frame) -> None:
    window.ask_open_folder()


def _command(window: Frame) -> None:
    window.command_opener.open()


def _search(window: Frame) -> None:
    window.searchable().focus_search()


def _next_problem(window: Frame) -> None:
    window.searchable().step_problem(1)


def _previous_problem(window: Frame) -> None:
    window.searchable().step_problem(-1)


def _copy_command(window: Frame) -> None:
    window.searchable().copy_command()


def _has_document(window: Frame) -> bool:
    return window.context.session.active is not None


def _menu(window: Frame) -> None:
    window.open_menu()


def _theme(window: Frame) -> None:
    window.toggle_theme()


def _system_theme(window: Frame) -> None:
    window.choose_theme("system")


def _inspector(window: Frame) -> None:
    window.toggle_inspector()


def _panes(window: Frame) -> None:
    window.next_pane()


def _stop(window: Frame) -> None:
    window.stop_job()


def _has_job(window: Frame) -> bool:
    return bool(window.context.jobs.running)


def _drawer(view: str, window: Frame) -> None:
    window.show_drawer(view)


def _settings(window: Frame) -> None:
    window.open_settings()


def _guide(window: Frame) -> None:
    window.open_guide()


def _about(window: Frame) -> None:
    window.open_about()


def _quit(window: Frame) -> None:
    window.close()


WINDOW_ACTIONS: tuple[Action[Frame], ...] = (
    Action(
        "file.open",
        later("Open…"),
        _open,
        later("File"),
        icon="open",
        keys="Ctrl+O",
        words=later("weights file"),
    ),
    Action(
        "file.open-folder",
        later("Open a folder…"),
        _open_folder,
        later("File"),
        icon="data",
        keys="Ctrl+Shift+O",
        words=later("dataset directory shards"),
    ),
    Action(
        "view.command",
        later("Search or run a command"),
        _command,
        later("View"),
        icon="search",
        keys="Ctrl+K; Ctrl+Shift+P",
    ),
    Action(
        "view.search",
        later("Find in the table"),
        _search,
        later("View"),
        icon="search",
        keys="Ctrl+F",
        words=later("filter keys"),
    ),
    Action(
        "view.next-problem",
        later("Next problem"),
        _next_problem,
        later("View"),
        icon="down",
        keys="F8; Alt+Down",
        available=_has_document,
        words=later("difference missing error"),
    ),
    Action(
        "view.previous-problem",
        later("Previous problem"),
        _previous_problem,
        later("View"),
        icon="up",
        keys="Shift+F8; Alt+Up",
        available=_has_document,
        words=later("difference missing error"),
    ),
    Action(
        "view.copy-command",
        later("Copy command"),
        _copy_command,
        later("View"),
        icon="terminal",
        keys="Ctrl+Shift+C",
        available=_has_document,
        words=later("cli shell"),
    ),
    Action("view.menu", later("Show the menu"), _menu, later("View"), icon="menu", keys="F10"),
    Action(
        "view.theme",
        later("Switch between light and dark"),
        _theme,
        later("View"),
        icon="moon",
        keys="Ctrl+Shift+L",
        words=later("theme colours"),
    ),
    Action(
        "view.theme-system",
        later("Follow the system's light or dark"),
        _system_theme,
        later("View"),
        icon="sun",
        words=later("theme colours"),
    ),
    Action(
        "view.inspector",
        later("Show or hide the inspector"),
        _inspector,
        later("View"),
        icon="info",
        keys="Ctrl+I",
    ),
    Action(
        "view.panes",
        later("Go to the next pane"),
        _panes,
        later("View"),
        icon="keyboard",
        keys="F6",
    ),
    Action(
        "edit.settings",
        later("Settings…"),
        _settings,
        later("Edit"),
        icon="settings",
        keys="Ctrl+,",
        words=later("preferences language contrast theme"),
    ),
    Action(
        "jobs.show",
        later("Show or hide the jobs"),
        partial(_drawer, "jobs"),
        later("Jobs"),
        icon="jobs",
        keys="Ctrl+J",
        words=later("progress running"),
    ),
    Action(
        "edit.history",
        later("Show or hide the history"),
        partial(_drawer, "history"),
        later("Edit"),
        icon="history",
        keys="Ctrl+H",
        words=later("undo redo steps"),
    ),
    Action(
        "view.messages",
        later("Show or hide past messages"),
        partial(_drawer, "messages"),
        later("View"),
        icon="info",
        keys="Ctrl+Shift+M",
        words=later("notices errors report"),
    ),
    Action(
        "help.guide",
        later("Open the guide"),
        _guide,
        later("Help"),
        icon="book",
        keys="F1",
        words=later("manual documentation how to"),
    ),
    Action(
        "help.about",
        later("About Ruda"),
        _about,
        later("Help"),
        icon="help",
        words=later("version licence"),
    ),
    Action(
        "jobs.stop",
        later("Stop the running job"),
        _stop,
        later("Jobs"),
        icon="stop",
        keys="Ctrl+.",
        available=_has_job,
        words=later("cancel"),
    ),
    Action("file.quit", later("Quit"), _quit, later("File"), icon="quit", keys="Ctrl+Q"),
)
