"""Host tensors: element types, values in memory, and comparing them."""

from ruda.tensor.casting import CastCounts, cast
from ruda.tensor.comparison import Difference, Mismatch, Tolerance
from ruda.tensor.data import TensorData
from ruda.tensor.deviation import Deviation, Spot, deviation
from ruda.tensor.device import HostDevice
from ruda.tensor.distribution import Distribution
from ruda.tensor.dtype import DType, Kind
from ruda.tensor.layout import transpose_copy
from ruda.tensor.methods.quantized import (
    CalibrationRange,
    QuantizedTensor,
    QuantParams,
    compute_q_params,
    compute_range,
)
from ruda.tensor.promotion import is_computable, promote
from ruda.tensor.schemes import Calibration, QuantScheme
from ruda.tensor.statistics import TensorStats, stats, stream_stats
from ruda.tensor.tensor import Tensor
from ruda.tensor.threads import set_thread_count, stopped_by, thread_count

__all__ = [
    "Calibration",
    "CalibrationRange",
    "CastCounts",
    "DType",
    "Deviation",
    "Difference",
    "Distribution",
    "HostDevice",
    "Kind",
    "Mismatch",
    "QuantParams",
    "QuantScheme",
    "QuantizedTensor",
    "Spot",
    "Tensor",
    "TensorData",
    "TensorStats",
    "Tolerance",
    "cast",
    "compute_q_params",
    "compute_range",
    "deviation",
    "is_computable",
    "promote",
    "set_thread_count",
    "stats",
    "stopped_by",
    "stream_stats",
    "thread_count",
    "transpose_copy",
]
