from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DecisionError, RecipeError
from ruda.store import TensorIndex, TensorSnapshot, open_store, save
from ruda.store.decisions import (
    Action,
    Change,
    Decision,
    Pad,
    Reshape,
    Slice,
    Take,
    Transpose,
    require_compatible,
)
from ruda.store.filerange import FileRange
from ruda.store.piecewise import blocks
from ruda.store.shaping import ShapedAdapter, changed
from ruda.tensor import DType

VALUES = np.arange(24, dtype="<f4").reshape(2, 3, 4)

CHANGES = [
    pytest.param(Transpose((0, 1, 2)), VALUES, (), id="no change"),
    pytest.param(
        Transpose((0, 2, 1)), VALUES.transpose(0, 2, 1), ("transpose 0,2,1",), id="two axes"
    ),
    pytest.param(
        Transpose((2, 0, 1)), VALUES.transpose(2, 0, 1), ("transpose 2,0,1",), id="three axes"
    ),
    pytest.param(Slice(0, 1, 2), VALUES[1:2], ("slice 0 1:2",), id="rows"),
    pytest.param(Slice(2, 1, 3), VALUES[:, :, 1:3], ("slice 2 1:3",), id="columns"),
    pytest.param(
        Pad(0, 1, 2, 0.5),
        np.pad(VALUES, ((1, 2), (0, 0), (0, 0)), constant_values=0.5),
        ("pad 0 1:2 0.5",),
        id="padded rows",
    ),
    pytest.param(
        Pad(1, 0, 1, -1),
        np.pad(VALUES, ((0, 0), (0, 1), (0, 0)), constant_values=-1),
        ("pad 1 0:1 -1",),
        id="padded inside",
    ),
    pytest.param(Reshape((4, 6)), VALUES.reshape(4, 6), ("reshape 4,6",), id="reshaped"),
]


@pytest.mark.parametrize(("change", "expected", "trail"), CHANGES)
def test_changes_are_numpys(change: Change, expected: np.ndarray, trail: tuple[str, ...]) -> None:
    found = changed(TensorSnapshot.from_array("w", VALUES), change)
    assert found.shape == expected.shape
    assert found.trail == trail
    np.testing.assert_array_equal(found.read(), expected)
    streamed = np.concatenate([block.copy() for block in blocks(found, 5)])
    np.testing.assert_array_equal(streamed, expected.reshape(-1))


def test_a_cut_of_rows_reads_nothing_else_of_the_file(tmp_path: Path) -> None:
    values = np.arange(4000, dtype="<f4").reshape(1000, 4)
    path = tmp_path / "w.safetensors"
    save(TensorIndex.of([TensorSnapshot.from_array("w", values)], format="test"), path)
    with open_store(path) as index:
        found = changed(changed(index["w"], Slice(0, 10, 900)), Slice(0, 2, 5))
        source = found.source
        assert isinstance(source, FileRange)
        before = source.file.bytes_read
        np.testing.assert_array_equal(found.read(), values[12:15])
        assert source.file.bytes_read - before == 48
        assert found.trail == ("slice 0 10:900", "slice 0 2:5")
        assert b"".join(map(bytes, found.chunks(7))) == values[12:15].tobytes()


def test_a_matrix_is_transposed_as_by_an_adapter() -> None:
    matrix = TensorSnapshot.from_array("w", np.arange(6, dtype="<f2").reshape(2, 3))
    found = changed(matrix, Transpose((1, 0)))
    assert found.trail == ("transpose 1,0",)
    np.testing.assert_array_equal(found.read(), matrix.read().T)


IMPOSSIBLE = [
    pytest.param(Transpose((1, 0)), r"it has 3 axes, \[2, 3, 4\], not 2", id="rank"),
    pytest.param(Slice(0, 0, 3), "axis 0 ends at 2", id="beyond the end"),
    pytest.param(Slice(3, 0, 1), r"it has 3 axes, \[2, 3, 4\]", id="no such axis"),
    pytest.param(Pad(5, 0, 1, 0), r"it has 3 axes, \[2, 3, 4\]", id="no axis to pad"),
    pytest.param(Pad(0, 0, 1, 1e300), r"f32 cannot hold 1e\+300", id="too large"),
    pytest.param(Reshape((5,)), r"\[2, 3, 4\] has 24 elements, not 5", id="count"),
]


