"""The frame's actions. Those of a workspace are in its class."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ruda_workbench import operations
from ruda_workbench.action_book import Action
from ruda_workbench.context import Context

if TYPE_CHECKING:
    from ruda_workbench.main_window import MainWindow

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


def _open(window: MainWindow) -> None:
    window.ask_open()


def _open_folder(window: MainWindow) -> None:
    window.ask_open_folder()


def _command(window: MainWindow) -> None:
    window.command.open()


def _search(window: MainWindow) -> None:
    window.workspace().focus_search()


def _menu(window: MainWindow) -> None:
    window.open_menu()


def _theme(window: MainWindow) -> None:
    window.toggle_theme()


def _system_theme(window: MainWindow) -> None:
    window.choose_theme("system")


def _inspector(window: MainWindow) -> None:
    window.toggle_inspector()


def _panes(window: MainWindow) -> None:
    window.next_pane()


def _stop(window: MainWindow) -> None:
    window.stop_job()


def _has_job(window: MainWindow) -> bool:
    return bool(window.context.jobs.running)


def _quit(window: MainWindow) -> None:
    window.close()


WINDOW_ACTIONS: tuple[Action[MainWindow], ...] = (
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
