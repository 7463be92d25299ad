from __future__ import annotations

import numpy as np
import pytest

from ruda import nn
from ruda.nn import ModuleSpec, ParamSpec
from ruda.store import (
    ArraySource,
    Cause,
    Recipe,
    Status,
    TensorIndex,
    TensorSnapshot,
    Verdict,
    convert,
    diff,
    suggest,
)
from ruda.store.adapt import adapter_named
from ruda.tensor import DType

rng = np.random.default_rng(3)


def of(key: str, shape: tuple[int, ...], kind: str) -> TensorSnapshot:
    values = rng.standard_normal(shape).astype(np.float32)
    return TensorSnapshot.from_array(key, values, containers=("Struct:Net", f"Struct:{kind}"))


NAMES = [
    pytest.param("Linear", "kernel", (4, 3), "weight", (4, 3), id="dense"),
    pytest.param("Conv1d", "kernel", (5, 2, 3), "weight", (3, 2, 5), id="conv 1"),
    pytest.param("Conv2d", "kernel", (5, 7, 2, 3), "weight", (3, 2, 5, 7), id="conv 2"),
    pytest.param("Conv3d", "kernel", (4, 5, 7, 2, 3), "weight", (3, 2, 4, 5, 7), id="conv 3"),
    pytest.param("ConvTranspose2d", "kernel", (5, 7, 3, 2), "weight", (2, 3, 5, 7), id="transpose"),
    pytest.param("Embedding", "embeddings", (9, 4), "weight", (9, 4), id="embedding"),
    pytest.param("BatchNorm", "moving_mean", (4,), "running_mean", (4,), id="mean"),
    pytest.param("BatchNorm", "moving_variance", (4,), "running_var", (4,), id="variance"),
    pytest.param("BatchNorm", "gamma", (4,), "gamma", (4,), id="gamma"),
    pytest.param("Linear", "bias", (3,), "bias", (3,), id="bias"),
    pytest.param("Mine", "kernel", (5, 7, 2, 3), "kernel", (5, 7, 2, 3), id="unknown"),
]


@pytest.mark.parametrize(("kind", "leaf", "shape", "native", "after"), NAMES)
def test_names_and_axes_go_both_ways(
    kind: str, leaf: str, shape: tuple[int, ...], native: str, after: tuple[int, ...]
) -> None:
    adapter = adapter_named("keras-to-ruda")
    before = of(f"block.{leaf}", shape, kind)
    made = adapter.adapt(before)
    assert (made.key, made.shape, made.read().shape) == (f"block.{native}", after, after)
    back = adapter.reverse().adapt(made)
    assert (back.key, back.shape) == (before.key, before.shape)
    np.testing.assert_array_equal(back.read(), before.read())


def test_axes_of_a_kernel_are_those_of_pytorch() -> None:
    kernel = of("c.kernel", (2, 3, 4, 5), "Conv2d")
    weight, values = adapter_named("keras-to-ruda").adapt(kernel).read(), kernel.read()
    for place in np.ndindex(2, 3, 4, 5):
        height, width, inner, outer = place
        assert weight[outer, inner, height, width] == values[place]


def test_a_kernel_along_one_axis_has_the_width_one() -> None:
    kernel = of("c.kernel", (8, 2, 3), "Conv2d")
    made = adapter_named("keras-to-ruda").adapt(kernel)
    assert made.shape == (3, 2, 8, 1)
    np.testing.assert_array_equal(made.read()[..., 0], kernel.read().transpose(2, 1, 0))


class Net(nn.Module):
    def __init__(self) -> None:
        self.conv1 = nn.Conv2d(1, 4, (3, 5), seed=0)
        self.norm1 = nn.BatchNorm(4)
        self.conv2 = nn.Conv2d(4, 6, (3, 5), seed=0)
        self.norm2 = nn.BatchNorm(6)
        self.head = nn.Linear(6, 2, seed=0)


def keras_file(shape_of_head: tuple[int, int] = (6, 2)) -> TensorIndex:
    tensors = {"head/head/kernel:0": shape_of_head, "head/head/bias:0": (2,)}
    for at, (inner, outer) in enumerate([(1, 4), (4, 6)], 1):
        tensors[f"conv{at}/conv{at}/kernel:0"] = (3, 5, inner, outer)
        tensors[f"conv{at}/conv{at}/bias:0"] = (outer,)
        for leaf in ("gamma", "beta", "moving_mean", "moving_variance"):
            tensors[f"conv{at}-BN/conv{at}-BN/{leaf}:0"] = (outer,)
    snapshots = [
        TensorSnapshot.from_array(key, rng.standard_normal(shape).astype(np.float32))
        for key, shape in tensors.items()
    ]
    return TensorIndex.of(snapshots, format="hdf5")


def test_a_file_of_keras_finds_its_rules() -> None:
    source, net = keras_file(), Net()
    report = suggest(source, net)
    assert {step.verdict for step in report.suggestions} == {Verdict.CERTAIN}
    recipe = report.to_recipe()
    assert recipe.adapt == ("keras-to-ruda",)
    found = diff(source, net, recipe=recipe)
    assert found.counts[Status.APPLIED] == len(source) == found.target_tensors
    row = next(row for row in found.rows if row.key == "conv2.weight")
    assert row.source_key == "conv2/conv2/kernel:0"
    assert row.adapted is not None
    kernel = source["conv2/conv2/kernel:0"].read()
    np.testing.assert_array_equal(row.adapted.read(), kernel.transpose(3, 2, 0, 1))
    view = convert(source, recipe=recipe, target=net)
    assert view["conv2.weight"].shape == (6, 4, 3, 5)


def test_what_does_not_fit_is_an_error_and_no_guess() -> None:
    source, net = keras_file((2, 6)), Net()
    found = diff(source, net, recipe=suggest(source, net).to_recipe(likely=True))
    assert [row.key for row in found.of(Status.ERROR, Status.MISSING)] == ["head.weight"]


def test_blocks_of_values_are_not_turned() -> None:
    packed = TensorSnapshot(
        "c.kernel",
        DType.F4_E2M1,
        (2, 2, 2, 2),
        8,
        ArraySource(np.zeros(8, np.uint8)),
        containers=("Struct:Conv2d",),
    )
    source = TensorIndex.of([packed], format="hdf5")
    row = diff(
        source,
        nn.ModuleSpec((nn.ParamSpec("c.weight", (2, 2, 2, 2), DType.F4_E2M1, ("Struct:Conv2d",)),)),
        recipe=Recipe(adapt=("keras-to-ruda",)),
    ).rows[0]
    assert row.status is Status.ERROR
    assert "share" in row.reason or "cannot" in row.reason


def test_a_kernel_that_cannot_be_moved_is_the_adapters_error() -> None:
    kernel = TensorSnapshot(
        "c.kernel", DType.F4_E2M1, (3, 3, 2, 4), 36, ArraySource(np.zeros(36, np.uint8))
    )
    containers = ("Struct:Net", "Struct:Conv2d")
    spec = ModuleSpec((ParamSpec("c.weight", (4, 2, 3, 3), DType.F32, containers),))
    (row,) = diff(
        TensorIndex.of([kernel], format="hdf5"), spec, recipe=Recipe(adapt=("keras-to-ruda",))
    ).rows
    assert (row.status, row.cause) == (Status.ERROR, Cause.ADAPTER)
    assert "f4_e2m1 values share bytes or a scale: their axes cannot be moved" in row.reason
    assert "decision" not in row.reason
