from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruda.errors import SettingError
from ruda.progress import Cancelled
from ruda.store import (
    CastPolicy,
    Likeness,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    compare,
    convert,
    open_store,
    position_of,
    save,
)
from ruda.store.piecewise import blocks
from ruda.tensor import DType, Tolerance


def index(**arrays):
    made = [TensorSnapshot.from_array(key, np.asarray(value)) for key, value in arrays.items()]
    return TensorIndex.of(made, format="memory")


F = np.float32
ROWS = [
    pytest.param({"a": F(1)}, {"a": F(1)}, "same", "", id="same"),
    pytest.param({"a": F(1)}, {"a": F(2)}, "changed", "1 of 1 values differ", id="a value"),
    pytest.param(
        {"a": np.zeros((2, 3))}, {"a": np.zeros((3, 2))}, "changed", "[2, 3] and [3, 2]", id="shape"
    ),
    pytest.param({"a": F(1)}, {"a": np.float64(1)}, "changed", "dtype f32 and f64", id="dtype"),
    pytest.param({"a": F(1)}, {}, "only left", "", id="left"),
    pytest.param({}, {"a": F(1)}, "only right", "", id="right"),
    pytest.param({"a": np.zeros((0, 3))}, {"a": np.zeros((0, 3))}, "same", "", id="empty"),
]


@pytest.mark.parametrize(("left", "right", "status", "reason"), ROWS)
def test_one_key(left, right, status, reason):
    (row,) = compare(index(**left), index(**right), values=True).rows
    assert row.likeness.value == status
    assert reason in row.reason


def test_headers_alone_do_not_say_that_values_are_the_same():
    report = compare(index(a=F(1)), index(a=F(2)))
    assert report.is_same
    assert "values were not compared" in report.summary
    assert report.rows[0].deviation is None


def test_headers_alone_read_no_value():
    class Unread:
        def read(self):
            raise AssertionError("read")

    snapshot = TensorSnapshot("a", DType.F32, (2,), 8, Unread())
    both = TensorIndex.of([snapshot], format="memory")
    assert compare(both, both).is_same


def test_order_is_the_left_then_the_rest_of_the_right():
    report = compare(index(b=F(1), a=F(1)), index(z=F(1), a=F(1), c=F(1)))
    assert [row.key for row in report.rows] == ["b", "a", "z", "c"]
    assert report.counts == {
        Likeness.SAME: 1,
        Likeness.CHANGED: 0,
        Likeness.LEFT: 1,
        Likeness.RIGHT: 2,
    }


def test_a_recipe_on_either_side_brings_keys_together():
    prefixed = index(**{"module.a": F(1)})
    recipe = Recipe().with_rule(r"^module\.", "")
    assert compare(prefixed, index(a=F(1)), recipe_left=recipe, values=True).is_same
    assert compare(index(a=F(1)), prefixed, recipe_right=recipe, values=True).is_same


def test_another_dtype_alone_may_be_excused():
    left = index(a=np.array([1.0, 2.0], F))
    right = convert(left, recipe=Recipe().with_cast(CastPolicy.every(DType.BF16)))
    assert not compare(left, right, values=True).is_same
    report = compare(left, right, values=True, any_dtype=True)
    assert report.is_same
    assert report.rows[0].reason == "dtype f32 and bf16"


def test_tolerances_say_what_they_excuse():
    left, right = index(a=np.array([1.0, 2.0])), index(a=np.array([1.0, 2.001]))
    report = compare(left, right, values=True, tolerance=Tolerance.rel_abs(0.0, 0.01))
    assert report.is_same
    assert "1 of 2 values differ, 0 beyond the tolerance" in report.rows[0].reason


def test_values_are_compared_in_blocks():
    size = (1 << 20) + 5
    left, right = np.zeros(size, F), np.zeros(size, F)
    right[-1] = 1
    (row,) = compare(index(a=left), index(a=right), values=True).rows
    assert row.deviation is not None
    assert row.deviation.numel == size
    assert [spot.offset for spot in row.deviation.first] == [size - 1]


