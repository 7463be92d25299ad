"""What goes to the terminal: plain aligned text, the same in a pipe, and progress on stderr."""

from __future__ import annotations

import contextlib
import io
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ruda.progress import Monitor, Progress

PATIENCE = 0.5
"""Seconds of work before a progress bar appears."""


def prepare_streams() -> None:
    """Make a stream that cannot spell a character write its code instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    """The text with control characters as escapes: a key in a file may hold any of them."""
    if text.isprintable():
        return text
    return "".join(
        char if not unicodedata.category(char).startswith("C") else repr(char)[1:-1]
        for char in text
    )


def say(text: str = "") -> None:
    """One line on stdout."""
    click.echo(printable(text))


def warn(text: str) -> None:
    """One line on stderr that begins with ``warning``."""
    click.echo(f"warning: {printable(text)}", err=True)


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: int = 2) -> None:
    """Rows in aligned columns on stdout; columns in ``right`` are aligned to the right."""
    if not rows:
        return
    clean = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*clean, strict=True)]
    for row in clean:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo((" " * indent + "  ".join(cells)).rstrip())


@contextlib.contextmanager
def monitor(title: str) -> Iterator[Monitor]:
    """A monitor for long work: a bar on stderr, on a terminal only, after half a second."""
    from ruda.progress import SILENT

    if not sys.stderr.isatty():
        yield SILENT
        return
    bar = _Bar(title)
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    """A progress bar that shows itself only once the work has proved to be long."""

    def __init__(self, title: str) -> None:
        import time

        self._title = title
        self._clock = time.monotonic
        self._start = self._clock()
        self._shown: Any = None
        self._task: Any = None

    def check(self) -> None:
        """Never stops by itself: Ctrl-C raises KeyboardInterrupt where the work is."""

    def report(self, progress: Progress) -> None:
        """Show how far the work is."""
        if self._shown is None:
            if self._clock() - self._start < PATIENCE:
                return
            self._open()
        self._shown.update(self._task, completed=progress.done, total=progress.total)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        self._shown = Bars(
            *columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True
        )
        self._shown.start()
        self._task = self._shown.add_task(self._title, total=None)

    def close(self) -> None:
        """Take the bar away."""
        if self._shown is not None:
            self._shown.stop()
