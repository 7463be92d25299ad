"""The metadata entry that says which keys stand for which: written on save, read on opening."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from ruda.store.index import TensorIndex

NOTE = "aliases"
"""Metadata entry that maps aliases to owners, as a JSON object of texts."""


def note_of(owners: Mapping[str, str]) -> str:
    """The metadata entry that tells the owner of each alias."""
    return json.dumps(dict(sorted(owners.items())), ensure_ascii=False, separators=(",", ":"))


def noted_in(text: str | None, index: TensorIndex) -> dict[str, str] | None:
    """Owner by alias of a note, of those that are both in the index; None if it is no note."""
    found = None if text is None else _parsed(text)
    if found is None:
        return None
    return {key: owner for key, owner in found.items() if key in index and owner in index}


def _parsed(text: str) -> dict[str, str] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict) and all(isinstance(owner, str) for owner in found.values()):
        return found
    return None


def with_noted_aliases(index: TensorIndex) -> TensorIndex:
    """The index with the keys that were written once, as its metadata says.

    A note that cannot be understood, or whose owner is missing, adds a note to ``index.notes``
    and no tensor. Keys that are in the file stay as they are.
    """
    text = index.metadata.get(NOTE)
    if text is None:
        return index
    noted = _parsed(text)
    if noted is None:
        return replace(index, notes=(*index.notes, "the metadata entry 'aliases' is no alias list"))
    absent = {key: owner for key, owner in noted.items() if key not in index}
    lost = [key for key, owner in absent.items() if owner not in index]
    notes = [f"{key!r} stands for {absent[key]!r}, which is not in the file" for key in lost[:3]]
    added = {
        key: replace(index[owner], key=key, shared_with=owner)
        for key, owner in absent.items()
        if owner in index
    }
    if not added and not notes:
        return index
    snapshots = {**index.snapshots, **added} if added else index.snapshots
    return replace(index, snapshots=snapshots, notes=(*index.notes, *notes))
