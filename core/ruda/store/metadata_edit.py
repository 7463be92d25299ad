"""Changing the metadata of a safetensors file without writing its tensors again.

A header is rewritten in place only where that cannot break the file: the new header has as many
bytes as the old one, and the bytes that differ lie in one sector of the disk. A disk writes a
sector whole or not at all, and a process that is killed does not divide so short a write, so that
the file has the old metadata or the new one, and its tensors are never touched. A header that is
torn between two sectors could be no JSON at all, and other programs know of no journal that would
mend it. Everything else is therefore a copy beside the file, synced and renamed over it; the copy
leaves room in the first sector, so that the next edits need none.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from ruda.errors import RudaError, SaveError, UnsupportedContentError
from ruda.progress import SILENT, Monitor, Progress
from ruda.store._set_commit import settle
from ruda.store._sibling import Sibling, remove_stale
from ruda.store.bytefile import ByteFile
from ruda.store.formats.safetensors import METADATA_KEY, parse_header
from ruda.store.layout import text_problem
from ruda.store.opening import open_file

SECTOR_BYTES = 512
"""The smallest unit that disks write as one."""
_COPY_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class MetadataEdit:
    """What an edit did: the metadata now, and how many bytes were written for it."""

    path: Path
    metadata: Mapping[str, str]
    written: int
    in_place: bool
    """False where the file was copied because the new header did not fit."""


def edit_metadata(
    path: Path | str,
    changes: Mapping[str, str | None],
    *,
    may_copy: bool = True,
    monitor: Monitor = SILENT,
    release: Callable[[], None] | None = None,
) -> MetadataEdit | None:
    """Set entries of a safetensors file's metadata, or remove those whose new value is None.

    The file is the old or the new one whenever the work ends. A hard link is copied, so that its
    other names keep the old file. Returns None, and changes nothing, where it would have to be
    copied and ``may_copy`` is False. ``release`` is called when the system refuses to replace a
    file that is in use, before the next attempt. Raises FormatError for a file that is none of
    safetensors or is damaged, SaveError for one that cannot be written, and Cancelled.
    """
    path = Path(path)
    target = Path(os.path.realpath(path))
    settle(target.parent, [target.name])
    with open_file(path) as index:
        if index.format != "safetensors":
            raise UnsupportedContentError(
                "only the metadata of a safetensors file can be changed in it", path=path
            )
        before = dict(index.metadata)
    after = {k: v for k, v in {**before, **changes}.items() if v is not None}
    _refuse_bad_text(after, path)
    if after == before:
        return MetadataEdit(path, after, 0, in_place=True)
    if not os.access(target, os.W_OK):
        raise SaveError("the file is read-only; allow writing to it first", stage="plan", path=path)
    remove_stale(target.parent)
    with ByteFile(target) as file:
        old = file.read_at(8, int.from_bytes(file.read_at(0, 8), "little"))
        for new in () if _has_other_names(target) else _of_same_length(old, after):
            start, end = _difference(old, new)
            if (8 + start) // SECTOR_BYTES == (8 + end - 1) // SECTOR_BYTES:
                _write_in_place(target, 8 + start, new[start:end], old[start:end])
                return MetadataEdit(path, after, end - start, in_place=True)
        if not may_copy:
            return None

        def let_go() -> None:
            file.close()
            if release is not None:
                release()

        written = _copy(file, target, len(old), _with_room(old, after), monitor, let_go)
    return MetadataEdit(path, after, written, in_place=False)


def _has_other_names(target: Path) -> bool:
    """True for a hard link: what is written into the file would show under its other names, too."""
    return os.stat(target).st_nlink > 1


def _refuse_bad_text(metadata: Mapping[str, str], path: Path) -> None:
    for text in (*metadata, *metadata.values()):
        bad = text_problem(text)
        if bad:
            raise SaveError(f"metadata {bad}", stage="plan", path=path)


def _of_same_length(old: bytes, metadata: dict[str, str]) -> Iterator[bytes]:
    """Headers of the old length that say the same of the tensors; the least different first."""
    rest = old.rstrip(b" ")
    start, end = _place(rest)
    behind = rest[end:].lstrip(b" ")
    whole = _text(metadata, comma=start == end and behind[:1] != b"}")
    room = len(rest) - len(behind) - start
    for candidate in (
        rest[:start] + whole.ljust(room) + behind,
        rest[:start] + whole + behind,
    ):
        new = candidate.ljust(len(old))
        if len(new) == len(old) and _is_same(old, new, metadata):
            yield new


def _with_room(old: bytes, metadata: dict[str, str]) -> bytes:
    """A header that begins with the metadata, and has spaces behind it up to the sector's end."""
    rest = old.rstrip(b" ")
    start, end = _place(rest)
    behind = rest[end:].lstrip(b" ")
    text = rest[:start] + _text(metadata, comma=start == end and behind[:1] != b"}")
    room = -(8 + len(text)) % SECTOR_BYTES
    header = text + b" " * room + behind
    header += b" " * (-len(header) % 8)
    if not _is_same(old, header, metadata):  # pragma: no cover - a header is what it was made of
        raise SaveError("the header cannot be changed; convert the file instead", stage="write")
    return header


