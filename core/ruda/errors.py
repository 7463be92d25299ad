"""Every error that Ruda raises on purpose.

    RudaError                            root; str() is always the plain sentence
    ├─ ShapeError (ValueError)           shapes that do not fit an operation
    │  └─ IndexRangeError (IndexError)   an index outside its axis, or a mask of another shape
    ├─ OperationError (ValueError)       values that an operation has no result for
    ├─ DTypeError (TypeError)            dtypes that do not fit an operation
    ├─ LayoutError (ValueError)          memory that a kernel cannot take: read-only, byte order
    ├─ MissingExtraError (ImportError)   .extra: an optional package that is not installed
    ├─ SettingError (ValueError)         an argument outside its range, checked at construction
    ├─ StoreError                        .path
    │  ├─ FormatError (ValueError)       .offset, .reason: the bytes are not what the format allows
    │  │  ├─ UnknownFormatError          no format recognises the first bytes
    │  │  ├─ HeaderError                 the header cannot be parsed
    │  │  ├─ TruncatedFileError (EOFError)  the file ends too early
    │  │  ├─ OffsetError                 hole, overlap, outside the file, or size ≠ shape × dtype
    │  │  ├─ ChecksumError               stored and computed checksum differ
    │  │  ├─ UnsupportedContentError     valid for its writer, but not read by Ruda
    │  │  └─ UnsafeContentError          .names: instructions that would run code
    │  ├─ FileAccessError (OSError)      the operating system refuses: missing, folder, permission
    │  │  └─ FileChangedError            written to, or replaced, since it was opened
    │  ├─ MissingKeyError (KeyError)     .key, .nearest
    │  ├─ KeyCollisionError (ValueError) .key, .sources, .step: several keys would become one
    │  ├─ LoadError (ValueError)         .result: validate or allow_partial forbids this load
    │  └─ SaveError (OSError)            .stage: plan, write, verify, rename
    ├─ RecipeError (ValueError)          .step, .position: a rule that cannot be understood
    ├─ AdapterError (ValueError)         .key: an adapter that cannot take this tensor
    │  └─ DecisionError                  what is decided for one tensor cannot be done
    ├─ ModelError                        a model that cannot be built or run
    │  ├─ SpecError (ValueError)         .line: a description of a model that is not understood
    │  └─ UnknownArchitectureError (KeyError)  .name, .nearest
    └─ DatasetError
       ├─ ItemError                      .index, .source: one item that cannot be read
       ├─ BatchError (ValueError)        .field, .shapes: items that do not stack
       └─ StateMismatchError (ValueError)  a saved position that belongs to other data

    Cancelled is outside the tree (see ruda.progress): a stop is not a failure.

A message is a sentence: the fact, its place, what was expected and what was found, and a remedy
where there is one. Inner code raises the fact; the public call adds path or key once.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Place(Protocol):
    """Where a file lies: a path, or an address; ``str()`` is what a person reads."""

    @property
    def name(self) -> str:
        """The last part."""


class RudaError(Exception):
    """Root of every error raised on purpose; ``str()`` is the plain sentence."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def __str__(self) -> str:
        # KeyError would print the sentence in quotes; we never want that.
        return self.message


class ShapeError(RudaError, ValueError):
    """Raised when shapes do not fit an operation."""


class IndexRangeError(ShapeError, IndexError):
    """Raised when an index is outside its axis, or a mask has another shape."""


class OperationError(RudaError, ValueError):
    """Raised when values have no result: a singular matrix, an integer divided by zero."""


class DTypeError(RudaError, TypeError):
    """Raised when dtypes do not fit an operation."""


class LayoutError(RudaError, ValueError):
    """Raised when memory is read-only, misaligned or in foreign byte order where it may not be."""


class SettingError(RudaError, ValueError):
    """Raised when an argument is outside the range that its description names."""


