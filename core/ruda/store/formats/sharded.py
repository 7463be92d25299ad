"""Opening a set of shards as one: by its index file, its folder, or any shard of it.

The index (``*.index.json``) maps keys to file names. It is checked both ways: a key that its shard
lacks and a file that is not there are refused, a tensor that the index forgot gets a note.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ruda.errors import FileAccessError, HeaderError, KeyCollisionError, UnknownFormatError
from ruda.progress import SILENT, Monitor, track
from ruda.store._set_journal import JOURNAL, interrupted, pending_indexes
from ruda.store.index import TensorIndex
from ruda.store.remote import is_there, open_bytes
from ruda.store.snapshot import TensorSnapshot
from ruda.store.stamp import Stamp
from ruda.store.uri import Place, Uri

INDEX_SUFFIX = ".index.json"
METADATA = ".metadata"
"""Name of the file that says what a distributed checkpoint holds."""
INDEX_LIMIT = 512 << 20
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d+)-of-(?P<count>\d+)(?P<suffix>\.\w+)$")
MAX_SHARDS = 100_000
_INTERRUPTED = (
    "the save of this set was interrupted while its files took their places: the new files are "
    "read where they lie, and the next save into the folder puts them in place"
)
_REPLACED = "the set is just being replaced; open it in a moment"
_ATTEMPTS = 3
_WEIGHTS = (".safetensors", ".bpk", ".pt", ".pth", ".bin", ".ckpt")
_OTHERS = (".gguf", ".h5", ".keras", ".onnx", ".npz")
"""What a folder without such a file is opened by."""

Opener = Callable[[Place], TensorIndex]


class UnlistedShardError(HeaderError):
    """Raised for a file whose name is that of a shard, and that the index beside it leaves out."""


def index_of(path: Place) -> Place | None:
    """The index file that a path stands for: itself, or the one beside a shard; else None."""
    if path.name.endswith(INDEX_SUFFIX):
        return path
    found = _SHARD.fullmatch(path.name)
    if found is None:
        return None
    beside = path.with_name(f"{found['stem']}{found['suffix']}{INDEX_SUFFIX}")
    if isinstance(beside, Path) and beside.name in pending_indexes(beside.parent):
        return beside
    return beside if is_there(beside) else None


def weights_in(folder: Path) -> Path:
    """The index file or the only weight file in a folder.

    Raises FileAccessError naming what there is where that is not one thing.
    """
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError as error:
        raise FileAccessError(
            f"cannot be listed: {error.strerror or error}", path=folder
        ) from error
    return folder / _chosen({*names, *pending_indexes(folder)}, folder)


def weights_at(folder: Uri) -> Uri | None:
    """The same of a folder at an address, also the metadata of a distributed checkpoint.

    None if there is no folder, or the server does not say what is in it. Raises FileAccessError.
    """
    from ruda.store._remote_fsspec import listing

    try:
        found = listing(folder)
    except FileAccessError:
        return None  # opening it will say what is wrong, if anything is
    if not found:
        return None
    names = {name for name, is_file in found.items() if is_file}
    return folder.within(METADATA if METADATA in names else _chosen(names, folder))


def _chosen(names: Iterable[str], folder: Place) -> str:
    """The one file among these that opens all weights of their folder."""
    names = sorted(names)
    indexes = [name for name in names if name.endswith(INDEX_SUFFIX)]
    files = [name for name in names if name.endswith(_WEIGHTS)]
    files = files or [name for name in names if name.endswith(_OTHERS)]
    whole = parts_of(Path(files[0])) if files and not indexes else []
    if whole and {part.name for part in whole} == set(files):
        return whole[0].name
    for found in (indexes, [name for name in files if name.endswith(".safetensors")], files):
        if len(found) == 1:
            return found[0]
    listed = ", ".join((indexes or files)[:5])
    what = f"with several weight files ({listed})" if listed else "without a weight file"
    raise FileAccessError(f"is a folder {what}; name the file to open", path=folder)


def parts_of(path: Place) -> list[Path]:
    """Where every file of a shard's set should be, by its name (``x-2-of-3.bin``); else nothing."""
    found = _SHARD.fullmatch(path.name)
    if found is None or not isinstance(path, Path):
        return []
    width, count = len(found["number"]), int(found["count"][:7])
    if not 1 <= int(found["number"][:7]) <= count <= MAX_SHARDS:
        return []
    front, back = f"{found['stem']}-", f"-of-{found['count']}{found['suffix']}"
    return [path.with_name(f"{front}{n:0{width}}{back}") for n in range(1, count + 1)]


