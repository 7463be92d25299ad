"""``ruda inspect``: what is inside weight files."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import click

from ruda.cli.program import FINE, REFUSED
from ruda.cli.terminal import complain, monitor, say, say_json, table

if TYPE_CHECKING:
    from ruda.progress import Monitor
    from ruda.store import TensorIndex, TensorSnapshot, TreeNode
    from ruda.tensor import TensorStats

TREE_DEPTH = 3
TREE_WIDTH = 24


@click.command("inspect")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--keys", metavar="RE", help="Only tensors whose key matches this regex.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; a list for several files.")
@click.option("--sha256", is_flag=True, help="Hash the bytes of every tensor.")
@click.option("--stats", is_flag=True, help="Scan the values: range, mean, deviation, NaN, Inf.")
@click.option("--top-level-key", metavar="KEY", help="The entry of a PyTorch checkpoint to take.")
def command(
    files: tuple[str, ...],
    keys: str | None,
    as_json: bool,
    sha256: bool,
    stats: bool,
    top_level_key: str | None,
) -> int:
    """Show what is inside weight files.

    Only headers are read, so that a large file opens at once; --sha256 and --stats read values.
    A file that is refused does not keep the others from being shown. A set of shards is named by
    its folder, its index or any of its files.
    """
    from ruda.errors import RudaError
    from ruda.store import PathFilter, open_store

    wanted = None if keys is None else PathFilter.of(keys)
    objects: list[dict[str, Any]] = []
    refused = shown = 0
    for file in files:
        try:
            with (
                monitor(f"Reading {file}") as watch,
                open_store(file, top_level_key=top_level_key, monitor=watch) as index,
            ):
                if wanted is not None:
                    wanted.guard(index)
                chosen = (
                    index.values()
                    if wanted is None
                    else [index[key] for key in index if wanted.matches(key)]
                )
                found = _values(chosen, sha256, stats, watch)
                if as_json:
                    objects.append(_object(file, index, chosen, found))
        except RudaError as error:
            if len(files) == 1:
                raise
            complain(f"ruda: {error}")
            refused += 1
            continue
        if not as_json:
            if shown:
                say()
            _show(file, index, chosen, found)
            shown += 1
    if as_json:
        listed = objects[0] if len(files) == 1 else objects
        say_json(listed)
    return REFUSED if refused else FINE


class _Values:
    """What was read of the values, by key."""

    def __init__(self) -> None:
        self.sha256: dict[str, str] = {}
        self.stats: dict[str, TensorStats] = {}


def _values(
    chosen: Collection[TensorSnapshot], sha256: bool, stats: bool, watch: Monitor
) -> _Values:
    from ruda.errors import DTypeError
    from ruda.progress import track
    from ruda.session import scan_tensor

    found = _Values()
    if not (sha256 or stats):
        return found
    for snapshot in track(chosen, watch, "tensors", len(chosen)):
        if sha256:
            found.sha256[snapshot.key] = snapshot.sha256()
        if stats:
            try:
                found.stats[snapshot.key] = scan_tensor(snapshot)
            except DTypeError:
                continue  # complex, packed and quantized values have no range to show
    return found


def _object(
    file: str, index: TensorIndex, chosen: Collection[TensorSnapshot], found: _Values
) -> dict[str, Any]:
    tensors: list[dict[str, Any]] = []
    for snapshot in chosen:
        entry: dict[str, Any] = {
            "key": snapshot.key,
            "dtype": _dtype_name(snapshot),
            "shape": list(snapshot.shape),
            "bytes": snapshot.nbytes,
        }
        if snapshot.key in found.sha256:
            entry["sha256"] = found.sha256[snapshot.key]
        if snapshot.shared_with is not None:
            entry["shared_with"] = snapshot.shared_with
        if snapshot.key in found.stats:
            entry["stats"] = _stats_object(found.stats[snapshot.key])
        tensors.append(entry)
    return {
        "path": file,
        "format": index.format,
        "metadata": dict(index.metadata),
        "tensors": tensors,
        "unsafe": list(index.unsafe),
        "notes": list(index.notes),
    }


def _dtype_name(snapshot: TensorSnapshot) -> str:
    """Name of the values; how wide a bool is stored is a matter of the file."""
    from ruda.tensor import Kind

    return "bool" if snapshot.dtype.kind is Kind.BOOL else snapshot.dtype_label


def _stats_object(stats: TensorStats) -> dict[str, Any]:
    spread = {"min": stats.minimum, "max": stats.maximum, "mean": stats.mean, "std": stats.std}
    return {
        **{name: value if math.isfinite(value) else None for name, value in spread.items()},
        "zeros": stats.zeros,
        "nan": stats.nans,
        "inf": stats.pos_infs,
        "-inf": stats.neg_infs,
    }


def _show(
    file: str, index: TensorIndex, chosen: Collection[TensorSnapshot], found: _Values
) -> None:
    from ruda.session import count_text, counted, size_text

    values = sum(math.prod(facts.shape) for facts in index.facts() if facts.shared_with is None)
    say(file)
    say(
        f"  {index.format} · {counted(len(index), 'tensor')} · {counted(values, 'value')}"
        f" · {size_text(index.nbytes)}"
    )
    for key, value in index.metadata.items():
        say(f"  {key}: {value if len(value) <= 200 else value[:197] + '…'}")
    if index.shards:
        say(f"  {counted(len(index.shards), 'file')}: {', '.join(p.name for p in index.shards)}")
    for name in index.unsafe:
        say(f"  not run: {name}")
    for note in index.notes:
        say(f"  note: {note}")
    if index.tree is not None and _is_telling(index.tree):
        say()
        _show_tree(index.tree, 0)
    say()
    if len(chosen) != len(index):
        say(f"  {count_text(len(chosen))} of {counted(len(index), 'tensor')} match")
    if found.sha256 or found.stats:
        _show_each(chosen, found)
    else:
        _show_families(index, chosen)


def _show_families(index: TensorIndex, chosen: Collection[TensorSnapshot]) -> None:
    from ruda.session import size_text, tensor_page, tensor_table

    if not chosen:
        return
    shown = index if len(chosen) == len(index) else type(index).of(chosen, format=index.format)
    rows = [
        [
            row.key + (f"  ×{row.count}" if row.count > 1 else ""),
            row.dtype,
            row.shape,
            size_text(row.nbytes),
            row.note or row.shard,
        ]
        for row in tensor_page(tensor_table(shown))
    ]
    table([["key", "dtype", "shape", "size", ""], *rows], right=(3,))


def _show_each(chosen: Collection[TensorSnapshot], found: _Values) -> None:
    from ruda.session import number_text, shape_text, size_text

    head = ["key", "dtype", "shape", "size"]
    if found.stats:
        head += ["min", "max", "mean", "std", "NaN", "Inf"]
    if found.sha256:
        head.append("sha256")
    rows = [head]
    for snapshot in chosen:
        key = snapshot.key
        row = [key, snapshot.dtype_label, shape_text(snapshot.shape), size_text(snapshot.nbytes)]
        if found.stats:
            stats = found.stats.get(key)
            if stats is None:
                row += ["-"] * 6
            else:
                spread = (stats.minimum, stats.maximum, stats.mean, stats.std)
                row += [number_text(value) for value in spread]
                row += [str(stats.nans), str(stats.pos_infs + stats.neg_infs)]
        if found.sha256:
            row.append(found.sha256[key])
        rows.append(row)
    table(rows, right=(3, *(range(4, 10) if found.stats else ())))


def _is_telling(node: TreeNode) -> bool:
    """True for a checkpoint: a tree that holds more than a flat list of tensors."""
    return any(child.kind != "tensor" for child in node.children)


def _show_tree(node: TreeNode, depth: int) -> None:
    from ruda.session import size_text

    size = f"  {size_text(node.nbytes)}" if node.nbytes else ""
    name = node.name or "."
    say(f"  {'  ' * depth}{name}: {node.summary}{size}")
    if depth >= TREE_DEPTH:
        return
    inner = [child for child in node.children if child.kind != "tensor"]
    for child in inner[:TREE_WIDTH]:
        _show_tree(child, depth + 1)
    if len(inner) > TREE_WIDTH:
        say(f"  {'  ' * (depth + 1)}… and {len(inner) - TREE_WIDTH} more")
