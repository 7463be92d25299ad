"""Emitting the pickle of a PyTorch state dict: a dozen opcodes of protocol 2, equal every time.

Nothing is pickled by Python: the text is composed, so that it names ``OrderedDict``, PyTorch's two
functions that rebuild a tensor, storage classes and dtypes, and never anything else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

BATCH = 1000
"""Entries per SETITEMS, as Python's own pickler has it."""
_MARK, _TUPLE, _REDUCE, _PERSISTENT = b"(", b"t", b"R", b"Q"
_EMPTY_TUPLE, _FALSE, _SETITEMS, _STOP = b")", b"\x89", b"u", b"."
_DICT = "collections OrderedDict"
_UNTYPED = "torch.storage UntypedStorage"


@dataclass(frozen=True, slots=True)
class StorageText:
    """A storage as the pickle names it. ``cls`` None: untyped, and ``numel`` counts bytes."""

    key: str
    cls: str | None
    numel: int


@dataclass(frozen=True, slots=True)
class TensorText:
    """A tensor as the pickle describes it; offset and strides count elements."""

    key: str
    storage: StorageText
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def state_dict_pickle(tensors: Iterable[TensorText]) -> bytes:
    """Pickle of an OrderedDict of tensors that ``torch.load(weights_only=True)`` takes."""
    return _Pickler().run(list(tensors))


class _Pickler:
    def __init__(self) -> None:
        self._out: list[bytes] = []
        self._memo: dict[object, int] = {}

    def run(self, tensors: list[TensorText]) -> bytes:
        self._out.append(b"\x80\x02")
        self._empty_dict()
        for start in range(0, len(tensors), BATCH):
            self._out.append(_MARK)
            for tensor in tensors[start : start + BATCH]:
                self._out.append(_text(tensor.key))
                self._tensor(tensor)
            self._out.append(_SETITEMS)
        self._out.append(_STOP)
        return b"".join(self._out)

    def _empty_dict(self) -> None:
        self._global(_DICT)
        self._out += (_EMPTY_TUPLE, _REDUCE)

    def _tensor(self, tensor: TensorText) -> None:
        typed = tensor.storage.cls is not None
        self._global(f"torch._utils _rebuild_tensor_v{2 if typed else 3}")
        self._out.append(_MARK)
        self._storage(tensor.storage)
        self._out.append(_number(tensor.offset))
        self._numbers(tensor.shape)
        self._numbers(tensor.strides)
        self._out.append(_FALSE)  # requires_grad
        self._empty_dict()  # backward hooks
        if not typed:
            self._global(f"torch {tensor.dtype}")
        self._out += (_TUPLE, _REDUCE)

    def _storage(self, storage: StorageText) -> None:
        if self._recalled(storage):
            self._out.append(_PERSISTENT)
            return
        self._out.append(_MARK)
        self._word("storage")
        self._global(_UNTYPED if storage.cls is None else f"torch {storage.cls}")
        self._out.append(_text(storage.key))
        self._word("cpu")
        self._out += (_number(storage.numel), _TUPLE)
        self._remember(storage)
        self._out.append(_PERSISTENT)

    def _numbers(self, numbers: tuple[int, ...]) -> None:
        self._out.append(_MARK)
        self._out += map(_number, numbers)
        self._out.append(_TUPLE)

    def _global(self, name: str) -> None:
        if not self._recalled(name):
            module, _, last = name.partition(" ")
            self._out.append(f"c{module}\n{last}\n".encode("ascii"))
            self._remember(name)

    def _word(self, word: str) -> None:
        if not self._recalled((word,)):
            self._out.append(_text(word))
            self._remember((word,))

    def _recalled(self, what: object) -> bool:
        at = self._memo.get(what)
        if at is not None:
            self._out.append(b"h" + bytes([at]) if at < 256 else b"j" + struct.pack("<I", at))
        return at is not None

    def _remember(self, what: object) -> None:
        at = len(self._memo)
        self._memo[what] = at
        self._out.append(b"q" + bytes([at]) if at < 256 else b"r" + struct.pack("<I", at))


def _text(text: str) -> bytes:
    # A lone surrogate is a blocking problem; the plan still wants a pickle to measure.
    raw = text.encode("utf-8", "replace")
    return b"X" + struct.pack("<I", len(raw)) + raw


def _number(number: int) -> bytes:
    if number < 1 << 8:
        return b"K" + bytes([number])
    if number < 1 << 16:
        return b"M" + struct.pack("<H", number)
    if number < 1 << 31:
        return b"J" + struct.pack("<i", number)
    raw = number.to_bytes(number.bit_length() // 8 + 1, "little")
    return b"\x8a" + bytes([len(raw)]) + raw
