"""Which names in a pickle mean something, which are harmless, and which would run code.

Nothing that a pickle names is ever imported. The question is only what to make of a file that
asks for it: a class of some program becomes an inert object, a function that acts is refused.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class GlobalName:
    """A class or function that a pickle names; nothing but the two words."""

    module: str
    name: str

    @property
    def full(self) -> str:
        """``module.name``, with Python 2's module names brought up to date."""
        return f"{self.module}.{self.name}"


_RENAMED = {"__builtin__": "builtins", "copy_reg": "copyreg", "UserDict": "collections"}

_ACTING = frozenset(
    """
    os posix nt ntpath posixpath subprocess _posixsubprocess sys builtins importlib _imp imp
    runpy ctypes _ctypes cffi socket _socket ssl shutil pty tty multiprocessing concurrent
    threading _thread asyncio signal code codeop codecs popen2 pdb bdb cProfile profile trace
    timeit webbrowser antigravity idlelib tkinter turtle turtledemo lib2to3 distutils
    setuptools pip _pip ensurepip venv zipapp zipimport pkgutil pydoc doctest unittest pickle
    _pickle cPickle dill cloudpickle joblib marshal shelve dbm sqlite3 urllib urllib2 http
    httplib ftplib smtplib telnetlib poplib imaplib nntplib xmlrpc requests httpx aiohttp
    paramiko fabric tempfile fileinput glob io _io gc inspect site sysconfig platform resource
    faulthandler operator _operator types weakref atexit linecache tokenize ast symtable
    compileall py_compile bz2 gzip lzma tarfile zipfile mmap fcntl select selectors
    socketserver wsgiref cgi cgitb crypt spwd nis syslog winreg _winapi msvcrt winsound logging
    mailbox rlcompleter readline pyclbr
    """.split()  # noqa: SIM905 - a table of words
)
"""Packages whose names have no business in a weight file, whatever is asked of them."""

_ACTING_INSIDE = frozenset(
    """
    os posix nt subprocess sys builtins __builtins__ __builtin__ importlib ctypes runpy shutil
    socket pty PyTorchFileReader PyTorchFileWriter PackageImporter NpzFile DataSource
    """.split()  # noqa: SIM905 - a table of words
)
"""The same, where they are reached through another package: ``torch.serialization.os.system``."""

_PLAIN_BUILTINS = frozenset(
    """
    object set frozenset list dict tuple slice range xrange complex bytearray bytes int long
    float str unicode bool Ellipsis NotImplemented
    """.split()  # noqa: SIM905 - a table of words
)

_HARMLESS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "operator": "attrgetter itemgetter",
        "types": "SimpleNamespace",
        "collections": "OrderedDict defaultdict Counter deque namedtuple",
        "datetime": "datetime date time timedelta timezone",
        "functools": "partial",
        "logging": "getLogger Logger RootLogger",
        "numpy": "dtype ndarray",
        "numpy.core.multiarray": "_reconstruct scalar",
        "numpy._core.multiarray": "_reconstruct scalar",
        "numpy.core.numeric": "_frombuffer",
        "numpy._core.numeric": "_frombuffer",
        "numpy.random._pickle": "__randomstate_ctor __generator_ctor __bit_generator_ctor",
        "torch": "device Size",
        "torch.serialization": "_get_layout",
        "builtins": " ".join(sorted(_PLAIN_BUILTINS)),
    }.items()
    for name in names.split()
)
"""Lower-case names that build plain values: calling them would do nothing else."""

_CHANGES_CLASS = frozenset(
    """
    __class__ __reduce__ __reduce_ex__ __setstate__ __getattr__ __getattribute__ __del__
    __init__ __new__ __call__ __dict__
    """.split()  # noqa: SIM905 - a table of words
)


def current(module: str) -> str:
    """Python 3's name of a module that Python 2 called differently."""
    return _RENAMED.get(module, module)


def acts(name: GlobalName) -> bool:
    """True for a name that no weight file needs and that gives power to whoever calls it."""
    if name.full in _HARMLESS:
        return False
    parts = name.full.split(".")
    return parts[0] in _ACTING or not _ACTING_INSIDE.isdisjoint(parts[1:])


def may_be_called(name: GlobalName) -> bool:
    """True if a call of this name can be kept as an inert object.

    That holds for the plain builders above and, by Python's spelling rule, for classes: their
    last word begins with a capital letter. A function is never kept: it might be the payload.
    """
    if acts(name):
        return False
    if name.full in _HARMLESS:
        return True
    last = name.name.rpartition(".")[2].lstrip("_")
    return last[:1].isupper()


def forbidden_state(state: object) -> str | None:
    """The attribute in an object's state that would change what the object is, or None."""
    parts = state if isinstance(state, tuple) else (state,)
    for part in parts[:2]:
        if isinstance(part, dict):
            for key in part:
                if isinstance(key, str) and key in _CHANGES_CLASS:
                    return key
    return None
