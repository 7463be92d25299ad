"""SavePlan: everything that a save will do, known before the first byte is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ruda.errors import SaveError
from ruda.store.formats._write_rudapack import RudapackEncoder
from ruda.store.formats._write_safetensors import SafetensorsEncoder
from ruda.store.index import TensorIndex
from ruda.store.layout import PIECE_BYTES, Encoder, Layout, PlannedTensor, PlanProblem
from ruda.store.snapshot import ArraySource, TensorSource

_ENCODERS: tuple[Encoder, ...] = (RudapackEncoder(), SafetensorsEncoder())
_READ_ONLY_SUFFIXES = (".pt", ".pth", ".bin", ".ckpt", ".th")
_CONTAINER_NAMES = ("burnpack", "rudapack", "safetensors")


@dataclass(frozen=True, slots=True)
class SavePlan:
    """Where every byte of a file will be, and what the target cannot hold.

    ``peak_bytes`` is what the save is expected to need in memory beyond what is loaded already;
    ``problems`` are in file order, the blocking ones forbid ``write``.
    """

    path: Path
    """The file as it was named; a link is followed when writing."""
    format: str
    entries: tuple[PlannedTensor, ...]
    header: bytes = field(repr=False)
    padding: int
    file_size: int
    peak_bytes: int
    metadata: Mapping[str, str]
    overwrite: bool
    problems: tuple[PlanProblem, ...]
    index: TensorIndex = field(compare=False, repr=False)

    @property
    def blockers(self) -> tuple[PlanProblem, ...]:
        """The problems that forbid writing."""
        return tuple(p for p in self.problems if p.blocking)

    @property
    def warnings(self) -> tuple[PlanProblem, ...]:
        """What will be different in the file, though it can be written."""
        return tuple(p for p in self.problems if not p.blocking)

    @property
    def tensor_bytes(self) -> int:
        """Bytes of all tensors, without header and padding."""
        return sum(e.nbytes for e in self.entries)

    def require_writable(self) -> None:
        """Raise SaveError (stage ``plan``) naming the first blocking problem, if there is one."""
        refuse_blockers(self.problems, path=self.path)


def refuse_blockers(problems: Iterable[PlanProblem], *, path: Path | None = None) -> None:
    """Raise SaveError (stage ``plan``) naming the first blocking problem, if there is one."""
    blockers = [p for p in problems if p.blocking]
    if blockers:
        more = "" if len(blockers) == 1 else f" (and {len(blockers) - 1} more problems)"
        raise SaveError(f"cannot be saved: {blockers[0]}{more}", stage="plan", path=path)


def plan_save(
    index: TensorIndex,
    path: Path | str,
    *,
    format: str | None = None,
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> SavePlan:
    """Plan of saving these tensors to ``path``; reads no tensor byte and touches no file.

    Without ``format`` the suffix decides. ``metadata`` None keeps that of the index. Raises
    SaveError (stage ``plan``) only where no format can be told; everything else that stands in
    the way is in ``problems``.
    """
    target = Path(path)
    layout = lay_out(index, format or format_for(target), metadata, path=target)
    return SavePlan(
        path=target,
        format=layout.format,
        entries=layout.entries,
        header=layout.header,
        padding=layout.padding,
        file_size=layout.file_size,
        peak_bytes=peak_bytes(layout),
        metadata=MappingProxyType(carried_metadata(index, layout.format, metadata)),
        overwrite=overwrite,
        problems=(*path_problems(target, overwrite=overwrite), *layout.problems),
        index=index,
    )


def lay_out(
    index: TensorIndex,
    format: str,
    metadata: Mapping[str, str] | None = None,
    *,
    path: Path | None = None,
) -> Layout:
    """Header, order and offsets in a format. Raises SaveError if there is no such format."""
    for encoder in _ENCODERS:
        if encoder.name == format:
            return encoder.lay_out(index, carried_metadata(index, format, metadata))
    known = ", ".join(encoder.name for encoder in _ENCODERS)
    if format == "pytorch":
        reason = "PyTorch files are read, not written; save as .safetensors instead"
    else:
        reason = f"no format that can be written is called {format!r}; known: {known}"
    raise SaveError(reason, stage="plan", path=path)


def format_for(path: Path) -> str:
    """Format that the suffix of ``path`` stands for. Raises SaveError (stage ``plan``)."""
    suffix = path.suffix.lower()
    for encoder in _ENCODERS:
        if suffix in encoder.suffixes:
            return encoder.name
    known = " or ".join(s for encoder in _ENCODERS for s in encoder.suffixes)
    if path.is_dir():
        reason = "the target is a folder; name a file in it"
    elif suffix in _READ_ONLY_SUFFIXES:
        reason = "PyTorch files are read, not written; save as .safetensors instead"
    elif not suffix:
        reason = f"the name has no suffix that tells the format; end it in {known}"
    else:
        reason = f"{suffix} stands for no format that can be written; end the name in {known}"
    raise SaveError(reason, stage="plan", path=path)


def carried_metadata(
    index: TensorIndex,
    format: str,
    metadata: Mapping[str, str] | None,
) -> dict[str, str]:
    """Text map to write: the given one, else the index's without a stale name of its container."""
    if metadata is not None:
        return dict(metadata)
    kept = dict(index.metadata)
    if index.format != format and kept.get("format") in _CONTAINER_NAMES:
        del kept["format"]
    return kept


def path_problems(path: Path, *, overwrite: bool) -> tuple[PlanProblem, ...]:
    """What about the target path forbids saving; empty if nothing does."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return _parent_problems(Path(os.path.realpath(path)).parent)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        return (PlanProblem(f"the target cannot be reached: {why}"),)
    if stat.S_ISDIR(found.st_mode):
        return (PlanProblem("the target is a folder; name a file in it"),)
    if not stat.S_ISREG(found.st_mode):
        return (PlanProblem("the target is not a plain file"),)
    if not overwrite:
        return (PlanProblem("the file exists; pass overwrite=True to replace it"),)
    if not os.access(path, os.W_OK):
        return (PlanProblem("the file is read-only; allow writing to it first"),)
    return _parent_problems(Path(os.path.realpath(path)).parent)


def _parent_problems(folder: Path) -> tuple[PlanProblem, ...]:
    if not folder.exists():
        return (PlanProblem(f"the folder {folder} does not exist"),)
    if not os.access(folder, os.W_OK | os.X_OK):
        return (PlanProblem(f"the folder {folder} is read-only"),)
    return ()


def peak_bytes(layout: Layout) -> int:
    """Bytes of memory that writing is expected to need at its worst moment."""
    tensors = max((_read_bytes(e.snapshot.source, e.nbytes) for e in layout.entries), default=0)
    return len(layout.header) + tensors


def _read_bytes(source: TensorSource, nbytes: int) -> int:
    """Memory that handing out ``nbytes`` bytes piece by piece takes."""
    inner = getattr(source, "source", None)
    if hasattr(source, "stream"):
        piece = min(PIECE_BYTES, nbytes)
        # A step in between holds a piece before, during and after its work.
        return piece if inner is None else 3 * piece + _read_bytes(inner, nbytes)
    told = getattr(source, "peak_bytes", None)
    if isinstance(told, int):
        return told
    if isinstance(source, ArraySource):
        return 0 if source.array.flags.c_contiguous else nbytes
    return nbytes