@pytest.mark.parametrize(("change", "message"), IMPOSSIBLE)
def test_what_cannot_be_done_says_why(change: Change, message: str) -> None:
    with pytest.raises(DecisionError, match=f"'w': the decision .* cannot be done: {message}"):
        changed(TensorSnapshot.from_array("w", VALUES), change)


INTEGERS = [
    pytest.param("u1", 255, True, id="fits"),
    pytest.param("u1", 256, False, id="too large"),
    pytest.param("i2", -32768, True, id="smallest"),
    pytest.param("i4", 0.5, False, id="fraction"),
    pytest.param("?", 1, True, id="true"),
    pytest.param("?", 2, False, id="no bool"),
    pytest.param("c8", 0.5, True, id="complex"),
    pytest.param("c8", 1e300, False, id="complex, too large"),
    pytest.param("c8", 1e-300, False, id="complex, too small"),
]


@pytest.mark.parametrize(("dtype", "value", "fits"), INTEGERS)
def test_a_padded_value_is_held_exactly(dtype: str, value: float, fits: bool) -> None:
    snapshot = TensorSnapshot.from_array("w", np.zeros(2, dtype))
    if fits:
        np.testing.assert_array_equal(
            changed(snapshot, Pad(0, 0, 1, value)).read(), np.array([0, 0, value]).astype(dtype)
        )
    else:
        with pytest.raises(DecisionError, match=re.escape(f"cannot hold {value!r}")):
            changed(snapshot, Pad(0, 0, 1, value))


def test_values_that_share_bytes_are_left_alone() -> None:
    packed = TensorSnapshot.from_array("w", np.zeros(4, "u1"), dtype=DType.F4_E2M1)
    with pytest.raises(DecisionError, match="f4_e2m1 values share bytes or a scale"):
        changed(packed, Reshape((2, 2)))


def test_a_scaled_tensor_is_not_parted_from_its_scale() -> None:
    adapter = ShapedAdapter({"w": (Slice(0, 0, 1),)}, {"w": "w_scale"})
    with pytest.raises(DecisionError, match="'w': 'slice 0 0:1' would part it from the scale"):
        adapter.adapt(TensorSnapshot.from_array("w", VALUES))


def test_changes_are_done_in_their_order() -> None:
    adapter = ShapedAdapter({"w": (Slice(2, 0, 2), Reshape((3, 4)))}, {})
    found = adapter.adapt(TensorSnapshot.from_array("w", VALUES))
    np.testing.assert_array_equal(found.read(), VALUES[:, :, :2].reshape(3, 4))
    assert found.trail == ("slice 2 0:2", "reshape 3,4")
    other = TensorSnapshot.from_array("x", VALUES)
    assert adapter.adapt(other) is other


BAD = [
    pytest.param(lambda: Transpose((0, 0)), "transpose needs every axis once", id="axis twice"),
    pytest.param(lambda: Transpose((0,)), "transpose needs every axis once", id="one axis"),
    pytest.param(lambda: Slice(0, 2, 2), "slice needs an axis and START:STOP", id="empty slice"),
    pytest.param(lambda: Slice(-1, 0, 2), "slice needs an axis and START:STOP", id="axis -1"),
    pytest.param(lambda: Pad(0, 0, 0, 1), "pad needs an axis and BEFORE:AFTER", id="no padding"),
    pytest.param(lambda: Pad(0, 0, 1, float("nan")), "a finite value, not with nan", id="nan"),
    pytest.param(lambda: Pad(0, 0, 1, 10**400), "not with a number beyond f64", id="huge"),
    pytest.param(lambda: Reshape((-1, 2)), "reshape needs sizes from 0", id="-1"),
    pytest.param(lambda: Take("", "a"), "take needs a file and the key", id="no file"),
    pytest.param(lambda: Take("http://a/b", "k"), "not an address: http://a/b", id="address"),
    pytest.param(lambda: Decision("a", Action.SLICE), "slice needs to be told how", id="no change"),
    pytest.param(
        lambda: Decision("a", Action.SKIP, change=Reshape((1,))),
        "skip changes no shape",
        id="change of a skip",
    ),
]


