"""Opening a file by what is in it, and saying what it is where it is no weight file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path

from ruda._bulk import without_collections
from ruda._plugins import plugged_in
from ruda.errors import (
    FileAccessError,
    RudaError,
    SettingError,
    TruncatedFileError,
    UnknownFormatError,
    UnsupportedContentError,
)
from ruda.progress import SILENT, Monitor
from ruda.store.alias_note import with_noted_aliases
from ruda.store.bytefile import ByteFile
from ruda.store.format import HEAD_BYTES, ModelFormat
from ruda.store.formats.sharded import (
    INDEX_SUFFIX,
    UnlistedShardError,
    index_of,
    open_named,
    open_sharded,
    parts_of,
    weights_at,
    weights_in,
)
from ruda.store.index import TensorIndex
from ruda.store.remote import open_bytes
from ruda.store.stamp import Stamp
from ruda.store.uri import Place, Uri, place_of

ENTRY_POINTS = "ruda.formats"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A format of our own that is imported when a file could be of it: importing all takes long."""

    name: str
    title: str
    module: str
    reader: str
    suffixes: tuple[str, ...]
    """Those of the reader, as the name and the title are."""

    def format(self) -> ModelFormat:
        """The reader, the same one every time."""
        return _made(self.module, self.reader)


BUILT_IN: tuple[BuiltIn, ...] = (
    BuiltIn(
        "safetensors", "safetensors file", "safetensors", "SafetensorsFormat", (".safetensors",)
    ),
    BuiltIn("rudapack", "Rudapack (Burnpack) file", "rudapack", "RudapackFormat", (".bpk",)),
    # Before PyTorch, which takes any zip archive for its own.
    BuiltIn("keras", "Keras archive", "keras_archive", "KerasFormat", (".keras",)),
    BuiltIn(
        "pytorch",
        "PyTorch checkpoint",
        "pytorch",
        "PytorchFormat",
        (".pt", ".pth", ".bin", ".ckpt", ".th", ".pkl", ".tar"),
    ),
    BuiltIn("numpy", "NumPy file", "numpy_files", "NumpyFormat", (".npy", ".npz")),
    BuiltIn("gguf", "GGUF file", "gguf", "GgufFormat", (".gguf",)),
    BuiltIn("hdf5", "HDF5 file", "hdf5", "Hdf5Format", (".h5", ".hdf5", ".hdf", ".he5")),
    BuiltIn("onnx", "ONNX model", "onnx", "OnnxFormat", (".onnx",)),
    BuiltIn("llama2c", "llama2.c model", "llama2c", "Llama2cFormat", (".bin",)),
)
_PYTORCH = "pytorch"
_DISTRIBUTED = (".metadata", ".distcp")
"""How the names of files in a distributed checkpoint end."""


@cache
def _made(module: str, reader: str) -> ModelFormat:
    made: ModelFormat = getattr(import_module(f"ruda.store.formats.{module}"), reader)()
    return made


def format_title(name: str) -> str:
    """What a person calls a format: ``PyTorch checkpoint``; its name where no format has it.

    Of the built-in ones none is imported for it.
    """
    for each in BUILT_IN:
        if each.name == name:
            return each.title
    return next((each.title for each in available_formats() if each.name == name), name)


def format_suffixes() -> tuple[str, ...]:
    """How the names of weight files end, each once; of the built-in formats none is imported."""
    more = plugged_in(ENTRY_POINTS, "format")
    return tuple(dict.fromkeys(suffix for each in (*BUILT_IN, *more) for suffix in each.suffixes))


def available_formats() -> tuple[ModelFormat, ...]:
    """Every format that can be opened: the built-in ones, then those of other distributions.

    One that fails to load is left out with a warning. Raises SettingError if two share a name.
    """
    found = (*(each.format() for each in BUILT_IN), *plugged_in(ENTRY_POINTS, "format"))
    names = [each.name for each in found]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two formats are called {name!r}; uninstall one of them")
    return found


