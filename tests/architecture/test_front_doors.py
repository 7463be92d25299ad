"""Code in one room enters another room by its package, never by a module inside it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

FREE = {"errors", "progress"}
# Public sub-rooms: a path that users type themselves.
DOORS = {"ruda.tensor.xp"}


def breaches(source: str, room: str) -> Iterator[str]:
    """Imports of another room's inside, for a file that lives in ``room``."""
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            inside = len(parts) > 2 and parts[0] == "ruda" and parts[1] not in FREE
            if inside and parts[1] != room and ".".join(parts[:3]) not in DOORS:
                yield name


def rooms(project: Path) -> Iterator[tuple[Path, str]]:
    """Every source file with the room it lives in."""
    for path in sorted((project / "core" / "ruda").rglob("*.py")):
        yield path, path.relative_to(project / "core" / "ruda").parts[0].removesuffix(".py")
    for path in sorted((project / "app" / "ruda_workbench").rglob("*.py")):
        yield path, "ruda_workbench"


def test_rooms_are_entered_by_their_front_door(project: Path) -> None:
    found = {
        str(path.relative_to(project)): bad
        for path, room in rooms(project)
        if (bad := sorted(set(breaches(path.read_text("utf-8"), room))))
    }
    assert found == {}


def test_this_check_can_fail() -> None:
    code = "from ruda.store.index import TensorIndex\nfrom ruda.tensor import DType\n"
    assert list(breaches(code, "session")) == ["ruda.store.index"]
    assert list(breaches(code, "store")) == []
