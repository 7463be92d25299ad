"""erf and activations of float32, alone or with the addition or product that goes with them."""

from __future__ import annotations

from collections.abc import Callable

from ruda._kernels.checks import (
    Array,
    as_rows,
    take_array,
    take_flat,
    take_out,
    take_pair,
    take_plain,
    take_rows,
    take_run,
)
from ruda._kernels.narrowing import F32
from ruda._kernels.numbers import take_switch
from ruda._kernels.threads import in_pieces, is_one_piece
from ruda._kernels.variants import kernel
from ruda._kernels.workspace import line_scratch
from ruda.errors import ShapeError

_activation = kernel("activation")

_JUST_F32 = (F32,)


def erf(values: Array, out: Array | None = None) -> Array:
    """The error function of float32 of any shape, within 4 ulp; NaN stays NaN.

    Raises DTypeError, ShapeError, LayoutError.
    """
    return _of_each(_activation.erf, values, out)


def gelu(values: Array, out: Array | None = None) -> Array:
    """Value x · Φ(x) of float32 of any shape, Φ with the exact error function; -0 at -Inf.

    Within 10 ulp; what is below 1e-36 in size may be off by 1e-38.
    Raises DTypeError, ShapeError, LayoutError.
    """
    return _of_each(_activation.gelu, values, out)


def gelu_tanh(values: Array, out: Array | None = None) -> Array:
    """Value x / (1 + e^-z), z = 2√(2/π) · (x + 0.044715 · x³); -0 at -Inf.

    The tanh form of ``gelu``: the same as ½ · x · (1 + tanh(z / 2)). Within 4 + 3·max(0, -z) ulp,
    and 1e-36.
    Raises DTypeError, ShapeError, LayoutError.
    """
    return _of_each(_activation.gelu_tanh, values, out)


def silu(values: Array, out: Array | None = None) -> Array:
    """Value x / (1 + e^-x) of float32 of any shape, within 4 ulp or 1e-36; -0 at -Inf.

    Raises DTypeError, ShapeError, LayoutError.
    """
    return _of_each(_activation.silu, values, out)


def silu_times(values: Array, factors: Array, out: Array | None = None) -> Array:
    """``silu`` of values times factors, float32 of one shape: the gate of a SwiGLU layer.

    Within 5 ulp or 1e-36 · max(1, |factor|): where ``silu`` is next to nothing, a large factor does
    not bring its digits back. Raises DTypeError, ShapeError, LayoutError.
    """
    given, other = take_array(values, "values", (F32,)), take_array(factors, "factors", (F32,))
    if other.shape != given.shape:
        raise ShapeError(f"factors has shape {other.shape}; expected that of values, {given.shape}")
    result = take_out(out, given.shape, _JUST_F32, given, other)
    source, along, target = take_flat(given), take_flat(other), take_flat(result)

    def piece(cut: slice) -> None:
        first, second = take_plain(take_run(source, cut)), take_plain(take_run(along, cut))
        _activation.silu_times(first, second, target[cut], *line_scratch())

    in_pieces(piece, source.size, item_bytes=12)
    return result


def bias_relu(values: Array, bias: Array, out: Array | None = None) -> Array:
    """max(0, x + bias) of float32 (…, width), bias (width); NaN stays NaN. Exactly as NumPy.

    Raises DTypeError, ShapeError, LayoutError.
    """

    def call(rows: Array, line: Array, target: Array) -> None:
        _activation.bias_relu(rows, line, target)

    return _with_bias(call, values, bias, out)


def bias_gelu(
    values: Array, bias: Array, *, approximate: bool = False, out: Array | None = None
) -> Array:
    """Gelu of x + bias of float32 (…, width), bias (width); ``approximate`` is ``gelu_tanh``.

    The sum is rounded; of it the result is that of ``gelu`` or ``gelu_tanh``, with their bounds.
    Raises DTypeError, ShapeError, LayoutError, SettingError.
    """
    tanh = take_switch(approximate, "approximate")

    def call(rows: Array, line: Array, target: Array) -> None:
        _activation.bias_gelu(rows, line, tanh, target, *line_scratch())

    return _with_bias(call, values, bias, out)


def _of_each(
    call: Callable[[Array, Array, Array, Array], None], values: Array, out: Array | None
) -> Array:
    source, target, result, fit = take_pair(values, "values", _JUST_F32, out, _JUST_F32)
    if fit and is_one_piece(source.size, 8):
        call(source, target, *line_scratch())
        return result

    def piece(cut: slice) -> None:
        call(take_plain(take_run(source, cut)), target[cut], *line_scratch())

    in_pieces(piece, source.size, item_bytes=8)
    return result


def _with_bias(
    call: Callable[[Array, Array, Array], None], values: Array, bias: Array, out: Array | None
) -> Array:
    given, line = take_array(values, "values", (F32,)), take_array(bias, "bias", (F32,))
    width = given.shape[-1] if given.ndim else 0
    if not given.ndim or line.shape != (width,):
        raise ShapeError(
            f"bias has shape {line.shape}; expected one value for each column of {given.shape}"
        )
    result = take_out(out, given.shape, (F32,), given, line)
    if given.size:
        source, bias_line = as_rows(given), take_plain(line)
        target = result.reshape(-1, width)
        in_pieces(
            lambda cut: call(take_plain(take_rows(source, cut)), bias_line, target[cut]),
            target.shape[0],
            item_bytes=8 * width,
        )
    return result
