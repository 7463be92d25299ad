"""Layers of ``ruda.nn`` as torch's functionals: each sample makes one and gives it its weights.

torch also takes one item without a batch axis; ours gets the axis and loses it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ruda import nn
from ruda.nn import Module, Param
from ruda.tensor import DType, Tensor
from torch_ops.translated import First, Twin, require, widely


def assign(layer: Module, **values: Any) -> Module:
    """The layer in eval mode, with these values of its parameters; None leaves the first ones."""
    for name, value in values.items():
        if value is not None:
            param: Param = getattr(layer, name)
            param.assign(value.numpy(), value.dtype)
    layer.eval()
    return layer


def numbers(value: Any, axes: int) -> tuple[int, ...]:
    """One number for each axis."""
    if not isinstance(value, Sequence):
        return (value,) * axes
    found = tuple(value)
    return found * axes if len(found) == 1 else found


def single(value: Any, axes: int) -> Any:
    """The same as Ruda's layers take it: a plain number along one axis."""
    found = numbers(value, axes)
    return found[0] if axes == 1 else found


def batched(x: Tensor, rank: int, compute: Callable[[Tensor], Any]) -> Any:
    """An item without a batch axis gets one and loses it again."""
    return compute(x) if x.ndim == rank else compute(x.unsqueeze(0)).squeeze(0)


def _padding(padding: Any, axes: int) -> Any:
    return padding if isinstance(padding, str) else single(padding, axes)


