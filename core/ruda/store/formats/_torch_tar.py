"""PyTorch's first container, a tar of ``sys_info``, ``storages``, ``tensors`` and ``pickle``.

Files of Burn's tests have the same members without ``tensors``: their pickle holds the tensors in
the later form, with storages in place.
"""

from __future__ import annotations

import struct
from typing import Any

from ruda.errors import HeaderError, OffsetError, TruncatedFileError
from ruda.progress import Monitor
from ruda.store.bytefile import ByteFile
from ruda.store.filerange import MAX_RANK
from ruda.store.formats._pickle import PickleMachine
from ruda.store.formats._pickle_names import GlobalName
from ruda.store.formats._pickle_values import Opaque
from ruda.store.formats._tar import TarMember, tar_members
from ruda.store.formats._torch_legacy import run_at
from ruda.store.formats._torch_rebuild import TorchBuilder, part_of, storage_dtype, view
from ruda.store.formats._torch_refs import StorageRef, TensorRef
from ruda.store.formats._torch_source import PlainBytes

MAX_ITEMS = 1_000_000


def read_tar(file: ByteFile, limit: int, monitor: Monitor) -> dict[str, Any]:
    """Fields of a Checkpoint. Reads the pickles, and of each storage its count only."""
    members = tar_members(file)
    missing = [name for name in ("storages", "pickle") if name not in members]
    if missing:
        raise HeaderError(f"is a tar archive without {' and '.join(missing)}, no PyTorch file")
    reader = _TarReader(file, limit, monitor)
    if "sys_info" in members:
        reader.about(members["sys_info"])
    reader.storages(members["storages"])
    if "tensors" in members:
        reader.tensors(members["tensors"])
    machine = reader.machine(file.read_at(members["pickle"].offset, members["pickle"].size), 0)
    machine.base = members["pickle"].offset
    root = machine.run()
    return {
        "root": root,
        "storages": reader.places,
        "container": "tar",
        "work": machine.work,
        "foreign": tuple(machine.foreign),
        "notes": list(reader.builder.notes),
    }


class _TarReader:
    """What the members give, by the keys that the main pickle uses."""

    def __init__(self, file: ByteFile, limit: int, monitor: Monitor) -> None:
        self.file = file
        self.limit = limit
        self.monitor = monitor
        self.builder = TorchBuilder(inline=True)
        self.places: dict[str, PlainBytes] = {}
        self.found: dict[str, StorageRef | TensorRef] = {}

    def machine(self, raw: bytes, at: int) -> PickleMachine:
        """A machine whose persistent ids are keys of this archive, or whole storages."""
        made = PickleMachine(
            raw,
            base=at,
            rebuild=self.builder.table(),
            persistent=self.resolve,
            known=self.builder.known,
            monitor=self.monitor,
        )
        self.builder.machine = made
        return made

    def resolve(self, pid: Any) -> Any:
        """What a persistent id stands for: a key of either form, or a module's source."""
        if isinstance(pid, tuple) and pid and pid[0] == "storage":
            return self.builder.storage(pid)
        if isinstance(pid, tuple):
            return pid[0] if pid and isinstance(pid[0], GlobalName) else Opaque("torch.source")
        key = _key(pid)
        if key not in self.found:
            raise HeaderError(f"the pickle uses {key!r}, which is not in the archive")
        return self.found[key]

    def about(self, member: TarMember) -> None:
        """Look at the writer's sizes, which mean nothing here: a payload could hide there, too."""
        self._next(member, member.offset)

    def storages(self, member: TarMember) -> None:
        """Take note of every storage, its place and the parts of it."""
        count, at = self._count(member)
        for _ in range(count):
            fields, at = self._next(member, at)
            if not isinstance(fields, tuple) or len(fields) != 3:
                raise HeaderError("a storage has unexpected fields", offset=at)
            key, location, cls = fields
            if not isinstance(cls, GlobalName) or not isinstance(location, str):
                raise HeaderError("a storage has no class or no location", offset=at)
            numel = self._number(member, at)
            dtype = storage_dtype(cls)
            if not 0 <= numel < 1 << 60 or _key(key) in self.found:
                raise OffsetError(
                    f"storage {key!r} claims {numel} elements, or comes twice", offset=at
                )
            ref = self.builder.register(StorageRef(_key(key), dtype, numel, location))
            self.found[ref.key] = ref
            self.places[ref.key] = PlainBytes(self.file, at + 8)
            at = self._within(member, at + 8 + ref.nbytes)
        if at < member.end:
            self._parts(member, at)

    def _parts(self, member: TarMember, at: int) -> None:
        listed, at = self._next(member, at)
        for part in listed if isinstance(listed, (list, tuple)) else ():
            if not isinstance(part, tuple) or len(part) != 4:
                raise HeaderError("a part of a storage has unexpected fields", offset=at)
            root = self.found.get(_key(part[1]))
            if not isinstance(root, StorageRef):
                raise HeaderError(f"a storage is part of {part[1]!r}, which is none", offset=at)
            self.found[_key(part[0])] = part_of(root, (part[0], *part[2:]))

    def tensors(self, member: TarMember) -> None:
        """Take note of every tensor as a view of its storage."""
        count, at = self._count(member)
        for _ in range(count):
            fields, at = self._next(member, at)
            if not isinstance(fields, tuple) or len(fields) != 3:
                raise HeaderError("a tensor has unexpected fields", offset=at)
            storage = self.found.get(_key(fields[1]))
            if not isinstance(storage, StorageRef) or storage.dtype is None:
                raise HeaderError(f"a tensor needs storage {fields[1]!r}, which is none", offset=at)
            self._within(member, at + 8)
            rank = int.from_bytes(self.file.read_at(at, 4), "little", signed=True)
            if not 0 <= rank <= MAX_RANK:
                raise HeaderError(f"a tensor has {rank} axes, the limit is {MAX_RANK}", offset=at)
            size = 8 * (2 * rank + 1)
            self._within(member, at + 8 + size)
            numbers = struct.unpack(f"<{2 * rank + 1}q", self.file.read_at(at + 8, size))
            self.found[_key(fields[0])] = view(
                storage, storage.dtype, numbers[-1], numbers[:rank], numbers[rank:-1]
            )
            at += 8 + size

    def _count(self, member: TarMember) -> tuple[int, int]:
        count, at = self._next(member, member.offset)
        if type(count) is not int or not 0 <= count <= MAX_ITEMS:
            raise HeaderError("the number of items is no number", offset=member.offset)
        return count, at

    def _next(self, member: TarMember, at: int) -> tuple[Any, int]:
        value, end, _ = run_at(self.file, at, self.limit, self.machine)
        return value, self._within(member, end)

    def _number(self, member: TarMember, at: int) -> int:
        self._within(member, at + 8)
        return int.from_bytes(self.file.read_at(at, 8), "little", signed=True)

    def _within(self, member: TarMember, at: int) -> int:
        if at > member.end:
            raise TruncatedFileError("a member of the archive ends early", offset=member.end)
        return at


def _key(value: Any) -> str:
    if isinstance(value, (str, int)):
        return str(value)
    raise HeaderError(f"a {type(value).__name__} is used as a key")
