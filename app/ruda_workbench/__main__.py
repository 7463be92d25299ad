"""The command ``ruda-workbench``: FILE…, --target, --recipe, --sample, --screenshot and more."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ruda_workbench import GARBAGE_THRESHOLDS
from ruda_workbench.display import no_display

if TYPE_CHECKING:
    from ruda.session import TargetChoice
    from ruda.store import Recipe
    from ruda_workbench.application import Completion, Shell
    from ruda_workbench.main_window import MainWindow


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser(
        prog="ruda-workbench",
        description="Open weights and datasets, see what is in them, fix, convert and run.",
    )
    made.add_argument("files", nargs="*", type=Path, metavar="FILE")
    made.add_argument(
        "--target", metavar="MODEL|FILE", help="lay the files onto a model, a file or an arch.toml"
    )
    made.add_argument(
        "--set", action="append", default=[], metavar="KEY=N", help="a setting of the model"
    )
    made.add_argument("--recipe", type=Path, metavar="TOML", help="open the files with a recipe")
    made.add_argument("--sample", action="store_true", help="open the embedded sample")
    made.add_argument("--theme", choices=["system", "light", "dark"])
    made.add_argument("--config", type=Path, metavar="FOLDER", help="keep settings here")
    made.add_argument("--fresh", action="store_true", help="do not restore the last session")
    made.add_argument(
        "--screenshot", type=Path, metavar="PNG", help="write a picture of the window and leave"
    )
    made.add_argument("--screen", help="which screen --screenshot shows")
    made.add_argument(
        "--self-test",
        action="store_true",
        help="open the sample, compare, save and leave; 0 if all went well",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the workbench; the process's exit code."""
    gc.set_threshold(*GARBAGE_THRESHOLDS)  # Qt's enums alone would have it search thirty times
    if arguments is None and sys.argv[1:] == ["--run-models"]:
        # A bundled program has no other interpreter to run models in than itself.
        from ruda.session import run_models

        return run_models()
    options = parser().parse_args(arguments)
    if options.screenshot or options.self_test:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    problem = no_display()
    if problem is not None:
        sys.stderr.write(f"ruda-workbench: {problem}\n")
        return 2
    try:
        from PySide6 import QtWidgets  # noqa: F401 - asked for before anything else is
    except ImportError as error:
        sys.stderr.write(
            f"ruda-workbench: the window toolkit cannot be loaded ({error}); "
            'install it with: pip install "ruda[app]"\n'
        )
        return 2
    if options.self_test:
        from ruda_workbench.self_test import self_test

        return self_test()
    if options.screenshot:
        return _screenshot(options)
    return _run(options)


def opening(options: argparse.Namespace) -> tuple[TargetChoice | None, Recipe | None]:
    """The target and the recipe that files are opened with. Raises RudaError as their parsers."""
    if options.target is None and options.recipe is None and not options.set:
        return None, None
    from ruda.errors import SettingError
    from ruda.session import parse_target
    from ruda.store import read_recipe

    if options.set and options.target is None:
        raise SettingError("--set needs a --target")
    if (options.target or options.recipe) and not options.files:
        raise SettingError("--target and --recipe need a FILE")
    target = None if options.target is None else parse_target(options.target, options.set)
    return target, None if options.recipe is None else read_recipe(options.recipe)


def start(options: argparse.Namespace) -> tuple[Shell, Completion]:
    """Build the window that is shown first, and what completes it once it is painted.

    Raises RudaError or OSError for a target or a recipe that is none.
    """
    from ruda_workbench.application import Completion, Shell, application, first_window
    from ruda_workbench.glance import default_folder, glance

    wanted = opening(options)
    app = application()
    folder = options.config or default_folder()
    named = bool(options.sample or options.files)
    seen = glance(folder, restore=not options.fresh, only_crashed=named)
    window = first_window(app, seen, theme=options.theme)
    window.resize(window.size().boundedTo(window.screen().availableSize()))
    shell = Shell(window)
    window.soon(partial(_open, window, options, *wanted))
    return shell, Completion(window, folder)


def _open(
    window: MainWindow,
    options: argparse.Namespace,
    target: TargetChoice | None,
    recipe: Recipe | None,
) -> None:
    """Open what the last session and the command line ask for: the window is complete."""
    from ruda_workbench import operations
    from ruda_workbench.application import catch_faults, restore_session

    catch_faults(window.context)
    if not options.fresh:
        restore_session(window, only_crashed=bool(options.sample or options.files))
    if options.sample:
        operations.open_sample(window.context)
    if target is None and recipe is None:
        window.open_paths(options.files)
    else:
        for path in options.files:
            operations.open_document(window.context, path, recipe=recipe, target=target)


def run_events(window: MainWindow) -> int:
    """Run the event loop until the program ends; the process's exit code."""
    from PySide6.QtWidgets import QApplication

    return QApplication.exec()


def _run(options: argparse.Namespace) -> int:
    from ruda._freeing import free_aside, free_at_once
    from ruda_workbench.application import let_go

    try:
        shell, completion = start(options)
    except Exception as error:
        from ruda.errors import RudaError

        if not isinstance(error, (RudaError, OSError)):
            raise
        sys.stderr.write(f"ruda-workbench: {error}\n")
        return 2
    shell.window.show()
    free_aside()
    code = run_events(shell.window)
    completion.wait()
    let_go(shell.window)
    free_at_once(wait=False)
    return code


def _screenshot(options: argparse.Namespace) -> int:
    import tempfile

    from ruda_workbench.shots import Look, take_files, take_screen

    theme = options.theme or "light"
    if options.screen or not options.files:
        screen = options.screen or "load-diff"
        return take_screen(screen, Look(theme), options.screenshot)
    with tempfile.TemporaryDirectory() as folder:
        return take_files(options.files, theme, options.screenshot, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
