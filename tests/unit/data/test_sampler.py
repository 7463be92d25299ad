"""fy64-v1 against its vectors, and the laws of drawing."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from ruda.data import derive, epoch_order, permutation
from ruda.data.sampler import draws, mix
from ruda.errors import SettingError

TEN = [
    pytest.param(0, 0, 0xA706DD2F4D197E6F, "4 7 0 5 9 3 6 2 8 1", id="0, 0"),
    pytest.param(0, 1, 0x08B4FDA8C892B50E, "0 8 6 1 7 9 3 4 5 2", id="0, 1"),
    pytest.param(42, 0, 0x57E1FABA65107204, "5 1 9 6 7 2 4 0 8 3", id="42, 0"),
    pytest.param(42, 7, 0x16062D6C1339E500, "0 2 1 7 5 8 6 4 9 3", id="42, 7"),
    pytest.param((1 << 64) - 1, 3, 0x02E9F42F99DC9983, "9 7 1 5 6 8 3 0 2 4", id="largest, 3"),
]


@pytest.mark.parametrize(("seed", "epoch", "key", "order"), TEN)
def test_ten_items(seed: int, epoch: int, key: int, order: str) -> None:
    assert derive(seed, epoch) == key
    np.testing.assert_array_equal(permutation(10, seed, epoch), [int(n) for n in order.split()])


def test_a_hundred_thousand_items() -> None:
    order = permutation(100_000, 42)
    starts = [3716, 32488, 25441, 58834, 44401, 47342, 16155, 81254]
    np.testing.assert_array_equal(order[:8], starts)
    digest = hashlib.sha256(order.astype("<i8").tobytes()).hexdigest()
    assert digest == "698c38c2486689ad24ef360607cac8ff6d54f3f0e8a3008638fbeaf2a3b4d76f"


def test_without_a_seed_items_stay_as_they_lie() -> None:
    np.testing.assert_array_equal(epoch_order(4, None, 9), [0, 1, 2, 3])
    np.testing.assert_array_equal(epoch_order(10, 42, 7), permutation(10, 42, 7))


BAD = [
    pytest.param(3, -1, 0, "a seed is a whole number from 0 to", id="negative seed"),
    pytest.param(3, 1 << 64, 0, "a seed is a whole number from 0 to", id="seed too large"),
    pytest.param(3, 0, -1, "epochs count from 0, got -1", id="negative epoch"),
    pytest.param(-1, 0, 0, "fy64-v1 orders 0 to 4294967295 items, got -1", id="negative length"),
    pytest.param(1 << 32, 0, 0, "items, got 4294967296", id="too many items"),
]


@pytest.mark.parametrize(("length", "seed", "epoch", "told"), BAD)
def test_what_cannot_be_ordered(length: int, seed: int, epoch: int, told: str) -> None:
    with pytest.raises(SettingError, match=told):
        permutation(length, seed, epoch)


def test_words_of_a_key_do_not_swap() -> None:
    assert len({derive(1, 2, 3), derive(1, 3, 2), derive(2, 1, 3), derive(1, 2), derive(1)}) == 5
    assert mix(0) == 0
    assert mix(1 << 64) == mix(0)


def test_a_draw_does_not_depend_on_how_many_follow() -> None:
    np.testing.assert_array_equal(draws(1000, 50, key=5)[:7], draws(1000, 7, key=5))


@pytest.mark.parametrize("bound", [1, 2, 7, 1000, (1 << 31) + 12345, (1 << 32) - 1])
def test_draws_are_uniform_and_inside(bound: int) -> None:
    found = draws(bound, 20_000, key=11)
    assert found.min() >= 0
    assert found.max() < bound
    # Mean of a uniform draw: (bound - 1) / 2, six standard errors wide.
    assert abs(found.mean() - (bound - 1) / 2) <= 6 * bound / np.sqrt(12 * found.size)


@pytest.mark.parametrize("bound", [0, -1, 1 << 32])
def test_a_bound_has_a_range(bound: int) -> None:
    with pytest.raises(SettingError, match=f"got the bound {bound}"):
        draws(bound, 3, key=0)