def open_named(path: Path, opener: Opener, *, monitor: Monitor = SILENT) -> TensorIndex:
    """The set of a shard that has no index: all its files if they are there, else the one file.

    Either way a note says so. Raises KeyCollisionError if two shards have the same key, and
    FileAccessError while another process is replacing the set.
    """
    return _steady(path, lambda: _open_named(path, opener, monitor))


def _open_named(path: Path, opener: Opener, monitor: Monitor) -> TensorIndex:
    parts = parts_of(path)
    gone = [part.name for part in parts if not part.is_file()]
    if gone:
        index = opener(path)
        note = f"is one of {len(parts)} files of a set without an index; {gone[0]} is missing"
        return replace(index, notes=(note, *index.notes))
    opened: list[TensorIndex] = []
    try:
        for part in track(parts, monitor, "shards", len(parts)):
            opened.append(opener(part))
        names = (part.name for part in parts)
        _check_owners(zip(names, opened, strict=True), path=path)
        metadata, notes = _set_facts(opened)
        return TensorIndex.of(
            (snapshot for each in opened for snapshot in each.values()),
            format=opened[0].format,
            path=path,
            metadata=metadata,
            shards=tuple(parts),
            notes=notes,
            unsafe=tuple(dict.fromkeys(name for each in opened for name in each.unsafe)),
            closers=tuple(each.close for each in opened),
        )
    except BaseException:
        for each in opened:
            each.close()
        raise


def _set_facts(opened: list[TensorIndex]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Metadata and notes of a set without an index; files of GGUF say themselves that they are."""
    if {each.format for each in opened} == {"gguf"}:
        from ruda.store.formats.gguf import split_model

        return split_model(opened)
    found = f"the set has no index; its {len(opened)} files were found by their names"
    return _shared_metadata(opened), (found, *(note for each in opened for note in each.notes))


def open_sharded(
    index: Place, opener: Opener, *, shard: str | None = None, monitor: Monitor = SILENT
) -> TensorIndex:
    """All shards of an index file as one index, in the order of shards and of data in them.

    ``opener`` opens one shard. ``extra`` has ``index_metadata``; ``shards`` their paths.
    Raises HeaderError for an index that is wrong, FileAccessError for a shard that is not there,
    and while another process is replacing the set; UnlistedShardError if ``shard`` is none of it.
    """
    if not isinstance(index, Path):
        return _open_sharded(index, opener, shard, monitor)
    return _steady(index, lambda: _open_sharded(index, opener, shard, monitor))


def _steady(path: Path, attempt: Callable[[], TensorIndex]) -> TensorIndex:
    """The set, all of whose files were in place at one moment.

    A set that is replaced while its files are opened one by one would be half of each; what was
    opened counts only if no weight file in the folder changed from before the first to after the
    last.
    """
    for _ in range(_ATTEMPTS):
        before = _files(path.parent)
        try:
            found = attempt()
        except FileAccessError:
            if _files(path.parent) == before:
                raise
            continue
        if _files(path.parent) == before:
            return found
        found.close()
    raise FileAccessError(_REPLACED, path=path)


def _files(folder: Path) -> dict[str, Stamp | None] | None:
    """The files in a folder that sets are made of, as they are now; None if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if _may_belong(entry.name)]
    except OSError:
        return None
    return {name: Stamp.of(folder / name) for name in names}


def _may_belong(name: str) -> bool:
    return name.endswith((INDEX_SUFFIX, *_WEIGHTS, *_OTHERS)) or JOURNAL.fullmatch(name) is not None


def _open_sharded(
    index: Place, opener: Opener, wanted: str | None, monitor: Monitor
) -> TensorIndex:
    elsewhere = _lying_elsewhere(index)
    beside = _of_one_state(index)
    listed, about = _read(beside, elsewhere.get(index.name, index.name))
    names = list(dict.fromkeys(listed.values()))
    if wanted is not None and wanted not in names:
        raise UnlistedShardError(f"is not of the set that {index.name} beside it lists")
    shards = [beside.with_name(elsewhere.get(name, name)) for name in names]
    opened: list[TensorIndex] = []
    try:
        for shard in track(shards, monitor, "shards", len(shards)):
            if isinstance(shard, Path) and not shard.is_file():
                raise FileAccessError(
                    f"names the shard {shard.name}, which is not beside it; get that file, too",
                    path=index,
                )
            opened.append(opener(shard))
        snapshots, notes = _joined(index, listed, names, opened)
        if elsewhere:
            notes = (_INTERRUPTED, *notes)
        return TensorIndex.of(
            snapshots,
            format=opened[0].format if opened else "safetensors",
            path=index,
            metadata=_shared_metadata(opened),
            shards=tuple(shards),
            notes=notes,
            unsafe=tuple(dict.fromkeys(name for each in opened for name in each.unsafe)),
            extra={"index_metadata": about},
            closers=tuple(each.close for each in opened),
        )
    except BaseException:
        for each in opened:
            each.close()
        raise


