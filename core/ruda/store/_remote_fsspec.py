"""Files of object stores and other systems that fsspec knows: s3, gs, hf, memory and more.

What is read has to be of the file that was opened. Where the system can name one state of a file
(a commit, a generation, a version) that state is asked for; elsewhere it is asked after each fetch
whether the file is still the same.
"""

from __future__ import annotations

import errno
import inspect
import re
import socket
from collections.abc import Mapping
from typing import Any

from ruda.errors import FileAccessError, FileChangedError, MissingExtraError, RudaError
from ruda.store.uri import Uri

_MARKS = (
    *("ETag", "etag", "VersionId", "generation", "blob_id", "md5Hash", "crc32c", "mtime"),
    *("LastModified", "last_modified", "modified", "updated", "created"),
)
"""What the systems call that by which they tell one state of a file from another."""
PATIENCE_SECONDS = 60.0
SLOWEST = 64 << 10
"""Bytes per second below which a connection counts as stalled."""


class FsspecRemote:
    """One file of a file system that fsspec opens by the scheme of its address."""

    note: str | None = None

    def __init__(self, uri: Uri) -> None:
        """Ask how long the file is. Raises FileAccessError, MissingExtraError."""
        self._uri = uri
        self._system = file_system(uri)
        try:
            self._path = _pinned(self._system, self._system._strip_protocol(uri.text))
            about = self._about()
        except Exception as error:
            raise failure(uri, error) from error
        if about.get("type") == "directory":
            raise FileAccessError("is a folder, and a file is needed; name it", path=uri)
        size = about.get("size")
        if type(size) is not int or size < 0:
            raise FileAccessError("the server does not say how long the file is", path=uri)
        self.size = size
        self._mark = _mark(about)
        self._more = _more(self._system, about)

    def fetch(self, offset: int, count: int) -> bytes:
        """These bytes, fewer where the file ends early. Raises FileAccessError."""
        try:
            raw: bytes = self._system.cat_file(
                self._path,
                start=offset,
                end=offset + count,
                **self._more,
                **_patience(self._system.cat_file, count),
            )
        except FileNotFoundError as error:
            raise FileAccessError(
                "the file was removed or replaced on the server while it was open; open it again",
                path=self._uri,
            ) from error
        except Exception as error:
            raise failure(self._uri, error) from error
        return raw

    def check(self) -> None:
        """Raise FileAccessError if the file is no longer the one that was opened."""
        is_one_state = self._more.keys() & _STATES or _COMMIT.search(self._path)
        if not self._mark or is_one_state:
            return
        try:
            now = _mark(self._about())
        except Exception as error:
            raise failure(self._uri, error) from error
        if now != self._mark:
            raise FileChangedError(self._uri)

    def close(self) -> None:
        """Do nothing: fsspec shares its connections among all files."""

    def _about(self) -> Mapping[str, Any]:
        if not _COMMIT.search(self._path):  # what is said of a commit stays true
            self._system.invalidate_cache(self._path)
        about: Mapping[str, Any] = self._system.info(self._path, **_patience(self._system.info))
        return about


def listing(uri: Uri) -> dict[str, bool]:
    """What is in a folder at an address: True for a file, by name. Empty if there is none.

    Raises FileAccessError, MissingExtraError.
    """
    system = file_system(uri)
    try:
        path = system._strip_protocol(uri.text)
        system.invalidate_cache(path)
        if not system.isdir(path, **_patience(system.isdir)):
            return {}
        found = system.ls(path, detail=True, **_patience(system.ls))
    except Exception as error:
        raise failure(uri, error) from error
    named = ((str(each["name"]).rstrip("/"), each.get("type") == "file") for each in found)
    return {name.rpartition("/")[2]: is_file for name, is_file in named if name != path}


def file_system(uri: Uri) -> Any:
    """The file system that fsspec has for an address. Raises FileAccessError, MissingExtraError."""
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError("fsspec", "remote", f"reading {uri.scheme}:// addresses") from None
    if "::" in uri.text:
        raise FileAccessError(
            "addresses inside of addresses ('::') are not read; unpack the outer file on this "
            "machine, and open what is in it",
            path=uri,
        )
    try:
        kind = fsspec.get_filesystem_class(uri.scheme)
    except ImportError as error:
        raise _missing(uri, error) from error
    except ValueError as error:
        raise FileAccessError(
            f"no way is known to read {uri.scheme}:// addresses; http, https, s3, gs, hf and what "
            "else fsspec opens can be read",
            path=uri,
        ) from error
    except Exception as error:
        raise failure(uri, error) from error
    try:
        # Host, port and login, where the address has them.
        return fsspec.filesystem(uri.scheme, **kind._get_kwargs_from_urls(uri.text))
    except ImportError as error:
        raise _missing(uri, error) from error
    except TypeError as error:
        raise _wrong_options(uri, error) from error
    except Exception as error:
        raise failure(uri, error) from error


def _missing(uri: Uri, error: ImportError) -> FileAccessError:
    """What is said where fsspec lacks the package for a scheme."""
    name = error.name or getattr(error.__cause__, "name", None)
    which = "" if name is None else f" ({name})"
    return FileAccessError(
        f"reading {uri.scheme}:// addresses needs a package that is not installed{which}; install "
        f"it beside ruda, or copy the file to this machine (fsspec says: {_said(uri, error)})",
        path=uri,
    )


