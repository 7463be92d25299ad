"""ModelFormat: what a file format has to offer, and where an error of one gets its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

from ruda.errors import FormatError, KeyCollisionError, UnsafeContentError
from ruda.progress import SILENT, Monitor
from ruda.store.bytefile import ByteFile
from ruda.store.index import TensorIndex
from ruda.store.uri import Place

HEAD_BYTES = 4096
"""How much of a file's start ``matches`` is shown."""


@runtime_checkable
class ModelFormat(Protocol):
    """One on-disk kind of tensor file.

    A format that can also be read at an address has ``open_bytes(file, *, monitor)``: the same as
    ``open``, of a file that is open already and is the format's to close. One whose files may
    begin with something else has ``matches_inside(file)``, which is asked where no other matches.
    """

    name: str
    """Short name: ``safetensors``, ``pytorch``, ``rudapack``."""
    title: str
    """What a person reads: ``PyTorch checkpoint``."""
    suffixes: tuple[str, ...]

    def matches(self, head: bytes, path: Path) -> bool:
        """True if a file that starts with ``head`` is of this kind. Reads nothing else."""

    def open(self, path: Path, *, monitor: Monitor = SILENT) -> TensorIndex:
        """Index of the file; reads headers only. Raises FormatError and FileAccessError."""


@contextmanager
def located(path: Place) -> Iterator[None]:
    """Give every error of a file that leaves this block the path, if it has none yet."""
    try:
        yield
    except KeyCollisionError as error:
        if error.path is not None:
            raise
        raise KeyCollisionError(error.key, error.sources, step=error.step, path=path) from error
    except UnsafeContentError as error:
        if error.path is not None:
            raise
        raise UnsafeContentError(
            error.reason, names=error.names, path=path, offset=error.offset
        ) from error
    except FormatError as error:
        if error.path is not None:
            raise
        raise type(error)(error.reason, path=path, offset=error.offset) from error


def opened_index(file: ByteFile, read: Callable[[ByteFile], TensorIndex]) -> TensorIndex:
    """The index that ``read`` makes of an open file; closes that on any error.

    The error gets the path of the file.
    """
    try:
        with located(file.path):
            return read(file)
    except BaseException:
        file.close()
        raise
