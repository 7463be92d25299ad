"""Codes with scales in the place of floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ruda.errors import DTypeError
from ruda.tensor.methods.held import Held
from ruda.tensor.methods.quantized import (
    QuantizedTensor,
    QuantParams,
    compute_q_params,
    compute_range,
    quantized,
    require_scheme,
)
from ruda.tensor.operations import quantizing
from ruda.tensor.schemes import QuantScheme
from ruda.tensor.sizes import shape_of


class Quantizing(Held):
    """Floats as whole numbers, fp8 or fp4 with scales; halves and f64 are quantized in f32."""

    __slots__ = ()

    def quantize(self, scheme: QuantScheme, params: QuantParams[Self]) -> QuantizedTensor[Self]:
        """Nearest codes to value / scale, halves to even, within the codes that there are.

        Scales of ``params`` are rounded up to the scheme's kind first. A value beyond them becomes
        the last code. Raises DTypeError unless of a float; ShapeError where blocks do not divide
        the shape or scales are not one for each; OperationError for NaN, Inf and impossible scales.
        """
        return quantized(self, scheme, params)

    def quantize_dynamic(self, scheme: QuantScheme) -> QuantizedTensor[Self]:
        """``quantize`` with the scales of its own smallest and largest values: nothing is cut off.

        Raises what ``quantize`` does, and ShapeError for no values.
        """
        found = compute_range(scheme, self)
        return quantized(self, scheme, compute_q_params(scheme, found))

    @classmethod
    def from_quantized_bytes(
        cls, raw: bytes, shape: Sequence[int], scheme: QuantScheme
    ) -> QuantizedTensor[Self]:
        """A quantized tensor out of what its ``to_bytes`` gave; copied.

        Raises ShapeError if the byte count is not that of shape and scheme, OperationError for a
        scale that is not above 0 and finite, DTypeError for what has no bytes.
        """
        require_scheme("from_quantized_bytes", scheme)
        sizes = shape_of("from_quantized_bytes", shape, np.dtype(np.uint8))
        try:
            held = memoryview(raw).tobytes()
        except TypeError:
            raise DTypeError(
                f"from_quantized_bytes: {type(raw).__name__} has no bytes to read"
            ) from None
        codes, scales, top = quantizing.unpack(scheme, held, sizes)
        wrap = object.__new__(cls)._new
        return QuantizedTensor(wrap(codes), QuantParams(wrap(scales), top), scheme)
