"""The program: its commands, and what its exit codes say.

0 fine; 1 there are findings, or the load would not be complete; 2 wrong usage, or a file that is
refused; 130 stopped by Ctrl-C. An error is one sentence on stderr; ``--debug`` adds the traceback.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

import click

from ruda import __version__
from ruda.cli.terminal import close_stdout, complain, flush, prepare_streams, warn

FINE, FINDINGS, REFUSED, STOPPED = 0, 1, 2, 130

_COMMANDS = {
    "inspect": "What is inside weight files; reads headers only unless asked.",
    "diff": "What a file would do to a model, tensor by tensor.",
    "check": "What looks wrong in weight files: damage, outliers, NaN.",
    "compare": "Where two weight files differ, by structure or by value.",
    "suggest": "A recipe that would make a file fit a model, with its evidence.",
    "convert": "Remap, adapt, cast and save to another file.",
    "run": "Run a model with weights over a dataset.",
    "models": "The architectures that weights can be loaded into.",
    "formats": "The file formats that are read and written.",
    "app": "Open the workbench, the window of this program.",
}


class _LazyGroup(click.Group):
    """Commands live in modules of their own that are imported when one is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"ruda.cli.commands.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"there is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 fine, 1 findings or an incomplete load, 2 wrong usage or a refused file, "
    "130 stopped by Ctrl-C.",
)
@click.version_option(__version__, prog_name="ruda")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def program(debug: bool) -> None:
    """Open, check, remap, convert and run model weights, without executing a file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. ``arguments`` are those after the name."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = _take_debug(words)
    prepare_streams()
    try:
        result = _call(words)
        flush()
    except BrokenPipeError:
        close_stdout()
        return FINE
    except KeyboardInterrupt:
        return STOPPED
    except BaseException as error:  # noqa: BLE001 - the last place that can say it in a sentence
        return _report(error, debug)
    return result if isinstance(result, int) else FINE


def _call(words: list[str]) -> object:
    """Parse and run. Not by ``program.main``, which takes every EOFError for the end of input."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            with program.make_context("ruda", words) as context:
                return program.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    warn(str(message))


def _take_debug(words: list[str]) -> bool:
    """Remove ``--debug`` wherever it stands before a ``--``; True if it was there."""
    end = words.index("--") if "--" in words else len(words)
    head = [word for word in words[:end] if word != "--debug"]
    found = len(head) != end
    words[:end] = head
    return found


def _report(error: BaseException, debug: bool) -> int:
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else REFUSED
    if debug:
        with contextlib.suppress(OSError):
            traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return REFUSED
    if isinstance(error, click.UsageError):
        place = "" if error.ctx is None else f" (see `{error.ctx.command_path} --help`)"
        _say(f"{error.format_message()}{place}")
        return REFUSED
    _say(_sentence(error))
    return REFUSED


def _sentence(error: BaseException) -> str:
    from ruda.errors import RudaError
    from ruda.progress import Cancelled

    if isinstance(error, RudaError):
        return str(error)
    if isinstance(error, Cancelled):
        return "stopped"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, OSError):
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this"
    kind = type(error).__name__
    return f"a fault of this program: {kind}: {error} (--debug shows where; please report it)"


def _say(sentence: str) -> None:
    complain(f"ruda: {sentence}")