@pytest.mark.parametrize(("make", "message"), BAD)
def test_bad_decisions_are_refused(make: object, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        make()  # type: ignore[operator]


TEXTS = [
    *("skip", "keep", "cast bf16", "clamp f16", "transpose 1,0", "slice 0 0:32000"),
    *("pad 0 0:2 0.5", "pad 1 1:0 -3", "reshape 10,1,3", "reshape []", "take 'a b.pt' k.w"),
]


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_decision_is_read_back(text: str) -> None:
    decision = Decision.parse("k", text)
    assert decision.text == text
    assert decision.key == "k"


BAD_TEXTS = [
    pytest.param("drop", "'drop' is no decision; write skip; keep", id="word"),
    pytest.param("slice 0", "'slice 0' is no decision", id="too few"),
    pytest.param("slice 0 5", "expected numbers as in START:STOP, got '5'", id="no range"),
    pytest.param("transpose x,y", "expected numbers as in 1,0, got 'x,y'", id="no numbers"),
    pytest.param("pad 0 0:1 much", "expected a number, got 'much'", id="no value"),
    pytest.param("cast f17", "'k': no dtype is called 'f17'", id="dtype"),
    pytest.param("take 'a", "is no decision", id="open quote"),
    pytest.param("", "is no decision", id="nothing"),
    pytest.param("reshape " + "9" * 5000, "expected numbers", id="many digits"),
]


@pytest.mark.parametrize(("text", "message"), BAD_TEXTS)
def test_bad_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Decision.parse("k", text)


@given(st.permutations(range(4)))
def test_the_reverse_of_a_transpose_takes_it_back(axes: list[int]) -> None:
    values = np.arange(2 * 3 * 5 * 7, dtype="<i4").reshape(2, 3, 5, 7)
    there = Decision.of("w", Transpose(tuple(axes)))
    back = there.reverse()
    snapshot = TensorSnapshot.from_array("w", values)
    assert there.change is not None
    assert back.change is not None
    np.testing.assert_array_equal(
        changed(changed(snapshot, there.change), back.change).read(), values
    )


NO_WAY_BACK = [
    pytest.param("slice 0 0:1", "a slice forgets what it cut off", id="slice"),
    pytest.param("pad 0 0:1 0", "nothing tells how long the axis was before", id="pad"),
    pytest.param("take f.pt w", "the tensor that was replaced is in no file", id="take"),
    pytest.param("skip", "what is left out is in no file", id="skip"),
    pytest.param("reshape 3", "nothing tells the shape before", id="reshape"),
]


@pytest.mark.parametrize(("text", "why"), NO_WAY_BACK)
def test_what_has_no_reverse_says_so(text: str, why: str) -> None:
    with pytest.raises(RecipeError, match=f"{text!r} of 'w' has no reverse: {why}"):
        Decision.parse("w", text).reverse()


EXCLUSIVE = [
    pytest.param(("skip", "keep"), id="skip and keep"),
    pytest.param(("skip", "slice 0 0:1"), id="skip and slice"),
    pytest.param(("keep", "cast f16"), id="two types"),
    pytest.param(("take a b", "take c d"), id="two files"),
]


@pytest.mark.parametrize("texts", EXCLUSIVE)
def test_decisions_that_exclude_each_other(texts: tuple[str, str]) -> None:
    with pytest.raises(RecipeError, match=f"two decisions for 'w': {texts[0]} and {texts[1]}"):
        require_compatible(Decision.parse("w", text) for text in texts)


def test_decisions_that_go_together() -> None:
    texts = ("take a b", "slice 0 0:1", "pad 1 0:1 0", "transpose 1,0", "cast f16")
    require_compatible(Decision.parse("w", text) for text in texts)
