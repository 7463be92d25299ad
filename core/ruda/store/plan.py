"""SavePlan: everything that a save will do, known before the first byte is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from ruda._bulk import without_collections
from ruda.errors import SaveError, SettingError
from ruda.store._windows import is_windows, name_problem
from ruda.store.alias_note import NOTE, note_of, noted_in
from ruda.store.aliases import Aliases, choose_owners, default_policy
from ruda.store.formats._write_numpy import NpyEncoder, NpzEncoder
from ruda.store.formats._write_pytorch import PytorchEncoder
from ruda.store.formats._write_rudapack import RudapackEncoder
from ruda.store.formats._write_safetensors import SafetensorsEncoder
from ruda.store.formats.sharded import INDEX_SUFFIX
from ruda.store.index import TensorIndex
from ruda.store.layout import PIECE_BYTES, Encoder, Layout, PlannedTensor, PlanProblem
from ruda.store.sharding import (
    index_text,
    require_shardable,
    shard_paths,
    split,
    stale_beside,
    unsharded,
)
from ruda.store.snapshot import ArraySource, TensorSnapshot, TensorSource
from ruda.store.uri import Uri, target_of

_ENCODERS: tuple[Encoder, ...] = (
    RudapackEncoder(),
    SafetensorsEncoder(),
    PytorchEncoder(),
    NpzEncoder(),
    NpyEncoder(),
)
_CONTAINER_NAMES = ("burnpack", "rudapack", "safetensors")
_SHARES_MEMORY = PytorchEncoder.name
_NOTES = (RudapackEncoder.name, SafetensorsEncoder.name)


@dataclass(frozen=True, slots=True)
class SavePlan:
    """Where every byte of a file will be, and what the target cannot hold.

    ``peak_bytes`` is what the save is expected to need in memory beyond what is loaded already;
    ``problems`` are in file order, the blocking ones forbid ``write``.
    """

    path: Path
    """The file as it was named; a link is followed when writing. Of a set: its index file."""
    layout: Layout = field(repr=False)
    peak_bytes: int
    metadata: Mapping[str, str]
    overwrite: bool
    problems: tuple[PlanProblem, ...]
    index: TensorIndex = field(compare=False, repr=False)
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Owner by key, of keys that stand for the same tensor as their owner."""
    parts: tuple[SavePlan, ...] = ()
    """Plans of the shards, where the tensors are spread over several files."""
    stale: tuple[Path, ...] = ()
    """Files of an earlier save of this name beside the target that this one leaves there."""

    @property
    def format(self) -> str:
        """Name of the format."""
        return self.layout.format

    @property
    def entries(self) -> tuple[PlannedTensor, ...]:
        """Every tensor with its place; of a set, in the file of its shard."""
        if self.parts:
            return tuple(entry for part in self.parts for entry in part.entries)
        return self.layout.entries

    @property
    def header(self) -> bytes:
        """The first bytes of the file. Of a set: the index file."""
        return self.layout.header

    @property
    def padding(self) -> int:
        """Zero bytes that stand between and after header, frames and tensors."""
        return self.layout.padding + sum(part.padding for part in self.parts)

    @property
    def file_size(self) -> int:
        """Bytes of the file, or of all files of a set."""
        return self.layout.file_size + sum(part.file_size for part in self.parts)

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


