from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import AdapterError, RecipeError
from ruda.store import TensorIndex, TensorSnapshot
from ruda.store.block_scales import block_sizes
from ruda.store.merging import merged, require_merge
from ruda.store.piecewise import blocks
from ruda.tensor import DType

RANDOM = np.random.default_rng(5)


def index_of(**arrays: np.ndarray) -> TensorIndex:
    return TensorIndex.of(
        [
            TensorSnapshot.from_array(key.replace("__", "."), values)
            for key, values in arrays.items()
        ],
        format="test",
    )


def floats(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype("<f4")


def streamed(snapshot: TensorSnapshot) -> np.ndarray:
    return np.concatenate([block.copy() for block in blocks(snapshot, 1000)])


LAYOUTS = [
    pytest.param((300, 200), (3, 2), (128, 128), id="blocks of 128"),
    pytest.param((300, 200), (300, 1), (1, 200), id="per row"),
    pytest.param((300, 200), (1,), (300, 200), id="one number"),
    pytest.param((300, 200), (), (300, 200), id="a scalar"),
    pytest.param((4, 256, 384), (4, 2, 3), (1, 128, 128), id="experts in blocks"),
    pytest.param((300, 192), (300, 6), (1, 32), id="groups along the last axis"),
    pytest.param((300, 200), (300,), None, id="per row on one axis"),
    pytest.param((300, 200), (7, 2), None, id="no layout"),
    pytest.param((300, 200), (300, 7), None, id="groups that do not divide"),
]


@pytest.mark.parametrize(("shape", "scales", "expected"), LAYOUTS)
def test_layouts_of_scales(
    shape: tuple[int, ...], scales: tuple[int, ...], expected: tuple[int, ...] | None
) -> None:
    assert block_sizes(shape, scales) == expected


@pytest.mark.parametrize(
    ("shape", "scales", "expected"),
    [layout for layout in LAYOUTS if layout.values[2] is not None],
)
@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, np.int8], ids=["fp8", "int8"])
def test_scales_are_multiplied_in(
    shape: tuple[int, ...], scales: tuple[int, ...], expected: tuple[int, ...], dtype: type
) -> None:
    whole = (RANDOM.integers(-100, 100, shape)).astype(dtype)
    scale = np.abs(floats(*scales)) if scales else np.float32(0.5).reshape(())
    source = index_of(w__weight=whole, w__weight_scale_inv=scale, b=floats(3))
    found, notes = merged(source, ("scales",))
    assert list(found) == ["w.weight", "b"]
    snapshot = found["w.weight"]
    assert (snapshot.dtype, snapshot.trail) == (DType.F32, ("scale w.weight_scale_inv",))
    where = np.indices(shape)
    factor = scale.reshape((1,) * len(shape)) if scale.size == 1 else scale
    oracle = (
        whole.astype("<f4")
        * factor[tuple(at // size for at, size in zip(where, expected, strict=True))]
    )
    np.testing.assert_array_equal(snapshot.read(), oracle)
    np.testing.assert_array_equal(streamed(snapshot), oracle.reshape(-1))
    assert notes == ("scales: 1 tensor computed out of 2, 'w.weight' first",)


def test_a_scale_of_no_known_layout_is_left_alone() -> None:
    source = index_of(w=np.zeros((4, 6), np.int8), w_scale=floats(4))
    found, notes = merged(source, ("scales",))
    assert found is source
    assert notes == (
        "scales: 'w' is left as it is: the scale 'w_scale' [4] fits no known layout for [4, 6]",
    )


def test_a_file_without_any_says_so() -> None:
    source = index_of(w=floats(2))
    assert merged(source, ("weight-norm",)) == (source, ("weight-norm: there is nothing to merge",))


WEIGHT_NORMS = [
    pytest.param((6, 4, 3), (6, 1, 1), (1, 2), id="conv, axis 0"),
    pytest.param((6, 4, 3), (1, 4, 1), (0, 2), id="transposed conv, axis 1"),
    pytest.param((6, 4), (1, 4), (0,), id="linear, axis 1"),
    pytest.param((6, 4), (), (0, 1), id="one length"),
    pytest.param((1, 4), (1, 1), (0, 1), id="one row"),
]


@pytest.mark.parametrize(
    ("direction", "length"),
    [("weight_v", "weight_g"), ("parametrizations__weight__original1", None)],
    ids=["old", "parametrizations"],
)
@pytest.mark.parametrize(("shape", "lengths", "axes"), WEIGHT_NORMS)
def test_weight_norm_is_its_formula(
    shape: tuple[int, ...],
    lengths: tuple[int, ...],
    axes: tuple[int, ...],
    direction: str,
    length: str | None,
) -> None:
    v, g = floats(*shape), np.asarray(floats(*lengths), "<f4")
    other = length or "parametrizations__weight__original0"
    source = index_of(**{f"conv__{other}": g, f"conv__{direction}": v, "conv__bias": floats(6)})
    found, _ = merged(source, ("weight-norm",))
    assert list(found) == ["conv.weight", "conv.bias"]
    oracle = v * (g / np.sqrt(np.square(v.astype("f8")).sum(axis=axes, keepdims=True)))
    np.testing.assert_allclose(found["conv.weight"].read(), oracle, rtol=2e-7, atol=0)
    assert found["conv.weight"].trail == ("merge weight-norm",)


def test_parts_that_do_not_fit_are_left_alone() -> None:
    source = index_of(c__weight_g=floats(3, 1), c__weight_v=floats(4, 5))
    found, notes = merged(source, ("weight-norm",))
    assert found is source
    assert notes[0].endswith("the lengths [3, 1] do not fit [4, 5] along one axis")


def test_a_weight_that_is_there_is_not_replaced() -> None:
    source = index_of(c__weight_g=floats(4, 1), c__weight_v=floats(4, 5), c__weight=floats(4, 5))
    found, notes = merged(source, ("weight-norm",))
    assert found is source
    assert notes[0].endswith("'c.weight' is there already")


def test_a_scale_that_another_tensor_still_needs_stays() -> None:
    source = index_of(
        a=np.ones((2, 4), np.int8),
        a__weight=np.ones((3, 5), np.int8),
        a__weight_scale=np.ones((2, 1), "<f4"),
    )
    found, notes = merged(source, ("scales",))
    assert [str(s.dtype) for s in found.values()] == ["f32", "i8", "f32"]
    assert list(found) == ["a", "a.weight", "a.weight_scale"]
    assert any("'a.weight' is left as it is" in note for note in notes)


def test_two_merges_into_one_key_lose_neither() -> None:
    old, new = floats(4, 5), floats(4, 5)
    head = "c__parametrizations__weight__original"
    source = index_of(
        **{"c__weight_g": floats(4, 1), "c__weight_v": old, f"{head}0": floats(4, 1)},
        **{f"{head}1": new},
    )
    found, notes = merged(source, ("weight-norm",))
    assert set(found) == {
        "c.weight",
        "c.parametrizations.weight.original0",
        "c.parametrizations.weight.original1",
    }
    assert notes[0].endswith("is left as it is: 'c.weight' is there already")


def vectors(weight: np.ndarray, axis: int, rounds: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """u and v after some rounds of the power method, as training leaves them."""
    matrix = np.moveaxis(weight, axis, 0).reshape(weight.shape[axis], -1)
    u = floats(matrix.shape[0])
    for _ in range(rounds):
        v = matrix.T @ u
        v /= np.linalg.norm(v)
        u = matrix @ v
        u /= np.linalg.norm(u)
    return u, v


SPECTRAL = [
    pytest.param((6, 4), 0, id="linear"),
    pytest.param((6, 4, 3, 3), 0, id="conv"),
    pytest.param((6, 4, 3, 3), 1, id="transposed conv"),
    pytest.param((8, 8, 3, 3), 0, id="square conv"),
    pytest.param((8, 8, 3, 3), 1, id="square transposed conv"),
]


@pytest.mark.parametrize("parametrized", [False, True], ids=["old", "parametrizations"])
@pytest.mark.parametrize(("shape", "axis"), SPECTRAL)
def test_spectral_norm_is_its_formula(
    shape: tuple[int, ...], axis: int, parametrized: bool
) -> None:
    weight = floats(*shape)
    u, v = vectors(weight, axis)
    names = ("weight_orig", "weight_u", "weight_v")
    if parametrized:
        stem = "parametrizations__weight__"
        names = (f"{stem}original", f"{stem}0___u", f"{stem}0___v")
    arrays = dict(zip(names, (weight, u, v), strict=True))
    source = TensorIndex.of(
        [
            TensorSnapshot.from_array("c." + key.replace("___", "._").replace("__", "."), values)
            for key, values in arrays.items()
        ],
        format="test",
    )
    found, _ = merged(source, ("spectral-norm",))
    assert list(found) == ["c.weight"]
    matrix = np.moveaxis(weight, axis, 0).reshape(shape[axis], -1).astype("f8")
    oracle = weight / (u.astype("f8") @ matrix @ v.astype("f8"))
    np.testing.assert_allclose(found["c.weight"].read(), oracle, rtol=2e-7, atol=0)


def test_vectors_that_show_no_axis_are_refused() -> None:
    source = index_of(c__weight_orig=floats(8, 8, 3), c__weight_u=floats(8), c__weight_v=floats(24))
    found, _ = merged(source, ("spectral-norm",))
    with pytest.raises(AdapterError, match=r"'c\.weight': \[8, 8, 3\] can be normed along axis 0"):
        found["c.weight"].read()


def test_a_merge_that_is_none() -> None:
    with pytest.raises(RecipeError, match="no merge is called 'weigth-norm'; did you mean"):
        require_merge("weigth-norm")
