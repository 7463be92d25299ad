"""KeyPlaces: where a key stands in a list of a million, found without walking the list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ruda.session.pages.folding import Vector

_PIECE = 65_536
"""Keys that one call works on, which no other thread interrupts."""


class KeyPlaces:
    """Places of keys by their hashes: 16 bytes a key, where a dict takes five times as much.

    A list of a million keys takes up to a tenth of a second to be walked, and a window asks with
    every page where the chosen row has gone.
    """

    __slots__ = ("_hashes", "_keys", "_order")

    def __init__(self, keys: Sequence[str]) -> None:
        found = np.empty(len(keys), dtype=np.int64)
        for start in range(0, len(keys), _PIECE):
            piece = keys[start : start + _PIECE]
            found[start : start + len(piece)] = np.fromiter(map(hash, piece), np.int64, len(piece))
        self._keys = keys
        self._order: Vector = np.argsort(found, kind="stable")
        self._hashes: Vector = found[self._order]

    def find(self, key: str) -> int | None:
        """The first place of a key; None where it is not in the list."""
        wanted = hash(key)
        first = int(np.searchsorted(self._hashes, wanted))
        for at in range(first, len(self._keys)):
            if self._hashes[at] != wanted:
                return None
            place = int(self._order[at])
            if self._keys[place] == key:
                return place
        return None
