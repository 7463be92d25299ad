"""What the gate makes sure of before a kernel is given a number: it takes any, and checks none."""

from __future__ import annotations

import math
from collections.abc import Iterable
from operator import index
from typing import cast

import numpy as np

from ruda.errors import SettingError

Pair = tuple[int, int]

MOST = 2**31 - 1
"""The largest step, window or count: sums and products of two of them fit the words of a kernel."""


def shown_number(value: object) -> str:
    """A number as a sentence shows it; integers of hundreds of digits by their size."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    return repr(value)


def take_whole(value: object, name: str, low: int = 0, high: int = MOST) -> int:
    """A whole number of any integer type, within these ends. Raises SettingError saying which."""
    try:
        found = index(value)  # type: ignore[arg-type]
    except TypeError:
        found = low - 1
    if not low <= found <= high:
        raise SettingError(
            f"{name}={shown_number(value)}: expected a whole number from {low} to {high}"
        )
    return found


def take_pair_of(value: object, name: str, low: int = 1) -> Pair:
    """Two whole numbers from ``low`` on. Raises SettingError."""
    try:
        first, second = cast("Iterable[object]", value)
        found = index(first), index(second)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = (low - 1, low - 1)
    if not (low <= found[0] <= MOST and low <= found[1] <= MOST):
        raise SettingError(
            f"{name}={shown_number(value)}: expected two whole numbers from {low} to {MOST}"
        )
    return found


def take_switch(value: object, name: str) -> int:
    """True or False, as 1 or 0. Raises SettingError for what Python would take for one."""
    if not isinstance(value, bool | np.bool_):
        raise SettingError(f"{name}={shown_number(value)}: expected True or False")
    return int(value)


def take_number(value: object, name: str) -> float:
    """A number as float64; NaN and infinities are numbers. Raises SettingError for what is none."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise SettingError(
            f"{name}={shown_number(value)}: expected a number that float64 holds"
        ) from None


def take_single(value: object, name: str) -> np.float32:
    """A number as float32. Raises SettingError for one that would become infinite there."""
    wide = take_number(value, name)
    with np.errstate(all="ignore"):
        found = np.float32(wide)
    if math.isfinite(wide) and not np.isfinite(found):
        raise SettingError(f"{name}={shown_number(value)}: expected a number that float32 holds")
    return found