def convolution(axes: int) -> Twin:
    make = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[axes - 1]

    def run(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Any:
        layer = make(
            weight.shape[1] * groups,
            weight.shape[0],
            single(weight.shape[2:], axes),
            stride=single(stride, axes),
            padding=_padding(padding, axes),
            dilation=single(dilation, axes),
            groups=groups,
            bias=bias is not None,
        )
        assign(layer, weight=weight, bias=bias)
        return batched(x, axes + 2, layer)

    return run


def transposed(axes: int) -> Twin:
    make = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[axes - 1]

    def run(
        x: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Any:
        layer = make(
            weight.shape[0],
            weight.shape[1] * groups,
            numbers(weight.shape[2:], axes) if axes > 1 else weight.shape[2],
            stride=single(stride, axes),
            padding=single(padding, axes),
            padding_out=single(output_padding, axes),
            dilation=single(dilation, axes),
            groups=groups,
            bias=bias is not None,
        )
        assign(layer, weight=weight, bias=bias)
        return batched(x, axes + 2, layer)

    return run


def pooled_with_places(
    x: Any, axes: int, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    given = x if x.ndim == axes + 2 else x.unsqueeze(0)
    found = getattr(given, f"max_pool{axes}d_with_indices")(
        single(kernel, axes),
        stride=None if not stride else single(stride, axes),
        padding=single(padding, axes),
        dilation=single(dilation, axes),
        ceil_mode=ceil_mode,
    )
    return found if given is x else tuple(part.squeeze(0) for part in found)


def max_pool(axes: int) -> Twin:
    make = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[axes - 1]

    def run(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        if return_indices and axes < 3:
            return pooled_with_places(x, axes, kernel_size, stride, padding, dilation, ceil_mode)
        layer = make(
            single(kernel_size, axes),
            stride=None if not stride else single(stride, axes),
            padding=single(padding, axes),
            dilation=single(dilation, axes),
            ceil_mode=ceil_mode,
        )
        found = batched(x, axes + 2, layer)
        return First(found) if return_indices else found

    return run


def avg_pool(axes: int) -> Twin:
    make = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)[axes - 1]

    def run(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        require(divisor_override is None, "another divisor")
        layer = make(
            single(kernel_size, axes),
            stride=None if not stride else single(stride, axes),
            padding=single(padding, axes),
            count_include_pad=count_include_pad,
            ceil_mode=ceil_mode,
        )
        return batched(x, axes + 2, layer)

    return run


def adaptive_pool(kind: str, axes: int) -> Twin:
    make = getattr(nn, f"Adaptive{kind}Pool{axes}d")

    def run(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        sizes = zip(numbers(output_size, axes), x.shape[-axes:], strict=True)
        wanted = tuple(n if size is None else size for size, n in sizes)
        found = batched(x, axes + 2, make(single(wanted, axes)))
        return First(found) if return_indices else found

    return run


def layer_norm(
    x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    require(len(normalized_shape) == 1, "more than one axis")
    layer = nn.LayerNorm(normalized_shape[0], epsilon=eps, bias=bias is not None)
    return assign(layer, gamma=weight, beta=bias)(x)


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Any:
    require(len(normalized_shape) == 1, "more than one axis")
    epsilon = float(np.finfo(np.float32).eps) if eps is None else eps
    return assign(nn.RmsNorm(normalized_shape[0], epsilon=epsilon), gamma=weight)(x)


def group_norm(
    x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    require(eps >= 0, "an epsilon below 0")
    layer = nn.GroupNorm(num_groups, x.shape[1], epsilon=eps)
    return assign(layer, gamma=weight, beta=bias)(x)


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    require(use_input_stats, "stored statistics")
    layer = nn.InstanceNorm(x.shape[1], epsilon=eps)
    return assign(layer, gamma=weight, beta=bias)(x)


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    require(not training, "statistics of the batch")
    require(x.ndim > 1, "no feature axis")
    layer = nn.BatchNorm(x.shape[1], epsilon=eps)
    values = {"running_mean": running_mean, "running_var": running_var}
    return assign(layer, gamma=weight, beta=bias, **values)(x)


def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    require(weight.ndim == 2, "a vector as weight")
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    return assign(layer, weight=weight.transpose(), bias=bias)(x)


def bilinear(x: Any, other: Any, weight: Any, bias: Any = None) -> Any:
    d_output, first, second = weight.shape
    layer = nn.Bilinear(first, second, d_output, bias=bias is not None)
    assign(layer, weight=weight, bias=bias)
    return layer.forward_pair(x, other)


def embedding(
    weight: Any,
    index: Any,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    require(max_norm is None, "rows that are shortened")
    return assign(nn.Embedding(*weight.shape), weight=weight)(index)


PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


def pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    require(mode in PAD_MODES, f"mode {mode}")
    require(min(pad, default=0) >= 0, "cutting")
    pairs = [(pad[at], pad[at + 1]) for at in range(0, len(pad), 2)]
    return x.pad(pairs, PAD_MODES[mode], 0 if value is None else value)


def one_hot(x: Any, num_classes: int = -1) -> Any:
    require(num_classes > 0 or x.numel > 0, "no classes")
    return x.one_hot(num_classes if num_classes > 0 else int(x.max()) + 1)


def window(name: str) -> Twin:
    def run(size: int, *, sym: bool = True, dtype: Any = None, **_: Any) -> Any:
        make = getattr(Tensor, f"{name}_window")
        return make(size, periodic=not sym, dtype=dtype or DType.F32)

    return run


def added(product: Callable[[Any, Any], Any]) -> Twin:
    def run(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        require(beta != 0, "a factor of 0 that hides NaN")
        return widely(lambda c, a, b: c * beta + product(a, b) * alpha, c, a, b)

    return run


def cast(to: DType) -> Twin:
    return lambda x, **_: x.cast(to)


LAYERS: dict[str, Twin] = {
    **{f"nn.functional.conv{axes}d": convolution(axes) for axes in (1, 2, 3)},
    **{f"nn.functional.conv_transpose{axes}d": transposed(axes) for axes in (1, 2, 3)},
    **{f"nn.functional.max_pool{axes}d": max_pool(axes) for axes in (1, 2, 3)},
    **{f"nn.functional.avg_pool{axes}d": avg_pool(axes) for axes in (1, 2, 3)},
    **{
        f"nn.functional.adaptive_{kind}_pool{axes}d": adaptive_pool(kind.capitalize(), axes)
        for kind in ("avg", "max")
        for axes in (1, 2, 3)
    },
    "nn.functional.layer_norm": layer_norm,
    "nn.functional.rms_norm": rms_norm,
    "nn.functional.group_norm": group_norm,
    "nn.functional.instance_norm": instance_norm,
    "nn.functional.batch_norm": batch_norm,
    "nn.functional.linear": linear,
    "nn.functional.bilinear": bilinear,
    "nn.functional.pixel_shuffle": lambda x, upscale_factor: nn.PixelShuffle(upscale_factor)(x),
    "nn.functional.pixel_unshuffle": lambda x, downscale_factor: nn.PixelUnshuffle(
        downscale_factor
    )(x),
    "nn.functional.embedding": embedding,
    "nn.functional.pad": pad,
    "constant_pad_nd": lambda x, pad_, value=0: pad(x, pad_, value=value),
    "nn.functional.one_hot": one_hot,
    "signal.windows.hann": window("hann"),
    "signal.windows.hamming": window("hamming"),
    "signal.windows.blackman": window("blackman"),
    "lerp": lambda x, end, weight: x.lerp(end, weight),
    "mv": lambda x, y: x.matvec(y),
    "addmv": added(lambda a, b: a.matvec(b)),
    "addr": added(lambda a, b: a.outer(b)),
    "baddbmm": added(lambda a, b: a @ b),
    "new_zeros": lambda x, size, *, dtype=None, **_: Tensor.zeros(size, dtype=dtype or x.dtype),
    "new_ones": lambda x, size, *, dtype=None, **_: Tensor.ones(size, dtype=dtype or x.dtype),
    "bool": cast(DType.BOOL),
    "byte": cast(DType.U8),
    "char": cast(DType.I8),
    "short": cast(DType.I16),
    "int": cast(DType.I32),
    "long": cast(DType.I64),
    "half": cast(DType.F16),
    "float": cast(DType.F32),
    "double": cast(DType.F64),
}
"""What layers, and the tensors' own further methods, have in common with torch's functionals."""
