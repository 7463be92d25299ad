"""The size budget: no file over 600 lines, no function over 60, and no leftovers drawer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

FILE_LIMIT = 600
FUNCTION_LIMIT = 60
DRAWERS = {"utils", "util", "helpers", "helper", "common", "base", "misc"}


def sources(project: Path) -> Iterator[Path]:
    for shelf in ("core", "app", "native", "tests", "packaging"):
        yield from sorted((project / shelf).rglob("*.py"))


def long_functions(path: Path) -> Iterator[str]:
    """Functions of a file that are longer than the limit, docstring included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LIMIT:
                yield f"{path.name}:{node.lineno} {node.name} has {length} lines"


def test_no_file_is_too_long(project: Path) -> None:
    long = [
        f"{path.relative_to(project)}: {count}"
        for path in sources(project)
        if (count := len(path.read_text("utf-8").splitlines())) > FILE_LIMIT
    ]
    assert long == []


def test_no_function_is_too_long(project: Path) -> None:
    assert [line for path in sources(project) for line in long_functions(path)] == []


def test_no_file_is_a_drawer(project: Path) -> None:
    assert [p for p in sources(project) if p.stem.strip("_") in DRAWERS] == []


def test_the_function_check_can_fail(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("def f():\n" + "    pass\n" * FUNCTION_LIMIT)
    assert list(long_functions(path)) == ["long.py:1 f has 61 lines"]
