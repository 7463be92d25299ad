from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ruda.errors import AdapterError, RecipeError
from ruda.store import (
    ChainAdapter,
    HalfPrecisionAdapter,
    IdentityAdapter,
    ModuleAdapter,
    PyTorchToRuda,
    RudaToPyTorch,
)
from ruda.store.adapt import adapter_named, chain
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.tensor import DType


def snapshot(
    key: str, kind: str | None, shape: tuple[int, ...] = (2, 3), dtype: type = np.float32
) -> TensorSnapshot:
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    containers = () if kind is None else ("Struct:Model", f"Struct:{kind}")
    return TensorSnapshot.from_array(key, values, containers=containers)


TO_RUDA = [
    pytest.param("fc.weight", "Linear", (2, 3), "fc.weight", (3, 2), id="linear weight"),
    pytest.param("fc.bias", "Linear", (2,), "fc.bias", (2,), id="linear bias"),
    pytest.param("fc.weight", "Linear", (2,), "fc.weight", (2,), id="linear of another rank"),
    pytest.param("n.weight", "BatchNorm", (2,), "n.gamma", (2,), id="batch norm weight"),
    pytest.param("n.bias", "BatchNorm", (2,), "n.beta", (2,), id="batch norm bias"),
    pytest.param("n.running_mean", "BatchNorm", (2,), "n.running_mean", (2,), id="statistics"),
    pytest.param("n.weight", "LayerNorm", (2,), "n.gamma", (2,), id="layer norm"),
    pytest.param("n.weight", "GroupNorm", (2,), "n.gamma", (2,), id="group norm"),
    pytest.param("n.weight", "InstanceNorm", (2,), "n.gamma", (2,), id="instance norm"),
    pytest.param("n.weight", "RmsNorm", (2,), "n.gamma", (2,), id="rms norm"),
    pytest.param("n.gamma", "BatchNorm", (2,), "n.gamma", (2,), id="old names stay"),
    pytest.param("p.weight", "PRelu", (2,), "p.alpha", (2,), id="prelu"),
    pytest.param("c.weight", "Conv2d", (2, 3, 1, 1), "c.weight", (2, 3, 1, 1), id="conv"),
    pytest.param("e.weight", "Embedding", (2, 3), "e.weight", (2, 3), id="embedding"),
    pytest.param("x.weight", None, (2, 3), "x.weight", (2, 3), id="no containers"),
    pytest.param("scale.gamma", "Mine", (2,), "scale.gamma", (2,), id="your own gamma"),
    pytest.param("weight", "RmsNorm", (2,), "gamma", (2,), id="key of one segment"),
]


@pytest.mark.parametrize(("key", "kind", "shape", "new_key", "new_shape"), TO_RUDA)
def test_pytorch_to_ruda(
    key: str, kind: str, shape: tuple[int, ...], new_key: str, new_shape: tuple[int, ...]
) -> None:
    after = PyTorchToRuda().adapt(snapshot(key, kind, shape))
    assert (after.key, after.shape, after.read().shape) == (new_key, new_shape, new_shape)


def test_trail_says_what_was_done_in_order() -> None:
    adapter = PyTorchToRuda().chain(HalfPrecisionAdapter())
    assert adapter.adapt(snapshot("f.weight", "Linear")).trail == ("transpose 1,0", "cast f16")
    assert adapter.adapt(snapshot("n.weight", "LayerNorm", (2,))).trail == ("rename", "cast f16")
    assert adapter.adapt(snapshot("n.weight", "BatchNorm", (2,))).trail == ("rename",)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.bool_])
def test_transpose_is_lazy_and_exact_for_every_width(dtype: type) -> None:
    before = snapshot("f.weight", "Linear", (5, 7), dtype)
    after = PyTorchToRuda().adapt(before)
    values = after.read()
    assert values.flags.c_contiguous
    np.testing.assert_array_equal(values, before.read().T)
    assert after.dtype is before.dtype


def test_square_and_empty_matrices() -> None:
    assert PyTorchToRuda().adapt(snapshot("f.weight", "Linear", (0, 4))).read().shape == (4, 0)
    square = snapshot("f.weight", "Linear", (3, 3))
    np.testing.assert_array_equal(PyTorchToRuda().adapt(square).read(), square.read().T)


