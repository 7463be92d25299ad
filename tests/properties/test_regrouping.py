"""Laws of adapters that split and join: there and back, and totals whatever is absent."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ruda import nn
from ruda.nn import Module
from ruda.store import PathFilter, Recipe, Status, apply, collect, convert, diff
from ruda.store.index import TensorIndex
from ruda.tensor import HostDevice

TO_RUDA = Recipe(adapt=("pytorch-to-ruda",))
TO_PYTORCH = Recipe(adapt=("ruda-to-pytorch",))

LAW = settings(max_examples=settings().max_examples * 2 // 5)


class Holder(Module):
    """Something in a list, in a field of another module."""

    def __init__(self, name: str, inner: object) -> None:
        setattr(self, name, inner)


sizes = st.integers(1, 4)


@st.composite
def recurrent(draw: st.DrawFn) -> object:
    kind = draw(st.sampled_from(["Rnn", "Lstm", "Gru"]))
    make = getattr(nn, draw(st.sampled_from(["", "Bi"])) + kind)
    width, hidden, bias = draw(sizes), draw(sizes), draw(st.booleans())
    layers = draw(st.integers(0, 2))
    if not layers:
        return make(width, hidden, bias=bias)
    wide = hidden * (2 if make.__name__.startswith("Bi") else 1)
    return [make(wide if at else width, hidden, bias=bias) for at in range(layers)]


def transformer(cls: type, heads: int, norm_first: bool) -> object:
    return cls(nn.TransformerSettings(2 * heads, 3, heads, norm_first=norm_first))


def stack(cls: type, heads: int, norm_first: bool, layers: int) -> object:
    return cls(nn.TransformerSettings(2 * heads, 3, heads, norm_first=norm_first), layers)


DEVICE = HostDevice()
plain = st.sampled_from(
    [
        nn.LinearConfig(2, 3),
        nn.BatchNormConfig(3),
        nn.LayerNormConfig(3),
        nn.GroupNormConfig(1, 3),
        nn.InstanceNormConfig(3),
        nn.RmsNormConfig(3),
        nn.PReluConfig(2),
        nn.EmbeddingConfig(3, 2),
        nn.Conv1dConfig(2, 3, 2),
        nn.Conv2dConfig((2, 3), 2),
        nn.Conv3dConfig((2, 3), 2),
        nn.ConvTranspose1dConfig((2, 3), 2),
        nn.ConvTranspose2dConfig((2, 3), 2),
        nn.ConvTranspose3dConfig((2, 3), 2),
    ]
).map(lambda config: config.init(DEVICE, seed=1))

parts = st.one_of(
    plain,
    recurrent(),
    st.builds(nn.MultiHeadAttention, st.just(4), st.sampled_from([1, 2]), bias=st.booleans()),
    st.builds(
        transformer,
        st.sampled_from([nn.TransformerEncoderLayer, nn.TransformerDecoderLayer]),
        sizes,
        st.booleans(),
    ),
    st.builds(
        stack,
        st.sampled_from([nn.TransformerEncoder, nn.TransformerDecoder]),
        sizes,
        st.booleans(),
        st.integers(1, 2),
    ),
)
modules = st.builds(Holder, st.sampled_from(["rnn", "a", "norm_1"]), parts)


def torch_file(module: Module) -> TensorIndex:
    """The parameters as PyTorch would save them, as a file that knows no modules."""
    from ruda.store.snapshot import TensorSnapshot

    made = convert(collect(module), recipe=TO_PYTORCH, target=module)
    return TensorIndex.of(
        [TensorSnapshot.from_array(key, s.read()) for key, s in made.items()], format="pytorch"
    )


def same(one: TensorIndex, other: TensorIndex) -> None:
    assert set(one.keys()) == set(other.keys())
    for key, snapshot in one.items():
        np.testing.assert_array_equal(snapshot.read(), other[key].read(), err_msg=key)


@LAW
@given(modules)
def test_there_and_back_is_the_identity(module: Module) -> None:
    native, torch = collect(module), torch_file(module)
    back = convert(torch, recipe=TO_RUDA, target=module)
    same(native, back)
    same(torch, convert(back, recipe=TO_PYTORCH, target=module))


@LAW
@given(modules)
def test_what_is_saved_for_pytorch_loads_without_a_rule(module: Module) -> None:
    torch = torch_file(module)
    report = diff(torch, module, recipe=TO_RUDA)
    assert report.is_clean
    assert report.totals_hold
    before = {entry.key: entry.param.value().numpy().copy() for entry in module.walk()}
    apply(torch, module, recipe=TO_RUDA)
    for entry in module.walk():
        np.testing.assert_array_equal(entry.param.value().numpy(), before[entry.key])


@LAW
@given(modules, st.data())
def test_totals_hold_whatever_is_absent_or_left_out(module: Module, data: st.DataObject) -> None:
    torch = torch_file(module)
    kept = [s for s in torch.values() if data.draw(st.booleans())]
    wanted = [entry.key for entry in module.walk()]
    recipe = TO_RUDA.with_skip(*data.draw(st.sets(st.sampled_from(wanted))))
    if data.draw(st.booleans()):
        recipe = recipe.with_select(PathFilter(regexes=("weight|gamma",)))
    report = diff(TensorIndex.of(kept, format="pytorch"), module, recipe=recipe)
    assert report.totals_hold
    assert [row.target_key for row in report.rows if row.target is not None] == wanted
    seen = {source.key for row in report.rows for source in row.sources}
    assert seen == {s.key for s in kept}
    assert not report.counts[Status.ERROR]


@LAW
@given(modules, st.data())
def test_totals_hold_for_joins(module: Module, data: st.DataObject) -> None:
    native, torch = collect(module), torch_file(module)
    kept = [s for s in native.values() if data.draw(st.booleans())]
    report = diff(TensorIndex.of(kept, format="module"), torch, recipe=TO_PYTORCH)
    assert report.totals_hold
    assert not report.reused
    assert {source.key for row in report.rows for source in row.sources} == {s.key for s in kept}
