"""Every room lists its public names, sorted, and every listed name is there."""

from __future__ import annotations

import importlib

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
    bare = [name for name, thing in things.items() if callable(thing) and not thing.__doc__]
    assert bare == []
