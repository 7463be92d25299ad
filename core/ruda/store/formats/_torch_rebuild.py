"""What the calls in a PyTorch pickle stand for: storages, and tensors as views of them.

A tensor here is where its values lie: storage, dtype, offset, shape and strides, all checked
against the size of the storage before anything is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ruda.errors import HeaderError, OffsetError, UnsupportedContentError
from ruda.store.filerange import MAX_RANK, count_elements
from ruda.store.formats._pickle import PickleMachine
from ruda.store.formats._pickle_names import GlobalName
from ruda.store.formats._pickle_values import Opaque, Rebuild
from ruda.store.formats._torch_numpy import array_of, bytes_as
from ruda.store.formats._torch_quantized import PER_CHANNEL, PER_TENSOR, quantizer
from ruda.store.formats._torch_refs import SparseRef, StorageRef, TensorRef, element_bytes
from ruda.tensor import DType, Kind

MAX_EXPANDED_BYTES = 256 << 20
MAX_EXPANSION = 16
"""A view may show its storage this many times over, or MAX_EXPANDED_BYTES, whichever is more."""
LAYOUTS = tuple(f"torch.sparse_{kind}" for kind in ("coo", "csr", "csc", "bsr", "bsc"))
_LABELS = frozenset(
    ("torch.device", "torch.Tensor", f"torch.{PER_TENSOR}", *(f"torch.{n}" for n in PER_CHANNEL))
)
_UNTYPED = ("torch.storage.UntypedStorage", "torch.UntypedStorage", "torch.cuda.UntypedStorage")
_OF_CLASS = ("torch._tensor._rebuild_from_type", "torch._tensor._rebuild_from_type_v2")
"""Calls that call another; PyTorch never puts one into the other."""
_U63_END = 1 << 63
_TOLD = re.compile(
    r"\('storage', <class '(?P<cls>[A-Za-z_.]{1,80})'>, '(?P<key>[^'\\]{1,80})', "
    r"'(?P<location>[^'\\]{1,80})', (?P<numel>[0-9]{1,19})(?:, None)?\)"
)
"""A persistent id in protocol 0, which has texts only; the last field is of legacy files."""


def sparse(layout: str, parts: Any) -> SparseRef:
    """A checked sparse tensor. Raises FormatError for layouts that are not read, or odd parts."""
    if not isinstance(parts, tuple):
        raise HeaderError("a sparse tensor has no parts")
    rows, columns, values, shape = (parts[0], None, *parts[1:3]) if "coo" in layout else parts[:4]
    if layout not in LAYOUTS:
        raise UnsupportedContentError(
            f"a tensor has the layout {layout!r}, which Ruda does not read"
        )
    for part in (rows, values) if columns is None else (rows, columns, values):
        if not isinstance(part, TensorRef):
            raise HeaderError("a part of a sparse tensor is no tensor")
    for part in (rows,) if columns is None else (rows, columns):
        if part.dtype not in (DType.I64, DType.I32):
            raise HeaderError(f"the places in a sparse tensor are {part.dtype}, expected i64")
    made = SparseRef(layout, rows, columns, values, _sizes("shape", shape))
    stored = rows.nbytes + values.nbytes
    if made.nbytes > max(MAX_EXPANDED_BYTES, MAX_EXPANSION * stored):
        raise UnsupportedContentError(
            f"the dense form of a sparse tensor would fill {made.nbytes} bytes out of {stored}"
        )
    return made


class TorchBuilder:
    """Computes the calls that PyTorch writes into pickles, and remembers the storages it met."""

    def __init__(self, *, inline: bool = False) -> None:
        """``inline`` allows a persistent id's fields in the place of the storage itself."""
        self.inline = inline
        self.embedded: Rebuild | None = None
        """What makes a storage of the bytes of a whole file; only plain pickles have such."""
        self.storages: dict[str, StorageRef] = {}
        self.arrays: dict[str, bytes] = {}
        """Values that are in the pickle itself, by the key of their storage."""
        self.notes: list[str] = []
        self.machine: PickleMachine | None = None

    def table(self) -> Mapping[str, Rebuild]:
        """Functions by full name, for ``PickleMachine(rebuild=…)``."""
        made: dict[str, Rebuild] = {
            "torch._utils._rebuild_tensor": self._tensor,
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_tensor_v3": self._tensor_v3,
            "torch._utils._rebuild_parameter": _first_tensor,
            "torch._utils._rebuild_parameter_with_state": _first_tensor,
            "torch.nn.parameter.Parameter": _first_tensor,
            "torch.nn.parameter.Buffer": _first_tensor,
            "torch._utils._rebuild_device_tensor_from_cpu_tensor": _first_tensor,
            **dict.fromkeys(_OF_CLASS, self._from_type),
            "torch._utils._rebuild_meta_tensor_no_storage": self._meta,
            "torch.serialization._get_layout": lambda args: str(args[0]),
            "torch._utils._rebuild_sparse_tensor": self._sparse,
            "torch._utils._rebuild_sparse_csr_tensor": self._sparse,
            "torch._utils._rebuild_qtensor": self._quantized,
            "torch._utils._rebuild_wrapper_subclass": self._wrapper,
            "torch._utils._rebuild_device_tensor_from_numpy": self._from_numpy,
            "torch._utils._rebuild_xla_tensor": self._from_numpy,
        }
        if self.embedded is not None:
            made["torch.storage._load_from_bytes"] = self.embedded
        for name in _UNREAD:
            made[f"torch._utils.{name}"] = _unread(name)
        return made

    def known(self, name: str) -> bool:
        """True for names that only label something: storage classes and dtypes."""
        if name in _UNTYPED or name in _LABELS:
            return True
        module, _, last = name.rpartition(".")
        if module in ("torch", "torch.cuda"):
            return DType.from_torch_storage(last) is not None or DType.from_torch(last) is not None
        return False

    def storage(self, pid: Any) -> Any:
        """The storage for a persistent id of a zip or legacy file.

        Raises HeaderError for anything but PyTorch's five or six fields, OffsetError for a size
        that cannot be.
        """
        if isinstance(pid, str):
            pid = self._told(pid)
        if isinstance(pid, tuple) and pid and pid[0] == "module":
            cls = pid[1] if len(pid) > 1 else None
            return cls if isinstance(cls, GlobalName) else Opaque("torch.source")
        if not isinstance(pid, tuple) or len(pid) not in (5, 6) or pid[0] != "storage":
            raise HeaderError("a persistent id does not have the fields of a storage")
        _, cls, key, location, numel = pid[:5]
        if isinstance(key, int) and not isinstance(key, bool):
            key = str(key)
        if not isinstance(cls, GlobalName) or not isinstance(key, str):
            raise HeaderError("a storage has no class or no key")
        if not isinstance(location, str):
            raise HeaderError(f"storage {key!r} has a location that is no text")
        if type(numel) is not int or not 0 <= numel < _U63_END:
            raise OffsetError(f"storage {key!r} claims {numel!r} elements")
        part = pid[5] if len(pid) == 6 else None
        return part_of(self.register(StorageRef(key, storage_dtype(cls), numel, location)), part)

    def _told(self, text: str) -> Any:
        """The fields of a storage that protocol 0 wrote as Python prints them.

        PyTorch writes such a file with ``pickle_protocol=0`` and cannot load it again.
        """
        found = _TOLD.fullmatch(text)
        if found is None:
            raise HeaderError(f"a persistent id is {text[:80]!r}, which names no storage")
        self.notes.append(
            "the pickle has protocol 0, which PyTorch writes and does not load again; what it says "
            "of the storages was taken from its text"
        )
        module, _, name = found["cls"].rpartition(".")
        cls = GlobalName(module, name)
        return "storage", cls, found["key"], found["location"], int(found["numel"])

    def register(self, ref: StorageRef) -> StorageRef:
        known = self.storages.setdefault(ref.key, ref)
        if known.dtype is not ref.dtype:
            raise HeaderError(
                f"storage {ref.key!r} is used as {known.dtype or 'bytes'} and as "
                f"{ref.dtype or 'bytes'}; one of the readings would be wrong"
            )
        if known.numel != ref.numel:
            raise HeaderError(
                f"storage {ref.key!r} has {known.numel} elements in one place and {ref.numel} in "
                "another"
            )
        return known

    def _tensor(self, args: tuple[Any, ...]) -> TensorRef:
        storage, offset, shape, strides = args[:4]
        if self.inline and isinstance(storage, tuple):
            storage = self.storage(storage)
        if not isinstance(storage, StorageRef) or storage.dtype is None:
            raise HeaderError("a tensor has no typed storage")
        if storage.dtype.kind is Kind.QUANTIZED:
            raise HeaderError("a quantized tensor has no quantizer")
        return view(storage, storage.dtype, offset, shape, strides, pending(args[6:7]))

    def _tensor_v3(self, args: tuple[Any, ...]) -> TensorRef:
        storage, offset, shape, strides, _, _, dtype = args[:7]
        if not isinstance(storage, StorageRef):
            raise HeaderError("a tensor has no storage")
        return view(storage, torch_dtype(dtype), offset, shape, strides, pending(args[7:8]))

    def _from_type(self, args: tuple[Any, ...]) -> Any:
        func, _, inner = args[:3]
        if self.machine is None:
            raise HeaderError("a tensor of a class is rebuilt outside a pickle")
        if isinstance(func, GlobalName) and func.full in _OF_CLASS:
            raise HeaderError("a tensor of a class is rebuilt from another one")
        made = self.machine.call(func, inner)
        if isinstance(made, Opaque) and len(args) > 3:
            self.machine.build(made, args[3])
        return made

    def _sparse(self, args: tuple[Any, ...]) -> SparseRef:
        layout, parts = args[:2]
        made = sparse(str(layout), parts)
        self.notes.append(f"a tensor is stored as {layout}; it is listed and read in dense form")
        return made

    def _quantized(self, args: tuple[Any, ...]) -> TensorRef:
        storage, offset, shape, strides, params = args[:5]
        if not isinstance(storage, StorageRef) or storage.dtype is None:
            raise HeaderError("a quantized tensor has no typed storage")
        if storage.dtype.kind is not Kind.QUANTIZED:
            raise HeaderError(f"a quantized tensor has numbers of the dtype {storage.dtype}")
        ref = view(storage, storage.dtype, offset, shape, strides)
        self.notes.append(
            f"tensors are quantized as {storage.dtype}; they are listed with their whole numbers, "
            "and dequantize gives the values"
        )
        return replace(ref, quantizer=quantizer(params, ref.shape, TensorRef))

    def _from_numpy(self, args: tuple[Any, ...]) -> TensorRef:
        array, dtype = array_of(args[0]), torch_dtype(args[1])
        key = f"NumPy array {len(self.arrays)}"
        self.arrays[key] = bytes_as(array, dtype)
        strides, step = [], 1
        for size in reversed(array.shape):
            strides.append(step)
            step *= max(size, 1)
        storage = StorageRef(key, dtype, array.size, "cpu")
        return view(storage, dtype, 0, array.shape, tuple(reversed(strides)))

    def _wrapper(self, args: tuple[Any, ...]) -> Opaque:
        cls = args[0].full if isinstance(args[0], GlobalName) else "torch.Tensor"
        self.notes.append(
            f"a tensor of the class {cls} has no values of its own; its parts are listed below it"
        )
        return Opaque(cls)

    def _meta(self, args: tuple[Any, ...]) -> Opaque:
        self.notes.append("a meta tensor has a shape and no values; it is not listed")
        return Opaque("torch.Tensor on the meta device")


