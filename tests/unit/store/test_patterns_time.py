"""Patterns that Python's ``re`` would not come back from: each is refused in a moment."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from ruda.errors import RecipeError
from ruda.store import (
    CastPolicy,
    DTypePolicy,
    KeyRemapper,
    PathFilter,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    compare,
    convert,
    diff,
)
from ruda.tensor import DType

KEYS = [
    "model.layers.12.self_attn.q_proj.weight",
    "a" * 300 + "!",
    "x" * 300 + "!",
    "1" * 200 + "x",
    "=".join("a" * 200),
    "a" * 24,
]

BAD = [
    "(a+)+$",
    r"(\w+\.?)+$",
    "(a|aa)+$",
    "(?:a?){200}b",
    "(?:a?){40}b",
    "(?:a?b?){64,}c",
    "(?:(?:a|x)?){1000}b",
    "(?:a|a)" * 30 + "q",
    "a?" * 30 + "a" * 30 + "q",
    r"(\w*\d*\w*)*$q",
    "((a*)*)*q",
    "(x+x+)+y",
    ".*.*.*.*.*=.*=q",
    r"(?=(\w+)+$q)x",
    "(?x) ( a + ) + $ q",
]


@pytest.mark.parametrize("pattern", BAD)
def test_it_is_refused_with_its_name(pattern: str) -> None:
    before = time.thread_time()
    with pytest.raises(RecipeError, match="takes too long") as found:
        KeyRemapper.of((pattern, "z")).plan(KEYS)
    assert repr(pattern) in str(found.value)
    with pytest.raises(RecipeError, match="takes too long"):
        PathFilter.of(pattern).guard(KEYS)
    # Far above what it takes: a pattern that runs away does not come back at all.
    assert time.thread_time() - before < 30


def only(index: TensorIndex, pattern: str) -> object:
    return compare(index, index, only=PathFilter.of(pattern))


def policy(index: TensorIndex, pattern: str) -> object:
    """A cast looks for scales by the keys of the file, before any other step."""
    rule = DTypePolicy.parse(f"{pattern}=bf16")
    return convert(index, recipe=Recipe(policy=(rule,), cast=CastPolicy.every(DType.F16)))


def filtered(index: TensorIndex, pattern: str) -> object:
    return convert(index, recipe=Recipe(select=PathFilter.of(pattern)))


def kept(index: TensorIndex, pattern: str) -> object:
    return convert(index, recipe=Recipe(remap=KeyRemapper((), True, pattern)))


def laid(index: TensorIndex, pattern: str) -> object:
    return diff(index, index, recipe=Recipe().with_rule(pattern, "z"))


@pytest.mark.parametrize("use", [only, policy, filtered, kept, laid])
def test_it_is_refused_wherever_it_stands(use: Callable[[TensorIndex, str], object]) -> None:
    index = TensorIndex.of(
        [TensorSnapshot.from_array("a" * 60 + "b.w", np.zeros(2, "<f4"))], format="test"
    )
    with pytest.raises(RecipeError, match="takes too long"):
        use(index, "^(a+)+$")


FINE = [
    r"^(.+\.)?layers\.(\d+)\.(.+)$",
    r"(?:[^.]+\.)*weight$",
    r"(\w+)\.(\w+)\.(\w+)$",
    r"^(model|module|net|encoder|decoder|head)(\.|$)",
    "(a|b){3}",
    r"(\d+\.){2}",
]


@pytest.mark.parametrize("pattern", FINE)
def test_what_rules_are_made_of_is_taken(pattern: str) -> None:
    keys = [
        f"model.layers.{layer}.experts.{expert}.up.weight"
        for layer in range(60)
        for expert in range(20)
    ]
    assert len(KeyRemapper.of((pattern, "z${0}")).plan(keys).after) == len(keys)
