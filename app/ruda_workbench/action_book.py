"""Actions as tables: what a person can do, with title, icon, keys and group.

The menu, the command field, the shortcuts and the tests all read the same records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from ruda.session import later, tr
from ruda_workbench.icons import icon

T = TypeVar("T")


def always(_: object) -> bool:
    """An action that can be run at any time."""
    return True


@dataclass(frozen=True, slots=True)
class UserAction(Generic[T]):
    """One thing a person can do; ``run`` and ``available`` are given the target of its table."""

    id: str
    """Two words with a dot: ``recipe.undo``. Unique."""
    title: str
    run: Callable[[T], None]
    group: str
    icon: str | None = None
    keys: str = ""
    """Shortcut in portable spelling; several are separated by ``;``."""
    available: Callable[[T], bool] = always
    words: str = ""
    """Further words that the command field finds it by."""


class ActionBook(QObject):
    """The registered actions of a window, as QActions in the order of their tables."""

    ran = Signal(str)

    def __init__(self, window: QWidget, soon: Callable[[Callable[[], None]], None]) -> None:
        """``soon`` calls what a shortcut or a menu asks for, after all that was asked before."""
        super().__init__(window)
        self._window = window
        self._soon = soon
        self._entries: dict[str, tuple[UserAction[Any], Any, QAction]] = {}

    def add(self, table: Iterable[UserAction[T]], target: T) -> None:
        """Register a table. Raises ValueError for an id that is taken, naming both titles."""
        for action in table:
            if action.id in self._entries:
                taken = self._entries[action.id][0]
                raise ValueError(
                    f"action id {action.id!r} of {action.title!r} is taken by {taken.title!r}"
                )
            made = QAction(tr(action.title), self._window)
            made.setObjectName(action.id)
            if action.icon:
                made.setIcon(icon(action.icon))
            if action.keys:
                keys = [QKeySequence(k.strip()) for k in action.keys.split(";")]
                made.setShortcuts(keys)
                made.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
            made.triggered.connect(partial(self._triggered, action.id))
            self._window.addAction(made)
            self._entries[action.id] = (action, target, made)

    def add_keys(
        self, action_id: str, title: str, icon_name: str, keys: str, run: Callable[[], None]
    ) -> None:
        """Register one action that needs no target: going to a workspace."""

        def start(_: object) -> None:
            run()

        self.add(
            (UserAction(action_id, title, start, later("Go"), icon=icon_name, keys=keys),), None
        )

    def run(self, action_id: str) -> bool:
        """Run an action if it is available now; False where it is not."""
        action, target, _ = self._entries[action_id]
        if not action.available(target):
            return False
        action.run(target)
        self.ran.emit(action_id)
        return True

    def refresh(self) -> None:
        """Enable what can be run now and disable the rest."""
        for action, target, made in self._entries.values():
            made.setEnabled(action.available(target))

    def qaction(self, action_id: str) -> QAction:
        """The QAction of an id, for buttons and menus."""
        return self._entries[action_id][2]

    def by_keys(self, keys: QKeySequence) -> str | None:
        """The id of the action with these keys; None where no action has them."""
        for action_id, (_, _, made) in self._entries.items():
            if keys in made.shortcuts():
                return action_id
        return None

    def records(self) -> tuple[UserAction[Any], ...]:
        """Every registered action in order."""
        return tuple(entry[0] for entry in self._entries.values())

    def menu(self, parent: QWidget) -> QMenu:
        """A menu of every action, by group; it goes when it is closed."""
        menu = QMenu(parent)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        groups: dict[str, QMenu] = {}
        for action in self.records():
            if action.group not in groups:
                groups[action.group] = menu.addMenu(tr(action.group))
            groups[action.group].addAction(self.qaction(action.id))
        return menu

    def is_available(self, action_id: str) -> bool:
        """True if the action can be run now."""
        action, target, _ = self._entries[action_id]
        return bool(action.available(target))

    def _triggered(self, action_id: str, _checked: bool = False) -> None:
        self._soon(partial(self._run, action_id))

    def _run(self, action_id: str) -> None:
        self.run(action_id)


def found_by(action: UserAction[Any]) -> str:
    """The words that the command field finds an action by, also in English."""
    texts = (action.title, action.group, action.words)
    return " ".join(dict.fromkeys([*map(tr, texts), *texts])).lower()
