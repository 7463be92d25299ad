"""Finds the files of ``resources/``, from a checkout or from an installed package."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent


@lru_cache(maxsize=1)
def resources() -> Path:
    """Folder of icons, samples and guide."""
    installed = _HERE / "_resources"
    return installed if installed.is_dir() else _HERE.parents[1] / "resources"


@lru_cache(maxsize=128)
def icon_source(name: str) -> str:
    """SVG text of one icon; it draws in ``currentColor``."""
    return (resources() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


def samples() -> Path:
    """Folder of the embedded sample session."""
    return resources() / "samples"


@lru_cache(maxsize=1)
def sample_weights() -> Path | None:
    """The sample's checkpoint with PyTorch's names; None where it is absent. Looked for once."""
    found = sorted(samples().rglob("*.pt"))
    return found[0] if found else None