@without_collections()
def plan_save(
    index: TensorIndex,
    path: Path | Uri | str,
    *,
    format: str | None = None,
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = False,
    aliases: Aliases | None = None,
    owners: Iterable[str] = (),
    shard_size: int | None = None,
) -> SavePlan:
    """Plan of saving these tensors to ``path``; reads no tensor byte and touches no file.

    Without ``format`` the suffix decides. ``metadata`` None keeps that of the index. ``aliases``
    says what becomes of tensors that are one (None: as the source has it), ``owners`` which of
    their keys own it. ``shard_size`` spreads the tensors over files of at most so many bytes of
    tensors: ``model.safetensors`` becomes ``model-00001-of-00003.safetensors`` and so on with
    ``model.safetensors.index.json``, unless one file holds all.

    Raises SaveError (stage ``plan``) only for an address, where no format can be told, or where an
    option does not fit; everything else that stands in the way is in ``problems``.
    """
    target = target_of(path)
    if shard_size is not None:
        target = unsharded(target)
    encoder = _encoder(format or format_for(target), target)
    tied = tie(index, encoder.name, aliases, owners)
    about = MappingProxyType(tied.metadata(carried_metadata(index, encoder.name, metadata)))
    if shard_size is not None:
        require_shardable(encoder.name, shard_size, target)
        groups = split(tied.index, shard_size)
        stale = stale_beside(target, len(groups))
        if len(groups) > 1:
            parts = [
                _plan(subset, name, encoder, about, overwrite)
                for name, subset in zip(shard_paths(target, len(groups)), groups, strict=True)
            ]
            return _set_plan(target, tied, about, parts, stale, overwrite=overwrite)
        return replace(_tied_plan(tied, target, encoder, about, overwrite), stale=stale)
    return _tied_plan(tied, target, encoder, about, overwrite)


def _plan(
    index: TensorIndex,
    target: Path,
    encoder: Encoder,
    metadata: Mapping[str, str],
    overwrite: bool,
) -> SavePlan:
    layout = encoder.lay_out(index, metadata)
    return SavePlan(
        path=target,
        layout=layout,
        peak_bytes=peak_bytes(layout),
        metadata=metadata,
        overwrite=overwrite,
        problems=(*path_problems(target, overwrite=overwrite), *layout.problems),
        index=index,
    )


def _tied_plan(
    tied: Tied, target: Path, encoder: Encoder, metadata: Mapping[str, str], overwrite: bool
) -> SavePlan:
    plan = _plan(tied.index, target, encoder, metadata, overwrite)
    problems = (*plan.problems, *tied.problems)
    return replace(plan, problems=problems, index=tied.whole, aliases=tied.owners)


def _set_plan(
    target: Path,
    tied: Tied,
    metadata: Mapping[str, str],
    parts: list[SavePlan],
    stale: tuple[Path, ...],
    *,
    overwrite: bool,
) -> SavePlan:
    path = target.with_name(target.name + INDEX_SUFFIX)
    text = index_text(
        {part.path.name: [e.key for e in part.entries] for part in parts},
        sum(part.tensor_bytes for part in parts),
        tied.whole.extra.get("index_metadata") or {},
    )
    found = [problem for part in parts for problem in part.problems]
    found += [*path_problems(path, overwrite=overwrite), *tied.problems]
    return SavePlan(
        path=path,
        layout=Layout(parts[0].format, text, (), len(text)),
        peak_bytes=max(part.peak_bytes for part in parts) + sum(len(p.header) for p in parts),
        metadata=metadata,
        overwrite=overwrite,
        problems=tuple(dict.fromkeys(found)),
        index=tied.whole,
        aliases=tied.owners,
        parts=tuple(parts),
        stale=stale,
    )


@dataclass(frozen=True, slots=True)
class Tied:
    """Tensors to be written, after it was decided what becomes of those that are one."""

    whole: TensorIndex
    index: TensorIndex
    """What is written: ``whole``, or without the keys that their owner stands for."""
    owners: Mapping[str, str]
    noted: bool
    problems: tuple[PlanProblem, ...] = ()

    def metadata(self, carried: dict[str, str]) -> dict[str, str]:
        """The metadata with the note on aliases, where the format needs one."""
        known = noted_in(carried.get(NOTE), self.whole)
        if known is not None:  # what is said of tensors that are not saved would be wrong
            del carried[NOTE]
        owners = {**(known or {}), **(self.owners if self.noted else {})}
        return {**carried, NOTE: note_of(owners)} if owners else carried


