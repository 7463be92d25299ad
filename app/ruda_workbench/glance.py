"""What the first paint needs of the user's files, read with as little as possible.

``Storage`` reads the same files in full when the window is painted, and says what is wrong with
them. Here whatever is absent, broken or of another kind counts as not there: nothing is written,
nothing is noted, and nothing is lost by it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple


def default_folder() -> Path:
    """The user's own configuration folder."""
    import platformdirs

    return Path(platformdirs.user_config_dir("ruda-workbench", appauthor=False))


class RecentPath(NamedTuple):
    """One entry of the list of recent files."""

    path: str
    kind: str = "weights"

    @property
    def name(self) -> str:
        """Name of the file."""
        return Path(self.path).name

    @property
    def exists(self) -> bool:
        """True if it is there now; asks the disk."""
        return Path(self.path).exists()


class Glance(NamedTuple):
    """Look and language of the window, its place, and the files that were open before."""

    theme: str = "system"
    contrast: str = "system"
    language: str = "system"
    recents: tuple[RecentPath, ...] = ()
    geometry: str = ""
    """The window's own text, if what was open last is going to be restored."""


def glance(folder: Path, *, restore: bool = True, only_crashed: bool = False) -> Glance:
    """Look into the folder of a user's settings; the arguments as for ``restore_session``."""
    settings = _toml(folder / "settings.toml")
    wishes = {
        name: value
        for name, allowed in (
            ("theme", ("light", "dark")),
            ("contrast", ("normal", "high")),
            ("language", ("en", "de")),
        )
        if (value := settings.get(name)) in allowed
    }
    recents = _json(folder / "recents.json").get("recents")
    state = _json(folder / "recovery.json") if restore else {}
    if restore and not state and not only_crashed and settings.get("restore_session") is not False:
        state = _json(folder / "session.json")
    geometry = state.get("geometry")
    return Glance(
        **wishes,
        recents=tuple(_recents(recents)),
        geometry=geometry if isinstance(geometry, str) else "",
    )


def _recents(found: object) -> list[RecentPath]:
    entries = found if isinstance(found, list) else []
    return [
        RecentPath(each["path"], str(each.get("kind", "weights")))
        for each in entries
        if isinstance(each, dict) and isinstance(each.get("path"), str)
    ]


def _toml(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    import tomllib

    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def _json(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    import json

    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
