"""Files of object stores and other systems that fsspec knows: s3, gs, hf, memory and more."""

from __future__ import annotations

from typing import Any

from ruda.errors import FileAccessError, MissingExtraError, RudaError
from ruda.store.uri import Uri


class FsspecRemote:
    """One file of a file system that fsspec opens by the scheme of its address."""

    note: str | None = None

    def __init__(self, uri: Uri) -> None:
        """Ask how long the file is. Raises FileAccessError, MissingExtraError."""
        self._uri = uri
        self._system = _system(uri)
        try:
            self._path: str = self._system._strip_protocol(uri.text)
            self._system.invalidate_cache()
            about = self._system.info(self._path)
        except Exception as error:
            raise _failure(uri, error) from error
        if about.get("type") == "directory":
            raise FileAccessError("is a folder, and a file is needed; name it", path=uri)
        size = about.get("size")
        if type(size) is not int or size < 0:
            raise FileAccessError("the server does not say how long the file is", path=uri)
        self.size = size

    def fetch(self, offset: int, count: int) -> bytes:
        """These bytes, fewer where the file ends early. Raises FileAccessError."""
        try:
            raw: bytes = self._system.cat_file(self._path, start=offset, end=offset + count)
        except Exception as error:
            raise _failure(self._uri, error) from error
        return raw

    def close(self) -> None:
        """Do nothing: fsspec shares its connections among all files."""


def _system(uri: Uri) -> Any:
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError("fsspec", "remote", f"reading {uri.scheme}:// addresses") from None
    try:
        return fsspec.filesystem(uri.scheme)
    except ImportError as error:
        raise FileAccessError(
            f"a package for {uri.scheme}:// addresses is missing: {error}", path=uri
        ) from error
    except ValueError as error:
        raise FileAccessError(
            f"no way is known to read {uri.scheme}:// addresses; http, https, s3, gs, hf and what "
            "else fsspec opens can be read",
            path=uri,
        ) from error
    except Exception as error:
        raise _failure(uri, error) from error


def _failure(uri: Uri, error: Exception) -> RudaError:
    """The error as a sentence."""
    if isinstance(error, FileNotFoundError):
        return FileAccessError("there is no file at this address; check its spelling", path=uri)
    if isinstance(error, PermissionError):
        return FileAccessError("the server refuses access; check your credentials", path=uri)
    if isinstance(error, TimeoutError):
        return FileAccessError("the server did not answer in time; try again", path=uri)
    if isinstance(error, IsADirectoryError):
        return FileAccessError("is a folder, and a file is needed; name it", path=uri)
    text = str(error).strip().splitlines()
    why = f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
    return FileAccessError(f"cannot be read: {why}", path=uri)
