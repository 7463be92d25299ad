"""Reading PyTorch checkpoints: zip archives, the older stream of five pickles, plain pickles.

The pickle in them is read by ``PickleMachine``, which builds inert values only. Opening reads the
pickle and the headers; values are read when asked for.
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ruda.errors import (
    HeaderError,
    MissingKeyError,
    OffsetError,
    TruncatedFileError,
    UnknownFormatError,
)
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile
from ruda.store.format import opened_index
from ruda.store.formats._pickle import PickleMachine
from ruda.store.formats._tar import is_tar
from ruda.store.formats._torch_legacy import EmbeddedStorages, held, is_legacy, read_legacy, run_at
from ruda.store.formats._torch_quantized import TorchQuantized
from ruda.store.formats._torch_rebuild import TorchBuilder
from ruda.store.formats._torch_refs import SparseRef, StorageRef, TensorRef
from ruda.store.formats._torch_source import MemberBytes, StorageBytes, ViewSource
from ruda.store.formats._torch_sparse import SparseSource
from ruda.store.formats._torch_tar import read_tar
from ruda.store.formats._torch_tree import Walk, segment
from ruda.store.formats._zip import LOCAL_MAGIC, STORED, ZipDirectory
from ruda.store.index import TensorIndex
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.store.uri import Place

PICKLE_LIMIT = 1 << 30
"""Largest pickle that is read unless the caller says otherwise, in bytes."""


@dataclass(slots=True)
class Checkpoint:
    """What a container gave: the root value, where its storages lie, and facts about it."""

    root: Any
    storages: Mapping[str, StorageBytes]
    container: str
    work: int
    foreign: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    big_endian: bool = False
    facts: dict[str, str] = field(default_factory=dict)


class PytorchFormat:
    """Reader of ``torch.save`` files; ``pickle_limit`` is the largest pickle it takes, in bytes."""

    name = "pytorch"
    title = "PyTorch checkpoint"
    suffixes: tuple[str, ...] = (".pt", ".pth", ".bin", ".ckpt", ".th", ".pkl", ".tar")

    def __init__(self, *, pickle_limit: int = PICKLE_LIMIT) -> None:
        self.pickle_limit = pickle_limit

    def matches(self, head: bytes, path: Path) -> bool:
        """True for a zip archive that is no NumPy one, a legacy file, or a binary pickle."""
        if head[:4] == LOCAL_MAGIC:
            name_size = int.from_bytes(head[26:28], "little")
            return not head[30 : 30 + name_size].endswith(b".npy")
        if is_tar(head) or is_legacy(head):
            return True
        return head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05" and len(head) > 2

    def open(
        self, path: Path, *, top_level_key: str | None = None, monitor: Monitor = SILENT
    ) -> TensorIndex:
        """Index of the file in the order of its dicts; reads pickle and headers only.

        ``top_level_key`` takes the part under that key of the root dict, and leaves the key out
        of the tensors' keys. ``extra`` has ``container`` and what the archive says of itself;
        ``tree`` is the whole checkpoint, ``unsafe`` the names that were not resolved.
        Raises UnsafeContentError for a pickle that would run code.
        """
        return self.open_bytes(ByteFile(path), top_level_key=top_level_key, monitor=monitor)

    def open_bytes(
        self, file: ByteFile, *, top_level_key: str | None = None, monitor: Monitor = SILENT
    ) -> TensorIndex:
        """The same of a file that is open already, and is closed with the index."""

        def read(file: ByteFile) -> TensorIndex:
            found = self.read(file, monitor)
            if top_level_key is not None:
                found.root = below(found.root, top_level_key, file.path)
            return _index(found, file, self.name)

        return opened_index(file, read)

    def read(self, file: ByteFile, monitor: Monitor) -> Checkpoint:
        """What the container of an open file gives. Raises FormatError without a path."""
        head = file.read_at(0, min(file.size, 512))
        if not head:
            raise TruncatedFileError("is empty (0 bytes); get the file again", offset=0)
        if head[:4] == LOCAL_MAGIC:
            return self._read_zip(file, monitor)
        if is_legacy(head):
            return Checkpoint(**read_legacy(file, self.pickle_limit, monitor))
        if is_tar(head):
            return Checkpoint(**read_tar(file, self.pickle_limit, monitor))
        return self._read_plain(file, monitor)

    def _read_zip(self, file: ByteFile, monitor: Monitor) -> Checkpoint:
        archive = ZipDirectory(file)
        prefix = _prefix(archive)
        builder = TorchBuilder()
        member = archive.members[f"{prefix}data.pkl"]
        machine = PickleMachine(
            archive.read(member, self.pickle_limit),
            base=member.offset if member.method == STORED else 0,
            rebuild=builder.table(),
            persistent=builder.storage,
            known=builder.known,
            monitor=monitor,
        )
        builder.machine = machine
        root = machine.run()
        facts = _facts(archive, prefix)
        order = facts.get("byteorder", "little")
        if order not in ("little", "big"):
            raise HeaderError(f"the archive says its byte order is {order!r}")
        notes = list(builder.notes)
        if not archive.checked:
            notes.append("the archive has no checksums, so damage to it cannot be seen")
        return Checkpoint(
            root,
            {
                **_members(archive, prefix, builder.storages),
                **held(builder, file),
            },
            "zip",
            machine.work,
            tuple(machine.foreign),
            notes,
            order == "big",
            facts,
        )

    def _read_plain(self, file: ByteFile, monitor: Monitor) -> Checkpoint:
        builder = TorchBuilder()
        embedded = EmbeddedStorages(file.path, self.pickle_limit, monitor)
        builder.embedded = embedded

        def make(raw: bytes, at: int) -> PickleMachine:
            embedded.places.clear()
            builder.arrays.clear()
            machine = PickleMachine(
                raw, base=at, rebuild=builder.table(), known=builder.known, monitor=monitor
            )
            builder.machine = machine
            return machine

        root, end, machine = run_at(file, 0, self.pickle_limit, make)
        if end != file.size:
            raise UnknownFormatError(
                f"begins like a pickle that ends at byte {end}, but {file.size - end} bytes "
                "follow: this is no PyTorch file",
                offset=end,
            )
        held_some = bool(embedded.places or builder.arrays)
        if not isinstance(root, (dict, list, tuple)) and not held_some:
            raise UnknownFormatError("is a pickle without tensors, no PyTorch file", offset=0)
        return Checkpoint(
            root,
            {**embedded.places, **held(builder, file)},
            "pickle",
            machine.work,
            tuple(machine.foreign),
            builder.notes,
        )


def below(root: Any, key: str, path: Place) -> Any:
    """The value under a key of the root dict. Raises MissingKeyError listing the keys there are."""
    if isinstance(root, dict):
        for name, value in root.items():
            if segment(name) == key:
                return value
        names = [segment(name) for name in root]
        listed = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        why = f"the checkpoint has no top-level key {key!r}; it has {listed or 'none'}"
    else:
        names = []
        why = f"the checkpoint is no dict, so it has no top-level key {key!r}"
    near = difflib.get_close_matches(key, names, n=1)
    error = MissingKeyError(key, nearest=near[0] if near else None, path=path)
    error.message = f"{path}: {why}"
    raise error


def _index(found: Checkpoint, file: ByteFile, name: str) -> TensorIndex:
    walk = Walk(found.work)
    tree = walk.run(found.root)
    extra: dict[str, Any] = {"container": found.container, **found.facts}
    return TensorIndex.of(
        _snapshots(walk.tensors, found, file.path),
        format=name,
        path=file.path,
        notes=tuple(dict.fromkeys((*found.notes, *walk.notes))),
        unsafe=found.foreign,
        tree=tree,
        extra=extra,
        closers=(file.close,),
    )


def _snapshots(
    tensors: list[tuple[str, TensorRef | SparseRef]], found: Checkpoint, path: Place
) -> list[TensorSnapshot]:
    owners = Owners()
    made: list[TensorSnapshot] = []
    for key, ref in tensors:
        if isinstance(ref, SparseRef):
            made.append(_sparse(key, ref, found, path))
            continue
        source = source_of(key, ref, found)
        made.append(
            TensorSnapshot(
                key=key,
                dtype=ref.dtype,
                shape=ref.shape,
                nbytes=ref.nbytes,
                source=source,
                origin=source.place(),
                shared_with=owners.claim(key, ref),
                scheme=scheme_of(key, ref, found),
            )
        )
    return made


def source_of(key: str, ref: TensorRef, found: Checkpoint) -> ViewSource:
    """Where the values of a tensor of this checkpoint come from."""
    storage = found.storages.get(ref.storage.key)
    if storage is None:
        raise HeaderError(f"{key!r} needs storage {ref.storage.key!r}, which is not in the file")
    return ViewSource(storage, ref, found.big_endian)


def scheme_of(key: str, ref: TensorRef, found: Checkpoint) -> TorchQuantized | None:
    """How the numbers of a quantized tensor are meant; None for any other."""
    known = ref.quantizer
    if known is None:
        return None

    def part(value: Any) -> Any:
        if isinstance(value, TensorRef):
            return source_of(key, value, found)
        return ArraySource(np.asarray(value)) if isinstance(value, tuple) else value

    return TorchQuantized(
        ref.dtype, known.name, part(known.scale), part(known.zero_point), known.axis
    )


def _sparse(key: str, ref: SparseRef, found: Checkpoint, path: Place) -> TensorSnapshot:
    columns = None if ref.columns is None else source_of(key, ref.columns, found)
    source = SparseSource(
        ref, source_of(key, ref.rows, found), columns, source_of(key, ref.values, found), path
    )
    return TensorSnapshot(
        key=key, dtype=ref.dtype, shape=ref.shape, nbytes=ref.nbytes, source=source
    )


class Owners:
    """Who was first to view each part of each storage."""

    def __init__(self) -> None:
        self._spans: dict[str, list[tuple[int, int, str]]] = {}

    def claim(self, key: str, ref: TensorRef) -> str | None:
        """Key of an earlier tensor that views some of the same bytes, else None and it is ours."""
        size = ref.nbytes // ref.numel if ref.numel else 0
        start, end = ref.offset * size, (ref.offset + ref.span) * size
        if start == end:
            return None
        spans = self._spans.setdefault(ref.storage.key, [])
        at = bisect_right(spans, start, key=lambda span: span[0])
        for near in spans[max(at - 1, 0) : at + 1]:
            if near[0] < end and start < near[1]:
                return near[2]
        spans.insert(at, (start, end, key))
        return None


def _prefix(archive: ZipDirectory) -> str:
    """The folder of ``data.pkl``. Raises UnknownFormatError without one, HeaderError with two."""
    found = [n for n in archive.members if n == "data.pkl" or n.endswith("/data.pkl")]
    if not found:
        names = ", ".join(list(archive.members)[:5])
        raise UnknownFormatError(
            "is a zip archive without data.pkl, so no PyTorch checkpoint; it holds "
            f"{names or 'nothing'}"
        )
    if len(found) > 1:
        raise HeaderError(f"the archive holds several checkpoints: {', '.join(found[:5])}")
    return found[0].removesuffix("data.pkl")


def _facts(archive: ZipDirectory, prefix: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in ("byteorder", "version", ".format_version", ".storage_alignment"):
        member = archive.members.get(prefix + name)
        if member is not None:
            text = archive.read(member, 4096).decode("ascii", "replace").strip()
            found[name.removeprefix(".")] = text
    return found


def _members(
    archive: ZipDirectory, prefix: str, storages: Mapping[str, StorageRef]
) -> dict[str, StorageBytes]:
    found: dict[str, StorageBytes] = {}
    for key, ref in storages.items():
        member = archive.members.get(f"{prefix}data/{key}")
        if member is None:
            raise HeaderError(f"the pickle uses storage {key!r}, which is not in the archive")
        if member.size < ref.nbytes:
            raise OffsetError(
                f"storage {key!r} should have {ref.nbytes} bytes, but {member.name} has "
                f"{member.size}",
                offset=member.offset,
            )
        found[key] = MemberBytes(archive, member)
    return found
