"""Families: keys that differ only in the numbers that end a segment, as one row.

``layer1.0.conv2.weight`` and ``layer3.5.conv1.weight`` are both ``layer*.*.conv*.weight``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER_AT_END = re.compile(r"\d+(?=\.|$)", re.MULTILINE)


def family_of(key: str) -> str:
    """The family of one key."""
    return _NUMBER_AT_END.sub("*", key)


def families_of(keys: Sequence[str]) -> list[str]:
    """The family of every key, in order; one pass over all of them."""
    joined = "\n".join(keys)
    if joined.count("\n") != max(0, len(keys) - 1):
        return [family_of(key) for key in keys]
    return _NUMBER_AT_END.sub("*", joined).split("\n") if keys else []