_UNREAD = ("_rebuild_nested_tensor",)


def _unread(name: str) -> Rebuild:
    kind = name.removeprefix("_rebuild_").replace("_", " ")

    def rebuild(args: tuple[Any, ...]) -> Any:
        raise UnsupportedContentError(
            f"the file holds a tensor of the kind {kind!r}, which Ruda does not read"
        )

    return rebuild


def _first_tensor(args: tuple[Any, ...]) -> Any:
    if not args or not isinstance(args[0], (TensorRef, SparseRef, Opaque)):
        raise HeaderError("a parameter is made from something that is no tensor")
    return args[0]


def storage_dtype(cls: GlobalName) -> DType | None:
    """Element type of a storage class; None for untyped. Raises UnsupportedContentError."""
    if cls.full in _UNTYPED:
        return None
    found = DType.from_torch_storage(cls.name) if cls.module in ("torch", "torch.cuda") else None
    if found is None:
        raise UnsupportedContentError(
            f"{cls.full} is no storage class that Ruda knows, so its elements cannot be told apart"
        )
    return found


def torch_dtype(name: Any) -> DType:
    """The dtype that ``torch.x`` names. Raises UnsupportedContentError."""
    found = DType.from_torch(name.name) if isinstance(name, GlobalName) else None
    if found is None or name.module != "torch":
        text = name.full if isinstance(name, GlobalName) else type(name).__name__
        raise UnsupportedContentError(f"{text} is no torch dtype that Ruda knows")
    return found


