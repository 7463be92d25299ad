"""Steps of LSTM and GRU against their definitions in float64, within the bounds they state."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ruda._kernels import gru_step, lstm_step
from ruda.errors import DTypeError, LayoutError, RudaError, ShapeError

pytestmark = pytest.mark.usefixtures("variant")

LAWS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
EPSILON = 2.0**-23
TINY = 1e-37
SHAPES = [(1, 1), (2, 3), (3, 17), (1, 511), (2, 513), (1, 1100)]


def sigmoid(x: NDArray) -> NDArray:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def undecided(gate: NDArray, values: NDArray) -> NDArray:
    """Where a gate may be too small for float32 and so make NaN of an infinity."""
    return (gate < TINY) & np.isinf(values)


def operands(batch: int, width: int, gates: int, spread: float = 3.0) -> list[NDArray]:
    rng = np.random.default_rng(width)
    shapes = [(batch, gates * width), (batch, gates * width), (gates * width,), (batch, width)]
    return [(rng.standard_normal(shape) * spread).astype(np.float32) for shape in shapes]


def check_lstm(given_: NDArray, product: NDArray, bias: NDArray, cell: NDArray) -> None:
    width = cell.shape[1]
    with np.errstate(all="ignore"):
        total = (given_ + (product + bias)).astype(np.float64)
        enter, forget, leave = (sigmoid(total[:, at * width : (at + 1) * width]) for at in range(3))
        kept, new = forget * cell, enter * np.tanh(total[:, 3 * width :])
    state = cell.copy()
    hidden = lstm_step(given_, product, bias, state)
    with np.errstate(all="ignore"):
        room = 8 * EPSILON * (abs(kept) + abs(new)) + TINY * (1 + abs(cell))
        sure = ~undecided(forget, cell)
        np.testing.assert_array_equal(np.isnan(state)[sure], np.isnan(kept + new)[sure])
        assert (abs(state - (kept + new)) <= room)[np.isfinite(kept + new)].all()
        expected = leave * np.tanh(state.astype(np.float64))
        np.testing.assert_array_equal(np.isnan(hidden), np.isnan(expected))
        good = np.isfinite(expected)
        assert (abs(hidden - expected) <= 12 * EPSILON * abs(expected) + TINY)[good].all()


def check_gru(given_: NDArray, product: NDArray, bias: NDArray, hidden: NDArray) -> None:
    width = hidden.shape[1]
    with np.errstate(all="ignore"):
        total = (given_ + (product + bias)).astype(np.float64)
        update, reset = sigmoid(total[:, :width]), sigmoid(total[:, width : 2 * width])
        inner = (product[:, 2 * width :] + bias[2 * width :]).astype(np.float64)
        new = np.tanh(given_[:, 2 * width :] + reset * inner)
        expected = (1 - update) * new + update * hidden
        got = gru_step(given_, product, bias, hidden)
        sure = ~(undecided(update, hidden) | undecided(reset, inner))
        np.testing.assert_array_equal(np.isnan(got)[sure], np.isnan(expected)[sure])
        room = 12 * EPSILON * (1 + abs(hidden) + abs(reset * inner))
        assert (abs(got - expected) <= room)[np.isfinite(expected) & np.isfinite(room)].all()


@pytest.mark.parametrize(("batch", "width"), SHAPES, ids=str)
@pytest.mark.parametrize("spread", [1e-3, 1.0, 50.0])
def test_a_step_is_its_formula(batch: int, width: int, spread: float) -> None:
    check_lstm(*operands(batch, width, 4, spread))
    check_gru(*operands(batch, width, 3, spread))


sizes = st.tuples(st.integers(1, 3), st.integers(1, 5))
floats = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=True)


def test_a_gate_too_small_for_float32_beside_an_infinity() -> None:
    one = np.zeros((1, 3), np.float32)
    check_gru(one, one, np.full(3, -89, np.float32), np.full((1, 1), np.inf, np.float32))
    four = np.zeros((1, 4), np.float32)
    check_lstm(four, four, np.full(4, -89, np.float32), np.full((1, 1), np.inf, np.float32))


@LAWS
@given(data=st.data(), size=sizes)
def test_any_float_goes_in(data: st.DataObject, size: tuple[int, int]) -> None:
    batch, width = size
    for gates, check in ((4, check_lstm), (3, check_gru)):
        shapes = [(batch, gates * width), (batch, gates * width), (gates * width,), (batch, width)]
        check(*(data.draw(arrays(np.float32, shape, elements=floats)) for shape in shapes))


def test_the_cell_state_becomes_the_new_one_and_out_is_given_back() -> None:
    given_, product, bias, cell = operands(2, 5, 4)
    before, out = cell.copy(), np.empty((2, 5), np.float32)
    assert lstm_step(given_, product, bias, cell, out) is out
    assert (cell != before).all()


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)], ids=str)
def test_nothing_gives_nothing(shape: tuple[int, int]) -> None:
    batch, width = shape
    assert lstm_step(*operands(batch, width, 4)).shape == shape
    assert gru_step(*operands(batch, width, 3)).shape == shape


def test_any_layout_gives_the_same_result(lay: Callable[[NDArray], NDArray]) -> None:
    given_, product, bias, cell = operands(4, 6, 4)
    first, second = cell.copy(), cell.copy()
    np.testing.assert_array_equal(
        lstm_step(lay(given_), lay(product), lay(bias), first),
        lstm_step(given_, product, bias, second),
    )
    np.testing.assert_array_equal(first, second)
    three = [values[..., :18].copy() for values in (given_, product, bias)]
    np.testing.assert_array_equal(
        gru_step(*(lay(values) for values in three), lay(cell)), gru_step(*three, cell)
    )


def test_bad_outputs_are_refused(bad_out: tuple[Callable[[NDArray], NDArray], str]) -> None:
    lay, message = bad_out
    given_, product, bias, cell = operands(4, 6, 4)
    out = np.zeros((4, 6), np.float32)
    with pytest.raises(LayoutError, match=f"out .*{message}"):
        lstm_step(given_, product, bias, cell, lay(out))
    with pytest.raises(LayoutError, match=f"cell .*{message}"):
        lstm_step(given_, product, bias, lay(cell))
    with pytest.raises(LayoutError, match=f"out .*{message}"):
        gru_step(given_[:, :18], product[:, :18], bias[:18], cell, lay(out))


REFUSED = [
    pytest.param(
        0, lambda a: a.astype(np.float64), DTypeError, "given has dtype float64", id="f64"
    ),
    pytest.param(0, lambda a: a[0], ShapeError, r"expected \(batch, 4 · width\)", id="one axis"),
    pytest.param(0, lambda a: a[:, 1:], ShapeError, r"expected \(batch, 4 · width\)", id="odd"),
    pytest.param(1, lambda a: a[:, 1:], ShapeError, "product has shape", id="product"),
    pytest.param(
        2, lambda a: a[1:], ShapeError, r"bias has shape \(11,\); expected \(12,\)", id="bias"
    ),
    pytest.param(3, lambda a: a[:, 1:], ShapeError, "cell has shape", id="cell"),
    pytest.param(3, lambda a: a.tolist(), DTypeError, "cell is a list", id="list"),
]


@pytest.mark.parametrize(("which", "spoil", "error", "message"), REFUSED)
def test_refused(
    which: int, spoil: Callable[[NDArray], NDArray], error: type[RudaError], message: str
) -> None:
    parts = operands(2, 3, 4)
    parts[which] = spoil(parts[which])
    with pytest.raises(error, match=message):
        lstm_step(*parts)


def test_a_hidden_state_of_another_size_and_an_overlap_are_refused() -> None:
    given_, product, bias, hidden = operands(2, 3, 3)
    with pytest.raises(ShapeError, match=r"hidden has shape \(2, 2\); expected \(2, 3\)"):
        gru_step(given_, product, bias, hidden[:, 1:])
    with pytest.raises(LayoutError, match="out shares memory with the input"):
        gru_step(given_, product, bias, hidden, hidden)
