"""Reading folders of ``torch.distributed.checkpoint``: one ``.metadata``, and parts from each rank.

The metadata is a pickle that says which box of which tensor lies where; each part is a small
checkpoint archive inside a larger file. Opening reads the metadata only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ruda.errors import (
    FileAccessError,
    HeaderError,
    OffsetError,
    TruncatedFileError,
    UnsupportedContentError,
)
from ruda.progress import SILENT, Monitor, track
from ruda.store.bytefile import ByteFile, FilePart
from ruda.store.filerange import MAX_RANK, count_elements
from ruda.store.format import located
from ruda.store.formats._pickle import PickleMachine
from ruda.store.formats._pickle_names import GlobalName
from ruda.store.formats._pickle_values import Opaque
from ruda.store.formats._torch_rebuild import torch_dtype
from ruda.store.formats._torch_refs import TensorRef, element_bytes
from ruda.store.formats.pytorch import PytorchFormat, source_of
from ruda.store.formats.sharded import METADATA, is_plain_name
from ruda.store.index import TensorIndex
from ruda.store.remote import is_there, open_bytes
from ruda.store.snapshot import Origin, TensorSnapshot
from ruda.store.uri import Place
from ruda.tensor import DType

SUFFIX = ".distcp"
METADATA_LIMIT = 1 << 30
MAX_CHUNKS = 4096
_PREFIX = "torch.distributed.checkpoint.metadata."

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One box of a tensor, and the part of a file that holds it."""

    start: Shape
    shape: Shape
    file: ByteFile
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class ChunkedSource:
    """Reads the chunks of a tensor one by one into their places."""

    dtype: DType
    shape: Shape
    chunks: tuple[Chunk, ...]

    @property
    def peak_bytes(self) -> int:
        """Memory that one ``read`` needs."""
        largest = max((math.prod(chunk.shape) for chunk in self.chunks), default=0)
        return (math.prod(self.shape) + largest) * element_bytes(self.dtype)

    def read(self) -> np.ndarray[Any, Any]:
        """All values. Raises FormatError if a part does not hold what the metadata says."""
        whole = np.empty(self.shape, self.dtype.carrier)
        for chunk in self.chunks:
            box = tuple(
                slice(start, start + size)
                for start, size in zip(chunk.start, chunk.shape, strict=True)
            )
            whole[box] = self._part(chunk)
        return whole

    def _part(self, chunk: Chunk) -> np.ndarray[Any, Any]:
        path = chunk.file.path
        with located(path):
            found = PytorchFormat().read(FilePart(chunk.file, chunk.offset, chunk.length), SILENT)
            ref = found.root
            fits = isinstance(ref, TensorRef) and ref.dtype is self.dtype
            if not fits or ref.shape != chunk.shape:
                raise HeaderError(
                    f"the part should hold {self.dtype} {list(chunk.shape)}, and holds another",
                    offset=chunk.offset,
                )
            return source_of("the part", ref, found).read()


def metadata_of(place: Place) -> Place | None:
    """The metadata of the distributed checkpoint that a folder or a file of it stands for.

    None if it stands for none. Raises FileAccessError where a server does not say.
    """
    if isinstance(place, Path) and place.is_dir():
        return place / METADATA if (place / METADATA).is_file() else None
    if place.name == METADATA:
        return place
    if place.suffix == SUFFIX and is_there(place.with_name(METADATA)):
        return place.with_name(METADATA)
    return None


def open_distributed(path: Place, *, monitor: Monitor = SILENT) -> TensorIndex:
    """Index of a distributed checkpoint by its metadata, and in its order.

    Raises FormatError for metadata that is damaged, unsafe or does not cover a tensor, and
    FileAccessError for a file of a rank that is not there.
    """
    files: dict[str, ByteFile] = {}
    try:
        with located(path):
            root = _state(_root(path, monitor), "Metadata")
            places = _places(root.get("storage_data"))
            notes: list[str] = []
            snapshots = list(_snapshots(root, places, path, files, notes, monitor))
        return TensorIndex.of(
            snapshots,
            format=PytorchFormat.name,
            path=path.parent if isinstance(path, Path) else path,
            shards=tuple(path.with_name(name) for name in files),
            notes=tuple(notes),
            extra={"container": "distributed"},
            closers=tuple(file.close for file in files.values()),
        )
    except BaseException:
        for file in files.values():
            file.close()
        raise


def _root(path: Place, monitor: Monitor) -> Any:
    with open_bytes(path) as file:
        if file.size > METADATA_LIMIT:
            raise HeaderError(f"has {file.size} bytes, the limit is {METADATA_LIMIT}")
        raw = file.read_at(0, file.size)
    return PickleMachine(raw, monitor=monitor).run()


def _state(value: Any, name: str) -> dict[Any, Any]:
    """The attributes of an inert object of this class of the metadata module."""
    named = isinstance(value, Opaque) and value.cls.rpartition(".")[2] == name
    if named and isinstance(value.state, dict):
        return value.state
    raise HeaderError(f"the metadata has no {name} where one should be")


def _shape(value: Any) -> Shape:
    listed = isinstance(value, (tuple, list)) and len(value) <= MAX_RANK
    if listed and all(type(size) is int and 0 <= size < 1 << 60 for size in value):
        return tuple(value)
    raise HeaderError("the metadata has a shape that is none")