def test_packed_values_are_compared_as_bytes():
    def packed(*values):
        raw = np.array(values, "u1")
        made = TensorSnapshot(
            "a", DType.F4_E2M1, (4,), 2, TensorSnapshot.from_array("a", raw).source
        )
        return TensorIndex.of([made], format="memory")

    assert compare(packed(1, 2), packed(1, 2), values=True).is_same
    (row,) = compare(packed(1, 2), packed(1, 3), values=True).rows
    assert row.reason == "other bytes (f4_e2m1 is compared as bytes)"
    (row,) = compare(packed(1, 2), index(a=np.zeros(4)), values=True).rows
    assert "values not compared" in row.reason


def test_places_are_positions_along_the_axes():
    assert position_of(7, (2, 3, 4)) == [0, 1, 3]
    assert position_of(0, ()) == []


def test_the_report_is_json_whatever_the_values():
    left = index(a=np.array([np.nan, np.inf, 1e308]))
    right = index(a=np.array([1.0, -np.inf, -1e308]))
    data = compare(left, right, values=True).as_data()
    text = json.dumps(data, allow_nan=False)
    assert json.loads(text)["rows"][0]["values"]["first"][0] == {
        "position": [0],
        "left": "nan",
        "right": 1.0,
    }


def test_a_tolerance_needs_values():
    with pytest.raises(SettingError, match="a tolerance is for values"):
        compare(index(), index(), ulp=1)
    with pytest.raises(SettingError, match="not negative, got -1"):
        compare(index(), index(), values=True, ulp=-1)


def test_it_can_be_stopped():
    class Stop:
        def report(self, progress):
            raise AssertionError("not reached")

        def check(self):
            raise Cancelled

    with pytest.raises(Cancelled, match=r"^$"):
        compare(index(a=F(1)), index(a=F(1)), monitor=Stop())


def test_files_of_two_formats_hold_the_same(tmp_path):
    made = index(a=np.arange(6, dtype=F).reshape(2, 3), b=np.array(3))
    save(made, tmp_path / "x.safetensors")
    save(made, tmp_path / "x.bpk")
    with open_store(tmp_path / "x.safetensors") as a, open_store(tmp_path / "x.bpk") as b:
        report = compare(a, b, values=True)
    assert report.is_same
    assert "x.safetensors and x.bpk" in str(report)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_blocks_have_whole_values_however_the_bytes_come(size):
    class Crumbs:
        def read(self):
            raise AssertionError("streams")

        def stream(self, _):
            raw = np.arange(10, dtype="<f8").tobytes()
            for start in range(0, len(raw), 3):
                yield memoryview(raw)[start : start + 3]

    snapshot = TensorSnapshot("a", DType.F64, (10,), 80, Crumbs())
    found = list(blocks(snapshot, size))
    assert all(len(block) == size for block in found[:-1])
    assert np.concatenate(found).tolist() == list(range(10))


ARRAYS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]),
    st.lists(st.floats(width=32), min_size=0, max_size=3).map(lambda v: np.array(v, F)),
)


@settings(deadline=None)
@given(ARRAYS)
def test_nothing_differs_from_itself(arrays):
    assert compare(index(**arrays), index(**arrays), values=True).is_same


MIRROR = {
    Likeness.LEFT: Likeness.RIGHT,
    Likeness.RIGHT: Likeness.LEFT,
    Likeness.SAME: Likeness.SAME,
    Likeness.CHANGED: Likeness.CHANGED,
}


@settings(deadline=None)
@given(ARRAYS, ARRAYS)
def test_sides_mirror(one, other):
    there = compare(index(**one), index(**other), values=True)
    back = {row.key: row for row in compare(index(**other), index(**one), values=True).rows}
    for row in there.rows:
        assert back[row.key].likeness is MIRROR[row.likeness]
        if row.deviation is not None:
            found, again = row.deviation, back[row.key].deviation
            assert (found.changed, found.max_absolute, found.max_ulp, found.cosine) == (
                again.changed,
                again.max_absolute,
                again.max_ulp,
                again.cosine,
            )


def test_a_comparison_asks_no_target_and_claims_nothing_about_one() -> None:
    layer = index(**{"fc.weight": np.zeros((2, 3)), "fc.bias": np.zeros(2)})
    report = compare(layer, layer, recipe_left=Recipe(adapt=("pytorch-to-ruda",)))
    assert report.notes == ("left: kinds of module inferred from names and shapes: 1 Linear",)
