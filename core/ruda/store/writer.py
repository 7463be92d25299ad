"""Writing a plan: stream to a sibling file, sync, verify, rename. The old file is never at risk."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ruda.errors import SaveError
from ruda.progress import SILENT, Monitor, Progress
from ruda.store._sibling import Replace, Sibling, put_new
from ruda.store.index import TensorIndex
from ruda.store.layout import PIECE_BYTES, Layout, PlannedTensor, PlanProblem
from ruda.store.plan import SavePlan, path_problems, plan_save
from ruda.store.transforms import counts_of
from ruda.store.verify import verify_file
from ruda.tensor import CastCounts

_ZEROS = bytes(1 << 16)


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


def save(
    index: TensorIndex,
    path: Path | str,
    *,
    format: str | None = None,
    metadata: Mapping[str, str] | None = None,
    overwrite: bool = False,
    verify: bool = False,
    monitor: Monitor = SILENT,
) -> SaveResult:
    """Plan and write in one call. Raises SaveError; the old file is whole in any case."""
    plan = plan_save(index, path, format=format, metadata=metadata, overwrite=overwrite)
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
    before that leaves the old file as it was and no temporary file. ``release`` is called when
    the system refuses to replace a file that is in use, before the next attempt.

    Raises SaveError with its stage, Cancelled, and the StoreError of a source that cannot be read.
    """
    plan.require_writable()
    target = Path(os.path.realpath(plan.path))
    _require_space(plan, target.parent)
    try:
        with Sibling(target) as sibling:
            record = _fill(plan, sibling, monitor, digests=verify)
            if verify:
                _verify(plan, sibling.path, record.sha256, monitor)
            monitor.check()  # the last moment to stop
            _require_same_target(plan)
            place = replace or (os.replace if plan.overwrite else put_new)
            sibling.rename_over(release=_releaser(plan, release), replace=place, sleep=sleep)
    except SaveError as error:
        if error.path is not None:
            raise
        raise SaveError(
            f"{error.message}; {_aftermath(target)}", stage=error.stage, path=plan.path
        ) from error
    return SaveResult(plan.path, plan.file_size, verify, record.sha256, record.casts, plan.warnings)


def to_bytes(layout: Layout, *, monitor: Monitor = SILENT) -> bytes:
    """The whole file in memory, byte for byte as ``write`` would make it."""
    sink = io.BytesIO()
    _Stream(sink, layout.file_size, monitor).write_all(layout.header, layout.entries)
    return sink.getvalue()


@dataclass(slots=True)
class _Record:
    """What is learned of the tensors while they pass by."""

    sha256: dict[str, str] = field(default_factory=dict)
    casts: dict[str, CastCounts] = field(default_factory=dict)


class _Sink(Protocol):
    def write(self, piece: bytes | memoryview, /) -> object: ...


class _Stream:
    """Writes header, tensors and zeros to one sink, counting every byte."""

    def __init__(
        self, sink: _Sink, file_size: int, monitor: Monitor, *, digests: bool = False
    ) -> None:
        self.position = 0
        self.record = _Record()
        self._sink = sink
        self._size = file_size
        self._monitor = monitor
        self._digests = digests

    def write_all(self, header: bytes, entries: tuple[PlannedTensor, ...]) -> None:
        self._put(header)
        for entry in entries:
            self._pad_to(entry.offset)
            self._put_tensor(entry)
        self._pad_to(self._size)

    def _put_tensor(self, entry: PlannedTensor) -> None:
        digest = hashlib.sha256() if self._digests else None
        got = 0
        for chunk in entry.snapshot.chunks(PIECE_BYTES):
            self._monitor.check()
            got += len(chunk)
            if got > entry.nbytes:
                break
            self._put(chunk)
            if digest is not None:
                digest.update(chunk)
            self._monitor.report(Progress(self.position, self._size, "bytes"))
        if got != entry.nbytes:
            raise SaveError(
                f"{entry.key!r} gave {got} bytes{' or more' * (got > entry.nbytes)}, "
                f"but its shape and dtype need {entry.nbytes}",
                stage="write",
            )
        self._note(entry, digest.hexdigest() if digest else None)

    def _note(self, entry: PlannedTensor, digest: str | None) -> None:
        if digest is not None:
            self.record.sha256[entry.key] = digest
        counts = counts_of(entry.snapshot)
        if counts is not None:
            self.record.casts[entry.key] = counts

    def _pad_to(self, offset: int) -> None:
        while self.position < offset:
            self._put(_ZEROS[: offset - self.position])

    def _put(self, piece: bytes | memoryview) -> None:
        try:
            self._sink.write(piece)
        except OSError as error:
            raise self.failure(error) from error
        self.position += len(piece)

    def failure(self, error: OSError) -> SaveError:
        """The error of a disk that does not take the bytes."""
        return SaveError(
            f"writing stopped near byte {self.position} of {self._size}: {error.strerror or error}",
            stage="write",
        )


def _fill(plan: SavePlan, sibling: Sibling, monitor: Monitor, *, digests: bool) -> _Record:
    stream = _Stream(sibling, plan.file_size, monitor, digests=digests)
    monitor.check()
    stream.write_all(plan.header, plan.entries)
    try:
        sibling.finish(forget=digests)
    except OSError as error:
        raise stream.failure(error) from error
    return stream.record


def _verify(plan: SavePlan, path: Path, digests: Mapping[str, str], monitor: Monitor) -> None:
    verify_file(
        path,
        plan.format,
        plan.entries,
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
        source = plan.index.path
        if isinstance(source, Path) and _same_file(source, plan.path):
            plan.index.close()

    return drop


def _same_file(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _aftermath(target: Path) -> str:
    return "the old file is unchanged" if target.exists() else "nothing was saved"
