"""The stream that ``torch.save`` wrote before 2020: five pickles, then the storages one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ruda.errors import (
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.progress import Monitor, track
from ruda.store.bytefile import ByteFile, MemoryFile
from ruda.store.formats._pickle import PickleMachine
from ruda.store.formats._torch_rebuild import TorchBuilder
from ruda.store.formats._torch_refs import StorageRef
from ruda.store.formats._torch_source import EmbeddedBytes, PlainBytes
from ruda.store.uri import Place

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
WINDOW_BYTES = 64 << 10
_MAGIC_BYTES = LEGACY_MAGIC.to_bytes(10, "little")


def is_legacy(head: bytes) -> bool:
    """True if the file begins with a pickle of the magic number, in any protocol."""
    if head[:1] not in (b"\x80", b"\x8a", b"L", b"I"):
        return False  # a compressed one can show the number, too
    return _MAGIC_BYTES in head[:32] or str(LEGACY_MAGIC).encode() in head[:64]


def run_at(
    file: ByteFile, at: int, limit: int, make: Callable[[bytes, int], PickleMachine]
) -> tuple[Any, int, PickleMachine]:
    """Value of the pickle at byte ``at``, where it ends, and the machine that read it.

    Its length is not known before, so a growing window of the file is tried.
    """
    window = WINDOW_BYTES
    while True:
        raw = file.read_at(at, min(window, file.size - at))
        machine = make(raw, at)
        try:
            value = machine.run()
        except TruncatedFileError:
            if at + len(raw) >= file.size:
                raise
            if window >= limit:
                raise UnsupportedContentError(
                    f"the pickle has more than {limit} bytes", offset=at
                ) from None
            window = min(window * 8, limit)
            continue
        return value, at + machine.at, machine


def read_legacy(file: ByteFile, limit: int, monitor: Monitor) -> dict[str, Any]:
    """Fields of a Checkpoint. Reads the pickles, and of each storage its count only."""
    builder = TorchBuilder()

    def make(raw: bytes, at: int) -> PickleMachine:
        builder.storages.clear()
        builder.notes.clear()
        builder.arrays.clear()
        builder.machine = PickleMachine(
            raw,
            base=at,
            rebuild=builder.table(),
            persistent=builder.storage,
            known=builder.known,
            monitor=monitor,
        )
        return builder.machine

    def plain(raw: bytes, at: int) -> PickleMachine:
        return PickleMachine(raw, base=at, known=builder.known, monitor=monitor)

    magic, at, _ = run_at(file, 0, limit, plain)
    if magic != LEGACY_MAGIC:
        raise HeaderError("the magic number is another", offset=0)
    protocol, at, _ = run_at(file, at, limit, plain)
    if protocol != PROTOCOL:
        raise UnsupportedContentError(f"has protocol {protocol!r}, expected {PROTOCOL}", offset=at)
    info, at, _ = run_at(file, at, limit, plain)
    if not isinstance(info, dict):
        raise HeaderError("the third pickle is no dict of the writer's sizes", offset=at)
    root, at, machine = run_at(file, at, limit, make)
    keys, at, _ = run_at(file, at, limit, plain)
    storages, end = _storages(file, at, keys, builder, monitor)
    notes = list(builder.notes)
    if end < file.size:
        notes.append(f"{file.size - end} bytes follow the last storage")
    return {
        "root": root,
        "storages": {**storages, **held(builder, file)},
        "container": "legacy",
        "work": machine.work,
        "foreign": tuple(machine.foreign),
        "notes": notes,
    }


def held(builder: TorchBuilder, file: ByteFile) -> dict[str, PlainBytes]:
    """The values that are in the pickle itself, where a pickle has such."""
    return {
        key: EmbeddedBytes(MemoryFile(raw, file.path), 0) for key, raw in builder.arrays.items()
    }


class EmbeddedStorages:
    """Storages that a plain pickle holds as bytes, each the bytes of a legacy file of its own."""

    def __init__(self, path: Place, limit: int, monitor: Monitor) -> None:
        self.path = path
        self.limit = limit
        self.monitor = monitor
        self.places: dict[str, PlainBytes] = {}

    def __call__(self, args: tuple[Any, ...]) -> StorageRef:
        """The storage in these bytes. Raises HeaderError if they hold anything else."""
        if len(args) != 1 or not isinstance(args[0], bytes) or not is_legacy(args[0]):
            raise HeaderError("a storage is made from something that is no file of it")
        found = read_legacy(MemoryFile(args[0], self.path), self.limit, self.monitor)
        root = found["root"]
        if not isinstance(root, StorageRef) or root.key not in found["storages"]:
            raise HeaderError("a storage is made from a file of something else")
        key = f"{len(self.places)}:{root.key}"
        place = found["storages"][root.key]
        self.places[key] = EmbeddedBytes(place.file, place.offset)
        return StorageRef(key, root.dtype, root.numel, root.location, root.start)


def _storages(
    file: ByteFile, at: int, keys: Any, builder: TorchBuilder, monitor: Monitor
) -> tuple[dict[str, PlainBytes], int]:
    if not isinstance(keys, list) or not all(isinstance(key, (str, int)) for key in keys):
        raise HeaderError("the fifth pickle is no list of storage keys", offset=at)
    found: dict[str, PlainBytes] = {}
    for key in track([str(key) for key in keys], monitor, "storages", len(keys)):
        if key in found:
            raise HeaderError(f"storage {key!r} is listed twice", offset=at)
        ref = builder.storages.get(key)
        if ref is None:
            raise HeaderError(
                f"storage {key!r} is listed and not used, so its size is not known", offset=at
            )
        _check_count(file, at, ref)
        found[key] = PlainBytes(file, at + 8)
        at += 8 + ref.nbytes
        if at > file.size:
            raise TruncatedFileError(
                f"storage {key!r} ends at byte {at}, but the file has {file.size}; it is cut "
                "short, get it again",
                offset=file.size,
            )
    return found, at


def _check_count(file: ByteFile, at: int, ref: StorageRef) -> None:
    count = int.from_bytes(file.read_at(at, 8), "little", signed=True)
    if count != ref.numel:
        raise OffsetError(
            f"storage {ref.key!r} says it has {count} elements, the pickle says {ref.numel}",
            offset=at,
        )
