"""What the program is made of: versions and licences, read from the installed packages."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from importlib import metadata

PACKAGES = (
    "ruda",
    "PySide6-Essentials",
    "shiboken6",
    "numpy",
    "ml_dtypes",
    "safetensors",
    "cbor2",
    "msgspec",
    "tomli-w",
    "click",
    "rich",
    "pyqtgraph",
    "superqt",
    "platformdirs",
    "psutil",
    "pillow",
    "simplejpeg",
    "soundfile",
    "pyarrow",
    "fsspec",
    "httpx",
    "gguf",
    "h5py",
    "tokenizers",
    "distributed",
)
"""Packages that the program uses; those that are not installed are left out."""
LONGEST = 60
"""Letters of a licence's name; longer fields hold whole texts."""


@dataclass(frozen=True, slots=True)
class Component:
    """A package with its version and the name of its licence."""

    name: str
    version: str
    licence: str


def components() -> tuple[Component, ...]:
    """The packages that are installed here, the program itself first."""
    found = (_component(name) for name in PACKAGES)
    return tuple(component for component in found if component is not None)


def versions_text() -> str:
    """Program, Python, system and packages in lines, for a report."""
    lines = [f"Python {sys.version.split()[0]} on {platform.platform()}"]
    lines += [f"{each.name} {each.version}" for each in components()]
    return "\n".join(lines)


def _component(name: str) -> Component | None:
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    return Component(name, str(found["Version"]), _licence(found))


def _licence(found: metadata.PackageMetadata) -> str:
    for field in ("License-Expression", "License"):
        text = str(found[field] or "").strip() if field in found else ""
        if text and len(text.splitlines()[0]) <= LONGEST:
            return text.splitlines()[0]
    named = [
        line.rpartition("::")[2].strip()
        for line in found.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    return ", ".join(named)
