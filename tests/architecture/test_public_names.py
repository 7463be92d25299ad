"""Every room lists its public names, sorted, and every listed name is there."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import Literal, get_origin

import pytest

ROOMS = ["tensor", "nn", "data", "store", "models", "record", "session", "testing"]
LAZY = ["store", "nn", "models", "session"]


@pytest.mark.parametrize("room", ROOMS)
def test_all_is_sorted_and_true(room: str) -> None:
    module = importlib.import_module(f"ruda.{room}")
    names = list(module.__all__)
    assert names == sorted(names)
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_described(room: str) -> None:
    module = importlib.import_module(f"ruda.{room}")
    things = {name: getattr(module, name) for name in module.__all__}
    described = {n: t for n, t in things.items() if callable(t) and get_origin(t) is not Literal}
    bare = [name for name, thing in described.items() if not thing.__doc__]
    assert bare == []


@pytest.mark.parametrize("room", LAZY)
def test_a_lazy_door_knows_every_name_and_no_module_hides_one(room: str) -> None:
    module = importlib.import_module(f"ruda.{room}")
    assert dir(module) == list(module.__all__)
    # A module of the room with a public name's name would take its place once it is imported.
    modules = {found.name for found in pkgutil.iter_modules(module.__path__)}
    assert modules & set(module.__all__) == set()


def imported(door: Path) -> list[tuple[str, str]]:
    """Module and name of what type checkers are told."""
    tree = ast.parse(door.read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    return [
        ((node.module or "").removeprefix(f"ruda.{door.parent.name}."), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def listed(door: Path) -> list[tuple[str, str]]:
    """Module and name of what the door opens: a table in it, or in ``_homes`` beside it."""
    beside = door.with_name("_homes.py")
    tree = ast.parse((beside if beside.exists() else door).read_text(encoding="utf-8"))
    (homes,) = (ast.literal_eval(node) for node in ast.walk(tree) if isinstance(node, ast.Dict))
    return [(module, name) for module, names in homes.items() for name in names]


@pytest.mark.parametrize("room", LAZY)
def test_a_lazy_door_lists_each_name_once_and_where_it_is(room: str, project: Path) -> None:
    door = project / "core" / "ruda" / room / "__init__.py"
    assert sorted(listed(door)) == sorted(imported(door))


def test_a_lazy_door_does_not_know_other_names() -> None:
    with pytest.raises(AttributeError, match=r"module 'ruda\.store' has no attribute 'nothing'"):
        importlib.import_module("ruda.store").nothing  # noqa: B018 - asking is the test