def tie(
    index: TensorIndex, format: str, aliases: Aliases | None, owners: Iterable[str] = ()
) -> Tied:
    """What of an index is written in a format. Raises SaveError for owners that do not fit."""
    found = choose_owners(index, owners)
    if not found or format == _SHARES_MEMORY:
        return Tied(index, index, found, noted=False)
    policy = default_policy(index) if aliases is None else aliases
    notable = format in _NOTES
    if policy is Aliases.FULL:
        return Tied(index, index, found, noted=notable)
    if not notable:
        raise SaveError(
            f"{format} files have no metadata to note in which keys stand for one tensor; write "
            "all of them in full",
            stage="plan",
        )
    kept = TensorIndex.of(
        [_owned(s, found) for key, s in index.items() if key not in found],
        format=index.format,
        path=index.path,
        metadata=index.metadata,
        extra=index.extra,
    )
    problems = tuple(
        PlanProblem(f"is the same tensor as {owner!r}, which is written once", key, blocking=False)
        for key, owner in found.items()
    )
    return Tied(index, kept, found, noted=True, problems=problems)


def _owned(snapshot: TensorSnapshot, owners: Mapping[str, str]) -> TensorSnapshot:
    """The tensor, said to share memory with the owner that is written, if not itself that one."""
    before = snapshot.shared_with
    after = None if before is None else owners.get(before, before)
    if after == snapshot.key:
        after = None
    return snapshot if after == before else replace(snapshot, shared_with=after)


def lay_out(
    index: TensorIndex,
    format: str,
    metadata: Mapping[str, str] | None = None,
    *,
    path: Path | None = None,
) -> Layout:
    """Header, order and offsets in a format. Raises SaveError if there is no such format."""
    encoder = _encoder(format, path)
    tied = tie(index, encoder.name, None)
    about = tied.metadata(carried_metadata(index, encoder.name, metadata))
    return encoder.lay_out(tied.index, about)


def _encoder(format: str, path: Path | None) -> Encoder:
    fitting = [encoder for encoder in _ENCODERS if encoder.name == format]
    for encoder in fitting:
        if path is not None and path.suffix.lower() in encoder.suffixes:
            return encoder
    if fitting:
        return fitting[0]
    known = ", ".join(dict.fromkeys(encoder.name for encoder in _ENCODERS))
    reason = f"no format that can be written is called {format!r}; known: {known}"
    raise SaveError(reason, stage="plan", path=path)


def format_for(path: Path) -> str:
    """Format that the suffix of ``path`` stands for. Raises SaveError (stage ``plan``)."""
    suffix = path.suffix.lower()
    for encoder in _ENCODERS:
        if suffix in encoder.suffixes:
            return encoder.name
    known = " or ".join(encoder.suffixes[0] for encoder in _ENCODERS)
    if os.path.isdir(path):  # unlike Path.is_dir, False where nobody may look
        reason = "the target is a folder; name a file in it"
    elif path.name.endswith(INDEX_SUFFIX):
        reason = "an index of shards is written with a shard size; give one, or name a plain file"
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
        for key, value in metadata.items():
            if not isinstance(key, str) or not isinstance(value, str):
                raise SettingError(f"metadata maps text to text, got {key!r}: {value!r}")
        return dict(metadata)
    kept = dict(index.metadata)
    if index.format != format and kept.get("format") in _CONTAINER_NAMES:
        del kept["format"]
    return kept


def path_problems(path: Path, *, overwrite: bool) -> tuple[PlanProblem, ...]:
    """What about the target path forbids saving; empty if nothing does."""
    odd = name_problem(path.name) if is_windows() else None
    if odd is not None:
        return (PlanProblem(f"the name {path.name!r} {odd}; choose another"),)
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
    if not os.path.exists(folder):
        return (PlanProblem(f"the folder {folder} does not exist"),)
    if not os.access(folder, os.W_OK | os.X_OK):
        return (PlanProblem(f"the folder {folder} is read-only"),)
    return ()


def peak_bytes(layout: Layout) -> int:
    """Bytes of memory that writing is expected to need at its worst moment."""
    tensors = max((_read_bytes(e.snapshot.source, e.nbytes) for e in layout.blocks), default=0)
    return len(layout.header) + sum(len(f.content) for f in layout.frames) + tensors


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
