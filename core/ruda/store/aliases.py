r"""Which tensors are one and the same memory, and what a file that has no aliases does about it.

A checkpoint may hold one tensor under two keys (tied weights), or views of one storage. PyTorch
files keep that. The other formats have one place per key: there, either every key is written in
full, or the *owner* only, and the metadata entry ``aliases`` says which other keys stand for it::

    {"aliases": "{\"lm_head.weight\": \"wte.weight\"}"}
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from enum import Enum

from ruda.errors import SaveError
from ruda.store.alias_note import NOTE
from ruda.store.formats._extents import extent_of
from ruda.store.index import TensorIndex


class Aliases(Enum):
    """What is written for keys that stand for one tensor, where the format has no aliases."""

    FULL = "full"
    """Every key in full: any reader finds all of them."""
    ONCE = "once"
    """The owner only; Ruda finds the others by the note in the metadata."""


def alias_groups(index: TensorIndex) -> tuple[tuple[str, ...], ...]:
    """Keys that stand for one tensor, two or more in a group, in the order of the index.

    Only tensors that are said to share memory are looked at, and only those are one that have
    shape, dtype and every value in common: a slice or a transposed view is a tensor of its own.
    """
    if not any(s.shared_with is not None for s in index.values()):
        return ()
    groups: dict[Hashable, list[str]] = {}
    for key, snapshot in index.items():
        extent = extent_of(snapshot)
        if extent is not None:
            groups.setdefault((extent, snapshot.dtype, snapshot.shape), []).append(key)
    return tuple(tuple(keys) for keys in groups.values() if len(keys) > 1)


def choose_owners(index: TensorIndex, owners: Iterable[str] = ()) -> dict[str, str]:
    """Owner by alias. The owner is the key in ``owners``, else the first of its group.

    Raises SaveError (stage ``plan``) for an owner that is no key, or two of one group.
    """
    wanted = tuple(dict.fromkeys(owners))
    for key in wanted:
        if key not in index:
            raise SaveError(
                f"{key!r} shall own shared values, but there is no such tensor", stage="plan"
            )
    found: dict[str, str] = {}
    for group in alias_groups(index):
        named = [key for key in wanted if key in group]
        if len(named) > 1:
            raise SaveError(
                f"{named[0]!r} and {named[1]!r} are one tensor, which has one owner", stage="plan"
            )
        owner = named[0] if named else group[0]
        found.update((key, owner) for key in group if key != owner)
    return found


def default_policy(index: TensorIndex) -> Aliases:
    """What an index is saved with unless told: as it was found in a file without aliases."""
    noted = index.format not in ("pytorch", "module") and NOTE in index.metadata
    return Aliases.ONCE if noted else Aliases.FULL
