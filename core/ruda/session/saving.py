"""Saving a document: options as data, the plan before, and what was done after."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruda.store import SavePlan, TensorIndex


@dataclass(frozen=True, slots=True)
class SaveOptions:
    """Where and how a converted document is written."""

    path: Path
    format: str | None = None
    """None: the suffix decides."""
    metadata: tuple[tuple[str, str], ...] = ()
    """Entries that are added to the source's own metadata, or replace them."""
    overwrite: bool = False
    verify: bool = False


def plan_saving(index: TensorIndex, options: SaveOptions) -> SavePlan:
    """The plan of saving a converted index; reads no values, touches no file. Raises SaveError."""
    from ruda.store import plan_save

    metadata = None
    if options.metadata:
        metadata = {**index.metadata, **dict(options.metadata)}
    return plan_save(
        index,
        options.path,
        format=options.format,
        metadata=metadata,
        overwrite=options.overwrite,
    )


def can_write(name: str) -> bool:
    """True if files of this format can be written as well as read."""
    from ruda.errors import SaveError
    from ruda.store import TensorIndex, plan_save

    try:
        plan_save(TensorIndex.of([], format=name), Path(name), format=name)
    except SaveError:
        return False
    return True