def _wrong_options(uri: Uri, error: TypeError) -> FileAccessError:
    """What is said of options for a file system: one that it needs, or one that it does not take.

    They come from the address and from fsspec's configuration.
    """
    text = _said(uri, error)
    places = f"the address, FSSPEC_{uri.scheme.upper()}_… or the files in ~/.config/fsspec"
    missing = _MISSING.search(text)
    if missing is not None:
        return FileAccessError(
            f"the address does not say all that fsspec needs for {uri.scheme}://: "
            f"{missing['names']}; say it in {places}",
            path=uri,
        )
    unknown = _UNKNOWN.search(text)
    if unknown is not None:
        return FileAccessError(
            f"fsspec's file system for {uri.scheme}:// takes no option {unknown['name']}; look "
            f"for it in {places}",
            path=uri,
        )
    return FileAccessError(
        f"fsspec's file system for {uri.scheme}:// does not take its options ({text}); look at "
        f"{places}",
        path=uri,
    )


_MISSING = re.compile(r"missing \d+ required (?:positional|keyword-only) arguments?: (?P<names>.+)")
_UNKNOWN = re.compile(r"unexpected keyword argument (?P<name>'[^']*')")


_STATES = {"generation", "version_id"}
_COMMIT = re.compile(r"@[0-9a-f]{40}/")


def _patience(method: Any, count: int = 0) -> dict[str, float]:
    """How long an answer of so many bytes is waited for, where fsspec does the waiting.

    Some clients try again and again without an end when a server says nothing.
    """
    if not inspect.iscoroutinefunction(getattr(method, "__wrapped__", None)):
        return {}
    return {"timeout": PATIENCE_SECONDS + count / SLOWEST}


def _more(system: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    """Words for ``cat_file`` that ask for this state of the file, and for these bytes only."""
    schemes = (system.protocol,) if isinstance(system.protocol, str) else system.protocol
    if "gs" in schemes and about.get("generation"):
        return {"generation": about["generation"]}
    if "s3" in schemes and about.get("VersionId") not in (None, "", "null"):
        return {"version_id": about["VersionId"]}
    # Where a file object is behind it, that one would read ahead.
    return {"cache_type": "none"} if "hf" in schemes else {}


def pinned(uri: Uri) -> Uri:
    """The address at the commit that its branch is at now, where files are kept in commits.

    What lies beside it there is of the same commit. Raises FileAccessError, MissingExtraError.
    """
    if uri.scheme != "hf":
        return uri
    system = file_system(uri)
    try:
        return Uri(f"hf://{_pinned(system, system._strip_protocol(uri.text))}")
    except Exception as error:
        raise failure(uri, error) from error


def _pinned(system: Any, path: str) -> str:
    if "hf" not in system.protocol or _COMMIT.search(path):
        return path
    system.invalidate_cache()
    found = system.resolve_path(path)
    if not hasattr(found, "path_in_repo"):
        return path
    about = system._api.repo_info(found.repo_id, repo_type=found.repo_type, revision=found.revision)
    front = {"model": "", "dataset": "datasets/", "space": "spaces/"}[found.repo_type]
    return f"{front}{found.repo_id}@{about.sha}/{found.path_in_repo}"


def _mark(about: Mapping[str, Any]) -> tuple[Any, ...]:
    found = [about[name] for name in _MARKS if about.get(name) is not None]
    return (about.get("size"), *found) if found else ()


def failure(uri: Uri, error: Exception) -> RudaError:
    """The error as a sentence."""
    if isinstance(error, RudaError):
        return error
    code = getattr(error, "code", None) or getattr(
        getattr(error, "response", None), "status_code", None
    )
    if isinstance(error, FileNotFoundError) or code == 404:
        return FileAccessError("there is no file at this address; check its spelling", path=uri)
    is_forbidden = isinstance(error, OSError) and str(error).startswith("Forbidden")
    if isinstance(error, PermissionError) or code in (401, 403) or is_forbidden:
        return FileAccessError("the server refuses access; check your credentials", path=uri)
    if _is_late(error):
        return FileAccessError("the server did not answer in time; try again", path=uri)
    if isinstance(error, IsADirectoryError):
        return FileAccessError("is a folder, and a file is needed; name it", path=uri)
    text = _said(uri, error)
    why = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if _is_unreachable(error):
        system = _OF_THE_SYSTEM.search(text)
        why = f"{type(error).__name__}: {system[0]}" if system else why
        return FileAccessError(
            f"the server cannot be reached or broke off; check the address, and try again ({why})",
            path=uri,
        )
    return FileAccessError(
        f"what reads {uri.scheme}:// addresses for fsspec cannot read this one; check the address, "
        f"or copy the file to this machine ({why})",
        path=uri,
    )


def _said(uri: Uri, error: BaseException) -> str:
    """The first line of an error of fsspec's, without the login of the address."""
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else ""
    if str(uri) != uri.text:  # it has a login
        login = uri.text.partition("://")[2].partition("/")[0].rpartition("@")[0]
        for secret in (login, login.partition(":")[2]):
            text = text.replace(secret, "…") if secret else text
    return text[:300]


def _is_unreachable(error: BaseException) -> bool:
    """True if no connection was had, or it ended, by whatever class a client has for that."""
    if isinstance(error, ConnectionError | socket.gaierror | EOFError):
        return True
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return True
    return _BROKEN_OFF.search(type(error).__name__) is not None


_OF_THE_SYSTEM = re.compile(r"\[Errno -?\d+\] [A-Za-z][A-Za-z ,-]*")
"""What the system says, within what a client makes of it."""
_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETDOWN})
_BROKEN_OFF = re.compile("Connect|Disconnect|ProtocolError|IncompleteRead|PayloadError")


def _is_late(error: BaseException | None) -> bool:
    """True for a timeout, by whatever class a client has for it, also behind another error."""
    while error is not None:
        if isinstance(error, TimeoutError) or "Timeout" in type(error).__name__:
            return True
        error = error.__cause__
    return False