def open_store(
    path: Path | Uri | str, *, top_level_key: str | None = None, monitor: Monitor = SILENT
) -> TensorIndex:
    """Open any weight file by its content; reads headers only. Close the index when done.

    A text with a scheme (``https://``, ``s3://``, ``hf://`` …) is an address: header and tensors
    are fetched in parts when they are asked for.
    A folder with one set of weights (on disk, or at an address other than http), an index of
    shards, or any shard of it opens the whole set.
    ``top_level_key`` takes one part of a PyTorch checkpoint, such as ``state_dict``.
    Raises FileAccessError, UnknownFormatError saying what the file is instead, or the
    FormatError of its format.
    """
    place = place_of(path)
    try:
        # Stamped before it is opened: what takes its place meanwhile is told from it, not taken.
        before = Stamp.of(place)
        index = _open_place(place, top_level_key, monitor)
        others = (Stamp.of(each) for each in (index.path, *index.shards) if each != place)
        known = (before, *others, *index.stamps)
        stamps = dict.fromkeys(each for each in known if each is not None)
        return replace(index, stamps=tuple(stamps))
    except OSError as error:
        if isinstance(error, RudaError):
            raise
        # Looking whether a file is there fails, too: no permission, a name that is too long.
        why = error.strerror or error
        raise FileAccessError(f"cannot be reached: {why}", path=error.filename or place) from error


@without_collections()
def _open_place(place: Place, top_level_key: str | None, monitor: Monitor) -> TensorIndex:
    if isinstance(place, Uri) and _may_be_folder(place):
        place = weights_at(place) or place
    is_folder = isinstance(place, Path) and place.is_dir()
    if is_folder or place.name.endswith(_DISTRIBUTED):
        from ruda.store.formats.distributed import metadata_of, open_distributed

        metadata = metadata_of(place)
        if metadata is not None:
            return open_distributed(metadata, monitor=monitor)
    if isinstance(place, Path) and place.is_dir():
        place = weights_in(place)
    notes: tuple[str, ...] = ()
    listed = index_of(place)
    if listed is not None:
        shard = None if listed == place else place.name
        try:
            found = open_sharded(listed, open_file, shard=shard, monitor=monitor)
            return with_noted_aliases(found)
        except UnlistedShardError as error:
            notes = (error.reason,)  # of an earlier save of this name, say
    found = _open_unlisted(place, top_level_key, monitor)
    return with_noted_aliases(replace(found, notes=(*notes, *found.notes)))


def _open_unlisted(place: Place, top_level_key: str | None, monitor: Monitor) -> TensorIndex:
    """One file, or all that its name says there are, where no index lists it."""
    if isinstance(place, Path) and top_level_key is None and len(parts_of(place)) > 1:
        return open_named(place, open_file, monitor=monitor)
    return open_file(place, top_level_key=top_level_key, monitor=monitor)


def _may_be_folder(place: Uri) -> bool:
    """True for an address that does not end like a file, on a server that can list folders."""
    if place.is_web or place.name.endswith((INDEX_SUFFIX, *_DISTRIBUTED)):
        return False
    return all(place.suffix.lower() not in each.suffixes for each in BUILT_IN)


def open_file(
    path: Place, *, top_level_key: str | None = None, monitor: Monitor = SILENT
) -> TensorIndex:
    """Open one file by its content, also if it is a shard of a set. Raises like ``open_store``."""
    file = open_bytes(path)
    try:
        index = _open(file, top_level_key, monitor)
    except BaseException:
        file.close()
        raise
    return index if file.note is None else replace(index, notes=(file.note, *index.notes))


def _open(file: ByteFile, top_level_key: str | None, monitor: Monitor) -> TensorIndex:
    """Index of an open file, which the index closes."""
    path = file.path
    if not file.size:
        raise TruncatedFileError(
            "the file is empty (0 bytes); the download or the save never finished, get it again",
            path=path,
        )
    chosen = _choose(file.read_at(0, min(HEAD_BYTES, file.size)), path, file)
    if top_level_key is not None and chosen.name != _PYTORCH:
        raise SettingError(
            f"{path}: a top-level key belongs to a PyTorch checkpoint, and this is a {chosen.title}"
        )
    if (read := getattr(chosen, "open_bytes", None)) is not None:
        more = {} if top_level_key is None else {"top_level_key": top_level_key}
        index: TensorIndex = read(file, monitor=monitor, **more)
        return index
    if isinstance(path, Path):
        file.close()
        return chosen.open(path, monitor=monitor)
    raise UnsupportedContentError(
        f"is a {chosen.title}, which is read on disk only; download it first", path=path
    )


