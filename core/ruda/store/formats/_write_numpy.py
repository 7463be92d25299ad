"""Encoder of NumPy's files: ``.npz`` as ``np.savez`` lays it out, ``.npy`` byte for byte.

The values of every array begin at a multiple of 64, in the archive as well.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ruda.store.formats._write_zip import FULL16, Checksums, ZipLayout
from ruda.store.formats._zip import points_outside
from ruda.store.index import TensorIndex
from ruda.store.layout import (
    Layout,
    PlannedTensor,
    PlanProblem,
    alias_problems,
    dtype_remedy,
    id_problems,
    metadata_problem,
    size_problem,
    text_problem,
)
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

MAX_NAME = FULL16 - len(".npy")
_PLAIN = frozenset(d for d in DType if d.value.numpy is not None and d.numpy.isbuiltin == 1) - {
    DType.BOOL_U32
}


class NpzEncoder:
    """Lays tensors out as an uncompressed ``.npz`` archive."""

    name = "numpy"
    suffixes: tuple[str, ...] = (".npz",)

    def lay_out(self, index: TensorIndex, metadata: Mapping[str, str]) -> Layout:
        """Headers and offsets for these tensors; reads no tensor byte."""
        problems = [*_problems(index, metadata), *_name_problems(index)]
        archive = ZipLayout(Checksums.BEFORE)
        entries: list[PlannedTensor] = []
        checksums: dict[str, int] = {}
        for snapshot in _holdable(index):
            lead = array_header(snapshot)
            name = (
                snapshot.key.encode("utf-8", "replace")[:MAX_NAME].decode("utf-8", "ignore")
                + ".npy"
            )
            at = archive.add_block(name, snapshot.nbytes, snapshot.key, lead=lead)
            entries.append(_planned(snapshot, at))
            checksums[snapshot.key] = zlib.crc32(lead)
        frames, size = archive.close()
        if not entries:
            problems.append(PlanProblem("an archive without arrays is not read back as one"))
        return Layout(
            self.name,
            b"",
            tuple(entries),
            size,
            tuple(problems),
            frames=frames,
            checksums=checksums,
        )


class NpyEncoder:
    """Lays the only tensor of an index out as an ``.npy`` file, which has no key."""

    name = "numpy"
    suffixes: tuple[str, ...] = (".npy",)

    def lay_out(self, index: TensorIndex, metadata: Mapping[str, str]) -> Layout:
        """Header and offset of the tensor; reads no tensor byte."""
        problems = _problems(index, metadata)
        if len(index) != 1:
            said = f"an .npy file holds one array, and these are {len(index)} tensors"
            problems.append(PlanProblem(f"{said}; save as .npz instead"))
        holdable = _holdable(index)[:1]
        header = array_header(holdable[0]) if holdable else b""
        entries = tuple(_planned(s, len(header)) for s in holdable)
        size = len(header) + sum(e.nbytes for e in entries)
        return Layout(self.name, header, entries, size, tuple(problems))


def array_header(snapshot: TensorSnapshot) -> bytes:
    """What ``np.save`` writes before the values; its length is a multiple of 64."""
    facts: dict[str, Any] = {
        "descr": np.lib.format.dtype_to_descr(snapshot.dtype.numpy),
        "fortran_order": False,
        "shape": snapshot.shape,
    }
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, facts)
    return out.getvalue()


def _holdable(index: TensorIndex) -> list[TensorSnapshot]:
    return [s for s in index.values() if s.dtype in _PLAIN]


def _planned(snapshot: TensorSnapshot, offset: int) -> PlannedTensor:
    return PlannedTensor(
        snapshot.key, snapshot.dtype, snapshot.shape, offset, snapshot.nbytes, snapshot
    )


def _problems(index: TensorIndex, metadata: Mapping[str, str]) -> list[PlanProblem]:
    found: list[PlanProblem] = []
    for snapshot in index.values():
        dtype = snapshot.dtype
        if dtype not in _PLAIN:
            said = f"NumPy's files have no {dtype}; {dtype_remedy(dtype)}"
            found.append(PlanProblem(said, snapshot.key))
            continue
        if dtype is DType.FLEX32:
            said = "flex32 is written as f4, which holds the same values"
            found.append(PlanProblem(said, snapshot.key, blocking=False))
        wrong = size_problem(snapshot)
        if wrong:
            found.append(wrong)
    what = "a NumPy file"
    found.extend(alias_problems(index))
    found.extend(id_problems(index, what))
    found.extend(metadata_problem(metadata, what))
    return found


def _name_problems(index: TensorIndex) -> list[PlanProblem]:
    """Keys that zip or NumPy would take for another one."""
    found: list[PlanProblem] = []
    for key in index:
        bad = text_problem(key)
        if bad:
            found.append(PlanProblem(f"the key {bad}", key))
        elif "\0" in key:
            found.append(PlanProblem("zip programs cut a name at its NUL; rename the tensor", key))
        elif points_outside(f"{key}.npy"):
            said = "as a name in an archive it points outside of it; rename the tensor"
            found.append(PlanProblem(said, key))
        elif len(key.encode()) > MAX_NAME:
            found.append(PlanProblem("the key is too long for a name in a zip archive", key))
        elif key.endswith(".npy") and key.removesuffix(".npy") in index:
            said = f"NumPy takes it for {key.removesuffix('.npy')!r}; rename the tensor"
            found.append(PlanProblem(said, key))
    return found
