"""Adapters for single families of models: GPT-2, rotary encoding, tied heads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda import nn
from ruda.errors import AdapterError, RecipeError
from ruda.nn import Module
from ruda.store import Flag, HalfPrecisionAdapter, Recipe, Status, apply, convert, diff
from ruda.store.adapt import adapter_named, adapter_names
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot


def snapshot(key: str, values: np.ndarray, kind: str = "Linear") -> TensorSnapshot:
    containers = ("",) * key.count(".") + (f"Struct:{kind}",)
    return TensorSnapshot.from_array(key, values, containers=containers)


class Gpt2Block(Module):
    def __init__(self) -> None:
        self.c_attn = nn.Linear(2, 6)
        self.ln_1 = nn.LayerNorm(2)
        self.other = nn.Linear(2, 3)


def test_conv1d_of_gpt2_is_not_turned() -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    shapes = {
        "c_attn.weight": (2, 6),
        "c_attn.bias": (6,),
        "ln_1.weight": (2,),
        "ln_1.bias": (2,),
        "other.weight": (3, 2),
        "other.bias": (3,),
    }
    source = TensorIndex.of(
        [
            TensorSnapshot.from_array(k, rng.normal(size=s).astype(np.float32))
            for k, s in shapes.items()
        ],
        format="x",
    )
    target, recipe = Gpt2Block(), Recipe(adapt=("gpt2-to-ruda",))
    rows = {row.key: row for row in diff(source, target, recipe=recipe).rows}
    assert rows["c_attn.weight"].trail == ()
    assert rows["other.weight"].trail == ("transpose 1,0",)
    assert rows["ln_1.gamma"].trail == ("rename",)
    there = convert(source, recipe=recipe, target=target)
    back = convert(there, recipe=Recipe(adapt=("ruda-to-gpt2",)), target=target)
    assert {k: s.shape for k, s in back.items()} == shapes


def test_a_conv1d_may_be_halved_as_the_linear_that_it_is() -> None:
    adapter = adapter_named("gpt2-to-ruda").chain(HalfPrecisionAdapter())
    made = adapter.adapt(snapshot("h.c_fc.weight", np.ones((2, 3), np.float32)))
    assert made.trail == ("cast f16",)


def rotated_pairs(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
    out[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
    return out


def rotated_halves(x: np.ndarray, angle: np.ndarray) -> np.ndarray:
    first, second = np.split(x, 2, axis=-1)
    both = (first * np.cos(angle) - second * np.sin(angle),)
    return np.concatenate([*both, first * np.sin(angle) + second * np.cos(angle)], axis=-1)


def test_scores_are_the_same_after_the_columns_changed_places() -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    width, heads, key_heads, head = 6, 4, 2, 8
    queries, keys = rng.normal(size=(width, heads * head)), rng.normal(size=(width, 2 * head))
    adapter = adapter_named("rope-to-pairs:4,2")
    turned = [
        adapter.adapt(snapshot(f"attn.{name}.weight", values)).read()
        for name, values in (("q_proj", queries), ("k_proj", keys))
    ]
    x, angle = rng.normal(size=(3, width)), rng.normal(size=(3, 1, head // 2))

    def scores(rotated, q, k):
        spread = rotated((x @ q).reshape(3, heads, head), angle)
        seen = rotated((x @ k).reshape(3, key_heads, head), angle).repeat(2, axis=1)
        return np.einsum("thd,shd->hts", spread, seen)

    before, after = scores(rotated_halves, queries, keys), scores(rotated_pairs, *turned)
    np.testing.assert_allclose(before, after, atol=1e-12)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.booleans())
def test_there_and_back_is_the_identity(heads: int, half: int, rows: int, is_bias: bool) -> None:
    shape = (2 * half * heads,) if is_bias else (rows, 2 * half * heads)
    values = np.arange(np.prod(shape)).reshape(shape).astype(np.float32)
    leaf = "bias" if is_bias else "weight"
    adapter = adapter_named(f"rope-to-pairs:{heads}")
    there = adapter.adapt(snapshot(f"a.wq.{leaf}", values))
    assert there.trail == (f"permute {heads} heads" if heads > 1 else "permute",)
    back = adapter.reverse().adapt(there)
    np.testing.assert_array_equal(back.read(), values)
    assert adapter.reverse().reverse() == adapter


def test_other_tensors_stay_and_odd_columns_are_an_error() -> None:
    adapter = adapter_named("rope-to-pairs:2")
    other = snapshot("a.v_proj.weight", np.ones((2, 4), np.float32))
    assert adapter.adapt(other) is other
    with pytest.raises(AdapterError, match=r"\[2, 6\] of f32 has no columns for 2 heads"):
        adapter.adapt(snapshot("a.q_proj.weight", np.ones((2, 6), np.float32)))


class Llama(Module):
    def __init__(self) -> None:
        self.embed_tokens = nn.Embedding(5, 2)
        self.lm_head = nn.Linear(2, 5, bias=False)


def test_a_head_takes_the_embedding_where_the_file_has_none() -> None:
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    source = TensorIndex.of(
        [TensorSnapshot.from_array("embed_tokens.weight", table)], format="safetensors"
    )
    recipe = Recipe(adapt=("pytorch-to-ruda", "tied-head"))
    model = Llama()
    report = diff(source, model, recipe=recipe)
    assert report.is_clean
    assert report.totals_hold
    assert dict(report.reused) == {"embed_tokens.weight": 2}
    assert report.rows[1].flags == {Flag.RENAMED, Flag.TRANSPOSED}
    apply(source, model, recipe=recipe)
    np.testing.assert_array_equal(model.lm_head.weight.value().numpy(), table.T)
    made = convert(source, recipe=recipe, target=model)
    np.testing.assert_array_equal(made["lm_head.weight"].read(), table.T)
    np.testing.assert_array_equal(made["embed_tokens.weight"].read(), table)
    plain = diff(source, model, recipe=Recipe(adapt=("pytorch-to-ruda",)))
    assert [row.key for row in plain.of(Status.MISSING)] == ["lm_head.weight"]


def test_special_adapters_are_never_tried_by_themselves() -> None:
    assert adapter_names() == ("pytorch-to-ruda", "ruda-to-pytorch")


@pytest.mark.parametrize(
    "name",
    [
        "rope-to-pairs",
        "rope-to-pairs:",
        "rope-to-pairs:0",
        "rope-to-pairs:" + "9" * 5000,
        "rope-to-halves:1,2,3",
        "rope-to-pairs:a",
    ],
)
def test_heads_have_to_be_said(name: str) -> None:
    with pytest.raises(RecipeError, match="needs the number of heads"):
        Recipe(adapt=(name,))


def test_names_are_kept_in_a_recipe() -> None:
    for name in ("rope-to-pairs:8", "rope-to-halves:8,2", "tied-head", "ruda-to-gpt2"):
        assert adapter_named(name).name == name
    with pytest.raises(RecipeError, match=r"known: pytorch-to-ruda, .*rope-to-pairs:HEADS"):
        adapter_named("rope")
