"""Collecting a module: keys, containers, ids, and nothing read before it is asked for."""

import numpy as np
import pytest

from ruda.nn import BatchNorm, Linear, Module
from ruda.store import PathFilter, collect
from ruda.store.collecting import without_variants
from ruda.tensor import DType


class Net(Module):
    def __init__(self):
        self.layers = [Linear(2, 3, seed=1), Linear(3, 1, bias=False, seed=2)]
        self.norm = BatchNorm(3)


class Tied(Module):
    def __init__(self):
        self.first = Linear(2, 2, seed=1)
        self.second = Linear(2, 2, seed=2)
        self.second.weight = self.first.weight


def test_everything_known_of_a_parameter_is_in_its_snapshot():
    model = Net()
    index = collect(model)
    assert list(index) == [
        "layers.0.weight",
        "layers.0.bias",
        "layers.1.weight",
        "norm.gamma",
        "norm.beta",
        "norm.running_mean",
        "norm.running_var",
    ]
    snapshot = index["layers.0.weight"]
    assert snapshot.shape == (2, 3)
    assert snapshot.nbytes == 24
    assert snapshot.dtype is DType.F32
    assert snapshot.containers == ("Struct:Net", "Vec", "Struct:Linear")
    assert snapshot.param_id == model.layers[0].weight.id
    assert index.format == "module"


def test_values_are_made_when_read():
    model = Net()
    index = collect(model)
    assert not model.layers[0].weight.is_initialized
    values = index["layers.0.weight"].read()
    np.testing.assert_array_equal(values, model.layers[0].weight.value().numpy())


def test_a_filter_sees_keys_and_containers():
    inside = PathFilter.from_predicate(lambda key, path: path.endswith("Struct:BatchNorm"))
    chosen = collect(Net(), select=inside.with_full_path("layers.0.bias"))
    assert list(chosen)[:2] == ["layers.0.bias", "norm.gamma"]
    assert len(chosen) == 5


def test_a_parameter_that_is_used_twice_says_so():
    index = collect(Tied())
    shared = {key: s.shared_with for key, s in index.items() if s.shared_with}
    assert shared == {"second.weight": "first.weight"}


VARIANTS = [
    pytest.param("a.b.w", ("Struct:M", "Vec", "Struct:L"), "a.b.w", 3, id="none"),
    pytest.param("f.Base.w", ("Struct:M", "Enum:Block", "Struct:L"), "f.w", 2, id="variant"),
    pytest.param("f.Base.w", ("Enum:Block",), "f.Base.w", 1, id="lengths differ"),
]


@pytest.mark.parametrize(("key", "containers", "expected", "length"), VARIANTS)
def test_leaving_out_variants(key, containers, expected, length):
    found, kept = without_variants(key, containers)
    assert found == expected
    assert len(kept) == length
