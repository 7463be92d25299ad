"""The frame's actions. Those of a workspace are in its class."""

from __future__ import annotations

from functools import partial
from typing import Protocol

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

    def stop_job(self) -> None:
        """Stop the job that is shown."""

    def close(self) -> bool:
        """Close the window."""


CONTEXT_ACTIONS: tuple[Action[Context], ...] = (
    Action(
        "file.sample",
        "Open the sample",
        operations.open_sample,
        "File",
        icon="sample",
        available=operations.has_sample,
        words="digits example demo",
    ),
    Action(
        "file.close",
        "Close the document",
        operations.close_active,
        "File",
        icon="close",
        keys="Ctrl+W",
        available=operations.has_document,
    ),
    Action(
        "file.next",
        "Next document",
        partial(operations.step_document, by=1),
        "File",
        icon="chevron-right",
        keys="Ctrl+Tab",
        available=operations.has_document,
    ),
    Action(
        "file.previous",
        "Previous document",
        partial(operations.step_document, by=-1),
        "File",
        icon="chevron-left",
        keys="Ctrl+Shift+Tab",
        available=operations.has_document,
    ),
    Action(
        "edit.undo",
        "Undo",
        operations.undo,
        "Edit",
        icon="undo",
        keys="Ctrl+Z",
        available=operations.can_undo,
        words="recipe back",
    ),
    Action(
        "edit.redo",
        "Redo",
        operations.redo,
        "Edit",
        icon="redo",
        keys="Ctrl+Shift+Z; Ctrl+Y",
        available=operations.can_redo,
        words="recipe again",
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


def _quit(window: Frame) -> None:
    window.close()


WINDOW_ACTIONS: tuple[Action[Frame], ...] = (
    Action("file.open", "Open…", _open, "File", icon="open", keys="Ctrl+O", words="weights file"),
    Action(
        "file.open-folder",
        "Open a folder…",
        _open_folder,
        "File",
        icon="data",
        keys="Ctrl+Shift+O",
        words="dataset directory shards",
    ),
    Action(
        "view.command",
        "Search or run a command",
        _command,
        "View",
        icon="search",
        keys="Ctrl+K; Ctrl+Shift+P",
    ),
    Action(
        "view.search",
        "Find in the table",
        _search,
        "View",
        icon="search",
        keys="Ctrl+F",
        words="filter keys",
    ),
    Action(
        "view.next-problem",
        "Next problem",
        _next_problem,
        "View",
        icon="down",
        keys="F8; Alt+Down",
        available=_has_document,
        words="difference missing error",
    ),
    Action(
        "view.previous-problem",
        "Previous problem",
        _previous_problem,
        "View",
        icon="up",
        keys="Shift+F8; Alt+Up",
        available=_has_document,
        words="difference missing error",
    ),
    Action(
        "view.copy-command",
        "Copy command",
        _copy_command,
        "View",
        icon="terminal",
        keys="Ctrl+Shift+C",
        available=_has_document,
        words="cli shell",
    ),
    Action("view.menu", "Show the menu", _menu, "View", icon="menu", keys="F10"),
    Action(
        "view.theme",
        "Switch between light and dark",
        _theme,
        "View",
        icon="moon",
        keys="Ctrl+Shift+L",
        words="theme colours",
    ),
    Action(
        "view.theme-system",
        "Follow the system's light or dark",
        _system_theme,
        "View",
        icon="sun",
        words="theme colours",
    ),
    Action(
        "view.inspector",
        "Show or hide the inspector",
        _inspector,
        "View",
        icon="info",
        keys="Ctrl+I",
    ),
    Action("view.panes", "Go to the next pane", _panes, "View", icon="keyboard", keys="F6"),
    Action(
        "jobs.stop",
        "Stop the running job",
        _stop,
        "Jobs",
        icon="stop",
        keys="Ctrl+.",
        available=_has_job,
        words="cancel",
    ),
    Action("file.quit", "Quit", _quit, "File", icon="quit", keys="Ctrl+Q"),
)