def _choose(head: bytes, path: Place, file: ByteFile) -> ModelFormat:
    """The first format that knows the first bytes, of those that know the suffix if there are."""
    shown = path if isinstance(path, Path) else Path(path.name)
    for likely in BUILT_IN:
        if path.suffix.lower() in likely.suffixes and likely.format().matches(head, shown):
            return likely.format()
    formats = available_formats()
    fitting = [each for each in formats if each.matches(head, shown)]
    if fitting:
        by_suffix = [each for each in fitting if path.suffix.lower() in each.suffixes]
        return (by_suffix or fitting)[0]
    for each in formats:
        # A format whose files may begin with anything at all says how to look further in.
        if (looks := getattr(each, "matches_inside", None)) is not None and looks(file):
            return each
    what = recognise(head)
    if what is not None:
        raise UnknownFormatError(what, path=path)
    named = next((each for each in formats if path.suffix.lower() in each.suffixes), None)
    if _is_text(head) and (
        named is None or named.name != _PYTORCH or head.lstrip()[:1] in _NO_PICKLE
    ):
        raise UnknownFormatError(
            f"is a text file that begins with {head[:40].decode()!r}, not the weights", path=path
        )
    if named is not None:
        return named  # it will say what is wrong with a file of its name
    known = ", ".join(each.title for each in formats)
    raise UnknownFormatError(
        f"begins with {head[:8].hex(' ')}, which no format that Ruda reads begins with; it reads "
        f"{known}",
        path=path,
        offset=0,
    )


def _is_text(head: bytes) -> bool:
    """True for printable ASCII; pickles of the first protocol are that, too."""
    return all(32 <= byte < 127 or byte in b"\t\r\n" for byte in head[:256])


_NO_PICKLE = (b"{", b"[", b"<", b"#")
"""No text pickle begins with these; an error message of a server or a script may."""

_LFS = "is a Git LFS pointer, not the weights; fetch them with `git lfs pull`"
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", _LFS),
    (b"\xef\xbb\xbfversion https://git-lfs", _LFS),
    (b"version https://hawser.github.com", _LFS),
    (
        b"/annex/objects/",
        "is a git-annex pointer, not the weights; fetch them with `git annex get`",
    ),
    (b"PK\x05\x06", "is a zip archive with nothing in it; the save never finished, get it again"),
    (b"\x1f\x8b", "is compressed with gzip; unpack it first (`gunzip`)"),
    (b"\x28\xb5\x2f\xfd", "is compressed with Zstandard; unpack it first (`unzstd`)"),
    (b"\xfd7zXZ\x00", "is compressed with xz; unpack it first (`unxz`)"),
    (b"BZh", "is compressed with bzip2; unpack it first (`bunzip2`)"),
    (b"\x04\x22\x4d\x18", "is compressed with LZ4; unpack it first (`unlz4`)"),
    (b"\x02\x21\x4c\x18", "is compressed with LZ4; unpack it first (`unlz4`)"),
    (b"LZIP", "is compressed with lzip; unpack it first (`lzip -d`)"),
    (b"\x1f\x9d", "is compressed with compress; unpack it first (`uncompress`)"),
    (b"]\x00\x00", "is compressed with LZMA; unpack it first (`unlzma`)"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive; unpack it first"),
    (b"Rar!", "is a RAR archive; unpack it first"),
    (b"%PDF", "is a PDF document, not a weight file"),
    (b"\x89PNG", "is a PNG picture, not a weight file"),
    (b"\xff\xd8\xff", "is a JPEG picture, not a weight file"),
    (b"SQLite format 3\x00", "is an SQLite database, not a weight file"),
    (b"PAR1", "is a Parquet table, not a weight file"),
)


def recognise(head: bytes) -> str | None:
    """A sentence on what a file is that begins with ``head``, where it is something well known."""
    for signature, what in _SIGNATURES:
        if head.startswith(signature):
            return what
    text = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head")):
        return (
            "is an HTML page, not the weights; the download got a login or error page, so open "
            "the address in a browser"
        )
    if text.startswith(b"<?xml"):
        return "is an XML document, often a server's error message, not the weights"
    if head[:4] == b"PK\x03\x04":
        return "is a zip archive, but no PyTorch checkpoint"
    if not head.strip(b"\x00"):
        return "begins with zeros only; the download or the disk filled it, get the file again"
    return None
