"""Every screen of the workbench by name, and pictures of them without a display.

python -m ruda_workbench.shots SCREEN --theme light|dark --out FILE
python -m ruda_workbench.shots --list
python -m ruda_workbench.shots --all FOLDER [SCREEN…] [--size …] [--scheme …] [--language …]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


from ruda.session import LANGUAGES
from ruda_workbench.application import application, build_window, let_go
from ruda_workbench.main_window import MainWindow
from ruda_workbench.scenes import compare, data, inspector, states, weights, windows
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.shot_sheets import SCHEMES, SIZES, picture, sweep
from ruda_workbench.storage import Storage

SCREENS: dict[str, Callable[[Scene], None]] = {
    **weights.SCREENS,
    **compare.SCREENS,
    **data.SCREENS,
    **windows.SCREENS,
    **inspector.SCREENS,
    **states.SCREENS,
}
"""Screen name → function that brings a fresh window into its state."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the window of a picture looks."""

    theme: str = "light"
    contrast: str = "normal"
    language: str = "en"

    def window(self, folder: Path) -> MainWindow:
        """A window with its settings in ``folder``."""
        storage = Storage(folder / "config")
        storage.change(contrast=self.contrast, language=self.language)
        return build_window(application(), storage, theme=self.theme)


def take_screen(name: str, look: Look, out: Path) -> int:
    """Write a picture of a screen; 2 for a name that is none."""
    if name not in SCREENS:
        sys.stderr.write(f"no screen is called {name!r}; there are {', '.join(SCREENS)}\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        window = look.window(Path(folder))
        return _take(window, Scene(window, Path(folder)), SCREENS[name], out)


def take_files(files: Sequence[Path], theme: str, out: Path, folder: Path) -> int:
    """Write a picture of the window with these files open."""
    window = Look(theme).window(folder)

    def stage(scene: Scene) -> None:
        scene.window.open_paths(list(files))

    return _take(window, Scene(window, folder), stage, out)


def _take(window: MainWindow, scene: Scene, stage: Callable[[Scene], None], out: Path) -> int:
    window.resize(SIZES["large"])
    window.show()
    try:
        stage(scene)
        scene.settle()
        written = picture(window).save(str(out))
    finally:
        let_go(window)
    if not written:
        sys.stderr.write(f"{out}: the picture could not be written\n")
        return 1
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Take one picture, or every screen in every look, or list the screens."""
    parser = argparse.ArgumentParser(prog="ruda_workbench.shots", description=__doc__)
    parser.add_argument("screens", nargs="*", metavar="SCREEN")
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    parser.add_argument("--contrast", choices=["normal", "high"], default="normal")
    parser.add_argument("--language", choices=sorted(LANGUAGES), default="en")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="write contact sheets, too")
    parser.add_argument("--size", nargs="+", choices=list(SIZES), default=["large", "low"])
    parser.add_argument("--scheme", nargs="+", choices=SCHEMES, default=SCHEMES)
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.screens) - set(SCREENS))
    if unknown:
        parser.error(f"no screen is called {', '.join(unknown)}; --list names them")
    if options.all is not None:
        screens = {name: SCREENS[name] for name in options.screens or SCREENS}
        language, sizes, schemes = options.language, options.size, options.scheme
        make = Look(language=language).window
        sheets = sweep(screens, make, options.all, language=language, sizes=sizes, schemes=schemes)
        sys.stdout.write("".join(f"{path}\n" for path in sheets))
        return 0
    if options.list or not options.screens:
        sys.stdout.write("\n".join(SCREENS) + "\n")
        return 0
    name = options.screens[0]
    look = Look(options.theme, options.contrast, options.language)
    return take_screen(name, look, options.out or Path(f"{name}-{options.theme}.png"))


if __name__ == "__main__":
    sys.exit(main())
