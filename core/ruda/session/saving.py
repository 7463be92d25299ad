"""Saving a document: options as data, the plan before, and what was done after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ruda.progress import SILENT, Monitor

if TYPE_CHECKING:
    from ruda.store import Aliases, MetadataEdit, Recipe, SavePlan, TensorIndex


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """Where and how a converted document is written."""

    path: Path
    format: str | None = None
    """None: the suffix decides."""
    metadata: tuple[tuple[str, str], ...] = ()
    """Entries that are added to the source's own metadata, or replace them."""
    drop_metadata: tuple[str, ...] = ()
    """Entries of the source's metadata that are left out."""
    overwrite: bool = False
    verify: bool = False
    shard_size: int | None = None
    """Bytes of tensors per file, for a set of files."""
    aliases: Aliases | None = None
    """What is written for keys that are one tensor; None: as the source has it."""
    owners: tuple[str, ...] = ()
    """Keys that own what they share with others."""


def plan_saving(index: TensorIndex, options: SaveOptions) -> SavePlan:
    """The plan of saving a converted index; reads no values, touches no file. Raises SaveError."""
    from ruda.store import plan_save

    metadata = None
    if options.metadata or options.drop_metadata:
        metadata = {**index.metadata, **dict(options.metadata)}
        for key in options.drop_metadata:
            metadata.pop(key, None)
    return plan_save(
        index,
        options.path,
        format=options.format,
        metadata=metadata,
        overwrite=options.overwrite,
        aliases=options.aliases,
        owners=options.owners,
        shard_size=options.shard_size,
    )


def edit_only(
    index: TensorIndex,
    recipe: Recipe,
    options: SaveOptions,
    *,
    monitor: Monitor = SILENT,
    release: Callable[[], None] | None = None,
) -> MetadataEdit | None:
    """Do a save that changes metadata only in the file itself; None for any other save.

    That is one of a safetensors file over itself, with no step of a recipe. ``release`` lets go of
    the file where the system asks for that. Raises SaveError, and Cancelled where it has to be
    copied.
    """
    from ruda.store import Recipe, edit_metadata, is_same_file

    changes: dict[str, str | None] = dict.fromkeys(options.drop_metadata)
    changes.update(options.metadata)
    plain = (options.format in (None, "safetensors"), index.format == "safetensors", changes)
    spread = (options.shard_size, options.aliases, options.owners, index.shards)
    if not all(plain) or any(spread) or recipe != Recipe() or not options.overwrite:
        return None
    if not is_same_file(index.path, options.path):
        return None
    may_copy = not options.verify
    return edit_metadata(options.path, changes, may_copy=may_copy, monitor=monitor, release=release)


def can_write(name: str) -> bool:
    """True if files of this format can be written as well as read."""
    from ruda.errors import SaveError
    from ruda.store import TensorIndex, plan_save

    try:
        plan_save(TensorIndex.of([], format=name), Path(name), format=name)
    except SaveError:
        return False
    return True
