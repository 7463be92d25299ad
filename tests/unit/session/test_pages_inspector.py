from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import DTypeError
from ruda.session import Fact, inspector_page, scan_tensor, values_page
from ruda.store import TensorSnapshot
from ruda.store.snapshot import Origin
from ruda.tensor import DType


def of(array, key="fc.weight", **fields):
    return replace(TensorSnapshot.from_array(key, array), **fields)


def facts(page):
    return {fact.label: fact.text for fact in page.facts}


def test_facts_of_a_tensor_in_a_file():
    snapshot = of(
        np.zeros((10, 64), "f4"),
        origin=Origin(Path("d/model.bpk"), 512, 2560),
        containers=("Struct:Model", "Struct:Linear"),
        shared_with="head.weight",
    )
    assert facts(inspector_page(snapshot)) == {
        "shape": "[10, 64]",
        "type": "f32, 640 values, 2.56 kB",
        "module": "Linear",
        "shares memory with": "head.weight",
        "file": "model.bpk",
        "offset": "512, aligned to 512",
    }


def test_facts_after_a_recipe_tell_before_and_after():
    source = of(np.zeros((10, 64), "f4"), key="module.fc.weight")
    made = of(np.zeros((64, 10), "f2"), trail=("rename", "transpose 1,0", "cast f16"))
    found = facts(inspector_page(made, source=source))
    assert found["from"] == "module.fc.weight"
    assert found["shape"] == "[10, 64] → [64, 10]"
    assert found["type"] == "f32 → f16, 640 values, 1.28 kB"
    assert found["step"] == "rename · transpose 1,0 · cast f16"


def test_statistics_come_with_their_findings():
    values = np.array([-1.0, 0.0, 0.5, np.nan, np.inf, -np.inf], "f4")
    snapshot = of(values)
    page = inspector_page(snapshot, scan_tensor(snapshot, bins=4))
    assert page.statistics[0] == Fact("min, max", "-1, 0.5")
    assert page.statistics[2] == Fact("zeros", "1 (16.6 %)")
    assert page.statistics[3] == Fact("NaN, +∞, −∞", "1, 1, 1")
    assert page.findings == ("1 value NaN", "2 values infinite")
    assert page.histogram.counts == (1, 0, 1, 1)
    assert page.histogram.caption == "Distribution, 4 bins"


def test_a_constant_tensor_is_a_finding():
    snapshot = of(np.full((4,), 2.0, "f4"))
    assert inspector_page(snapshot, scan_tensor(snapshot)).findings == (
        "constant: every value is 2",
    )


NOTHING = [
    pytest.param(np.zeros((0, 3), "f4"), "empty tensor", id="empty"),
    pytest.param(np.full((2,), np.nan, "f4"), "none are finite", id="all nan"),
]


@pytest.mark.parametrize(("array", "said"), NOTHING)
def test_tensors_without_a_finite_value(array, said):
    snapshot = of(array)
    page = inspector_page(snapshot, scan_tensor(snapshot))
    assert page.statistics[0] == Fact("values", said)
    assert page.histogram is None


def test_large_tensors_ask_first():
    snapshot = of(np.zeros((1000,), "f4"))
    page = inspector_page(snapshot, limit=3999)
    assert page.asks_first
    assert page.scan_label == "Compute (4.00 kB)"
    assert not inspector_page(snapshot, limit=4000).asks_first


def test_complex_values_are_not_scanned():
    snapshot = of(np.zeros((2,), "c8"))
    assert not inspector_page(snapshot).can_scan
    with pytest.raises(DTypeError, match=r"fc.weight: c64 has no order"):
        scan_tensor(snapshot)
    with pytest.raises(DTypeError, match="c64 has no values that a heat map"):
        values_page(np.zeros((2,), "c8"), DType.C64)


PLANES = [
    pytest.param(np.float32(3.0).reshape(()), (1, 1), id="scalar"),
    pytest.param(np.zeros((5,), "f4"), (1, 5), id="one axis"),
    pytest.param(np.zeros((4, 3), "f4"), (4, 3), id="two axes"),
    pytest.param(np.zeros((4, 2, 3, 3), "f4"), (4, 18), id="four axes"),
    pytest.param(np.zeros((0, 3), "f4"), (0, 0), id="empty"),
    pytest.param(np.zeros((4, 3), ml_dtypes.bfloat16), (4, 3), id="bf16"),
    pytest.param(np.zeros((4, 3), "?"), (4, 3), id="bool"),
]


@pytest.mark.parametrize(("array", "shape"), PLANES)
def test_small_tensors_are_shown_value_by_value(array, shape):
    page = values_page(array, DType.from_numpy(array.dtype))
    assert page.grid.shape == shape
    assert page.exact


def test_the_largest_magnitude_of_a_cell_survives():
    array = np.zeros((100, 90), "f4")
    array[37, 41], array[98, 0], array[0, 89] = -5.0, 2.0, np.nan
    page = values_page(array, DType.F32, rows=10, columns=9)
    assert page.grid.shape == (10, 9)
    assert (page.grid[3, 4], page.grid[9, 0], page.absmax) == (-5.0, 2.0, 5.0)
    assert page.nonfinite.sum() == 1
    assert page.nonfinite[0, 8]
    assert page.caption == "Values, 100 × 90, largest magnitude per cell"
    assert not page.exact


def test_rows_that_do_not_divide_evenly_lose_nothing():
    array = np.arange(7 * 5, dtype="f4").reshape(7, 5)
    page = values_page(array, DType.F32, rows=3, columns=2)
    np.testing.assert_array_equal(page.grid, [[6, 9], [16, 19], [31, 34]])
