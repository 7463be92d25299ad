"""Saved positions: their exact form, and what is refused when one is read."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from ruda.data import DataLoader, InMemDataset, LoaderPosition
from ruda.errors import StateMismatchError
from ruda.testing import ListBatcher


def saved() -> dict[str, Any]:
    loader = DataLoader(
        InMemDataset(range(10), source_id="numbers"), ListBatcher(), batch_size=4, shuffle=42
    )
    next(iter(loader))
    return loader.state_dict()


def test_the_form() -> None:
    fingerprint = InMemDataset(range(10)).fingerprint
    assert saved() == {
        "format": "ruda-loader",
        "version": 1,
        "dataset": {"length": 10, "fingerprint": fingerprint, "source_id": "numbers"},
        "sampler": {"algorithm": "fy64-v1", "seed": 42, "epoch": 0},
        "strategy": {"kind": "fixed", "size": 4, "drop_last": False},
        "committed": 1,
    }
    assert json.loads(json.dumps(saved())) == saved()
    assert LoaderPosition.from_dict(saved()).to_dict() == saved()


BROKEN = [
    pytest.param(("format",), "other", "has format 'ruda-loader' here, got 'other'", id="format"),
    pytest.param(("version",), 2, "has version 1 here, got 2", id="version"),
    pytest.param(("version",), True, "has version 1 here, got True", id="true is not 1"),
    pytest.param(("dataset",), None, "has a table 'dataset', got None", id="table"),
    pytest.param(("dataset", "length"), "10", "'length' as int, got '10'", id="text"),
    pytest.param(("dataset", "length"), True, "'length' as int, got True", id="bool"),
    pytest.param(("dataset", "fingerprint"), 5, "'fingerprint' as str, got 5", id="number"),
    pytest.param(("sampler", "algorithm"), "pcg", "has algorithm 'fy64-v1'", id="algorithm"),
    pytest.param(("sampler", "seed"), None, "has algorithm 'sequential'", id="no seed"),
    pytest.param(("sampler", "seed"), 1.5, "'seed' as int, got 1.5", id="seed"),
    pytest.param(("sampler", "epoch"), -1, "'epoch' of at least 0, got -1", id="epoch"),
    pytest.param(("strategy", "kind"), "tokens", "has kind 'fixed' here", id="strategy"),
    pytest.param(("strategy", "drop_last"), 0, "'drop_last' as bool, got 0", id="drop last"),
    pytest.param(("committed",), -1, "'committed' of at least 0, got -1", id="negative"),
    pytest.param(("committed",), 4, "after batch 4, an epoch has 3 batches", id="too far"),
]


@pytest.mark.parametrize(("place", "value", "told"), BROKEN)
def test_a_broken_position_is_refused(place: tuple[str, ...], value: Any, told: str) -> None:
    state = copy.deepcopy(saved())
    part = state
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    loader = DataLoader(InMemDataset(range(10)), ListBatcher(), batch_size=4, shuffle=42)
    with pytest.raises(StateMismatchError, match=told):
        loader.load_state_dict(state)


@pytest.mark.parametrize("missing", ["format", "dataset", "sampler", "strategy", "committed"])
def test_a_missing_entry_is_named(missing: str) -> None:
    state = saved()
    del state[missing]
    with pytest.raises(StateMismatchError, match=missing):
        LoaderPosition.from_dict(state)


def test_a_position_at_the_end_of_an_epoch_is_the_next_epoch() -> None:
    state = {**saved(), "committed": 3}
    loader = DataLoader(InMemDataset(range(10)), ListBatcher(), batch_size=4, shuffle=42)
    loader.load_state_dict(state)
    assert loader.state_dict()["sampler"]["epoch"] == 1
    assert list(loader) == [loader.batch(n, epoch=1) for n in range(3)]
