"""The drawer, settings, guide, about and other windows."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QAbstractButton

from ruda_workbench import operations
from ruda_workbench.dialogs.help_window import HelpWindow
from ruda_workbench.scenes.scene import Scene
from ruda_workbench.scenes.weights import diff_problems, rules


def _jobs(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    broken = scene.folder / "broken.safetensors"
    broken.write_bytes((1 << 40).to_bytes(8, "little") + b'{"a": 1}')
    scene.window.open_paths([broken])
    scene.settle()
    scene.window.notices.clear()
    scene.window.show_drawer("jobs")


def _history(scene: Scene) -> None:
    rules(scene)
    scene.settle()
    for _ in range(2):
        operations.undo(scene.window.context)
    scene.settle()
    scene.window.show_drawer("history")


def _suggestion(scene: Scene) -> None:
    scene.sample()
    scene.settle()
    button = scene.window.findChild(QAbstractButton, "rules.preview.0")
    assert button is not None
    button.click()


def _settings(scene: Scene) -> None:
    diff_problems(scene)
    scene.settle()
    scene.window.open_settings()


def _guide(scene: Scene) -> None:
    scene.sample()
    scene.window.open_guide("load-diff")


def _guide_search(scene: Scene) -> None:
    _guide(scene)
    found = scene.window.findChild(HelpWindow, "help")
    assert found is not None
    found.field.setText("metadata")


def _about(scene: Scene) -> None:
    scene.sample()
    scene.window.open_about()


SCREENS: dict[str, Callable[[Scene], None]] = {
    "jobs": _jobs,
    "history": _history,
    "suggestion": _suggestion,
    "settings": _settings,
    "guide": _guide,
    "guide-search": _guide_search,
    "about": _about,
}
