"""Families of many keys at once: keys that differ in their numbers only, as one row."""

from __future__ import annotations

from collections.abc import Sequence

from ruda.progress import SILENT, Monitor
from ruda.store import fold_all


def families_of(keys: Sequence[str], *, monitor: Monitor = SILENT) -> list[str]:
    """The family of every key, in order; ``monitor`` may stop it every few thousand keys."""
    return fold_all(keys, monitor=monitor)
