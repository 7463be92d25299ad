"""What holds for every test: offscreen Qt, no stray threads, no leaked windows, fixed Hypothesis.

The shared case folder (real and hostile files that are not part of the project) is found through
``RUDA_CASES`` or beside the checkout; tests marked ``cases`` are left out where it is absent.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYTEST_QT_API", "pyside6")

if "RUDA_BLOCK_QT" in os.environ:
    # The core suite runs once with the binding out of reach; gui tests are deselected by marker.
    sys.modules["PySide6"] = None  # type: ignore[assignment]

settings.register_profile(
    "ruda",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
# For a night: pytest tests/properties --hypothesis-profile=thorough
settings.register_profile("thorough", settings.get_profile("ruda"), max_examples=2000)
settings.load_profile("ruda")

PROJECT = Path(__file__).resolve().parent.parent


def _cases_folder() -> Path | None:
    named = os.environ.get("RUDA_CASES")
    folder = Path(named) if named else PROJECT.parent / "shared" / "cases"
    return folder if folder.is_dir() else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect (not skip) what needs the case folder where there is none."""
    if _cases_folder() is not None:
        return
    left_out = [item for item in items if item.get_closest_marker("cases")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("cases")]


@pytest.fixture(scope="session")
def cases() -> Path:
    """The shared case folder; the test must be marked ``cases``."""
    folder = _cases_folder()
    assert folder is not None, "mark the test with pytest.mark.cases"
    return folder


@pytest.fixture(scope="session")
def project() -> Path:
    """Root of the checkout."""
    return PROJECT


@pytest.fixture(autouse=True)
def _no_stray_threads() -> Iterator[None]:
    """A test that leaves a thread running fails with the thread's name."""
    before = set(threading.enumerate())
    yield
    give_up = time.monotonic() + 5.0
    while stray := [t for t in threading.enumerate() if t not in before and t.is_alive()]:
        # Pools that live as long as the process announce themselves by this prefix.
        stray = [t for t in stray if not t.name.startswith("ruda-kernels")]
        if not stray:
            return
        if time.monotonic() > give_up:
            pytest.fail(f"threads left running: {sorted(t.name for t in stray)}")
        time.sleep(0.01)


@pytest.fixture(autouse=True, scope="module")
def _english_again() -> Iterator[None]:
    """The next file of tests finds the language that the program starts with."""
    yield
    if "ruda.session.sentences" in sys.modules or "ruda.session.language" in sys.modules:
        from ruda.session import use_catalogue, use_sentences

        use_catalogue({})
        use_sentences(None)


@pytest.fixture(autouse=True)
def _no_leaked_windows(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that leaves a top-level widget behind fails with the widget's class and name."""
    yield
    if "PySide6.QtWidgets" not in sys.modules or not request.node.get_closest_marker("gui"):
        return
    from PySide6.QtCore import QCoreApplication, QEvent
    from PySide6.QtWidgets import QApplication

    if QApplication.instance() is None:
        return
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    left = [w for w in QApplication.topLevelWidgets() if w.isVisible()]
    if left:
        names = sorted(f"{type(w).__name__} {w.objectName()!r}" for w in left)
        for widget in left:
            widget.close()
            widget.deleteLater()
        pytest.fail(f"windows left open: {names}")