def _place(header: bytes) -> tuple[int, int]:
    """First byte of the metadata with its key in a header, and the one after it.

    Both are the place for it where the header has none.
    """
    pieces = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
    listed = pieces.get(METADATA_KEY)
    start = 1
    if listed is None:
        return start, start
    value = bytes(listed)
    name = b'"' + METADATA_KEY.encode() + b'"'
    at = header.find(name)
    while at >= 0:
        place = header.find(value, at + len(name))
        between = header[at + len(name) : place]
        if place >= 0 and between.strip(b" \t\r\n") == b":":
            return at, place + len(value)
        at = header.find(name, at + 1)
    return start, start  # spelled with escapes: the candidate will not be the same


def _text(metadata: dict[str, str], *, comma: bool) -> bytes:
    entry = b'"' + METADATA_KEY.encode() + b'":' + msgspec.json.encode(metadata)
    return entry + b"," if comma else entry


def _is_same(old: bytes, new: bytes, metadata: dict[str, str]) -> bool:
    """True if a header describes the tensors of the old one in their order, with this metadata."""
    try:
        entries, found = parse_header(new)
    except RudaError:
        return False
    before = parse_header(old)[0]
    return found == metadata and list(entries.items()) == list(before.items())


def _difference(old: bytes, new: bytes) -> tuple[int, int]:
    """First byte that differs, and the one after the last that does."""
    places = np.flatnonzero(np.frombuffer(old, np.uint8) != np.frombuffer(new, np.uint8))
    return int(places[0]), int(places[-1]) + 1


def _write_in_place(target: Path, offset: int, piece: bytes, before: bytes) -> None:
    after = "the file is unchanged"
    try:
        with open(target, "rb+", buffering=0) as file:
            file.seek(offset)
            taken = file.write(piece)
            if taken != len(piece):
                file.seek(offset)
                file.write(before[:taken])
                raise OSError(errno.EIO, f"the disk took {taken} of {len(piece)} bytes")
            after = "the file has the old metadata or the new one, so open it again and look"
            os.fsync(file.fileno())
    except OSError as error:
        raise SaveError(
            f"the header cannot be written: {error.strerror or error}; {after}",
            stage="write",
            path=target,
        ) from error


def _copy(
    file: ByteFile,
    target: Path,
    length: int,
    header: bytes,
    monitor: Monitor,
    release: Callable[[], None],
) -> int:
    """The file with another header, in its place; bytes written."""
    data = 8 + length
    total = 8 + len(header) + file.size - data
    with Sibling(target) as sibling:
        try:
            sibling.write(len(header).to_bytes(8, "little") + header)
            done = 8 + len(header)
            for piece in file.stream(data, file.size - data, _COPY_BYTES):
                monitor.check()
                sibling.write(piece)
                done += len(piece)
                monitor.report(Progress(done, total, "bytes"))
            sibling.finish(forget=False)
        except OSError as error:
            raise SaveError(
                f"writing stopped: {error.strerror or error}; the old file is unchanged",
                stage="write",
                path=target,
            ) from error
        sibling.rename_over(release=release, replace=os.replace)
    return total
