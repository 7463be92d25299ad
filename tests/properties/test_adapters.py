"""Laws of every adapter that has a name: there and back is the identity, and totals always hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruda import nn
from ruda.models import get
from ruda.nn import Module
from ruda.store import PathFilter, Recipe, collect, convert, diff
from ruda.store.adapt import adapter_named, adapter_names
from ruda.store.index import TensorIndex
from ruda.store.naming import NAME_FORMS
from ruda.store.snapshot import TensorSnapshot
from ruda.store.special import CONV1D_NAMES, FORMS
from ruda.tensor import DType

DTYPES = st.sampled_from(
    [DType.F32, DType.F16, DType.BF16, DType.F64, DType.F8_E4M3FN, DType.I8, DType.U16, DType.I64]
)
few = st.integers(1, 3)
LAW = settings(max_examples=settings().max_examples // 4)
"""There are many adapters."""


class Fields(Module):
    """Layers in fields of these names."""

    def __init__(self, fields: dict[str, Module]) -> None:
        for name, layer in fields.items():
            setattr(self, name, layer)


LAYERS: list[Callable[[int, int], Module]] = [
    lambda a, b: nn.Linear(a, b, seed=0),
    lambda a, _: nn.Linear(a, a, bias=False, seed=0),
    lambda a, b: nn.Embedding(a, b, seed=0),
    lambda a, b: nn.Conv1d(a, b, a, seed=0),
    lambda a, b: nn.Conv2d(a, b, (a, b), seed=0),
    lambda a, b: nn.Conv2d(a, b, (b, 1), seed=0),
    lambda a, b: nn.Conv3d(a, b, (a, b, 2), seed=0),
    lambda a, b: nn.ConvTranspose1d(a, b, a, seed=0),
    lambda a, b: nn.ConvTranspose2d(a, b, (a, b), seed=0),
    lambda a, b: nn.ConvTranspose3d(a, b, (a, b, 2), seed=0),
    lambda a, _: nn.BatchNorm(a),
    lambda a, _: nn.LayerNorm(a),
    lambda a, b: nn.GroupNorm(a, a * b),
    lambda a, _: nn.InstanceNorm(a),
    lambda a, _: nn.RmsNorm(a),
    lambda a, _: nn.PRelu(a),
    lambda a, b: nn.Bilinear(a, b, 3),
]
NAMES = st.sampled_from(["fc", "norm", "c_attn", "c_fc", "c_proj", "wq", "query", "k_proj", "0"])
layers = st.builds(lambda make, a, b: make(a, b), st.sampled_from(LAYERS), few, few)
anything = st.dictionaries(NAMES, layers, min_size=1, max_size=4).map(Fields)
conv1d = st.builds(
    lambda name, a, b: Fields({name: nn.Linear(a, b, seed=0), "fc": nn.Linear(b, a, seed=0)}),
    st.sampled_from(sorted(CONV1D_NAMES)),
    few,
    few,
)
grouped = st.one_of(
    st.builds(nn.MultiHeadAttention, st.just(4), st.sampled_from([1, 2]), bias=st.booleans()),
    st.builds(lambda a, b: nn.Lstm(a, b), few, few),
    st.builds(lambda a, b: nn.BiGru(a, b), few, few),
    st.builds(
        lambda n, first, bias, norm: nn.TransformerEncoder(
            nn.TransformerSettings(4, 3, 2, norm_first=first, bias=bias), n, final_norm=norm
        ),
        few,
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(
        lambda n, first, bias: nn.Transformer(
            nn.TransformerSettings(4, 3, 2, norm_first=first, bias=bias), n, 1
        ),
        few,
        st.booleans(),
        st.booleans(),
    ),
).map(lambda layer: Fields({"rnn": layer}))


def built(name: str, **sizes: object) -> st.SearchStrategy[Module]:
    """An architecture in drawn sizes; a number stays as it is."""
    drawn = {
        key: size if isinstance(size, st.SearchStrategy) else st.just(size)
        for key, size in sizes.items()
    }
    return st.fixed_dictionaries(drawn).map(lambda settings: get(name).build(**settings))


TEXT = {"hidden": st.sampled_from([4, 8]), "layers": few, "heads": 2, "ff": few}
PICTURE = {**TEXT, "image": 4, "patch": 2, "classes": few}
# Six columns a head: an order that is not its own reverse.
LLAMA = {"dim": 12, "layers": few, "heads": 2, "kv_heads": 1, "hidden": few, "vocab": few}
LLAMAS = built("llama", **LLAMA, tied=0, bias=st.sampled_from([0, 1]))
RESNET = {"width": 4, "classes": few, **{f"stage{at}": few for at in (1, 2, 3, 4)}}
MOBILE = built("mobilenet-v2", width=st.sampled_from([10, 20]), classes=few)
VIT = built("vit-b16", **PICTURE)


class Way(NamedTuple):
    """An adapter, the one that takes it back, and modules whose files it is for."""

    there: str
    back: str
    modules: st.SearchStrategy[Module]


WAYS = {
    "pytorch": Way("ruda-to-pytorch", "pytorch-to-ruda", anything | grouped | LLAMAS | VIT),
    "gpt2": Way("ruda-to-gpt2", "gpt2-to-ruda", conv1d | anything | grouped),
    "keras": Way("ruda-to-keras", "keras-to-ruda", anything),
    "rope": Way("rope-to-halves:2,1", "rope-to-pairs:2,1", LLAMAS),
    "hf-bert": built("bert-base", **TEXT, vocab=few, positions=few, pooler=st.sampled_from([0, 1])),
    "hf-gpt2": built("gpt2", **TEXT, vocab=few, positions=few, tied=st.sampled_from([0, 1])),
    "hf-llama": LLAMAS,
    "hf-resnet": built("resnet18", **RESNET) | built("resnet50", **RESNET),
    "hf-mobilenet-v2": MOBILE,
    "hf-vit": VIT,
    "llama2c": built("llama", **LLAMA),
    "timm-mobilenet-v2": MOBILE,
    "timm-vit": VIT,
    "torchvision-vit": VIT,
}
ONE_WAY = {"tied-head"}
"""The head has a tensor of its own afterwards: nothing is left to take back."""


def way(name: str) -> Way:
    found = WAYS[name]
    if isinstance(found, Way):
        return found
    return Way(f"ruda-to-{name}", f"{name}-to-ruda", found)


EVERY = [pytest.param(way(name), id=name) for name in WAYS]


def test_no_adapter_is_left_out() -> None:
    known = {form.partition(":")[0] for form in (*adapter_names(), *FORMS, *NAME_FORMS)}
    named = {name.partition(":")[0] for each in map(way, WAYS) for name in each[:2]}
    assert named | ONE_WAY == known
    for each in map(way, WAYS):
        assert adapter_named(each.there).reverse().name == each.back
        assert adapter_named(each.back).reverse().name == each.there


def filled(module: Module, dtype: DType, seed: int) -> TensorIndex:
    """The tensors of a module with arbitrary bits, all kinds of module known."""
    bits = np.random.default_rng(seed)
    made = [
        TensorSnapshot.from_array(
            key,
            np.frombuffer(bits.bytes(dtype.nbytes(math.prod(s.shape))), dtype.carrier).reshape(
                s.shape
            ),
            dtype=dtype,
            containers=s.containers,
        )
        for key, s in collect(module).items()
        if s.shared_with is None
    ]
    return TensorIndex.of(made, format="module")


def plain(index: TensorIndex) -> TensorIndex:
    """The same tensors as a file has them, which knows no modules."""
    made = [TensorSnapshot.from_array(key, s.read(), dtype=s.dtype) for key, s in index.items()]
    return TensorIndex.of(made, format="safetensors")


def content(index: TensorIndex) -> dict[str, tuple[DType, tuple[int, ...], bytes]]:
    return {key: (s.dtype, s.shape, s.read().tobytes()) for key, s in index.items()}


@pytest.mark.parametrize("each", EVERY)
@LAW
@given(data=st.data(), dtype=DTYPES, seed=st.integers(0, 9))
def test_there_and_back_is_the_identity(
    each: Way, data: st.DataObject, dtype: DType, seed: int
) -> None:
    module = data.draw(each.modules)
    native = filled(module, dtype, seed)
    there, back = Recipe(adapt=(each.there,)), Recipe(adapt=(each.back,))
    other = plain(convert(native, recipe=there, target=module))
    home = convert(other, recipe=back, target=module)
    assert content(home) == content(native)
    assert content(convert(home, recipe=there, target=module)) == content(other)


@pytest.mark.parametrize("each", EVERY)
@LAW
@given(data=st.data())
def test_totals_hold_whatever_is_absent_odd_or_left_out(each: Way, data: st.DataObject) -> None:
    module = data.draw(each.modules)
    native = filled(module, DType.F32, 0)
    other = plain(convert(native, recipe=Recipe(adapt=(each.there,)), target=module))
    keys = sorted(other)
    gone = data.draw(st.sets(st.sampled_from(keys)), label="absent")
    odd = data.draw(st.sets(st.sampled_from(keys), max_size=3), label="of another shape")
    source = TensorIndex.of(
        [
            TensorSnapshot.from_array(key, np.zeros((2, 3, 5), "<f4")) if key in odd else s
            for key, s in other.items()
            if key not in gone
        ]
        + [TensorSnapshot.from_array("nobody.wants", np.zeros(2, "<f4"))],
        format="safetensors",
    )
    recipe = Recipe(adapt=(each.back,))
    wanted = [entry.key for entry in module.walk()]
    recipe = recipe.with_skip(*data.draw(st.sets(st.sampled_from(wanted), max_size=2)))
    if data.draw(st.booleans()):
        recipe = recipe.with_select(PathFilter(regexes=("weight|gamma",)))
    report = diff(source, module, recipe=recipe)
    assert report.totals_hold
    assert [row.target_key for row in report.rows if row.target is not None] == wanted
    assert {s.key for row in report.rows for s in row.sources} == set(source)
