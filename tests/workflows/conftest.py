"""What every story is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.window_fixtures import make_file, settled, storage, weights, window

# Qt is entered inside the fixtures: the stories of the command line run without it.
if TYPE_CHECKING:
    from ruda_workbench.main_window import MainWindow
    from ruda_workbench.workspaces.run import RunWorkspace

__all__ = ["make_file", "settled", "storage", "weights", "window"]


@pytest.fixture
def run(window: MainWindow) -> RunWorkspace:
    from ruda_workbench.workspaces.run import RunWorkspace

    found = window.workspace("run")
    assert isinstance(found, RunWorkspace)
    return found


@pytest.fixture
def ready(window: MainWindow, settled: Callable[[], None]) -> MainWindow:
    """The sample on the Run screen, with the recipe that makes it load."""
    from ruda_workbench import operations
    from ruda_workbench.self_test import make_green

    operations.open_sample(window.context)
    settled()
    make_green(window)
    window.show_workspace("run")
    settled()
    return window
