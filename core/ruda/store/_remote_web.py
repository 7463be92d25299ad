"""Files of the web, fetched in parts by the Range requests of http.

Every answer is checked: its place, its length, and that the file is still the one that was opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ruda.errors import FileAccessError, FileChangedError, MissingExtraError, TruncatedFileError
from ruda.store.uri import Uri

TIMEOUT_SECONDS = 30.0
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", re.ASCII)
_EMPTY = re.compile(r"bytes \*/0")
_WHOLE, _PART, _UNSATISFIABLE = 200, 206, 416


class WebRemote:
    """One file of a web server.

    A server that sends the file whole whatever it is asked for is served from memory, up to a
    limit; ``note`` says so then.
    """

    def __init__(self, uri: Uri, *, whole: int, first: int) -> None:
        """Fetch the first bytes. Raises FileAccessError, MissingExtraError.

        ``whole`` is the largest file that is fetched whole, ``first`` how much is fetched now.
        """
        self._uri = uri
        self._client = _client()
        self._held: bytes | None = None
        self._head = b""
        self._mark: str | None = None
        self.note: str | None = None
        self.size = 0
        try:
            self._begin(whole, first)
        except BaseException:
            self._client.close()
            raise

    def _begin(self, whole: int, first: int) -> None:
        with self._asked(0, first) as answer:
            if answer.status_code == _UNSATISFIABLE:
                if not _EMPTY.fullmatch(answer.headers.get("content-range", "")):
                    raise self._fault("the server refuses to send the first bytes (416)")
                return
            self._mark = _mark(answer)
            if answer.status_code == _WHOLE:
                self._held = self._take_whole(answer, whole)
                self.size = len(self._held)
                self.note = (
                    f"the server does not send parts of files: all {self.size} bytes were fetched"
                )
                return
            start, end, self.size = self._span(answer)
            if start != 0 or end != min(first, self.size):
                raise self._fault(
                    f"the server was asked for bytes 0 to {first}, and sends {start} to {end}"
                )
            self._head = self._take(answer, end)

    def fetch(self, offset: int, count: int) -> bytes:
        """Exactly these bytes. Raises FileAccessError or TruncatedFileError."""
        if self._held is not None:
            return self._held[offset : offset + count]
        if offset + count <= len(self._head):
            return self._head[offset : offset + count]
        with self._asked(offset, count) as answer:
            if answer.status_code != _PART:
                raise self._fault(
                    f"the server sent parts of the file before and does not now "
                    f"({answer.status_code})"
                )
            start, end, size = self._span(answer)
            if size != self.size or _mark(answer) != self._mark:
                raise FileChangedError(self._uri)
            if (start, end) != (offset, offset + count):
                raise self._fault(
                    f"the server was asked for bytes {offset} to {offset + count}, and sends "
                    f"{start} to {end}"
                )
            return self._take(answer, count)

    def check(self) -> None:
        """Do nothing: each answer was checked."""

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @contextmanager
    def _asked(self, offset: int, count: int) -> Iterator[Any]:
        """The server's answer to a request for a part, if it is one that can be used."""
        import httpx

        headers = {"Range": f"bytes={offset}-{offset + count - 1}", "Accept-Encoding": "identity"}
        try:
            with self._client.stream("GET", self._uri.text, headers=headers) as answer:
                self._check(answer)
                yield answer
        except httpx.TimeoutException as error:
            raise self._fault(
                f"the server did not answer within {TIMEOUT_SECONDS:.0f} s; try again"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            why = str(error) or type(error).__name__
            raise self._fault(f"the server cannot be reached or broke off: {why}") from error
        except (UnicodeError, RuntimeError) as error:
            why = "the file was closed" if self._client.is_closed else str(error)
            raise self._fault(f"cannot be read: {why}") from error

    def _check(self, answer: Any) -> None:
        code = answer.status_code
        said = f"{code} {answer.reason_phrase}".strip()
        if code in (404, 410):
            raise self._fault(
                f"there is no file at this address ({said}); check its spelling"
            ) from FileNotFoundError(said)
        if code in (401, 403, 407):
            raise self._fault(
                f"the server refuses access ({said}); it may want a login, so download the file "
                "with the tool of its site"
            )
        if code not in (_WHOLE, _PART, _UNSATISFIABLE):
            raise self._fault(f"the server answers {said}; try again later")
        coded = answer.headers.get("content-encoding", "identity")
        if coded != "identity":
            raise self._fault(f"the server sends the file compressed ({coded}), unasked")

    def _span(self, answer: Any) -> tuple[int, int, int]:
        """First byte, end, and length of the file, as the answer says."""
        found = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
        if found is None:
            raise self._fault("the server sends a part and does not say which, or of how long")
        start, last, size = (int(part) for part in found.groups())
        if not start <= last < size:
            raise self._fault(f"the server sends an impossible part ({found[0]})")
        return start, last + 1, size

    def _take(self, answer: Any, count: int) -> bytes:
        """The body, of exactly this length."""
        raw = bytearray()
        for piece in answer.iter_raw():
            raw += piece
            if len(raw) > count:
                break
        if len(raw) > count:
            raise self._fault(f"the server sent more than the {count} bytes that it announced")
        if len(raw) < count:
            raise TruncatedFileError(
                f"the server sent {len(raw)} of the {count} bytes that it announced", path=self._uri
            )
        return bytes(raw)

    def _take_whole(self, answer: Any, limit: int) -> bytes:
        told = answer.headers.get("content-length", "")
        size = int(told) if told.isdigit() and len(told) < 20 else None
        raw = bytearray()
        if size is None or size <= limit:
            for piece in answer.iter_raw():
                raw += piece
                if len(raw) > limit:
                    break
        if len(raw) > limit or (size or 0) > limit:
            has = f"has {size} bytes" if size else f"has more than {limit} bytes"
            raise self._fault(
                f"the server does not send parts of files, and this one {has}; the limit for "
                f"files that are fetched whole is {limit}, so download it first"
            )
        if size is not None and len(raw) != size:
            raise TruncatedFileError(
                f"the server announced {size} bytes and sent {len(raw)}", path=self._uri
            )
        return bytes(raw)

    def _fault(self, why: str) -> FileAccessError:
        return FileAccessError(why, path=self._uri)


def _client() -> Any:
    try:
        import httpx
    except ImportError:
        raise MissingExtraError("httpx", "remote", "reading http addresses") from None
    return httpx.Client(
        follow_redirects=True,
        timeout=TIMEOUT_SECONDS,
        limits=httpx.Limits(max_connections=32),
    )


def _mark(answer: Any) -> str | None:
    """What tells one state of a file from another, where the server says it."""
    found: str | None = answer.headers.get("etag") or answer.headers.get("last-modified")
    return found
