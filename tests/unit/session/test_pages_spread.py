import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import DTypeError
from ruda.progress import Cancelled
from ruda.session import Fact, inspector_page, scan_spread, scan_tensor
from ruda.session.pages import spread as room
from ruda.store import TensorSnapshot
from ruda.tensor import DType

THOUSANDTHS = (1, 10, 500, 990, 999)


def of(array, key="fc.weight"):
    return TensorSnapshot.from_array(key, array)


def expected(values):
    """The definition: the least value that so many of all are no larger than."""
    ordered = np.sort(values.astype(np.float64).reshape(-1))
    return tuple(
        float(next(v for at, v in enumerate(ordered, 1) if at * 1000 >= part * ordered.size))
        for part in THOUSANDTHS
    )


@pytest.fixture
def run_by_run(monkeypatch):
    monkeypatch.setattr(room, "SORTED_BYTES", 0)
    monkeypatch.setattr(room, "RUN", 100)


DTYPES = [
    "<f8",
    "<f4",
    "<f2",
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    "i1",
    "u1",
    "<i4",
    "<i8",
]


def values_of(dtype, count=997):
    drawn = np.random.default_rng(5).standard_normal(count) * 40
    return (
        drawn.astype("f4").astype(dtype)
        if np.dtype(dtype).kind != "u"
        else np.abs(drawn).astype(dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_percentiles_are_values_of_the_tensor(dtype):
    values = values_of(dtype)
    found = scan_spread(of(values))
    assert found.percentiles == expected(values)
    assert found.exact


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_those_of_a_large_tensor_are_near_and_say_so(dtype, run_by_run):
    values = values_of(dtype)
    found = scan_spread(of(values))
    assert found.percentiles == pytest.approx(expected(values), rel=1 / 256)
    few_digits = np.dtype(dtype).itemsize == 1 or dtype is ml_dtypes.bfloat16
    few_digits |= np.dtype(dtype).kind == "i"  # no more than three decimals here
    assert found.exact == few_digits
    if found.exact:
        assert found.percentiles == expected(values)


def test_what_is_not_finite_has_no_place(run_by_run):
    values = np.array([np.nan, np.inf, -np.inf, 2.0, -3.0, -0.0], "f4")
    assert scan_spread(of(values)).percentiles == (-3.0, -3.0, -0.0, 2.0, 2.0)
    none = scan_spread(of(np.array([np.nan, np.inf], "f4")))
    assert (none.percentiles, none.exact) == ((), True)
    assert scan_spread(of(np.zeros((0, 3), "f4"))).percentiles == ()


def test_large_integers_are_near_only(run_by_run):
    values = np.full(10, (1 << 53) + 1, "<i8")
    found = scan_spread(of(values))
    assert not found.exact
    assert found.percentiles == pytest.approx((float(1 << 53),) * 5, rel=1 / 256)


def test_values_beyond_f32_are_counted_at_its_end(run_by_run):
    found = scan_spread(of(np.array([1e300, -1e300, 1.0], "<f8")))
    assert not found.exact
    assert found.percentiles[0] == pytest.approx(-3.4e38, rel=0.01)


@pytest.mark.parametrize("sorted_bytes", [0, 1 << 20], ids=["large", "small"])
@pytest.mark.parametrize(
    ("values", "count"),
    [
        (np.array([1e-40, -1e-40, 0.0, 1.2e-38, np.nan], "f4"), 2),
        (np.array([6e-8, 6.2e-5, -6e-5], "f2"), 2),
        (np.array([1e-39, 1.0], "f4").astype(ml_dtypes.bfloat16), 1),
        (np.array([5e-324, 1e-40], "<f8"), 1),
        (np.array([1, 0], "i4"), None),
    ],
    ids=["f32", "f16", "bf16", "f64", "i32"],
)
def test_subnormal_values_are_counted(values, count, sorted_bytes, monkeypatch):
    monkeypatch.setattr(room, "SORTED_BYTES", sorted_bytes)
    assert scan_spread(of(values)).subnormals == count


def test_bools_and_what_has_no_order():
    found = scan_spread(of(np.array([True, False])))
    assert (found.percentiles, found.subnormals) == ((), None)
    with pytest.raises(DTypeError, match=r"fc.weight: c64 has no order"):
        scan_spread(of(np.zeros(3, "c8")))


def test_a_large_tensor_is_read_run_by_run_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(room, "SORTED_BYTES", 1 << 20)
    monkeypatch.setattr(room, "RUN", 1 << 14)
    snapshot = of(np.random.default_rng(1).standard_normal(1 << 23).astype("f4"))
    tracemalloc.start()
    found = scan_spread(snapshot)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.percentiles[2] == pytest.approx(0.0, abs=0.01)
    assert peak < 16 << 20, peak

    class Stop:
        checks = 0

        def report(self, progress):
            pass

        def check(self):
            self.checks += 1
            if self.checks > 3:
                raise Cancelled

    with pytest.raises(Cancelled):
        scan_spread(snapshot, monitor=Stop())


def test_the_inspector_says_them():
    values = np.linspace(-1, 1, 2001).astype("f4")
    values[:2] = np.nan, -np.inf
    values[1000] = 1e-42
    snapshot = of(values)
    page = inspector_page(snapshot, scan_tensor(snapshot), scan_spread(snapshot))
    assert page.statistics[2:] == (
        Fact("median", "0.001"),
        Fact("p1, p99", "-0.979, 0.981"),
        Fact("p0.1, p99.9", "-0.997, 0.999"),
        Fact("zeros", "0"),
        Fact("subnormal", "1"),
        Fact("NaN, +∞, −∞", "1, 0, 1"),
    )


def test_what_is_near_only_is_said_to_be(run_by_run):
    snapshot = of(np.linspace(-1, 1, 2001).astype("f4"))
    page = inspector_page(snapshot, scan_tensor(snapshot), scan_spread(snapshot))
    assert Fact("p1, p99", "≈ -0.98, ≈ 0.98") in page.statistics
    assert DType.F32.is_float
