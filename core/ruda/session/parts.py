"""Parts of a checkpoint: the dicts of its root that hold tensors; one can be taken alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ruda.progress import SILENT, Monitor
from ruda.store import open_store

if TYPE_CHECKING:
    from ruda.store import TensorIndex


def parts_of(index: TensorIndex) -> tuple[str, ...]:
    """Keys of a checkpoint's root under which tensors lie; none for a plain table of tensors.

    Each is a ``top_level_key`` that ``open_store`` takes. The index is of the whole file.
    """
    if index.tree is None or index.tree.kind != "dict":
        return ()
    inner = [node for node in index.tree.children if node.children and node.nbytes]
    return tuple(dict.fromkeys(node.name for node in inner))


def open_part(
    path: Path, top_level_key: str | None = None, *, monitor: Monitor = SILENT
) -> tuple[TensorIndex, tuple[str, ...]]:
    """One part of a file, or the whole of it, and the parts that it has. Raises as ``open_store``.

    The caller closes the index.
    """
    whole = open_store(path, monitor=monitor)
    parts = parts_of(whole)
    if top_level_key is None:
        return whole, parts
    whole.close()
    return open_store(path, top_level_key=top_level_key, monitor=monitor), parts
