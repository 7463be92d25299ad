"""What a path is that was dropped or named: asked of the disk before a workspace takes it.

A folder on a network that is gone answers after minutes, so nobody waits: whatever is asked
meanwhile is opened meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from ruda_workbench.aside import Aside

PATIENCE = 1000
"""Milliseconds that later questions wait for the answer to an earlier one, to keep their order."""


@dataclass(frozen=True, slots=True)
class PathLook:
    """A path as it was found."""

    path: Path
    is_folder: bool = False
    is_dataset: bool = False
    """True if a source of datasets recognises its name, or the names in its folder."""

    @classmethod
    def of(cls, path: Path) -> PathLook:
        """Look at a path; one that cannot be looked at is a file, and opening it says why."""
        from ruda.session import is_dataset

        try:
            return cls(path, path.is_dir(), is_dataset(path))
        except (OSError, ValueError):
            return cls(path)


Done = Callable[[tuple[PathLook, ...]], None]


class PathLooks(QObject):
    """Looks at paths in threads of their own; answers come in the order of the questions.

    A question that takes long is passed over by those after it.
    """

    slow = Signal(object)
    """The paths, a tuple, of a question that takes long."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._waiting: list[_Question] = []

    def ask(self, paths: Sequence[Path], done: Done) -> None:
        """Look at all of these and call ``done``."""
        question = _Question(self, tuple(paths), done)
        self._waiting.append(question)
        question.aside.ask(
            lambda: tuple(map(PathLook.of, question.paths)), partial(self._answered, question)
        )
        question.clock.timeout.connect(partial(self._passed_over, question))
        question.clock.start(PATIENCE)

    def _answered(self, question: _Question, found: tuple[PathLook, ...]) -> None:
        question.found = found
        self._deliver()

    def _passed_over(self, question: _Question) -> None:
        self.slow.emit(question.paths)
        self._deliver()

    def _deliver(self) -> None:
        for question in tuple(self._waiting):
            if question.found is not None:
                self._waiting.remove(question)
                question.clock.stop()
                question.deleteLater()
                question.done(question.found)
            elif question.clock.isActive():
                return


class _Question(QObject):
    def __init__(self, parent: QObject, paths: tuple[Path, ...], done: Done) -> None:
        super().__init__(parent)
        self.paths = paths
        self.done = done
        self.found: tuple[PathLook, ...] | None = None
        self.aside = Aside(self)
        self.clock = QTimer(self)
        self.clock.setSingleShot(True)
