"""What a pickle asked for and did not get, by how grave it is, and what was read all the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda.session.language import later, tr
from ruda.session.wording import counted, size_text

if TYPE_CHECKING:
    from ruda.session.document import Document

UNKNOWN = later("a class of another program; its values are left out")
ACTS = later("would have acted on this computer")
_EFFECTS = (
    (("os.system", "posix.system", "nt.system", "os.popen", "pty", "commands"), "shell"),
    (
        ("subprocess", "os.exec", "posix.exec", "os.spawn", "posix.spawn", "multiprocessing"),
        "start",
    ),
    (("builtins.eval", "builtins.exec", "builtins.compile", "runpy", "code", "marshal"), "python"),
    (("builtins.getattr", "builtins.__import__", "importlib", "operator", "pkgutil"), "reach"),
    (("shutil", "os.remove", "os.unlink", "os.rmdir", "os.rename", "pathlib"), "delete"),
    (("socket", "urllib", "http", "httplib", "requests", "httpx", "ftplib", "smtplib"), "network"),
    (("builtins.open", "io", "_io", "tempfile", "zipfile", "tarfile"), "files"),
    (("ctypes", "_ctypes", "cffi"), "memory"),
    (("pickle", "_pickle", "dill", "cloudpickle", "joblib"), "pickle"),
    (("pip", "ensurepip", "setuptools", "distutils"), "install"),
)
_SAYS = {
    "shell": later("would have run a command of the shell"),
    "start": later("would have started a program"),
    "python": later("would have run Python code out of the file"),
    "reach": later("would have reached any function of Python"),
    "delete": later("would have moved or deleted files"),
    "network": later("would have reached the network"),
    "files": later("would have opened files"),
    "memory": later("would have called into machine code"),
    "pickle": later("would have loaded another pickle, unchecked"),
    "install": later("would have installed packages"),
}
"""What is known of names, the first that fits: a whole name, or a package before a dot."""


@dataclass(frozen=True, slots=True)
class RefusedName:
    """One name that a pickle asked for."""

    name: str
    is_grave: bool
    """True for a function that acts; False for what is only unknown here."""
    word: str
    effect: str
    """What it would have done in a program that gives pickles what they ask for."""


@dataclass(frozen=True, slots=True)
class RefusedPage:
    """The names, grave ones first, and what was read of the file."""

    title: str
    names: tuple[RefusedName, ...]
    sentence: str
    facts: tuple[tuple[str, str], ...]

    @property
    def is_grave(self) -> bool:
        """True if any of the names would have acted: nothing was read of such a file."""
        return any(name.is_grave for name in self.names)


def refused_page(document: Document, nbytes: int | None = None) -> RefusedPage:
    """What was refused of an open document's file; nothing of it was run.

    ``nbytes`` is the size of its tensors where it is known: summing them takes a while.
    """
    index = document.index
    size = index.nbytes if nbytes is None else nbytes
    return RefusedPage(
        title=document.name,
        names=tuple(
            RefusedName(name, is_grave=False, word=tr("Unknown"), effect=tr(UNKNOWN))
            for name in index.unsafe
        ),
        sentence=tr("This file asks for code that Ruda does not load. None of it was run."),
        facts=(
            (tr("read"), f"{counted(len(index), 'tensor')}, {size_text(size)}"),
            (tr("not run"), tr("the code of these names")),
        ),
    )


def refused_file_page(title: str, names: Sequence[str]) -> RefusedPage:
    """What a file asked for that was refused as a whole: ``names`` of an UnsafeContentError."""
    return RefusedPage(
        title=title,
        names=tuple(
            RefusedName(name, is_grave=True, word=tr("Would act"), effect=effect_of(name))
            for name in names
        ),
        sentence=tr(
            "This file asks for functions that act. Programs that load pickles would have run "
            "them; here nothing was run, and the file is refused."
        ),
        facts=((tr("read"), tr("nothing")), (tr("not run"), tr("the code of these names"))),
    )


def effect_of(name: str) -> str:
    """What a function would have done, in a sentence's words."""
    found = next((kind for starts, kind in _EFFECTS if any(_fits(name, s) for s in starts)), None)
    return tr(ACTS) if found is None else tr(_SAYS[found])


def _fits(name: str, start: str) -> bool:
    """``os.execv`` begins with ``os.exec``; a package by itself is matched as a whole word."""
    return name.startswith(start) if "." in start else name == start or name.startswith(f"{start}.")
