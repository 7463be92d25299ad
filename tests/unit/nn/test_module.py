"""Module: the tree of fields, keys and containers, modes, and errors that name their layer."""

import threading

import numpy as np
import pytest

from ruda import nn
from ruda.errors import DTypeError, ModelError, ShapeError
from ruda.tensor import DType, HostDevice, Tensor


class Block(nn.Module):
    def __init__(self, seed=0):
        self.linear = nn.Linear(3, 3, seed=seed)
        self.act = nn.Relu()

    def forward(self, x):
        return self.act(self.linear(x))


class Net(nn.Module):
    kind = "Model"

    def __init__(self):
        self.width = 3
        self.layers = [Block(1), Block(2)]
        self.pair = (nn.Linear(3, 2, bias=False), nn.BatchNorm(2))
        self._hidden = nn.Linear(5, 5)
        self.scale = nn.Param((1,), nn.Constant(2.0), seed=0)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.pair[1](self.pair[0](x))


def test_walk_in_declaration_order():
    found = [(entry.key, entry.containers) for entry in Net().walk()]
    block = ("Struct:Model", "Vec", "Struct:Block", "Struct:Linear")
    assert found == [
        ("layers.0.linear.weight", block),
        ("layers.0.linear.bias", block),
        ("layers.1.linear.weight", block),
        ("layers.1.linear.bias", block),
        ("pair.0.weight", ("Struct:Model", "Tuple", "Struct:Linear")),
        ("pair.1.gamma", ("Struct:Model", "Tuple", "Struct:BatchNorm")),
        ("pair.1.beta", ("Struct:Model", "Tuple", "Struct:BatchNorm")),
        ("pair.1.running_mean", ("Struct:Model", "Tuple", "Struct:BatchNorm")),
        ("pair.1.running_var", ("Struct:Model", "Tuple", "Struct:BatchNorm")),
        ("scale", ("Struct:Model",)),
    ]
    for key, containers in found:
        assert len(key.split(".")) == len(containers)


def test_bare_layer():
    assert [(e.key, e.containers) for e in nn.Linear(2, 1).walk()] == [
        ("weight", ("Struct:Linear",)),
        ("bias", ("Struct:Linear",)),
    ]


def test_named_modules():
    assert [(path, module.struct_name) for path, module in Net().named_modules()] == [
        ("", "Model"),
        ("layers.0", "Block"),
        ("layers.0.linear", "Linear"),
        ("layers.0.act", "Relu"),
        ("layers.1", "Block"),
        ("layers.1.linear", "Linear"),
        ("layers.1.act", "Relu"),
        ("pair.0", "Linear"),
        ("pair.1", "BatchNorm"),
    ]
    assert Net().num_params() == 2 * 12 + 6 + 8 + 1


def test_spec_makes_no_values():
    net = Net()
    spec = nn.ModuleSpec.of(net)
    assert len(spec) == 10
    assert spec.by_key()["pair.0.weight"] == nn.ParamSpec(
        "pair.0.weight", (3, 2), DType.F32, ("Struct:Model", "Tuple", "Struct:Linear")
    )
    assert not any(entry.param.is_initialized for entry in net.walk())
    identity = net.scale.id
    assert [entry.param_id for entry in nn.ModuleSpec.of(net)][-1] == identity


def test_modes_reach_every_layer():
    net = Net()
    net.train()
    assert all(module.training for _, module in net.named_modules())
    with pytest.raises(ModelError, match=r"pair.1 \(BatchNorm\): statistics of a batch"):
        net(Tensor.ones((2, 3)))
    net.eval()
    assert net(Tensor.ones((2, 3))).shape == (2, 2)


def test_call_is_forward():
    layer = nn.LinearConfig(2, 1).init(HostDevice(), seed=3)
    x = Tensor.from_data([[1.0, 2.0]])
    assert layer(x).tolist() == layer.forward(x).tolist()


class Recorder:
    def collect_from(self, module):
        return ("saved", module)

    def apply_to(self, module):
        return ("loaded", module)


def test_stores_are_asked():
    net = Net()
    assert net.save_into(Recorder()) == ("saved", net)
    assert net.load_from(Recorder()) == ("loaded", net)


PLACED = [
    pytest.param(
        lambda: Net()(Tensor.ones((1, 4))),
        ShapeError,
        r"layers.0.linear \(Linear\): expected an input of shape \[…, 3\], got \[1, 4\]",
        id="inside a model",
    ),
    pytest.param(
        lambda: nn.Linear(3, 1)(Tensor.ones((1, 4))),
        ShapeError,
        r"^Linear: expected an input of shape \[…, 3\], got \[1, 4\]",
        id="alone",
    ),
    pytest.param(
        lambda: Net()(Tensor.ones((1, 3), dtype=DType.U8)),
        DTypeError,
        r"layers.0.linear \(Linear\): expected a float tensor, got u8; cast it to f32 first",
        id="dtype",
    ),
    pytest.param(
        lambda: nn.Module()(Tensor.ones((1,))), ModelError, "Module has no forward", id="no forward"
    ),
]


@pytest.mark.parametrize(("run", "error", "message"), PLACED)
def test_errors_name_their_layer(run, error, message):
    with pytest.raises(error, match=message):
        run()


def test_threads_share_a_module():
    net, x = Net(), Tensor.ones((4, 3))
    expected, results = net(x).tolist(), []
    workers = [threading.Thread(target=lambda: results.append(net(x).tolist())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert results == [expected] * 4


def test_profile_times_each_layer_with_the_given_clock():
    ticks = iter(range(100))
    net = Net()
    output, rows = nn.profile(net, Tensor.ones((2, 3)), clock=lambda: float(next(ticks)))
    np.testing.assert_array_equal(output.numpy(), net(Tensor.ones((2, 3))).numpy())
    assert [(row.path, row.kind, row.output_shape) for row in rows] == [
        ("layers.0.linear", "Linear", (2, 3)),
        ("layers.0.act", "Relu", (2, 3)),
        ("layers.1.linear", "Linear", (2, 3)),
        ("layers.1.act", "Relu", (2, 3)),
        ("pair.0", "Linear", (2, 2)),
        ("pair.1", "BatchNorm", (2, 2)),
    ]
    assert [row.seconds for row in rows] == [1.0] * 6


def test_profile_names_layers_in_errors():
    with pytest.raises(ShapeError, match=r"layers.0.linear \(Linear\)"):
        nn.profile(Net(), Tensor.ones((2, 4)))


def test_layer_sizes():
    sizes = nn.layer_sizes(Net())
    assert [(size.path, size.parameters) for size in sizes][-2:] == [("pair.0", 6), ("pair.1", 8)]
    assert nn.layer_sizes(nn.Relu()) == (nn.LayerSize("", "Relu", 0),)
