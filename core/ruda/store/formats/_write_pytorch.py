"""Encoder of PyTorch files: a zip archive with the pickle of a plain state dict, as torch.save's.

``archive/data.pkl``, three facts about the archive, one member per storage, ``archive/version``.
Data begin at multiples of 64, so that ``torch.load(mmap=True)`` maps them. Tensors that share
memory share a storage; a view that is alone is written row-major, without what it does not show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.store.formats._extents import Extent, extent_of
from ruda.store.formats._pickle_out import StorageText, TensorText, state_dict_pickle
from ruda.store.formats._torch_refs import element_bytes
from ruda.store.formats._torch_source import StorageBytes, ViewSource
from ruda.store.formats._write_zip import Checksums, ZipLayout
from ruda.store.index import TensorIndex
from ruda.store.layout import (
    Layout,
    PlannedTensor,
    PlanProblem,
    counts_pairs,
    dtype_remedy,
    id_problems,
    metadata_problem,
    size_problem,
    text_problem,
)
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType, Kind

PREFIX = "archive/"
PICKLE_LIMIT = (1 << 32) - 1
_STEP = 16
"""Storages begin at multiples of the largest element."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Source of a part of a storage that several tensors view."""

    storage: StorageBytes
    start: int
    nbytes: int

    def read(self) -> np.ndarray[Any, Any]:
        raw = np.empty(self.nbytes, np.uint8)
        at = 0
        for piece in self.stream(1 << 20):
            raw[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
            at += len(piece)
        return raw

    def stream(self, size: int) -> Iterator[memoryview]:
        return self.storage.stream(self.start, self.nbytes, size)

    @property
    def checksum(self) -> int | None:
        return self.storage.checksum(self.start, self.nbytes)


@dataclass(slots=True)
class _Storage:
    """A storage to be: the snapshot that gives its bytes, and the tensors that view it."""

    snapshot: TensorSnapshot
    viewers: list[tuple[TensorSnapshot, int, tuple[int, ...] | None]]
    """Tensor, byte at which it begins, strides (None: row-major)."""

    def typed_as(self) -> str | None:
        """The class of a typed storage that serves all its tensors, or None."""
        dtypes = {_plain(tensor.dtype) for tensor, _, _ in self.viewers}
        dtype = dtypes.pop()
        if dtypes or dtype.torch_storage is None or self.snapshot.nbytes % dtype.itemsize:
            return None
        return dtype.torch_storage


class PytorchEncoder:
    """Lays tensors out as ``torch.save(state_dict)`` does."""

    name = "pytorch"
    suffixes = (".pt", ".pth", ".bin", ".ckpt", ".th")

    def lay_out(self, index: TensorIndex, metadata: Mapping[str, str]) -> Layout:
        """Pickle, order and offsets for these tensors; reads no tensor byte."""
        problems = [*_problems(index), *metadata_problem(metadata, "a PyTorch state dict")]
        storages = _storages([s for s in index.values() if _is_held(s.dtype)])
        order = {key: n for n, key in enumerate(index)}
        pickle = state_dict_pickle(sorted(_texts(storages), key=lambda t: order[t.key]))
        if len(pickle) > PICKLE_LIMIT:
            problems.append(PlanProblem(f"the pickle has {len(pickle)} bytes, too many for zip"))
        archive = ZipLayout(Checksums.BEHIND)
        archive.add_bytes(f"{PREFIX}data.pkl", pickle)
        for name, fact in ((".format_version", "1"), (".storage_alignment", "64")):
            archive.add_bytes(PREFIX + name, fact.encode())
        archive.add_bytes(f"{PREFIX}byteorder", b"little")
        blocks: list[PlannedTensor] = []
        entries: dict[str, PlannedTensor] = {}
        for number, storage in enumerate(storages):
            whole = storage.snapshot
            at = archive.add_block(f"{PREFIX}data/{number}", whole.nbytes, whole.key)
            blocks.append(_planned(whole, at, None))
            for tensor, start, strides in storage.viewers:
                entries[tensor.key] = _planned(tensor, at + start, strides)
        archive.add_bytes(f"{PREFIX}version", b"3\n")
        frames, size = archive.close()
        return Layout(
            self.name,
            b"",
            tuple(sorted(entries.values(), key=lambda e: order[e.key])),
            size,
            tuple(problems),
            frames=frames,
            checksums={block.key: 0 for block in blocks},
            shared=tuple(blocks),
        )


def _plain(dtype: DType) -> DType:
    return DType.F32 if dtype is DType.FLEX32 else dtype


def _is_held(dtype: DType) -> bool:
    # A quantized tensor is more than its bytes, and PyTorch is giving them up.
    return _plain(dtype).torch is not None and dtype.kind is not Kind.QUANTIZED


def _planned(
    snapshot: TensorSnapshot, offset: int, strides: tuple[int, ...] | None
) -> PlannedTensor:
    shape = torch_shape(snapshot)
    if strides == _row_major(shape):
        strides = None
    return PlannedTensor(
        snapshot.key, snapshot.dtype, shape, offset, snapshot.nbytes, snapshot, strides
    )


def torch_shape(snapshot: TensorSnapshot) -> tuple[int, ...]:
    """The shape as PyTorch counts it: a pair of f4 is one element of the last axis."""
    shape = snapshot.shape
    if snapshot.dtype is DType.F4_E2M1 and shape and not counts_pairs(snapshot):
        return (*shape[:-1], shape[-1] // 2)
    return shape


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _texts(storages: list[_Storage]) -> Iterator[TensorText]:
    for number, storage in enumerate(storages):
        cls = storage.typed_as()
        nbytes = storage.snapshot.nbytes
        for tensor, start, strides in storage.viewers:
            dtype = _plain(tensor.dtype)
            item = element_bytes(dtype)
            text = StorageText(str(number), cls, nbytes if cls is None else nbytes // item)
            shape = torch_shape(tensor)
            steps = _row_major(shape) if strides is None else strides
            yield TensorText(tensor.key, text, dtype.torch or "", start // item, shape, steps)


def _storages(snapshots: list[TensorSnapshot]) -> list[_Storage]:
    """One storage per tensor, or per run of bytes that several tensors view, by first use."""
    if not any(s.shared_with is not None for s in snapshots):
        return [_Storage(s, [(s, 0, None)]) for s in snapshots]
    runs = _runs(snapshots)
    found: dict[object, _Storage] = {}
    for snapshot in snapshots:
        run = runs.get(snapshot.key)
        if run is None:
            found[snapshot.key] = _Storage(snapshot, [(snapshot, 0, None)])
            continue
        extent, start, stop = run
        name = (extent.memory, start)
        if name not in found:
            found[name] = _Storage(_whole(snapshot, start, stop), [])
        strides = extent.strides if isinstance(snapshot.source, ViewSource) else None
        found[name].viewers.append((snapshot, extent.start - start, strides))
    return list(found.values())


def _runs(snapshots: list[TensorSnapshot]) -> dict[str, tuple[Extent, int, int]]:
    """For tensors that share bytes with others: where they lie, and start and stop of all."""
    by_memory: dict[object, list[tuple[TensorSnapshot, Extent]]] = {}
    for snapshot in snapshots:
        extent = extent_of(snapshot)
        if extent is not None:
            # Equal bytes of another shape or type are views only where the storage says so.
            kind = None if extent.strides is not None else (snapshot.dtype, snapshot.shape)
            by_memory.setdefault((extent.memory, kind), []).append((snapshot, extent))
    found: dict[str, tuple[Extent, int, int]] = {}
    for lying in by_memory.values():
        lying.sort(key=lambda pair: pair[1].start)
        group: list[tuple[TensorSnapshot, Extent]] = []
        stop = 0
        for snapshot, extent in lying:
            if group and extent.start >= stop:
                found.update(_run(group, stop))
                group = []
            group.append((snapshot, extent))
            stop = max(stop, extent.stop)
        found.update(_run(group, stop))
    return found


def _run(
    group: list[tuple[TensorSnapshot, Extent]], stop: int
) -> dict[str, tuple[Extent, int, int]]:
    if len(group) < 2:
        return {}
    start = group[0][1].start
    start -= start % _STEP
    return {snapshot.key: (extent, start, stop) for snapshot, extent in group}


def _whole(snapshot: TensorSnapshot, start: int, stop: int) -> TensorSnapshot:
    """What gives the bytes of a run: the tensor itself, or the part of its storage."""
    source = snapshot.source
    if not isinstance(source, ViewSource):
        return snapshot
    run = _Run(source.storage, start, stop - start)
    return TensorSnapshot(snapshot.key, DType.U8, (run.nbytes,), run.nbytes, run)


def _problems(index: TensorIndex) -> list[PlanProblem]:
    found: list[PlanProblem] = []
    for snapshot in index.values():
        key, dtype = snapshot.key, snapshot.dtype
        bad = text_problem(key)
        if bad:
            found.append(PlanProblem(f"the key {bad}", key))
        if not key:
            said = "an empty key is read back as the whole file; rename the tensor"
            found.append(PlanProblem(said, key))
        if not _is_held(dtype):
            said = f"PyTorch has no dtype for {dtype}; {dtype_remedy(dtype)}"
            found.append(PlanProblem(said, key))
            continue
        if dtype is DType.FLEX32:
            said = "flex32 is written as float32, which holds the same values"
            found.append(PlanProblem(said, key, blocking=False))
        wrong = None if counts_pairs(snapshot) else size_problem(snapshot)
        if wrong:
            found.append(wrong)
        elif dtype is DType.F4_E2M1 and snapshot.shape[-1] % 2 and not counts_pairs(snapshot):
            found.append(PlanProblem("PyTorch has f4 in pairs, and a row has an odd number", key))
    found.extend(id_problems(index, "a PyTorch state dict"))
    return found
