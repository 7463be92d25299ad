"""Tensor: values in main memory with Ruda's own dtypes, promotion and errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from ruda.errors import DTypeError, ShapeError
from ruda.tensor import exchange
from ruda.tensor.data import Nested, TensorData
from ruda.tensor.device import HostDevice
from ruda.tensor.distribution import Distribution
from ruda.tensor.dtype import DType
from ruda.tensor.layout import plain, shown_values
from ruda.tensor.methods.activating import Activating
from ruda.tensor.methods.arithmetic import Elementwise, Operators
from ruda.tensor.methods.creating import Creating
from ruda.tensor.methods.factorising import Factorising
from ruda.tensor.methods.held import tensor_array
from ruda.tensor.methods.indexing import Indexing
from ruda.tensor.methods.linear import Linear
from ruda.tensor.methods.networks import Networks
from ruda.tensor.methods.quantizing import Quantizing
from ruda.tensor.methods.reducing import Ordering, Reducing
from ruda.tensor.methods.shaping import Shaping
from ruda.tensor.methods.transforming import Transforming
from ruda.tensor.operations import shaping
from ruda.tensor.operations.operands import recast
from ruda.tensor.promotion import DEFAULT_FLOAT, Scalar, require_dtype

Array = np.ndarray[Any, Any]

HOST = HostDevice()

# Tags that are no dtype to compute in: their values live in a tensor as these.
_COMPUTED_AS = {DType.FLEX32: DType.F32, DType.BOOL_U32: DType.BOOL}


class Tensor(
    Operators,
    Elementwise,
    Shaping,
    Indexing,
    Reducing,
    Ordering,
    Linear,
    Factorising,
    Transforming,
    Networks,
    Activating,
    Creating,
    Quantizing,
):
    """An immutable array with a dtype. Operations return new tensors, which may share memory.

    ``flex32`` values are held as f32 and a 32-bit bool as bool; packed and quantized dtypes have
    no tensor, only ``TensorData``; ``quantize`` makes a ``QuantizedTensor``. Safe to use from
    several threads, as long as none assigns to elements (``t[i] = v`` gives this one object a
    changed copy of its values). Methods have RUDA's names; ``ruda.tensor.xp`` has those of the
    Array API standard.
    """

    __slots__ = ()
    __array_ufunc__ = None  # NumPy must not take over ``ndarray + tensor``

    def __init__(self, array: Array) -> None:
        """Wrap an array without a copy; the caller must not write to it afterwards.

        Foreign byte order is copied into native; of a subclass only the array is taken. Raises
        DTypeError if the NumPy dtype has no Ruda dtype, and for masked items.
        """
        array = plain(array)
        DType.from_numpy(array.dtype)
        native = array.dtype.isnative
        self._array = array if native else array.astype(array.dtype.newbyteorder("="))

    @classmethod
    def from_data(
        cls,
        data: Nested | Array | TensorData,
        device: HostDevice = HOST,
        dtype: DType | None = None,
    ) -> Tensor:
        """A tensor of these values, copied unless they are a TensorData.

        Without ``dtype`` arrays keep theirs, also those of other libraries; nested floats become
        f32, integers i32, booleans bool. Raises DTypeError if a value does not fit, or for a dtype
        in the place of the device; ShapeError if sequences are ragged.
        """
        if not isinstance(device, HostDevice):
            raise DTypeError(
                f"the only device is {HOST}, got {device!r}; an element type goes by name: dtype=…"
            )
        if dtype is not None:
            require_dtype("TensorData", dtype)
        wanted = None if dtype is None else _COMPUTED_AS.get(dtype, dtype)
        made = data if isinstance(data, TensorData) else TensorData.of(data, wanted)
        wanted = wanted or _COMPUTED_AS.get(made.dtype, made.dtype)
        if wanted.is_raw:
            raise DTypeError(f"{wanted} has no tensor to compute with; keep it as TensorData")
        return cls(made.try_cast(wanted).array)

    @classmethod
    def zeros(
        cls, shape: Sequence[int], device: HostDevice = HOST, dtype: DType = DEFAULT_FLOAT
    ) -> Tensor:
        """All elements 0."""
        return cls.from_data(TensorData.zeros(shape, dtype), device)

    @classmethod
    def ones(
        cls, shape: Sequence[int], device: HostDevice = HOST, dtype: DType = DEFAULT_FLOAT
    ) -> Tensor:
        """All elements 1."""
        return cls.from_data(TensorData.ones(shape, dtype), device)

    @classmethod
    def full(
        cls,
        shape: Sequence[int],
        value: Scalar,
        device: HostDevice = HOST,
        dtype: DType = DEFAULT_FLOAT,
    ) -> Tensor:
        """All elements ``value``. Raises DTypeError if it does not fit the dtype."""
        return cls.from_data(TensorData.full(shape, value, dtype), device)

    @classmethod
    def random(
        cls,
        shape: Sequence[int],
        distribution: Distribution,
        device: HostDevice = HOST,
        dtype: DType = DEFAULT_FLOAT,
        *,
        seed: int,
    ) -> Tensor:
        """Values drawn from the distribution; the same for the same seed and shape."""
        return cls.from_data(TensorData.random(shape, distribution, seed=seed, dtype=dtype), device)

    @staticmethod
    def cat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Join along an existing axis: (a, c) and (b, c) on 0 → (a + b, c); dtypes promote. A copy.

        Raises ShapeError for no tensors and where another axis differs, IndexRangeError for an axis
        outside the rank, as of scalars; DTypeError for what is no tensor, for fp8, and for u64 with
        a signed integer.
        """
        return _wrap(shaping.concatenate(_arrays("cat", tensors), axis))

    @staticmethod
    def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
        """Join tensors of one shape along a new axis: n × (a, b) on 0 → (n, a, b); a copy.

        Dtypes promote. Raises ShapeError for no tensors and for one of another shape;
        IndexRangeError and DTypeError as ``cat``.
        """
        return _wrap(shaping.stack(_arrays("stack", tensors), axis))

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis; () for a scalar."""
        return tuple(self._array.shape)

    def dims(self) -> tuple[int, ...]:
        """The shape, under RUDA's name."""
        return self.shape

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self._array.ndim

    @property
    def ndim(self) -> int:
        """Number of axes, under the standard's name."""
        return self._array.ndim

    @property
    def numel(self) -> int:
        """Number of elements; 1 for a scalar."""
        return self._array.size

    @property
    def size(self) -> int:
        """Number of elements, under the standard's name."""
        return self._array.size

    @property
    def dtype(self) -> DType:
        """Element type."""
        return DType.from_numpy(self._array.dtype)

    @property
    def device(self) -> HostDevice:
        """Where it lives: always the host."""
        return HOST

    def to_device(self, device: HostDevice, /, *, stream: None = None) -> Tensor:
        """Itself: there is one device. Raises DTypeError for anything that is no device of ours."""
        if not isinstance(device, HostDevice) or stream is not None:
            raise DTypeError(f"to_device: the only device is {HOST} and it has no streams")
        return self

    def numpy(self) -> Array:
        """A read-only view; bf16 and fp8 come as ml_dtypes arrays.

        NumPy lets the array behind a view (``base``) be written if that is writable itself: such
        writing would change this tensor and all that share its memory.
        """
        view = self._array.view()
        view.flags.writeable = False
        return view

    def to_data(self) -> TensorData:
        """The values and dtype, a view: its array is read-only."""
        return TensorData(self.numpy(), self.dtype)

    def item(self) -> bool | int | float | complex:
        """The single value. Raises ShapeError if there are more or none."""
        if self._array.size != 1:
            raise ShapeError(
                f"item: shape {list(self.shape)} has {self._array.size} elements, not one; "
                f"tolist() gives all"
            )
        value: bool | int | float | complex = self._array.reshape(()).item()
        return value

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number for a scalar."""
        return self._array.tolist()

    def cast(self, dtype: DType) -> Tensor:
        """The same values in another dtype, rounded; out of range becomes Inf or the range's end.

        Floats become integers by truncation, and NaN becomes 0. A view where nothing changes.
        ``ruda.tensor.cast`` counts what is lost. Raises DTypeError where there is no conversion.
        """
        require_dtype("cast", dtype)
        return _wrap(recast(self._array, _COMPUTED_AS.get(dtype, dtype)))

    def __repr__(self) -> str:
        text = shown_values(self._array, 64)
        return f"Tensor({text}, shape={list(self.shape)}, dtype={self.dtype})"

    def __format__(self, spec: str) -> str:
        """A number in this format, or without one the text of ``repr``."""
        return format(self.item(), spec) if spec else str(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """A read-only view, or a copy where a dtype or ``copy`` asks for one.

        Floats become integers by truncation. Raises DTypeError where a value does not fit the
        dtype, for the real part of complex numbers, and where ``copy=False`` cannot be kept.
        """
        return exchange.array_as(self.numpy(), dtype, copy)

    def __bool__(self) -> bool:
        if self._array.size != 1:
            raise ShapeError(
                f"bool: shape {list(self.shape)} has {self._array.size} truth values, not one; "
                f"any() and all() make one of them"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._real_item("int"))

    def __float__(self) -> float:
        return float(self._real_item("float"))

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if not self.dtype.is_integer or self._array.ndim:
            raise DTypeError(
                f"index: a tensor of {self.dtype} and shape {list(self.shape)} is no integer"
            )
        return int(self._array.item())

    def _real_item(self, name: str) -> bool | int | float:
        value = self.item()
        if isinstance(value, complex):
            raise DTypeError(f"{name}: {self.dtype} numbers are no real numbers")
        return value

    def __array_namespace__(self, /, *, api_version: str | None = None) -> ModuleType:
        """``ruda.tensor.xp``. Raises SettingError for a version of the standard that it is not."""
        # By name: the namespace is made of tensors, so importing it here would be a circle.
        found: ModuleType = import_module("ruda.tensor.xp").namespace(api_version)
        return found

    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0): main memory, as DLPack numbers it."""
        return (1, 0)

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule for other libraries: a read-only view, or a copy where none can be promised.

        Consumers before DLPack 1.0 cannot be told that memory is read-only and get a copy; with
        ``copy=False`` they get the memory itself and must not write to it. PyTorch is told and
        writes all the same: ask it for ``copy=True`` before changing in place. Flipped axes are
        copied, since PyTorch aborts the process over them. Raises DTypeError for
        bf16 and fp8, which NumPy cannot hand out; BufferError where ``copy=False`` cannot be kept.
        """
        return exchange.capsule(
            self._array, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )


def _arrays(name: str, tensors: Iterable[Tensor]) -> list[Array]:
    """The arrays of several tensors. Raises DTypeError for what is none."""
    if not isinstance(tensors, Iterable):
        raise DTypeError(f"{name}: expected several tensors, got {type(tensors).__name__}")
    return [tensor_array(name, one) for one in tensors]


def _wrap(array: Array) -> Tensor:
    """A tensor of an operation's result, which needs no checks."""
    tensor = Tensor.__new__(Tensor)
    tensor._array = array if type(array) is np.ndarray else np.asarray(array)
    return tensor
