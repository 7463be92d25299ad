"""Families of many keys at once: keys that differ in their numbers only, as one row."""

from __future__ import annotations

from collections.abc import Sequence

from ruda.store import fold


def families_of(keys: Sequence[str]) -> list[str]:
    """The family of every key, in order; one pass over all of them."""
    if not keys:
        return []
    folded = fold("\n".join(keys)).split("\n")
    return folded if len(folded) == len(keys) else [fold(key) for key in keys]
