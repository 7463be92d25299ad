"""What goes to the terminal: plain aligned text, the same in a pipe, and progress on stderr."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from ruda.progress import Monitor, Progress

PATIENCE = 0.5
"""Seconds of work before a progress bar appears."""

LONGEST_SENTENCE = 2000
"""Characters of one line on stderr; what is longer is shown by its start and end."""

WIDEST_COLUMN = 200
"""Characters that a cell of a table may ask of the other rows."""

_LONG_WORD = re.compile(r"\S{240,}")
_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")


def prepare_streams() -> None:
    """Make a stream that cannot spell a character write its code instead of failing.

    A stream that was closed before the program began goes nowhere: a file that is opened later
    must not get its number and be written into.
    """
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper) and name != "stdin":
            stream.reconfigure(errors="backslashreplace")


def printable(text: str) -> str:
    """The text with control characters as escapes: a key in a file may hold any of them."""
    if text.isprintable():
        return text
    return "".join(char if _is_harmless(char) else repr(char)[1:-1] for char in text)


def _is_harmless(char: str) -> bool:
    """False for what steers a terminal, turns the direction of writing, or ends a line."""
    category = unicodedata.category(char)
    return category[0] != "C" and category not in ("Zl", "Zp")


def shortened(text: str) -> str:
    """A sentence of readable length: of a key or path of thousands of letters, start and end."""
    if len(text) <= LONGEST_SENTENCE:
        return text
    text = _LONG_WORD.sub(lambda found: f"{found[0][:120]}…{found[0][-60:]}", text)
    if len(text) <= LONGEST_SENTENCE:
        return text
    return f"{text[: LONGEST_SENTENCE - 300]} … {text[-280:]}"


def echo(text: str) -> None:
    """Text on stdout as it is, and a line end. Work goes on when the reader of a pipe is gone.

    Raises ClickException where the system does not take the text.
    """
    try:
        click.echo(text)
    except BrokenPipeError:
        close_stdout()
    except OSError as error:
        raise _unwritable(error) from error


def flush() -> None:
    """Send what is buffered for stdout. Raises like ``echo``."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        close_stdout()
    except OSError as error:
        raise _unwritable(error) from error


def _unwritable(error: OSError) -> click.ClickException:
    close_stdout()
    return click.ClickException(f"the output cannot be written: {error.strerror or error}")


def close_stdout() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not complain at its end."""
    _send_nowhere(sys.stdout)


def _send_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    except (OSError, ValueError):
        pass
    finally:
        os.close(nowhere)


def complain(text: str) -> None:
    """One line on stderr; where that cannot be written, the exit code has to say it."""
    try:
        click.echo(shortened(printable(text)), err=True)
    except OSError:
        _send_nowhere(sys.stderr)  # what is left in its buffer would turn the exit code into 120


def say(text: str = "") -> None:
    """One line on stdout."""
    echo(printable(text))


def say_json(data: object) -> None:
    """Indented JSON on stdout that no terminal obeys and any encoding can carry."""
    encoding = (sys.stdout.encoding or "utf-8").lower().replace("_", "-")
    ascii_only = encoding not in ("utf-8", "utf8")
    text = json.dumps(data, indent=2, ensure_ascii=ascii_only, allow_nan=False)
    echo(_NOT_PLAIN.sub(_json_escape, text))


def _json_escape(found: re.Match[str]) -> str:
    char = found[0]
    if _is_harmless(char):
        return char
    return r"\u007f" if char == "\x7f" else json.dumps(char)[1:-1]  # JSON leaves DEL as it is


def warn(text: str) -> None:
    """One line on stderr that begins with ``warning``."""
    complain(f"warning: {text}")


def table(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: int = 2) -> None:
    """Rows in aligned columns on stdout; columns in ``right`` are aligned to the right.

    A cell wider than WIDEST_COLUMN does not push the other rows apart.
    """
    if not rows:
        return
    clean = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max((size for size in map(len, column) if size <= WIDEST_COLUMN), default=0)
        for column in zip(*clean, strict=True)
    ]
    for row in clean:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        echo((" " * indent + "  ".join(cells)).rstrip())


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
