"""The save sheet: what will be written and what that does to the values, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda._bulk import without_collections
from ruda.session.language import tr
from ruda.session.pages.metadata import MetadataLine, metadata_lines
from ruda.session.sentences import say, say_steps
from ruda.session.wording import counted, shapes_text, size_text
from ruda.store import alias_groups, fold
from ruda.tensor import CastCounts

if TYPE_CHECKING:
    from ruda.store import MetadataEdit, SavePlan, SaveResult, TensorIndex, TensorSnapshot


HOLD_METADATA = frozenset({"safetensors", "rudapack"})
"""Formats that have a place for metadata."""
_NAMED = 100
"""Tensors of a line that it names."""


@dataclass(frozen=True, slots=True)
class DTypeShare:
    """Tensors and bytes of one element type."""

    dtype: str
    tensors: int
    nbytes: int

    @property
    def text(self) -> str:
        """``f16 12 tensors, 1.08 MB``."""
        return f"{self.dtype} {counted(self.tensors, 'tensor')}, {size_text(self.nbytes)}"


@dataclass(frozen=True, slots=True)
class SaveLine:
    """What is done to one tensor, or to several of a family alike."""

    key: str
    count: int
    shape: str
    dtype: str
    """What it is saved as: ``f16``."""
    what: str
    """The steps that made it, such as ``rename · cast f16``; empty for none."""
    nbytes: int
    module: str
    members: tuple[str, ...]
    """Keys of the tensors behind it in the new file; of more than a hundred the first."""


@dataclass(frozen=True, slots=True)
class SavePlanPage:
    """What the save sheet shows before anything is written."""

    path: str
    format: str
    size_before: int
    size_after: int
    peak: int
    dtypes_before: tuple[DTypeShare, ...]
    dtypes_after: tuple[DTypeShare, ...]
    lines: tuple[SaveLine, ...]
    left_out: int
    """Tensors of the source that are not in the new file."""
    blockers: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    """What was inferred or decided on the way, in sentences."""
    metadata: tuple[MetadataLine, ...]
    """Entries of the new file and of the source, each with what becomes of it."""
    shared: tuple[tuple[str, ...], ...]
    """Keys that stand for one tensor, the owner first."""
    files: int
    """Files that are written: shards and their index, or one."""
    summary: str
    """``18 tensors · 1.20 MB → 0.60 MB · needs 2.10 MB of memory``."""

    @property
    def can_save(self) -> bool:
        """True if nothing forbids it."""
        return not self.blockers


@dataclass(frozen=True, slots=True)
class SavedPage:
    """What the save sheet shows after a file was written."""

    title: str
    size: int
    casts: CastCounts
    cast_text: str
    worst: tuple[str, ...]
    """Families that lost values, with the counts."""
    warnings: tuple[str, ...]
    verified: bool
    stale: tuple[str, ...] = ()
    """Names of files of an earlier set that still lie beside the new one."""
    remarks: tuple[str, ...] = ()
    """What computing values found: a merge that made NaN, say."""


@without_collections()
def save_plan_page(
    plan: SavePlan, source: TensorIndex, *, dropped: frozenset[str] = frozenset()
) -> SavePlanPage:
    """The plan of saving what a recipe made of ``source``. Reads nothing.

    ``dropped`` names entries of metadata that a person struck out.
    """
    view = plan.index
    before = sum(snapshot.nbytes for snapshot in source.values())
    known = set(source.notes)
    peak = tr("needs {peak_bytes} of memory", peak_bytes=size_text(plan.peak_bytes))
    sizes = f"{size_text(before)} → {size_text(plan.tensor_bytes)}"
    return SavePlanPage(
        path=str(plan.path),
        format=plan.format,
        size_before=before,
        size_after=plan.file_size,
        peak=plan.peak_bytes,
        dtypes_before=_dtype_shares(source.values()),
        dtypes_after=_dtype_shares(view.values()),
        lines=_save_lines(view),
        left_out=max(0, len(source) - len(view)),
        blockers=tuple(say(str(problem)) for problem in plan.blockers),
        warnings=tuple(say(str(problem)) for problem in plan.warnings),
        notes=tuple(say(note) for note in view.notes if note not in known),
        metadata=metadata_lines(source.metadata, _written(plan), dropped),
        shared=_shared(plan),
        files=len(plan.parts) + 1 if plan.parts else 1,
        summary=f"{counted(len(view), 'tensor')} · {sizes} · {peak}",
    )


def _written(plan: SavePlan) -> Mapping[str, str]:
    """The metadata that the new file will have: none where the format has no place for it."""
    return plan.metadata if plan.format in HOLD_METADATA else {}


def _shared(plan: SavePlan) -> tuple[tuple[str, ...], ...]:
    """Keys that stand for one tensor, the owner of the plan first."""
    owners = set(plan.aliases.values())
    return tuple(
        tuple(sorted(keys, key=lambda key: key not in owners)) for keys in alias_groups(plan.index)
    )


def saved_page(result: SaveResult) -> SavedPage:
    """What was written, and which values the casts lost."""
    total = CastCounts()
    families: dict[str, CastCounts] = {}
    for key, counts in result.casts.items():
        total += counts
        if not counts.clean or counts.subnormal:
            family = fold(key)
            families[family] = families.get(family, CastCounts()) + counts
    checked = tr(", read back and compared") if result.verified else ""
    files = tr(" and {parts}", parts=counted(len(result.parts), "shard")) if result.parts else ""
    return SavedPage(
        title=tr(
            "Saved {name}{files}, {nbytes}{checked}",
            name=result.path.name,
            files=files,
            nbytes=size_text(result.nbytes),
            checked=checked,
        ),
        size=result.nbytes,
        casts=total,
        cast_text=cast_text(total),
        worst=tuple(f"{family}: {cast_text(counts)}" for family, counts in families.items()),
        warnings=tuple(say(str(problem)) for problem in result.warnings),
        verified=result.verified,
        stale=tuple(path.name for path in result.stale),
        remarks=tuple(say(remark) for remark in result.remarks),
    )


def edited_page(edit: MetadataEdit) -> SavedPage:
    """What a save did that only changed metadata, in the file itself."""
    none = CastCounts()
    title = tr(
        "Metadata of {name} changed, {nbytes} written",
        name=edit.path.name,
        nbytes=size_text(edit.written),
    )
    return SavedPage(title, edit.written, none, cast_text(none), (), (), verified=False, stale=())


def cast_text(counts: CastCounts) -> str:
    """``1 200 values cast: overflow 0, underflow 3, subnormal 12``."""
    if not counts.numel:
        return tr("no value was cast")
    values = counted(counts.numel, "value")
    losses = tr(
        "overflow {overflow}, underflow {underflow}",
        overflow=counts.overflow,
        underflow=counts.underflow,
    )
    return tr(
        "{values} cast: {losses}, subnormal {subnormal}",
        values=values,
        losses=losses,
        subnormal=counts.subnormal,
    )


def _dtype_shares(snapshots: Iterable[TensorSnapshot]) -> tuple[DTypeShare, ...]:
    """Tensors and bytes per element type, the largest first."""
    counts: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for snapshot in snapshots:
        label = snapshot.dtype_label
        counts[label] = counts.get(label, 0) + 1
        sizes[label] = sizes.get(label, 0) + snapshot.nbytes
    order = sorted(counts, key=lambda label: (-sizes[label], label))
    return tuple(DTypeShare(label, counts[label], sizes[label]) for label in order)


def _save_lines(view: TensorIndex) -> tuple[SaveLine, ...]:
    """What is done to every tensor, alike ones of a family together, in order of the new file."""
    groups: dict[tuple[object, ...], list[TensorSnapshot]] = {}
    for snapshot in view.values():
        likeness = (fold(snapshot.key), snapshot.trail, snapshot.dtype_label, snapshot.container)
        groups.setdefault(likeness, []).append(snapshot)
    return tuple(_save_line(members) for members in groups.values())


def _save_line(members: list[TensorSnapshot]) -> SaveLine:
    first = members[0]
    return SaveLine(
        key=fold(first.key) if len(members) > 1 else first.key,
        count=len(members),
        shape=shapes_text(member.shape for member in members),
        dtype=first.dtype_label,
        what=say_steps(first.trail),
        nbytes=sum(member.nbytes for member in members),
        module=first.container or "",
        members=tuple(member.key for member in members[:_NAMED]),
    )
