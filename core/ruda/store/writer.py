"""Writing a plan: stream to a sibling file, sync, verify, rename. The old file is never at risk."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ruda.errors import SaveError
from ruda.progress import SILENT, Monitor
from ruda.store._disk import put_new
from ruda.store._set_commit import commit, settle
from ruda.store._sibling import Replace, Sibling
from ruda.store.aliases import Aliases
from ruda.store.index import TensorIndex
from ruda.store.layout import PlanProblem
from ruda.store.plan import SavePlan, path_problems, plan_save
from ruda.store.stamp import is_same_file
from ruda.store.streaming import Record, Stream, Tally
from ruda.store.uri import Uri
from ruda.store.verify import verify_file
from ruda.tensor import CastCounts


@dataclass(frozen=True, slots=True)
class SaveResult:
    """What a save did. ``casts`` counts what changing element types did to each tensor's values."""

    path: Path
    nbytes: int
    verified: bool = False
    sha256: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Digest of each tensor's bytes; filled when verifying."""
    casts: Mapping[str, CastCounts] = field(default_factory=dict)
    warnings: tuple[PlanProblem, ...] = ()
    parts: tuple[Path, ...] = ()
    """The shards, where the tensors were spread over several files."""
    stale: tuple[Path, ...] = ()
    """Files of an earlier save of this name that this one did not replace; yours to remove."""
    remarks: tuple[str, ...] = ()
    """What computing values found, in sentences: a merge that made NaN, say."""


def save(
    index: TensorIndex,
    path: Path | Uri | str,
    *,
    format: str | None = None,
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = False,
    aliases: Aliases | None = None,
    owners: Iterable[str] = (),
    shard_size: int | None = None,
    verify: bool = False,
    monitor: Monitor = SILENT,
) -> SaveResult:
    """Plan and write in one call, with the options of both.

    Raises SaveError; the old file is whole in any case.
    """
    plan = plan_save(
        index,
        path,
        format=format,
        metadata=metadata,
        overwrite=overwrite,
        aliases=aliases,
        owners=owners,
        shard_size=shard_size,
    )
    return write(plan, verify=verify, monitor=monitor)


def write(
    plan: SavePlan,
    *,
    monitor: Monitor = SILENT,
    verify: bool = False,
    release: Callable[[], None] | None = None,
    replace: Replace | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> SaveResult:
    """Carry out a plan, one tensor in memory at a time.

    The bytes go to a temporary file beside the target, are synced, read back by an independent
    reader if ``verify`` is set, and take the target's place in one step. Whatever fails or stops
    before that leaves the old file as it was and no temporary file. The files of a set take their
    places together: none before all are complete, and what is interrupted then is finished by the
    next save. ``release`` is called when the system refuses to replace a file that is
    in use, before the next attempt.

    Raises SaveError with its stage, Cancelled, and the StoreError of a source that cannot be read.
    """
    plan.require_writable()
    target = Path(os.path.realpath(plan.path))
    _require_space(plan, target.parent)
    place = replace or (os.replace if plan.overwrite else put_new)
    files = (*plan.parts, plan) if plan.parts else (plan,)
    tally = Tally(plan.file_size, monitor)
    records: list[Record] = []
    try:
        settle(target.parent, [part.path.name for part in files], sleep=sleep)
        with ExitStack() as stack:
            siblings = []
            for part in files:
                sibling = stack.enter_context(Sibling(Path(os.path.realpath(part.path))))
                records.append(_fill(part, sibling, tally, digests=verify))
                if verify:
                    _verify(part, sibling.path, records[-1].sha256, monitor)
                siblings.append(sibling)
            monitor.check()  # the last moment to stop
            for part in files:
                _require_same_target(part)
            commit(siblings, release=_releaser(plan, release), replace=place, sleep=sleep)
    except SaveError as error:
        if error.path is not None:
            raise
        raise SaveError(
            f"{error.message}; {_aftermath(target)}", stage=error.stage, path=plan.path
        ) from error
    return SaveResult(
        plan.path,
        plan.file_size,
        verify,
        _digests(plan, records),
        {key: counts for record in records for key, counts in record.casts.items()},
        plan.warnings,
        tuple(part.path for part in plan.parts),
        plan.stale,
        _remarks(records),
    )


def _remarks(records: Iterable[Record]) -> tuple[str, ...]:
    """What was found, once each: several tensors may be blocks of one."""
    texts = (text for record in records for found in record.remarks.values() for text in found)
    return tuple(dict.fromkeys(texts))


def _digests(plan: SavePlan, records: list[Record]) -> dict[str, str]:
    """Digest by key; a tensor that another stands for has the digest of that one."""
    found = {key: digest for record in records for key, digest in record.sha256.items()}
    if found:
        found.update((key, found[owner]) for key, owner in plan.aliases.items() if owner in found)
    return found


def _fill(plan: SavePlan, sibling: Sibling, tally: Tally, *, digests: bool) -> Record:
    stream = Stream(sibling, plan.layout, tally, digests=digests)
    stream.write_all()
    try:
        sibling.finish(forget=digests)
    except OSError as error:
        raise stream.failure(error) from error
    tally.before += stream.position
    return stream.record


def _verify(plan: SavePlan, path: Path, digests: Mapping[str, str], monitor: Monitor) -> None:
    if plan.parts:
        if path.read_bytes() != plan.header:
            raise SaveError("the index file reads back with other bytes", stage="verify")
        return
    verify_file(
        path,
        plan.layout,
        digests,
        metadata=plan.metadata,
        scalars=plan.index.extra.get("scalars"),
        monitor=monitor,
    )


def _require_space(plan: SavePlan, folder: Path) -> None:
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return  # unknown: the disk itself will say
    if free < plan.file_size:
        raise SaveError(
            f"the file needs {plan.file_size} bytes, but {folder} has {free} left",
            stage="plan",
            path=plan.path,
        )


def _require_same_target(plan: SavePlan) -> None:
    """Someone may have made or replaced the target while the bytes were on their way."""
    problems = path_problems(plan.path, overwrite=plan.overwrite)
    if problems:
        raise SaveError(problems[0].message, stage="rename")


def _releaser(plan: SavePlan, release: Callable[[], None] | None) -> Callable[[], None]:
    """Drop whatever we ourselves hold of the target: the caller's handles, then the index's."""

    def drop() -> None:
        if release is not None:
            release()
        if is_same_file(plan.index.path, plan.path):
            plan.index.close()

    return drop


def _aftermath(target: Path) -> str:
    return "the old file is unchanged" if target.exists() else "nothing was saved"