@pytest.mark.parametrize("dtype", [DType.QFLOAT, DType.F4_E2M1])
def test_what_cannot_be_transposed_is_refused(dtype: DType) -> None:
    packed = TensorSnapshot(
        "f.weight",
        dtype,
        (4, 4),
        8,
        ArraySource(np.zeros(8, np.uint8)),
        containers=("Struct:Linear",),
    )
    with pytest.raises(AdapterError, match=rf"'f.weight': {dtype} values cannot be transposed"):
        PyTorchToRuda().adapt(packed)


OTHER_NAMES = [
    pytest.param(PyTorchToRuda(), "gamma", "BatchNorm", "weight", id="gamma"),
    pytest.param(PyTorchToRuda(), "beta", "InstanceNorm", "bias", id="beta"),
    pytest.param(PyTorchToRuda(), "alpha", "PRelu", "weight", id="alpha"),
    pytest.param(PyTorchToRuda(), "weight", "Linear", None, id="the same name"),
    pytest.param(PyTorchToRuda(), "gamma", None, None, id="no kind"),
    pytest.param(RudaToPyTorch(), "weight", "RmsNorm", "gamma", id="reverse"),
    pytest.param(IdentityAdapter(), "gamma", "BatchNorm", None, id="identity"),
    pytest.param(HalfPrecisionAdapter(), "gamma", "BatchNorm", None, id="half"),
    pytest.param(
        PyTorchToRuda().chain(HalfPrecisionAdapter()),
        "gamma",
        "RmsNorm",
        "weight",
        id="first of a chain",
    ),
    pytest.param(
        PyTorchToRuda().chain(RudaToPyTorch()), "gamma", "RmsNorm", "gamma", id="through a chain"
    ),
]


@pytest.mark.parametrize(("adapter", "name", "kind", "expected"), OTHER_NAMES)
def test_alternative_name(
    adapter: ModuleAdapter, name: str, kind: str | None, expected: str | None
) -> None:
    assert adapter.alternative_name(name, kind) == expected


def test_reverse() -> None:
    both = PyTorchToRuda().chain(HalfPrecisionAdapter(DType.BF16))
    assert both.reverse() == ChainAdapter(
        (HalfPrecisionAdapter(DType.F32, back_to=DType.BF16), RudaToPyTorch())
    )
    assert both.reverse().reverse().members[0] == PyTorchToRuda()


def test_an_open_kind_gets_only_what_all_kinds_agree_on() -> None:
    norm = TensorSnapshot.from_array(
        "n.weight", np.ones(2, np.float32), containers=("Either:LayerNorm|RmsNorm",)
    )
    matrix = TensorSnapshot.from_array(
        "m.weight", np.ones((2, 3), np.float32), containers=("Either:Embedding|Linear",)
    )
    assert PyTorchToRuda().adapt(norm).key == "n.gamma"
    assert PyTorchToRuda().adapt(matrix) is matrix
    assert HalfPrecisionAdapter().adapt(matrix).dtype is DType.F16


def test_names() -> None:
    assert adapter_named("pytorch-to-ruda") == PyTorchToRuda()
    with pytest.raises(RecipeError, match="no adapter is called 'torch'; known: pytorch-to-ruda"):
        adapter_named("torch")


def test_chain_of_few() -> None:
    assert chain([]) == IdentityAdapter()
    assert chain([IdentityAdapter(), PyTorchToRuda()]) == PyTorchToRuda()
    assert isinstance(chain([PyTorchToRuda(), RudaToPyTorch()]), ChainAdapter)


KINDS = [
    pytest.param(("Struct:Model", "Vec", "Struct:Linear"), "Linear", id="innermost"),
    pytest.param(("Struct:Model", "Enum:Block", "Vec"), "Block", id="an enum"),
    pytest.param(("Struct:Model", "Either:Embedding|Linear"), None, id="left open"),
    pytest.param((), None, id="none known"),
]


@pytest.mark.parametrize(("containers", "kind"), KINDS)
def test_the_kind_of_module_that_owns_a_tensor(
    containers: tuple[str, ...], kind: str | None
) -> None:
    values = np.zeros(2, np.float32)
    snapshot = TensorSnapshot.from_array("a.weight", values, containers=containers)
    assert snapshot.container == kind
