"""Every room lists its public names, sorted, and every listed name is there."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Literal, get_origin

import pytest

ROOMS = ["tensor", "nn", "data", "store", "models", "record", "session", "testing"]


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


@pytest.mark.parametrize("room", ["store", "nn", "models", "session"])
def test_a_lazy_door_knows_every_name_and_no_module_hides_one(room: str) -> None:
    module = importlib.import_module(f"ruda.{room}")
    assert dir(module) == list(module.__all__)
    # A module of the room with a public name's name would take its place once it is imported.
    modules = {found.name for found in pkgutil.iter_modules(module.__path__)}
    assert modules & set(module.__all__) == set()


def test_a_lazy_door_does_not_know_other_names() -> None:
    with pytest.raises(AttributeError, match=r"module 'ruda\.store' has no attribute 'nothing'"):
        importlib.import_module("ruda.store").nothing  # noqa: B018 - asking is the test