def part_of(root: StorageRef, part: Any) -> StorageRef:
    """The part (key, first element, number of elements) of a storage; the whole for None."""
    if part is None:
        return root
    if not isinstance(part, tuple) or len(part) != 3 or any(type(n) is not int for n in part[1:]):
        raise HeaderError(f"a part of storage {root.key!r} has unexpected fields")
    _, start, numel = part
    if start < 0 or numel < 0 or start + numel > root.numel:
        raise OffsetError(
            f"a part of storage {root.key!r} has the elements {start} to {start + numel} of "
            f"{root.numel}"
        )
    return StorageRef(root.key, root.dtype, numel, root.location, start)


def pending(metadata: tuple[Any, ...]) -> frozenset[str]:
    """The bits that are set in a tensor's metadata. Raises UnsupportedContentError for others."""
    if not metadata or metadata[0] is None:
        return frozenset()
    if not isinstance(metadata[0], dict):
        raise HeaderError("the metadata of a tensor is no dict")
    found = frozenset(name for name, value in metadata[0].items() if value is True)
    if not found <= {"conj", "neg"}:
        raise UnsupportedContentError(
            f"a tensor has the unknown metadata {sorted(map(str, found))}"
        )
    return found


def view(
    storage: StorageRef,
    dtype: DType,
    offset: Any,
    shape: Any,
    strides: Any,
    bits: frozenset[str] = frozenset(),
) -> TensorRef:
    """A checked view. Raises OffsetError if any element lies outside the storage."""
    shape, strides = _sizes("shape", shape), _sizes("strides", strides)
    if type(offset) is not int or not 0 <= offset < _U63_END:
        raise OffsetError(f"a view of storage {storage.key!r} starts at element {offset!r}")
    if len(shape) != len(strides):
        raise HeaderError(f"a tensor has {len(shape)} axes and {len(strides)} strides")
    if len(shape) > MAX_RANK:
        raise UnsupportedContentError(f"a tensor has {len(shape)} axes, the limit is {MAX_RANK}")
    count_elements(shape, f"a view of storage {storage.key!r}")
    if bits and (dtype.value.numpy is None or ("conj" in bits and dtype.kind is not Kind.COMPLEX)):
        raise UnsupportedContentError(f"a {dtype} tensor is marked {', '.join(sorted(bits))}")
    ref = TensorRef(storage, dtype, offset + storage.start, shape, strides, bits)
    have = storage.nbytes // element_bytes(dtype)
    if ref.span and offset + ref.span > have:
        raise OffsetError(
            f"a view of storage {storage.key!r} ends at element {offset + ref.span}, but the "
            f"storage has {have}"
        )
    if ref.nbytes > max(MAX_EXPANDED_BYTES, MAX_EXPANSION * storage.nbytes):
        raise UnsupportedContentError(
            f"an expanded view of storage {storage.key!r} would fill {ref.nbytes} bytes out of "
            f"{storage.nbytes}"
        )
    return ref


def _sizes(what: str, found: Any) -> tuple[int, ...]:
    if isinstance(found, Opaque) and found.cls == "torch.Size" and found.args:
        found = found.args[0]
    if not isinstance(found, (tuple, list)) or not all(type(n) is int for n in found):
        raise HeaderError(f"the {what} of a tensor are no whole numbers")
    if any(not 0 <= n < _U63_END for n in found):
        raise OffsetError(f"a tensor has the {what} {list(found)}; negative or too large numbers")
    return tuple(found)
