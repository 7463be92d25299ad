"""The library runs without Qt, imports lightly, and both checks are able to fail."""

from __future__ import annotations

import subprocess
import sys

import pytest

ALL_OF_RUDA = """
import importlib, pkgutil, ruda
for found in pkgutil.walk_packages(ruda.__path__, "ruda."):
    if not found.name.endswith("__main__") and "._kernels." not in found.name:
        importlib.import_module(found.name)
"""
HEAVY = (
    "PIL",
    "httpx",
    "fsspec",
    "pyarrow",
    "h5py",
    "gguf",
    "tokenizers",
    "distributed",
    "soundfile",
)


def modules_after(code: str) -> set[str]:
    """Top-level names in sys.modules of a fresh process that ran this code."""
    script = code + "\nimport sys\nprint(' '.join({n.split('.')[0] for n in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


def test_the_whole_library_imports_without_qt() -> None:
    assert "PySide6" not in modules_after(ALL_OF_RUDA)


@pytest.mark.gui
def test_this_check_can_fail() -> None:
    assert "PySide6" in modules_after("import PySide6")


@pytest.mark.parametrize("room", ["tensor", "nn", "data", "store", "models", "record", "session"])
def test_a_room_loads_no_optional_package(room: str) -> None:
    assert not modules_after(f"import ruda.{room}") & set(HEAVY)


def test_the_package_alone_does_not_load_numpy() -> None:
    assert "numpy" not in modules_after("import ruda")


def test_help_does_not_load_numpy() -> None:
    code = "from ruda.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass"
    assert "numpy" not in modules_after(code)
