"""``ruda app``: the workbench."""

from __future__ import annotations

import importlib
import importlib.util

import click

_WINDOW = "ruda_workbench.__main__"


@click.command("app", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FILE]...")
def command(words: tuple[str, ...]) -> int:
    """Open the workbench with these files; options are passed on (--sample opens a sample)."""
    from ruda.errors import MissingExtraError

    if importlib.util.find_spec("PySide6") is None:
        raise MissingExtraError("PySide6-Essentials", "app", "the workbench")
    # By name: the library must not depend on the window, it only starts it.
    code: int = importlib.import_module(_WINDOW).main(list(words))
    return code
