"""Uri: where a file lies that is not on this machine, with the parts of a path that stores use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from ruda.errors import FileAccessError, SaveError
from ruda.store._windows import is_windows

_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_WEB = ("http", "https")
_LOGIN = re.compile(r"(?P<scheme>(?:ftps?|sftp|ssh|smb|webdavs?|webhdfs)://)[^/]*@", re.IGNORECASE)
"""An address with a user and maybe a password; elsewhere an ``@`` means something else."""


@dataclass(frozen=True, slots=True)
class Uri:
    """An address such as ``https://host/model.safetensors`` or ``s3://bucket/model.pt``.

    ``text`` is the address as it was given. ``str()`` leaves out what may be secret: the user and
    the password, and the query of one of the web.
    """

    text: str

    def __str__(self) -> str:
        if not self.is_web:
            return _LOGIN.sub(r"\g<scheme>", self.text, count=1)
        parts = urlsplit(self.text)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))

    @property
    def scheme(self) -> str:
        """What is before ``://``, in small letters."""
        found = _SCHEME.match(self.text)
        return found["scheme"].lower() if found else ""

    @property
    def is_web(self) -> bool:
        """True for http and https."""
        return self.scheme in _WEB

    @property
    def name(self) -> str:
        """The last part of the address, as a file would be called."""
        last = self._path.rstrip("/").rpartition("/")[2]
        return unquote(last) if self.is_web else last

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return Path(self.name).stem

    @property
    def suffix(self) -> str:
        """The suffix of the name, with its dot."""
        return Path(self.name).suffix

    def with_name(self, name: str) -> Uri:
        """The address of another file in the same folder; a query is kept, it may be a key."""
        if not self.is_web:
            return Uri(self.text.rstrip("/").rpartition("/")[0] + "/" + name)
        parts = urlsplit(self.text)
        folder = parts.path.rstrip("/").rpartition("/")[0]
        path = f"{folder}/{quote(name)}"
        return Uri(urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")))

    def within(self, name: str) -> Uri:
        """The address of a file in the folder that this is the address of; a query is kept."""
        if not self.is_web:
            return Uri(f"{self.text.rstrip('/')}/{name}")
        parts = urlsplit(self.text)
        path = f"{parts.path.rstrip('/')}/{quote(name)}"
        return Uri(urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")))

    @property
    def _path(self) -> str:
        if self.is_web:
            return urlsplit(self.text).path
        return self.text.partition("://")[2]


Place = Path | Uri
"""Where a store lies: a path on this machine, or an address."""


def place_of(words: Path | Uri | str) -> Place:
    """The path or the address that is meant: ``file://`` and ``C://`` are paths.

    A scheme has at least two letters, so a drive letter of Windows is none. Raises
    FileAccessError for an address that cannot be taken apart, and for no path at all.
    """
    if not isinstance(words, str):
        return words
    found = _SCHEME.match(words)
    if found is None:
        return _named(words)
    if found["scheme"].lower() == "file":
        from urllib.request import url2pathname  # brings a whole client for the web

        parts = urlsplit(words)
        host = "" if parts.netloc in ("", "localhost") else f"//{parts.netloc}"
        if not is_windows():  # names are bytes there, of no encoding
            return _named(unquote(host + parts.path, errors="surrogateescape"))
        return _named(url2pathname(host + parts.path))
    try:
        urlsplit(words)
    except ValueError as error:
        raise FileAccessError(f"{words} is no address: {error}") from error
    return Uri(words)


def _named(text: str) -> Path:
    if not text:  # the current folder, to Python: a variable of a script was empty
        raise FileAccessError("the path is empty; name a file or a folder")
    return Path(text)


def target_of(words: Path | Uri | str) -> Path:
    """The path that is meant, for a file that is to be written.

    Raises SaveError (stage ``plan``) for an address: nothing can take its place in one step there.
    """
    place = place_of(words)
    if isinstance(place, Uri):
        tool = _TOOLS.get(place.scheme, "the tool of its service")
        raise SaveError(
            "is an address, and a save goes to a file on this machine; save to a path, and copy "
            f"the file there with {tool}",
            stage="plan",
            path=place,
        )
    return place


_TOOLS = {"s3": "`aws s3 cp`", "gs": "`gcloud storage cp`", "hf": "`hf upload`"}
