"""Orders of indices as pure functions of (seed, epoch): ``fy64-v1``, Ruda's own shuffle.

The bits never change under one name, on no machine and in no version: NumPy promises that only
for raw bit streams, not for ``Generator.permutation``. The same order therefore comes back from a
saved position of three numbers.
"""

from __future__ import annotations

import numpy as np

from ruda._kernels import shuffle_order
from ruda.data.dataset import IndexArray
from ruda.errors import SettingError

ALGORITHM = "fy64-v1"
MAX_LENGTH = (1 << 32) - 1

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix(word: int) -> int:
    """SplitMix64's finaliser: every input bit reaches every output bit; 64 bits to 64 bits."""
    word &= _WORD
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & _WORD
    return word ^ (word >> 31)


def derive(seed: int, *words: int) -> int:
    """A 64-bit key for a seed and any number of words, such as the epoch; order matters."""
    key = mix(seed + _GOLDEN)
    for word in words:
        key = mix((key ^ (word & _WORD)) + _GOLDEN)
    return key


def check_seed(seed: int) -> int:
    """The seed itself. Raises SettingError if it does not fit in 64 unsigned bits."""
    number = _whole(seed)
    if number is None or not 0 <= number <= _WORD:
        raise SettingError(f"a seed is a whole number from 0 to 2**64 - 1, got {seed!r}")
    return number


def whole_number(name: str, value: int, least: int) -> int:
    """The value as a plain int. Raises SettingError for what is no whole number from ``least``."""
    number = _whole(value)
    if number is None:
        raise SettingError(f"{name} is a whole number, got {value!r}")
    if number < least:
        raise SettingError(f"{name} is at least {least}, got {number}")
    return number


def _whole(value: object) -> int | None:
    """A whole number of Python's or NumPy's; a saved position holds plain ones only."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        return None
    return int(value)


def permutation(length: int, seed: int, epoch: int = 0) -> IndexArray:
    """The numbers 0 … length - 1 in the order of this seed and epoch; int64 (length,).

    Raises SettingError for a seed outside 64 bits, a negative epoch or more than 2**32 - 1 items.
    """
    if epoch < 0:
        raise SettingError(f"epochs count from 0, got {epoch}")
    if not 0 <= length <= MAX_LENGTH:
        raise SettingError(f"{ALGORITHM} orders 0 to {MAX_LENGTH} items, got {length}")
    order: IndexArray = shuffle_order(length, derive(check_seed(seed), epoch))
    return order


def epoch_order(length: int, seed: int | None, epoch: int) -> IndexArray:
    """Order of one epoch: as they lie for seed None, else ``permutation``; int64 (length,)."""
    if seed is None:
        return np.arange(length, dtype=np.int64)
    return permutation(length, seed, epoch)


def draws(bound: int, count: int, key: int) -> IndexArray:
    """``count`` independent uniform numbers below ``bound``; int64 (count,); unbiased.

    Draw i is that of a counter, so it is the same for any ``count``. Raises SettingError if the
    bound is not in 1 … 2**32 - 1.
    """
    if not 1 <= bound <= MAX_LENGTH:
        raise SettingError(f"draws are below 1 to {MAX_LENGTH}, got the bound {bound}")
    counters = np.arange(count, dtype=np.uint64)
    found = np.empty(count, dtype=np.int64)
    waiting = np.arange(count)
    threshold = ((1 << 32) - bound) % bound
    attempt = 0
    while waiting.size:
        words = _mix_array(counters[waiting], derive(key, attempt)) >> np.uint64(32)
        products = words * np.uint64(bound)
        fair = (products & np.uint64(0xFFFFFFFF)) >= np.uint64(threshold)
        found[waiting[fair]] = (products[fair] >> np.uint64(32)).astype(np.int64)
        waiting = waiting[~fair]
        attempt += 1
    return found


def _mix_array(
    counters: np.ndarray[tuple[int], np.dtype[np.uint64]], key: int
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """``mix(key + (i + 1) · golden)`` for each counter; u64 arrays wrap as the rule asks."""
    word = np.uint64(key) + (counters + np.uint64(1)) * np.uint64(_GOLDEN)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
