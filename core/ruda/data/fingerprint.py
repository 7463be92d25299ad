"""Fingerprints: short digests by which a saved position knows its data again.

A fingerprint is the same in every process and for every number of workers. It covers arrays,
numbers, text, bytes, None, and lists, tuples, mappings and dataclasses of these by value; any
other object counts by its type only, so that no memory address ever gets in.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

DIGEST_BYTES = 16


class _Digest(Protocol):
    def update(self, data: Any, /) -> None: ...


def fingerprint(*values: object) -> str:
    """``b2:`` and 32 hex digits for these values, in this order."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for value in values:
        _feed(digest, value)
    return f"b2:{digest.hexdigest()}"


def _feed(digest: _Digest, value: object) -> None:
    """Add one value: a tag, a length, then its content, so that no two values look alike."""
    match value:
        case np.ndarray():
            _feed_array(digest, value)
        case bytes() | bytearray() | memoryview():
            _tagged(digest, "bytes", bytes(value))
        case str():
            _tagged(digest, "str", value.encode("utf-8", "surrogatepass"))
        case None | bool() | int() | float() | complex() | np.generic():
            _tagged(digest, type(value).__name__, repr(value).encode())
        case Mapping():
            _tagged(digest, "mapping", str(len(value)).encode())
            for key, entry in value.items():
                _feed(digest, key)
                _feed(digest, entry)
        case list() | tuple():
            _tagged(digest, "sequence", str(len(value)).encode())
            for entry in value:
                _feed(digest, entry)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            _tagged(digest, "dataclass", _type_name(value).encode())
            for field in dataclasses.fields(value):
                _feed(digest, getattr(value, field.name))
        case _:
            _tagged(digest, "object", _type_name(value).encode())


def _feed_array(digest: _Digest, array: np.ndarray[Any, Any]) -> None:
    _tagged(digest, "array", f"{array.dtype.str} {array.dtype.name} {array.shape}".encode())
    if array.dtype.hasobject:
        for entry in array.reshape(-1).tolist():
            _feed(digest, entry)
    else:
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def _tagged(digest: _Digest, tag: str, content: bytes) -> None:
    digest.update(f"{tag}:{len(content)}:".encode())
    digest.update(content)


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
