"""One step of a recurrent layer, after its matrix products."""

from __future__ import annotations

from ruda._kernels.checks import Array, take_array, take_out, take_plain, take_written
from ruda._kernels.narrowing import F32
from ruda._kernels.variants import kernel
from ruda._kernels.workspace import gate_scratch
from ruda.errors import ShapeError

_cells = kernel("cells")


def lstm_step(
    given: Array, product: Array, bias: Array, cell: Array, out: Array | None = None
) -> Array:
    """The hidden state after a step, float32 (batch, width); ``cell`` becomes the new cell state.

    ``given`` + (``product`` + ``bias``) are the four gates side by side, input, forget, output and
    cell: (batch, 4 · width), and ``bias`` (4 · width). c' = σ(f) · c + σ(i) · tanh(g) within 8 ulp
    of the sum of both magnitudes or 1e-37 · (1 + |c|), h' = σ(o) · tanh(c') within 12 ulp or 1e-37.
    A gate below 1e-37 may be 0, also where the state is infinite: 0 · ∞ is NaN.
    Raises DTypeError, ShapeError, LayoutError.
    """
    lines, target = _take(given, product, bias, 4, out)
    state = take_written(cell, "cell", target.shape, (F32,), target, *lines)
    if target.size:
        _cells.lstm(*lines, state, target, *gate_scratch())
    return target


def gru_step(
    given: Array, product: Array, bias: Array, hidden: Array, out: Array | None = None
) -> Array:
    """The hidden state after a step, float32 (batch, width), out of the one before.

    The three gates side by side are update, reset and new: (batch, 3 · width), ``bias``
    (3 · width). With z and r = σ(given + (product + bias)) and
    n = tanh(given + r · (product + bias)), h' = (1 - z) · n + z · h within 12 ulp of the sum of
    1, the size of h and that of r · (product + bias). Gates below 1e-37 are as in ``lstm_step``.
    Raises DTypeError, ShapeError, LayoutError.
    """
    lines, target = _take(given, product, bias, 3, out)
    state = take_plain(take_array(hidden, "hidden", (F32,)))
    if state.shape != target.shape:
        raise ShapeError(f"hidden has shape {state.shape}; expected {target.shape}")
    if out is not None:
        take_out(out, target.shape, (F32,), state)
    if target.size:
        _cells.gru(*lines, state, target, *gate_scratch())
    return target


def _take(
    given: Array, product: Array, bias: Array, gates: int, out: Array | None
) -> tuple[list[Array], Array]:
    """The operands as the kernels take them, and where the result goes."""
    lines = [
        take_plain(take_array(values, name, (F32,)))
        for name, values in (("given", given), ("product", product), ("bias", bias))
    ]
    shape = lines[0].shape
    if len(shape) != 2 or shape[1] % gates:
        raise ShapeError(f"given has shape {shape}; expected (batch, {gates} · width)")
    if lines[1].shape != shape:
        raise ShapeError(f"product has shape {lines[1].shape}; expected {shape}")
    if lines[2].shape != shape[1:]:
        raise ShapeError(f"bias has shape {lines[2].shape}; expected ({shape[1]},)")
    return lines, take_out(out, (shape[0], shape[1] // gates), (F32,), *lines)
