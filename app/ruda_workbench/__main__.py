"""The command ``ruda-workbench``: FILE…, --sample, --theme, --screenshot and --self-test."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ruda_workbench.display import no_display


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser(
        prog="ruda-workbench",
        description="Open weights and datasets, see what is in them, fix, convert and run.",
    )
    made.add_argument("files", nargs="*", type=Path, metavar="FILE")
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


def _run(options: argparse.Namespace) -> int:
    from ruda_workbench import operations
    from ruda_workbench.application import (
        Shell,
        application,
        build_window,
        catch_faults,
        let_go,
        restore_session,
    )
    from ruda_workbench.storage import Storage, default_folder

    app = application()
    storage = Storage(options.config or default_folder())
    window = build_window(app, storage, theme=options.theme)
    catch_faults(window.context)
    shell = Shell(window)
    if not options.fresh:
        restore_session(window, only_crashed=bool(options.sample or options.files))
    window.resize(window.size().boundedTo(window.screen().availableSize()))
    window.show()
    if options.sample:
        operations.open_sample(window.context)
    window.open_paths(options.files)
    code = app.exec()
    let_go(shell.window)
    return code


def _screenshot(options: argparse.Namespace) -> int:
    from ruda_workbench.shots import Look, take_files, take_screen

    theme = options.theme or "light"
    if options.screen or not options.files:
        screen = options.screen or "load-diff"
        return take_screen(screen, Look(theme), options.screenshot)
    with tempfile.TemporaryDirectory() as folder:
        return take_files(options.files, theme, options.screenshot, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