class MissingExtraError(RudaError, ImportError):
    """Raised when an optional package is needed and absent; names the extra to install."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        remedy = f'pip install "ruda[{extra}]"'
        super().__init__(f"{purpose} needs the package {package}, which is not installed; {remedy}")
        self.package = package
        self.extra = extra


class StoreError(RudaError):
    """Root of everything that can go wrong with a file of tensors."""

    def __init__(self, message: str, *, path: Place | str | None = None) -> None:
        super().__init__(message if path is None else f"{path}: {message}")
        self.path: Place | None = Path(path) if isinstance(path, str) else path


class FormatError(StoreError, ValueError):
    """Raised when the bytes of a file are not what its format allows."""

    def __init__(
        self, reason: str, *, path: Place | str | None = None, offset: int | None = None
    ) -> None:
        place = "" if offset is None else f"byte {offset}: "
        super().__init__(f"{place}{reason}", path=path)
        self.reason = reason
        self.offset = offset


class UnknownFormatError(FormatError):
    """Raised when no known format starts with the bytes of this file."""


class HeaderError(FormatError):
    """Raised when a header cannot be parsed or says something impossible."""


class TruncatedFileError(FormatError, EOFError):
    """Raised when a file ends before the bytes that its header promises."""


class OffsetError(FormatError):
    """Raised for a hole, an overlap, a range outside the file, or a size unlike shape × dtype."""


class ChecksumError(FormatError):
    """Raised when a stored checksum and the bytes disagree."""


class UnsupportedContentError(FormatError):
    """Raised for content that is valid for its writer and not read by Ruda; says which."""


class UnsafeContentError(FormatError):
    """Raised when a pickle asks for code to run; ``names`` lists what it asked for."""

    def __init__(
        self,
        reason: str,
        *,
        names: Sequence[str] = (),
        path: Place | str | None = None,
        offset: int | None = None,
    ) -> None:
        super().__init__(reason, path=path, offset=offset)
        self.names = tuple(names)


class FileAccessError(StoreError, OSError):
    """Raised when the operating system does not let a file be read."""


class FileChangedError(FileAccessError):
    """Raised when a file is no longer what was opened; its header may be that of other bytes."""

    def __init__(self, path: Place | str | None = None) -> None:
        super().__init__("has changed since it was opened; open it again", path=path)


class MissingKeyError(StoreError, KeyError):
    """Raised when a key is not in an index; ``nearest`` is the closest key there is."""

    def __init__(
        self, key: str, *, nearest: str | None = None, path: Place | str | None = None
    ) -> None:
        hint = "" if nearest is None else f"; did you mean {nearest!r}?"
        super().__init__(f"no tensor has the key {key!r}{hint}", path=path)
        self.key = key
        self.nearest = nearest


class KeyCollisionError(StoreError, ValueError):
    """Raised when two or more tensors would end up under one key."""

    def __init__(
        self,
        key: str,
        sources: Sequence[str],
        *,
        step: str | None = None,
        path: Place | str | None = None,
    ) -> None:
        by = "" if step is None else f" by {step}"
        named = " and ".join(repr(s) for s in sources)
        super().__init__(f"{named} would both become {key!r}{by}", path=path)
        self.key = key
        self.sources = tuple(sources)
        self.step = step


class LoadError(StoreError, ValueError):
    """Raised when a load has errors or missing tensors and its options forbid that.

    ``result`` is the full ApplyResult; the model is untouched.
    """

    def __init__(self, message: str, *, result: object, path: Place | str | None = None) -> None:
        super().__init__(message, path=path)
        self.result = result


class SaveError(StoreError, OSError):
    """Raised when a file cannot be written; the old file is untouched. ``stage`` says where."""

    def __init__(self, message: str, *, stage: str, path: Place | str | None = None) -> None:
        super().__init__(message, path=path)
        self.stage = stage


class RecipeError(RudaError, ValueError):
    """Raised for a recipe rule that cannot be understood."""

    def __init__(
        self, message: str, *, step: str | None = None, position: int | None = None
    ) -> None:
        place = "" if step is None else f"{step}: "
        super().__init__(f"{place}{message}")
        self.step = step
        self.position = position


class AdapterError(RudaError, ValueError):
    """Raised when an adapter cannot take a tensor."""

    def __init__(self, message: str, *, key: str | None = None) -> None:
        super().__init__(message if key is None else f"{key!r}: {message}")
        self.key = key


class DecisionError(AdapterError):
    """Raised when what is decided for one tensor cannot be done to it."""


class ModelError(RudaError):
    """Raised when a model cannot be built or run."""


class SpecError(ModelError, ValueError):
    """Raised for a file that describes a model and is not understood; ``line`` if it is known."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class UnknownArchitectureError(ModelError, KeyError):
    """Raised when no registered architecture has this name."""

    def __init__(self, name: str, *, nearest: str | None = None) -> None:
        hint = "see `ruda models`" if nearest is None else f"did you mean {nearest!r}?"
        super().__init__(f"no architecture is called {name!r}; {hint}")
        self.name = name
        self.nearest = nearest


class DatasetError(RudaError):
    """Root of everything that can go wrong with a dataset or loader."""


class ItemError(DatasetError):
    """Raised when one item cannot be read; says which and from where."""

    def __init__(self, message: str, *, index: int, source: str) -> None:
        super().__init__(f"{source}, item {index}: {message}")
        self.index = index
        self.source = source


class BatchError(DatasetError, ValueError):
    """Raised when items do not stack into one batch; names the field and the shapes."""

    def __init__(
        self, message: str, *, field: str = "", shapes: Sequence[tuple[int, ...]] = ()
    ) -> None:
        super().__init__(message)
        self.field = field
        self.shapes = tuple(shapes)


class StateMismatchError(DatasetError, ValueError):
    """Raised when a saved loader position belongs to other data or settings."""
