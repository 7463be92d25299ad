"""The contract of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtWidgets import QWidget

from ruda_workbench.action_book import UserAction
from ruda_workbench.context import Context
from ruda_workbench.path_looks import PathLook


class Workspace(QWidget):
    """One entry of the rail.

    It draws pages of ``context.session``, starts its work by ``context.jobs`` (with itself or one
    of its panels as owner) and refreshes on ``context.changed``. It never reads a file itself.
    """

    ACTIONS: ClassVar[tuple[UserAction[Any], ...]] = ()
    """Its actions; ``run`` and ``available`` are given the workspace."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def building(self) -> Iterator[None]:
        """What is left to build after the constructor, in steps of some 20 ms.

        Run to its end before anything else of the workspace is used; events come in between.
        """
        return iter(())

    def inspector(self) -> QWidget | None:
        """What stands at the right while this workspace is shown; None for nothing.

        Asked once. The frame hides the inspector while ``wants_inspector`` is False.
        """
        return None

    def wants_inspector(self) -> bool:
        """True while the inspector has something to show."""
        return True

    def summary(self) -> str:
        """The left end of the status line; emit ``context.summary_changed`` when it changes."""
        return ""

    def findings(self) -> tuple[str, ...]:
        """Sentences behind the findings of the status line."""
        return ()

    def accepts(self, found: PathLook, *, in_front: bool) -> bool:
        """True if a dropped or named path is for this workspace; the disk was asked before.

        ``in_front`` says whether the workspace was in front when it was dropped or named.
        """
        return False

    def open_path(self, path: Path) -> None:
        """Open a path that was accepted, in a job."""

    def set_dropping(self, *, active: bool) -> None:
        """Light up a drop zone while a file hangs over the window."""

    def ask_open(self) -> bool:
        """Ask for what this workspace opens; False leaves the question to the frame."""
        return False

    def focus_search(self) -> bool:
        """Give the focus to the search field (Ctrl+F); False where there is none."""
        return False

    def step_problem(self, by: int) -> bool:
        """Go to the next (-1: previous) thing to look at (F8); False where there is none."""
        return False

    def copy_command(self) -> None:
        """Copy the command that does what is shown (Ctrl+Shift+C)."""

    def entered(self) -> None:
        """Called when the workspace comes to the front."""

    def left(self) -> None:
        """Called when another workspace comes to the front: stop questions that are open."""
