"""Frames: what goes through the pipes between a window and the process that runs its models.

One frame is a line of JSON with its length before it, and after it the bytes of the arrays that it
names. Nothing in it is code: no pickle is written or read.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

Array = np.ndarray[Any, Any]

_LENGTH = struct.Struct("<Q")
_NUMBERS = re.compile(r"[<|][uif][1248]")
_MOST_TEXT = 1 << 28
"""Bytes of JSON in one frame at most; a longer one means that something else wrote to the pipe."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One message: what it is, plain values, and arrays of numbers."""

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: tuple[Array, ...] = ()


def write_frame(stream: BinaryIO, frame: Frame) -> None:
    """Send a frame. Raises OSError where the other side is gone, ValueError for a foreign dtype."""
    arrays = [np.ascontiguousarray(each) for each in frame.arrays]
    told = [{"dtype": _dtype(each.dtype.str).str, "shape": each.shape} for each in arrays]
    text = json.dumps({"kind": frame.kind, "values": frame.values, "arrays": told}).encode()
    stream.write(_LENGTH.pack(len(text)) + text)
    for each in arrays:
        stream.write(each.reshape(-1).view(np.uint8).data)
    stream.flush()


def read_frame(stream: BinaryIO) -> Frame | None:
    """The next frame; None where the other side has closed the pipe, also amid a frame.

    Raises ValueError for what is no frame.
    """
    head = _exactly(stream, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > _MOST_TEXT:
        raise ValueError(f"a frame of {length} bytes of text, at most {_MOST_TEXT} were expected")
    text = _exactly(stream, length)
    if text is None:
        return None
    told = json.loads(bytes(text))
    arrays: list[Array] = []
    for each in told["arrays"]:
        dtype, shape = _dtype(each["dtype"]), tuple(each["shape"])
        raw = _exactly(stream, dtype.itemsize * math.prod(shape))
        if raw is None:
            return None
        arrays.append(np.frombuffer(raw, dtype).reshape(shape))
    return Frame(told["kind"], told["values"], tuple(arrays))


def _dtype(text: str) -> np.dtype[Any]:
    if not _NUMBERS.fullmatch(text):
        raise ValueError(f"expected numbers of a fixed size, got the dtype {text!r}")
    return np.dtype(text)


def _exactly(stream: BinaryIO, count: int) -> bytearray | None:
    buffer = bytearray(count)
    view = memoryview(buffer)
    done = 0
    while done < count:
        got = stream.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            return None
        done += got
    return buffer
