"""Quantized tensors: codes with scales, their ranges and parameters.

A ``Tensor`` is one array that every operation takes; codes mean nothing without their scales. So
they are a type of their own, which offers what keeps them together and nothing to compute with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ruda.errors import DTypeError, SettingError
from ruda.tensor.dtype import DType
from ruda.tensor.methods.held import Held, tensor_array
from ruda.tensor.operations import quantizing
from ruda.tensor.operations.operands import dtype_of, recast
from ruda.tensor.promotion import require_float
from ruda.tensor.schemes import Calibration, QuantScheme

T = TypeVar("T", bound=Held)
"""``Tensor``, which has methods that make what is here."""


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationRange(Generic[T]):
    """The range that codes are to cover: f32, one end for the tensor, (1,), or for each block."""

    min: T
    max: T


@dataclass(frozen=True, slots=True, eq=False)
class QuantParams(Generic[T]):
    """What codes are multiplied with."""

    scales: T
    """f32 of shape (1,), or for each block: (blocks along axis 0, blocks along axis 1, …)."""
    global_scale: float | None = None
    """What all scales of blocks are multiplied with, for a scheme that has it."""


@dataclass(frozen=True, slots=True, eq=False)
class QuantizedTensor(Generic[T]):
    """Codes of values, one per element, with what they are multiplied with; immutable.

    ``codes`` are i8 of the shape of the values, for fp8 and fp4 their bits as u8; ``params.scales``
    are f32 numbers that the scheme's kind of scale has. Raises DTypeError, ShapeError and
    OperationError for parts that do not go together.
    """

    codes: T
    params: QuantParams[T]
    scheme: QuantScheme

    def __post_init__(self) -> None:
        codes = tensor_array("quantized", self.codes)
        scales = tensor_array("quantized", self.params.scales)
        wanted = DType.U8 if self.scheme.is_float else DType.I8
        found = dtype_of(codes), dtype_of(scales)
        if found != (wanted, DType.F32):
            raise DTypeError(
                f"quantized: {self.scheme.value} has codes of {wanted} and scales of f32, got "
                f"{found[0]} and {found[1]}"
            )
        quantizing.check_parts(self.scheme, codes, scales, self.params.global_scale)

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each axis of the values; () for a scalar."""
        return tuple(self.codes._array.shape)

    @property
    def dtype(self) -> DType:
        """``qfloat``; the scheme says what it means."""
        return DType.QFLOAT

    @property
    def numel(self) -> int:
        """Number of values."""
        return self.codes._array.size

    @property
    def nbytes(self) -> int:
        """Bytes of ``to_bytes``, in which codes are packed."""
        return self.scheme.nbytes(self.shape)

    def dequantize(self, dtype: DType = DType.F32) -> T:
        """Code · scale, computed in f32 and cast; new memory of the shape of the values.

        Raises DTypeError unless the dtype is a float to compute in.
        """
        require_float("dequantize", dtype)
        scales, top = self.params.scales, self.params.global_scale
        made = quantizing.decode(self.scheme, self.codes._array, scales._array, top)
        return self.codes._new(recast(made, dtype))

    def to_bytes(self) -> bytes:
        """Codes packed as the scheme says, then scales, then the global scale; little-endian.

        The layout is that of Rudapack files of Burn since August 2026, in which every row of codes
        ends on a whole byte or word.
        """
        scales, top = self.params.scales, self.params.global_scale
        return quantizing.pack(self.scheme, self.codes._array, scales._array, top)


def compute_range(
    scheme: QuantScheme, tensor: T, calibration: Calibration = Calibration.MIN_MAX
) -> CalibrationRange[T]:
    """The range of a tensor or of each of its blocks, computed in f32.

    Raises DTypeError unless the tensor is of a float; ShapeError if it is empty or blocks do not
    divide it; OperationError for NaN and Inf, which no code stands for.
    """
    require_scheme("compute_range", scheme)
    if not isinstance(calibration, Calibration):
        raise SettingError(f"compute_range: {calibration!r} is no Calibration: MIN_MAX, ABS_MEAN")
    low, high = quantizing.ranges(scheme, tensor_array("compute_range", tensor), calibration)
    return CalibrationRange(tensor._new(low), tensor._new(high))


def compute_q_params(scheme: QuantScheme, found: CalibrationRange[T]) -> QuantParams[T]:
    """Scales that bring a range to that of the codes, as they will be stored.

    A scale is the greater magnitude of both ends over half the distance of the first and last
    code, rounded up to the scheme's kind of scale; for a range of nothing but 0 it is small and
    not 0. Under a global scale the largest scale of a block is the largest number of its kind.
    Source: Burn's ``compute_q_params``. Raises ShapeError for ends of two shapes, OperationError
    for ends that are not finite and for a scale beyond its kind.
    """
    require_scheme("compute_q_params", scheme)
    low = tensor_array("compute_q_params", found.min)
    high = tensor_array("compute_q_params", found.max)
    scales, top = quantizing.scales_of_range(scheme, low, high)
    return QuantParams(found.min._new(scales), top)


def quantized(tensor: T, scheme: QuantScheme, params: QuantParams[T]) -> QuantizedTensor[T]:
    """Nearest codes to value / scale; see ``Tensor.quantize``."""
    require_scheme("quantize", scheme)
    if not isinstance(params, QuantParams):
        raise SettingError(
            f"quantize: {type(params).__name__} is no QuantParams; compute_q_params makes them"
        )
    values = tensor_array("quantize", tensor)
    scales = quantizing.stored_scales(scheme, tensor_array("quantize", params.scales))
    top = quantizing.checked_top(scheme, params.global_scale)
    codes = quantizing.encode(scheme, values, scales, top)
    kept = QuantParams(tensor._new(scales), top)
    return QuantizedTensor(tensor._new(codes), kept, scheme)


def require_scheme(name: str, scheme: object) -> None:
    """Raise SettingError for what is no QuantScheme, such as the name of one."""
    if not isinstance(scheme, QuantScheme):
        raise SettingError(f"{name}: {type(scheme).__name__} is no QuantScheme")
