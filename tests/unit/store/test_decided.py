from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import AdapterError, RecipeError
from ruda.nn import ModuleSpec, ParamSpec
from ruda.session import RecipeFlags
from ruda.store import (
    Action,
    CastPolicy,
    Decision,
    Recipe,
    Status,
    TensorIndex,
    TensorSnapshot,
    convert,
    diff,
    recipe_from_json,
    recipe_from_toml,
    recipe_to_json,
    recipe_to_toml,
)
from ruda.store.aliases import alias_groups
from ruda.tensor import DType

HALF = Recipe().with_cast(CastPolicy.every(DType.F16))


def index(**arrays):
    made = [TensorSnapshot.from_array(key, np.asarray(value)) for key, value in arrays.items()]
    return TensorIndex.of(made, format="memory")


WIDE = np.array([1e6, -1e6, np.inf, np.nan, 1.5, 65519.0], "<f4")
DECISIONS = [
    pytest.param(Decision("a", Action.KEEP), DType.F32, WIDE, id="keep"),
    pytest.param(
        Decision("a", Action.CAST, DType.BF16),
        DType.BF16,
        WIDE.astype(ml_dtypes.bfloat16),
        id="bf16",
    ),
    pytest.param(
        Decision("a", Action.CLAMP, DType.F16),
        DType.F16,
        np.array([65504, -65504, np.inf, np.nan, 1.5, 65504], "f2"),
        id="clamp",
    ),
    pytest.param(
        Decision("a", Action.CLAMP, DType.F8_E4M3FN),
        DType.F8_E4M3FN,
        np.array([448, -448, np.nan, np.nan, 1.5, 448], ml_dtypes.float8_e4m3fn),
        id="clamp to f8",
    ),
]


@pytest.mark.parametrize(("decision", "dtype", "values"), DECISIONS)
def test_one_tensor_is_treated_otherwise(decision, dtype, values):
    made = convert(index(a=WIDE, b=WIDE), recipe=HALF.with_decision(decision))
    assert made["b"].dtype is DType.F16
    assert made["a"].dtype is dtype
    np.testing.assert_array_equal(made["a"].read().astype("f8"), values.astype("f8"))
    streamed = b"".join(bytes(chunk) for chunk in made["a"].chunks(8))
    assert streamed == made["a"].read().tobytes()


def test_clamped_values_count_as_overflow():
    made = convert(index(a=WIDE), recipe=HALF.with_decision(Decision("a", Action.CLAMP, DType.F16)))
    list(made["a"].chunks())
    assert made["a"].source.counts.overflow == 2
    assert made["a"].trail == ("clamp f16",)


def test_decisions_hold_without_any_other_cast():
    recipe = Recipe().with_decision(Decision("a", Action.CAST, DType.F16))
    made = convert(index(a=np.ones(2), b=np.ones(2)), recipe=recipe)
    assert [str(s.dtype) for s in made.values()] == ["f16", "f64"]


def test_a_decision_about_nothing_is_noted():
    made = convert(index(b=WIDE), recipe=HALF.with_decision(Decision("a", Action.KEEP)))
    assert "no tensor has the key 'a' of a decision" in made.notes


def test_short_floats_are_not_cast_alone():
    source = index(a=np.ones(2, ml_dtypes.float8_e4m3fn))
    recipe = Recipe().with_decision(Decision("a", Action.CAST, DType.F32))
    with pytest.raises(AdapterError, match="may need a scale from another tensor"):
        convert(source, recipe=recipe)


def test_scaled_tensors_and_their_scales_are_left_alone():
    source = index(
        **{
            "w.weight": np.ones((2, 2), ml_dtypes.float8_e4m3fn),
            "w.weight_scale_inv": np.ones(1, "f4"),
            "b": np.ones(2, "f4"),
        }
    )
    made = convert(source, recipe=HALF)
    assert [str(s.dtype) for s in made.values()] == ["f8_e4m3fn", "f32", "f16"]
    assert any("means nothing without 'w.weight_scale_inv'" in note for note in made.notes)


def test_short_floats_without_scales_come_back():
    x = np.array([1.5, -448, 0.25], "f4")
    short = convert(index(a=x), recipe=Recipe().with_cast(CastPolicy.every(DType.F8_E4M3FN)))
    assert short["a"].dtype is DType.F8_E4M3FN
    back = convert(short, recipe=Recipe().with_cast(CastPolicy.every(DType.F32)))
    np.testing.assert_array_equal(back["a"].read(), x)


@pytest.mark.parametrize("to", [DType.BF16, DType.F16, DType.F64], ids=str)
def test_short_floats_without_scales_load_as_the_other_floats_do(to: DType) -> None:
    source = index(a=np.array([1.5, -448], ml_dtypes.float8_e4m3fn), b=np.array([0.5, 2], "<f4"))
    spec = ModuleSpec(tuple(ParamSpec(key, (2,), DType.F32) for key in "ab"))
    report = diff(source, spec, recipe=Recipe().with_cast(CastPolicy.every(to)))
    assert [row.status for row in report.rows] == [Status.APPLIED] * 2
    first = report.rows[0].adapted
    assert first is not None
    assert (first.dtype, first.trail) == (to, ("cast f32", f"cast {to}"))
    np.testing.assert_array_equal(first.read().astype("f8"), [1.5, -448])


RECIPE = HALF.with_decision(
    Decision("a", Action.KEEP), Decision("b", Action.CAST, DType.BF16), Decision("c")
)


def test_files_hold_the_decisions():
    assert recipe_from_toml(recipe_to_toml(RECIPE)) == RECIPE
    assert recipe_from_json(recipe_to_json(RECIPE)) == RECIPE
    assert RecipeFlags.of(RECIPE).recipe() == RECIPE


BAD = [
    pytest.param('action = "cast"', r"decide\[1\].*cast needs a float to cast to", id="no dtype"),
    pytest.param('action = "keep"\nto = "f16"', "keep casts to nothing", id="needless dtype"),
    pytest.param('action = "cast"\nto = "f99"', "no dtype is called 'f99'", id="unknown dtype"),
    pytest.param('action = "clamp"\nto = "i8"', "clamp needs a float", id="no float"),
]


@pytest.mark.parametrize(("lines", "message"), BAD)
def test_files_are_refused_with_their_place(lines, message):
    text = f'format = "ruda-recipe"\nversion = 1\n[[decide]]\nkey = "a"\n{lines}\n'
    with pytest.raises(RecipeError, match=message):
        recipe_from_toml(text)


def test_a_clamped_tensor_is_no_alias_of_one_that_is_only_cast():
    x = TensorSnapshot.from_array("a", WIDE)
    tied = TensorIndex.of([x, replace(x, key="b", shared_with="a")], format="memory")
    made = convert(tied, recipe=HALF.with_decision(Decision("b", Action.CLAMP, DType.F16)))
    assert alias_groups(made) == ()
    assert made["b"].shared_with is None
