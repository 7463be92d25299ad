"""The gate to the compiled kernels and their NumPy twins.

Callers pass ordinary arrays; the gate checks them, sees them as the words that the kernels take,
cuts large ones into pieces, and calls the compiled variant that suits this processor or, where
there is none, the NumPy twin of the same signature. An input may have any strides, byte order or
alignment (it is copied where a kernel could not take it); an ``out`` is written in place and must
be writable, aligned, C-contiguous and of native byte order, else LayoutError.

The compiled kernels release the GIL, so every function may be called from any thread.
"""

from __future__ import annotations

from ruda._kernels.activation import (
    bias_gelu,
    bias_relu,
    erf,
    gelu,
    gelu_tanh,
    silu,
    silu_times,
)
from ruda._kernels.batches import collate_images
from ruda._kernels.blas import one_blas_thread
from ruda._kernels.blocks import in_blocks
from ruda._kernels.cells import gru_step, lstm_step
from ruda._kernels.comparing import Difference, difference
from ruda._kernels.convolution import unfold, winograd_planes, winograd_tiles
from ruda._kernels.float8 import narrow_e4m3, narrow_e5m2, widen_e4m3, widen_e5m2
from ruda._kernels.indexing import add_slices, can_add, gather_items, scatter_add
from ruda._kernels.layout import transpose
from ruda._kernels.narrowing import (
    NarrowCounts,
    narrow_bf16,
    narrow_f16,
    widen_bf16,
    widen_f16,
)
from ruda._kernels.numbers import shown_number
from ruda._kernels.order import shuffle_order
from ruda._kernels.quantize import (
    dequantize_int8,
    largest_in_rows,
    quantize_int8,
    unpack_q4_0,
    unpack_q8_0,
)
from ruda._kernels.ranking import largest_places
from ruda._kernels.resizing import resize_linear, resize_nearest
from ruda._kernels.rows import add_layer_norm, layer_norm, log_softmax, rms_norm, softmax
from ruda._kernels.statistics import Moments, histogram, moments
from ruda._kernels.threads import aside, set_thread_count, stopped_by, thread_count
from ruda._kernels.variants import available_variants, describe, variant
from ruda._kernels.windows import (
    average_pool,
    depthwise_3x3,
    max_pool,
    rotate_pairs,
    scale_channels,
)

__all__ = [
    "Difference",
    "Moments",
    "NarrowCounts",
    "add_layer_norm",
    "add_slices",
    "aside",
    "available_variants",
    "average_pool",
    "bias_gelu",
    "bias_relu",
    "can_add",
    "collate_images",
    "depthwise_3x3",
    "dequantize_int8",
    "describe",
    "difference",
    "erf",
    "gather_items",
    "gelu",
    "gelu_tanh",
    "gru_step",
    "histogram",
    "in_blocks",
    "largest_in_rows",
    "largest_places",
    "layer_norm",
    "log_softmax",
    "lstm_step",
    "max_pool",
    "moments",
    "narrow_bf16",
    "narrow_e4m3",
    "narrow_e5m2",
    "narrow_f16",
    "one_blas_thread",
    "quantize_int8",
    "resize_linear",
    "resize_nearest",
    "rms_norm",
    "rotate_pairs",
    "scale_channels",
    "scatter_add",
    "set_thread_count",
    "shown_number",
    "shuffle_order",
    "silu",
    "silu_times",
    "softmax",
    "stopped_by",
    "thread_count",
    "transpose",
    "unfold",
    "unpack_q4_0",
    "unpack_q8_0",
    "variant",
    "widen_bf16",
    "widen_e4m3",
    "widen_e5m2",
    "widen_f16",
    "winograd_planes",
    "winograd_tiles",
]
