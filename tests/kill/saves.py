"""The saves that are interrupted: what lies in the folder before, what is saved, what may be read.

Every file of generation n has the values of n in all its tensors. ``prepare`` lays generation 1
down, ``save`` saves generation 2 and, being the next save, generation 3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ruda.errors import FileAccessError
from ruda.store import TensorIndex, TensorSnapshot, edit_metadata, open_store, save, streaming
from ruda.store._sibling import replace_file
from ruda.store.adapted import cast_to
from ruda.store.metadata_edit import SECTOR_BYTES
from ruda.tensor import DType

COUNT = 96
BYTES = 4 * COUNT
INDEX = "m.safetensors.index.json"


@dataclass(frozen=True)
class Case:
    """One kind of save, over what lies there."""

    prepare: Callable[[Path], None]
    save: Callable[[Path, int], None]
    places: tuple[str, ...]
    """What is opened to look: relative to the folder, ``.`` is the folder itself."""
    reads: Callable[[Path], int]
    """The generation of what is at a place; 0 if there is nothing. Raises if it is not whole."""
    last: int = 3
    """The generation that the save after the interrupted one leaves."""


def values(number: int, tensors: int = 4) -> TensorIndex:
    """Tensors whose values say which save wrote them."""
    made = [
        TensorSnapshot.from_array(f"t{n}", np.full(COUNT, 100 * number + n, np.float32))
        for n in range(tensors)
    ]
    return TensorIndex.of(made, format="memory", metadata={"number": str(number)})


def generation(place: Path) -> int:
    """Which save wrote what is there. Raises if it is not whole, or of two saves."""
    try:
        with open_store(place) as index:
            found = {key: snapshot.read() for key, snapshot in index.items()}
    except FileAccessError as error:
        if "there is no file here" in str(error):
            return 0
        raise
    if sorted(found) != [f"t{n}" for n in range(4)]:
        raise ValueError(f"{place.name}: the tensors are {sorted(found)}")
    number = int(found["t0"][0]) // 100
    for n in range(4):
        if found[f"t{n}"].tolist() != [100 * number + n] * COUNT:
            raise ValueError(f"{place.name}: t{n} is of another save than t0 ({number})")
    return number


def element(place: Path) -> int:
    """1 if the values are those of generation 1 as f32, 2 as f64. Raises if they are others."""
    if generation(place) != 1:
        raise ValueError("the values changed")
    with open_store(place) as index:
        (dtype,) = {snapshot.dtype for snapshot in index.values()}
        return {DType.F32: 1, DType.F64: 2}[dtype]


def noted(place: Path) -> int:
    """Which edit wrote the metadata. Raises if a tensor is not as it was."""
    if generation(place) != 1:
        raise ValueError("the tensors changed")
    with open_store(place) as index:
        text = index.metadata["number"]
    if text != text[0] * len(text):
        raise ValueError(f"the metadata is {text!r}")
    return int(text[0])


def text(place: Path) -> int:
    """Which save wrote a small file. Raises if it is not whole."""
    raw = place.read_bytes()
    if raw != raw[:1] * 300:
        raise ValueError(f"the file is {raw!r}")
    return int(raw[:1])


def _one(name: str) -> Case:
    return Case(
        lambda folder: _write(folder / name, 1),
        lambda folder, number: _write(folder / name, number),
        (name,) if name.endswith(".npz") else (name, "."),
        generation,
    )


def _write(path: Path, number: int) -> None:
    save(values(number), path, overwrite=True)


def _set(path: Path, number: int, shards: int) -> None:
    save(values(number), path, overwrite=True, shard_size=-(-4 // shards) * BYTES)


def _sets(before: int, after: int) -> Case:
    first = f"m-00001-of-{after:05d}.safetensors"
    return Case(
        lambda folder: _set(folder / "m.safetensors", 1, before),
        lambda folder, number: _set(folder / "m.safetensors", number, after),
        (INDEX, ".", *([first] if before == after else [])),
        generation,
    )


def _without_index(folder: Path) -> None:
    _set(folder / "m.safetensors", 1, 2)
    (folder / INDEX).unlink()


def _over_itself(name: str, shards: int = 0) -> Case:
    """Saved from the very file that is written over, with a cast of all values on the way."""
    place = INDEX if shards else name

    def prepare(folder: Path) -> None:
        _write(folder / name, 1) if not shards else _set(folder / name, 1, shards)

    def again(folder: Path, number: int) -> None:
        with open_store(folder / place) as index:
            dtype = DType.F64 if number == 2 else DType.F32
            cast = [cast_to(snapshot, dtype) for snapshot in index.values()]
            moved = TensorIndex.of(cast, format="memory", path=index.path)
            size = 2 * moved["t0"].nbytes if shards else None
            save(moved, folder / name, overwrite=True, shard_size=size)

    return Case(prepare, again, (place,), element, last=1)


def _copied() -> Case:
    """Tensors that the system copies from another file, however small they are."""

    def prepare(folder: Path) -> None:
        _write(folder / "m.safetensors", 1)
        (folder / "from").mkdir()
        for number in (2, 3):
            _write(folder / "from" / f"{number}.safetensors", number)

    def copy(folder: Path, number: int) -> None:
        streaming.TAKE_LEAST = 1  # of this process, which does nothing else
        with open_store(folder / "from" / f"{number}.safetensors") as index:
            save(index, folder / "m.safetensors", overwrite=True, metadata={"number": "longer"})

    return Case(prepare, copy, ("m.safetensors",), generation)


def _copied_set() -> Case:
    """A set over itself with other metadata only: the system copies the values, not we."""

    def again(folder: Path, number: int) -> None:
        streaming.TAKE_LEAST = 1
        with open_store(folder / INDEX) as index:
            about = {"number": str(number)}
            target = folder / "m.safetensors"
            save(index, target, overwrite=True, shard_size=2 * BYTES, metadata=about)

    def prepare(folder: Path) -> None:
        _set(folder / "m.safetensors", 1, 2)

    return Case(prepare, again, (INDEX,), noted)


def _edit(length: int) -> Case:
    """An edit of so many bytes: a few are written in place, many need a copy."""

    def edit(folder: Path, number: int) -> None:
        edit_metadata(folder / "m.safetensors", {"number": str(number) * length})

    def prepare(folder: Path) -> None:
        _write(folder / "m.safetensors", 1)
        if length < SECTOR_BYTES // 2:
            edit(folder, 1)

    return Case(prepare, edit, ("m.safetensors",), noted)


CASES = {
    **{name: _one(name) for name in ("m.safetensors", "m.pt", "m.bpk", "m.npz")},
    "new file": Case(
        lambda folder: None,
        lambda folder, number: _write(folder / "m.bpk", number),
        ("m.bpk",),
        generation,
    ),
    "set": _sets(2, 2),
    "set of more files": _sets(2, 4),
    "set of fewer files": _sets(4, 2),
    "new set": Case(
        lambda folder: None,
        lambda folder, number: _set(folder / "m.safetensors", number, 2),
        (INDEX,),
        generation,
    ),
    "set that has no index": Case(
        _without_index,
        lambda folder, number: _set(folder / "m.safetensors", number, 2),
        (".", "m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors"),
        generation,
    ),
    "copied": _copied(),
    "copied set": _copied_set(),
    "edit in place": _edit(40),
    "edit by copy": _edit(700),
    "over itself, safetensors": _over_itself("m.safetensors"),
    "over itself, pt": _over_itself("m.pt"),
    "over itself, bpk": _over_itself("m.bpk"),
    "over itself, npz": _over_itself("m.npz"),
    "over itself, set": _over_itself("m.safetensors", 2),
    "small file": Case(
        lambda folder: replace_file(folder / "s.toml", b"1" * 300),
        lambda folder, number: replace_file(folder / "s.toml", b"%d" % number * 300),
        ("s.toml",),
        text,
    ),
}
