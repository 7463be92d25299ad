"""Families of many keys at once: keys that differ in their numbers only, as one row."""

from __future__ import annotations

from collections.abc import Sequence

from ruda.store import fold_all


def families_of(keys: Sequence[str]) -> list[str]:
    """The family of every key, in order; one pass over all of them."""
    return fold_all(keys)