def _places(listed: Any) -> dict[tuple[str, Shape], tuple[str, int, int]]:
    """File, offset and length by key and place in the tensor."""
    if not isinstance(listed, dict):
        raise HeaderError("the metadata says nothing of where the data lie")
    found: dict[tuple[str, Shape], tuple[str, int, int]] = {}
    for index, info in listed.items():
        at, where = _state(index, "MetadataIndex"), _state(info, "_StorageInfo")
        name, offset, length = (where.get(k) for k in ("relative_path", "offset", "length"))
        numbers = type(offset) is int and type(length) is int and offset >= 0 and length >= 0
        if not isinstance(name, str) or not numbers or not is_plain_name(name):
            raise HeaderError(f"the metadata puts data into {name!r}, which is no file beside it")
        if packed := where.get("transform_descriptors"):
            raise UnsupportedContentError(
                f"the data of {at.get('fqn')!r} went through {str(packed)[:80]} before they were "
                "written, which Ruda does not undo; save the checkpoint without"
            )
        start = at.get("offset")
        key = (str(at.get("fqn")), () if start is None else _shape(start))
        found[key] = (name, offset, length)  # type: ignore[assignment]
    return found


def _snapshots(
    root: Mapping[Any, Any],
    places: Mapping[tuple[str, Shape], tuple[str, int, int]],
    path: Place,
    files: dict[str, ByteFile],
    notes: list[str],
    monitor: Monitor,
) -> Iterator[TensorSnapshot]:
    listed = root.get("state_dict_metadata")
    if not isinstance(listed, dict):
        raise HeaderError("the metadata lists no tensors")

    def opened(name: str) -> ByteFile:
        if name not in files:
            try:
                files[name] = open_bytes(path.with_name(name))
            except FileAccessError as error:
                if not isinstance(error.__cause__, FileNotFoundError):
                    raise
                raise FileAccessError(
                    f"names the file {name}, which is not beside it; get that file, too", path=path
                ) from error
        return files[name]

    for key, about in track(listed.items(), monitor, "tensors", len(listed)):
        if isinstance(about, Opaque) and about.cls == _PREFIX + "BytesStorageMetadata":
            notes.append(f"{key} is a plain value, not a tensor; it is not read")
            continue
        yield _snapshot(str(key), _state(about, "TensorStorageMetadata"), places, opened)


def _snapshot(
    key: str,
    about: Mapping[Any, Any],
    places: Mapping[tuple[str, Shape], tuple[str, int, int]],
    opened: Callable[[str], ByteFile],
) -> TensorSnapshot:
    shape, dtype = _shape(about.get("size")), _dtype(about.get("properties"))
    listed = about.get("chunks")
    if not isinstance(listed, list) or len(listed) > MAX_CHUNKS:
        raise HeaderError(f"{key!r} has no list of chunks, or more than {MAX_CHUNKS}")
    chunks = tuple(
        _chunk(key, _state(one, "ChunkStorageMetadata"), places, opened) for one in listed
    )
    _check_cover(key, shape, chunks)
    nbytes = count_elements(shape, repr(key)) * element_bytes(dtype)
    return TensorSnapshot(
        key=key,
        dtype=dtype,
        shape=shape,
        nbytes=nbytes,
        source=ChunkedSource(dtype, shape, chunks),
        origin=Origin(chunks[0].file.path) if chunks else None,
    )


def _dtype(properties: Any) -> DType:
    state = properties.state if isinstance(properties, Opaque) else None
    name = state[0] if isinstance(state, tuple) and state else None
    if isinstance(state, dict):
        name = state.get("dtype")
    if not isinstance(name, GlobalName):
        raise HeaderError("the metadata has a tensor without a dtype")
    return torch_dtype(name)


def _chunk(
    key: str,
    about: Mapping[Any, Any],
    places: Mapping[tuple[str, Shape], tuple[str, int, int]],
    opened: Callable[[str], ByteFile],
) -> Chunk:
    start, shape = _shape(about.get("offsets")), _shape(about.get("sizes"))
    place = places.get((key, start)) or places.get((key, ()))
    if place is None or len(start) != len(shape):
        raise HeaderError(f"the metadata does not say where {key!r} from {list(start)} lies")
    name, offset, length = place
    file = opened(name)
    if offset + length > file.size:
        raise TruncatedFileError(
            f"{key!r} ends at byte {offset + length} of {name}, which has {file.size} bytes; it is "
            "cut short, get it again"
        )
    return Chunk(start, shape, file, offset, length)


def _check_cover(key: str, shape: Shape, chunks: tuple[Chunk, ...]) -> None:
    """Prove that the boxes tile the tensor: inside, disjoint, and of its size in all."""
    total = 0
    for chunk in chunks:
        total += math.prod(chunk.shape)
        ends = [start + size for start, size in zip(chunk.start, chunk.shape, strict=True)]
        if len(ends) != len(shape) or any(e > s for e, s in zip(ends, shape, strict=True)):
            raise OffsetError(f"a chunk of {key!r} lies outside its shape {list(shape)}")
    if total != math.prod(shape):
        raise OffsetError(
            f"the chunks of {key!r} have {total} elements, its shape has {math.prod(shape)}"
        )
    if total and len(chunks) > 1:
        low = np.array([chunk.start for chunk in chunks], np.int64)
        high = low + np.array([chunk.shape for chunk in chunks], np.int64)
        meet = np.ones((len(chunks), len(chunks)), bool)
        for axis in range(len(shape)):
            meet &= (low[:, None, axis] < high[None, :, axis]) & (
                low[None, :, axis] < high[:, None, axis]
            )
        if meet.sum() != len(chunks):
            raise OffsetError(f"two chunks of {key!r} overlap")
