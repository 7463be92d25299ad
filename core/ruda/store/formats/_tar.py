"""The members of a tar archive, read strictly and never extracted."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.errors import HeaderError, TruncatedFileError, UnsupportedContentError
from ruda.store.bytefile import ByteFile

BLOCK = 512
MAX_MEMBERS = 1000


@dataclass(frozen=True, slots=True)
class TarMember:
    """One file inside the archive: where its bytes lie."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        """Where its bytes end."""
        return self.offset + self.size


def is_tar(head: bytes) -> bool:
    """True if the file begins with the header of a tar member."""
    return head[257:262] == b"ustar"


def tar_members(file: ByteFile) -> dict[str, TarMember]:
    """Members by name. Raises FormatError for links, folders, paths, or two of one name."""
    found: dict[str, TarMember] = {}
    at = 0
    while at + BLOCK <= file.size:
        head = file.read_at(at, BLOCK)
        if not any(head):
            return found
        name, size, kind = _header(head, at)
        if kind not in (b"0", b"\0"):
            raise UnsupportedContentError(
                f"the archive holds {name!r}, which is no plain file (type {kind!r})", offset=at
            )
        if "/" in name or "\\" in name or name in ("", ".", ".."):
            raise HeaderError(
                f"the archive has a member called {name!r}, which points outside it", offset=at
            )
        if name in found or len(found) >= MAX_MEMBERS:
            raise HeaderError(f"the archive has {name!r} twice, or too many members", offset=at)
        found[name] = TarMember(at + BLOCK, size)
        if found[name].end > file.size:
            raise TruncatedFileError(
                f"{name} ends at byte {found[name].end}, but the file has {file.size}; it is cut "
                "short, get it again",
                offset=file.size,
            )
        at += BLOCK + -(-size // BLOCK) * BLOCK
    raise TruncatedFileError(
        "the archive has no end mark; the file is cut short, get it again", offset=file.size
    )


def _header(head: bytes, at: int) -> tuple[str, int, bytes]:
    try:
        size = int(head[124:136].rstrip(b" \0") or b"0", 8)
        stated = int(head[148:156].strip(b" \0") or b"0", 8)
        name = head[:100].rstrip(b"\0").decode()
    except ValueError:
        raise HeaderError("the header of an archive member is damaged", offset=at) from None
    if stated != sum(head[:148]) + 8 * 32 + sum(head[156:]) or size < 0 or head[345:346] != b"\0":
        raise HeaderError("the header of an archive member is damaged", offset=at)
    return name, size, head[156:157]
