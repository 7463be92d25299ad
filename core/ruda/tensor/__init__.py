"""Host tensors: element types, values in memory, and comparing them."""

from ruda.tensor.dtype import DType, Kind

__all__ = ["DType", "Kind"]