def _of_one_state(index: Place) -> Place:
    """The index where all files beside it are of one save, at addresses that can say that."""
    if not isinstance(index, Uri) or index.is_web:
        return index
    from ruda.store._remote_fsspec import pinned

    return pinned(index)


def _lying_elsewhere(index: Place) -> Mapping[str, str]:
    """Final name → where it lies, for files whose save died while they were put in place.

    Raises FileAccessError while another process is replacing the set.
    """
    found = interrupted(index) if isinstance(index, Path) else {}
    if found is None:
        raise FileAccessError(_REPLACED, path=index)
    return found


def _read(index: Place, name: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Names of files by key, and the index's own metadata; ``name`` is where it lies."""
    with open_bytes(index.with_name(name)) as file:
        if file.size > INDEX_LIMIT:
            raise HeaderError(
                f"the index has {file.size} bytes, the limit is {INDEX_LIMIT}", path=index
            )
        raw = file.read_at(0, file.size)
    try:
        root = json.loads(raw, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise HeaderError(f"the index is not valid JSON: {error}", path=index) from None
    listed = root.get("weight_map") if isinstance(root, dict) else None
    if not isinstance(listed, dict):
        raise UnknownFormatError("has no weight_map, so it is no index of shards", path=index)
    for key, name in listed.items():
        if not isinstance(name, str) or not is_plain_name(name):
            raise HeaderError(
                f"the index puts {key!r} into {name!r}, which is no file beside it", path=index
            )
    about = root.get("metadata")
    return listed, about if isinstance(about, dict) else {}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name appears twice")
    return found


def is_plain_name(name: str) -> bool:
    """True for a name that can only mean a file in the same folder."""
    return bool(name) and name not in (".", "..") and not set(name) & set("/\\:\0")


def _joined(
    index: Place, listed: Mapping[str, str], names: list[str], opened: list[TensorIndex]
) -> tuple[list[TensorSnapshot], tuple[str, ...]]:
    notes: list[str] = [note for each in opened for note in each.notes]
    by_name = dict(zip(names, opened, strict=True))
    absent = [key for key, name in listed.items() if key not in by_name[name]]
    if absent:
        raise HeaderError(
            f"the index puts {absent[0]!r} into {listed[absent[0]]}, which has no such tensor"
            + (f" ({len(absent)} keys in all)" if len(absent) > 1 else ""),
            path=index,
        )
    unlisted = {shard: [k for k in each if k not in listed] for shard, each in by_name.items()}
    _check_owners(unlisted.items(), path=index)
    found: list[TensorSnapshot] = []
    for shard, each in by_name.items():
        extra = unlisted[shard]
        if extra:
            notes.append(
                f"{shard} has {len(extra)} tensors that are not in the index: {extra[0]!r}"
            )
        found.extend(s for key, s in each.items() if listed.get(key, shard) == shard)
        stale = [key for key in each if listed.get(key, shard) != shard]
        if stale:
            notes.append(f"{shard} has {stale[0]!r}, which the index puts into {listed[stale[0]]}")
    return found, tuple(notes)


def _check_owners(keys: Iterable[tuple[str, Iterable[str]]], *, path: Place | None = None) -> None:
    """Raise KeyCollisionError, naming both files, if two of them have the same key."""
    owners: dict[str, str] = {}
    for name, held in keys:
        for key in held:
            first = owners.setdefault(key, name)
            if first != name:
                raise KeyCollisionError(key, (f"{key} in {first}", f"{key} in {name}"), path=path)


def _shared_metadata(opened: list[TensorIndex]) -> dict[str, str]:
    """The entries that every shard has alike."""
    if not opened:
        return {}
    first, *rest = (dict(each.metadata) for each in opened)
    return {k: v for k, v in first.items() if all(other.get(k) == v for other in rest)}
