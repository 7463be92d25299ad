from __future__ import annotations

import numpy as np
import pytest

from ruda.errors import SettingError
from ruda.store import HALF_MODULES, FloatCastAdapter, HalfPrecisionAdapter
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType


def snapshot(kind: str, dtype: DType = DType.F32) -> TensorSnapshot:
    container = kind if ":" in kind else f"Struct:{kind}"
    return TensorSnapshot.from_array(
        "a.weight",
        np.ones((2, 2), dtype.carrier),
        dtype=dtype,
        containers=("Struct:Model", container),
    )


CASTS = [
    pytest.param(HalfPrecisionAdapter(), "Linear", DType.F32, DType.F16, id="f32 to f16"),
    pytest.param(HalfPrecisionAdapter(DType.BF16), "Linear", DType.F32, DType.BF16, id="to bf16"),
    pytest.param(HalfPrecisionAdapter(), "BatchNorm", DType.F32, DType.F32, id="batch norm stays"),
    pytest.param(HalfPrecisionAdapter(), "Mine", DType.F32, DType.F32, id="your own stays"),
    pytest.param(HalfPrecisionAdapter(), "Linear", DType.F16, DType.F16, id="f16 is never widened"),
    pytest.param(HalfPrecisionAdapter(), "Linear", DType.BF16, DType.BF16, id="bf16 stays"),
    pytest.param(HalfPrecisionAdapter(), "Linear", DType.F64, DType.F64, id="f64 stays"),
    pytest.param(HalfPrecisionAdapter(), "Linear", DType.I64, DType.I64, id="integers stay"),
    pytest.param(HalfPrecisionAdapter(), "Linear", DType.FLEX32, DType.FLEX32, id="flex32 stays"),
    pytest.param(HalfPrecisionAdapter(DType.F32), "Linear", DType.F16, DType.F32, id="back"),
    pytest.param(HalfPrecisionAdapter(DType.F32), "Linear", DType.BF16, DType.F32, id="bf16 back"),
    pytest.param(HalfPrecisionAdapter(DType.F32), "Linear", DType.F32, DType.F32, id="back of f32"),
    pytest.param(
        HalfPrecisionAdapter().with_module("Mine"), "Mine", DType.F32, DType.F16, id="with"
    ),
    pytest.param(
        HalfPrecisionAdapter().with_module("Enum:Act"),
        "Enum:Act",
        DType.F32,
        DType.F16,
        id="with an enum",
    ),
    pytest.param(
        HalfPrecisionAdapter().without_module("Linear"),
        "Linear",
        DType.F32,
        DType.F32,
        id="without",
    ),
    pytest.param(FloatCastAdapter(DType.F32), "BatchNorm", DType.BF16, DType.F32, id="any kind"),
    pytest.param(FloatCastAdapter(DType.F16), "Mine", DType.F64, DType.F16, id="any float"),
    pytest.param(FloatCastAdapter(DType.F16), "Mine", DType.I32, DType.I32, id="no integer"),
    pytest.param(FloatCastAdapter(DType.F16), "Mine", DType.BOOL, DType.BOOL, id="no bool"),
    pytest.param(
        FloatCastAdapter(DType.F32),
        "Mine",
        DType.F8_E4M3FN,
        DType.F8_E4M3FN,
        id="fp8 needs its scale",
    ),
    pytest.param(
        FloatCastAdapter(DType.F16, frozenset({"BatchNorm"})),
        "BatchNorm",
        DType.F32,
        DType.F32,
        id="kept kind",
    ),
]


@pytest.mark.parametrize(("adapter", "kind", "before", "after"), CASTS)
def test_cast(
    adapter: HalfPrecisionAdapter | FloatCastAdapter, kind: str, before: DType, after: DType
) -> None:
    given = snapshot(kind, before)
    made = adapter.adapt(given)
    assert made.dtype is after
    assert made.read().dtype == after.carrier
    assert made.nbytes == made.read().nbytes
    assert made.trail == (() if before is after else (f"cast {after}",))


def test_default_set_is_rudas() -> None:
    assert len(HALF_MODULES) == 14
    assert "BatchNorm" not in HALF_MODULES


def test_without_a_module_that_is_no_module() -> None:
    with pytest.raises(SettingError, match=r"no kind of module is called 'Linaer'.*'Linear'"):
        HalfPrecisionAdapter().without_module("Linaer")


def test_without_a_module_that_is_out_already_is_fine() -> None:
    assert HalfPrecisionAdapter().without_module("BatchNorm") == HalfPrecisionAdapter()


@pytest.mark.parametrize("dtype", [DType.F64, DType.I32, DType.F8_E5M2])
def test_half_is_f16_or_bf16(dtype: DType) -> None:
    with pytest.raises(SettingError, match=f"half precision is f16 or bf16.*{dtype}"):
        HalfPrecisionAdapter(dtype)


def test_floats_are_cast_to_floats() -> None:
    with pytest.raises(SettingError, match=r"floats can be cast to f64.*not to i32"):
        FloatCastAdapter(DType.I32)
