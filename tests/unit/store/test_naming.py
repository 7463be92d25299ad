"""Name maps: whose keys are whose, what is done to each tensor, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruda import nn
from ruda.errors import AdapterError, RecipeError
from ruda.models import get
from ruda.nn import ModuleSpec
from ruda.store import (
    CastPolicy,
    Recipe,
    Status,
    apply,
    collect,
    convert,
    diff,
    open_store,
    save,
    suggest,
)
from ruda.store.adapt import Chaining, ModuleAdapter, adapter_named
from ruda.store.index import TensorIndex
from ruda.store.name_tables import NAME_MAPS, name_map
from ruda.store.naming import recognised
from ruda.store.regroup import Piece
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import Tensor

SMALL = {"hidden": 4, "layers": 2, "heads": 2, "ff": 6}
TEXT = {**SMALL, "vocab": 7, "positions": 5}
PICTURE = {**SMALL, "image": 4, "patch": 2, "classes": 3}
LLAMA = {"dim": 8, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 6, "vocab": 7}
RESNET = {"width": 4, "classes": 3, **{f"stage{at}": 2 for at in (1, 2, 3, 4)}}

MODELS = {
    "hf-bert": ("bert-base", TEXT),
    "hf-gpt2": ("gpt2", {**TEXT, "tied": 0}),
    "hf-llama": ("qwen3-0.6b", {**LLAMA, "head_dim": 6, "bias": 1, "tied": 0}),
    "hf-resnet": ("resnet50", RESNET),
    "hf-mobilenet-v2": ("mobilenet-v2", {"width": 10, "classes": 3}),
    "hf-vit": ("vit-b16", PICTURE),
    "llama2c": ("llama", LLAMA),
    "timm-mobilenet-v2": ("mobilenet-v2", {"width": 10, "classes": 3}),
    "timm-vit": ("vit-b16", PICTURE),
    "torchvision-vit": ("vit-b16", PICTURE),
}
MAPS = [pytest.param(name, id=name) for name in NAME_MAPS]


def model_for(name: str, **settings: int) -> nn.Module:
    architecture, sizes = MODELS[name]
    return get(architecture).build(**{**sizes, "seed": 5, **settings})


def file_for(name: str, model: nn.Module, option: str = "") -> TensorIndex:
    """What the other library would have saved."""
    made = convert(collect(model), recipe=Recipe(adapt=(f"ruda-to-{name}{option}",)))
    plain = [TensorSnapshot.from_array(key, s.read().copy()) for key, s in made.items()]
    return TensorIndex.of(plain, format="safetensors")


def values(model: nn.Module) -> dict[str, np.ndarray]:
    return {entry.key: entry.param.value().numpy() for entry in model.walk()}


def equal(one: nn.Module, other: nn.Module) -> bool:
    found, expected = values(one), values(other)
    same = (np.array_equal(found[key], expected[key]) for key in expected)
    return found.keys() == expected.keys() and all(same)


@pytest.mark.parametrize("name", MAPS)
def test_a_table_names_every_tensor_once(name: str) -> None:
    table = name_map(name)
    keys = [entry.key for entry in model_for(name).walk()]
    found = {key: table.find(key) for key in keys}
    assert [key for key in keys if found[key] is None] == []
    there: dict[str, list[str]] = {}
    for key, each in found.items():
        assert each is not None
        assert each.here == key
        for spelling in each.elsewhere:
            there.setdefault(spelling, []).append(key)
    for spelling, owners in there.items():
        # No name means one tensor here and another there, and blocks are complete.
        assert spelling not in found or owners == [spelling]
        back = table.find_elsewhere(
            spelling if found[owners[0]].rule.row.outside else (table.prefixes[0] + spelling)
        )
        if back[0].rule.row.is_stacked:  # one tensor for all layers
            assert owners == [back[0].here.replace("*", str(at)) for at in range(2)]
            continue
        assert [each.here for each in back] == owners
        assert len(owners) == back[0].rule.row.blocks


@pytest.mark.parametrize("name", MAPS)
def test_there_and_back_through_files(name: str) -> None:
    model, fresh = model_for(name), model_for(name, seed=6)
    source = file_for(name, model)
    recipe = Recipe(adapt=(f"{name}-to-ruda",))
    report = diff(source, fresh, recipe=recipe)
    assert report.is_clean
    assert report.totals_hold
    assert not equal(fresh, model)
    apply(source, fresh, recipe=recipe)
    assert equal(fresh, model)


@given(
    st.sampled_from(["hf-bert", "hf-gpt2", "hf-vit", "timm-vit", "torchvision-vit"]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 3),
)
def test_any_sizes_come_back(name: str, layers: int, heads: int, ff: int, width: int) -> None:
    sizes = {"layers": layers, "heads": heads, "hidden": heads * width, "ff": ff}
    model, fresh = model_for(name, **sizes), model_for(name, **sizes, seed=6)
    apply(file_for(name, model), fresh, recipe=Recipe(adapt=(f"{name}-to-ruda",)))
    assert equal(fresh, model)


@given(st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.booleans(), st.booleans())
def test_any_heads_come_back(
    kv_heads: int, times: int, half: int, bias: bool, qk_norm: bool
) -> None:
    sizes = {
        "heads": kv_heads * times,
        "kv_heads": kv_heads,
        "head_dim": 2 * half,
        "bias": int(bias),
        "qk_norm": int(qk_norm),
    }
    model, fresh = model_for("hf-llama", **sizes), model_for("hf-llama", **sizes, seed=6)
    apply(file_for("hf-llama", model), fresh, recipe=Recipe(adapt=("hf-llama-to-ruda",)))
    assert equal(fresh, model)


TRAILS = [
    pytest.param("hf-bert", "encoder.layers.0.mha.query.weight", "rename; transpose 1,0"),
    pytest.param("hf-bert", "embeddings.norm.gamma", "rename"),
    pytest.param("hf-gpt2", "encoder.layers.1.mha.key.weight", "rename; split 3"),
    pytest.param("hf-gpt2", "encoder.layers.1.mha.key.bias", "rename; split 3"),
    pytest.param("hf-gpt2", "encoder.layers.0.pwff.linear_outer.weight", "rename"),
    pytest.param("hf-gpt2", "head.weight", "rename; transpose 1,0"),
    pytest.param("timm-vit", "encoder.layers.0.mha.value.weight", "rename; split 3; transpose 1,0"),
    pytest.param("torchvision-vit", "encoder.layers.0.mha.value.bias", "rename; split 3"),
    pytest.param(
        "hf-llama", "layers.0.attention.wk.weight", "rename; transpose 1,0; permute 2 heads"
    ),
    pytest.param("hf-llama", "layers.0.attention.wq.bias", "rename; permute 4 heads"),
    pytest.param("hf-llama", "layers.0.attention.q_norm.gamma", "rename; permute"),
    pytest.param("hf-llama", "layers.0.attention.wv.weight", "rename; transpose 1,0"),
    pytest.param("hf-resnet", "layer2.0.downsample.1.running_var", "rename"),
    pytest.param("llama2c", "layers.1.attention.wq.weight", "rename; split 2; transpose 1,0"),
    pytest.param("llama2c", "layers.1.ffn_norm.gamma", "rename; split 2"),
    pytest.param("llama2c", "output.weight", "rename; transpose 1,0"),
]


@pytest.mark.parametrize(("name", "key", "trail"), TRAILS)
def test_a_row_says_what_was_done(name: str, key: str, trail: str) -> None:
    model = model_for(name)
    report = diff(file_for(name, model), model, recipe=Recipe(adapt=(f"{name}-to-ruda",)))
    (row,) = (row for row in report.rows if row.key == key)
    assert "; ".join(row.trail) == trail


BACK = [
    pytest.param("hf-gpt2", "h.0.attn.c_attn.weight", (4, 12), "rename; join 3"),
    pytest.param("hf-gpt2", "h.0.attn.c_attn.bias", (12,), "rename; join 3"),
    pytest.param("timm-vit", "blocks.1.attn.qkv.weight", (12, 4), "rename; transpose 1,0; join 3"),
    pytest.param("llama2c", "w1", (2, 6, 8), "rename; transpose 1,0; join 2"),
    pytest.param("llama2c", "attention_norm", (2, 8), "rename; join 2"),
    pytest.param("hf-bert", "encoder.layer.0.output.dense.weight", (4, 6), "rename; transpose 1,0"),
    pytest.param(
        "hf-llama",
        "model.layers.0.self_attn.k_proj.weight",
        (12, 8),
        "rename; permute 2 heads; transpose 1,0",
    ),
]


@pytest.mark.parametrize(("name", "key", "shape", "trail"), BACK)
def test_a_saved_tensor_says_what_was_done(name, key, shape, trail) -> None:
    made = convert(collect(model_for(name)), recipe=Recipe(adapt=(f"ruda-to-{name}",)))
    assert (made[key].shape, "; ".join(made[key].trail)) == (shape, trail)


def test_norms_of_layers_with_norms_first_change_places() -> None:
    model = model_for("hf-gpt2")
    marks = {"encoder.layers.0.norm_1.gamma": 1.0, "encoder.layers.0.norm_2.gamma": 2.0}
    for entry in model.walk():
        if entry.key in marks:
            array = np.full(entry.param.shape, marks[entry.key], np.float32)
            entry.param.assign(array, entry.param.dtype)
    source = file_for("hf-gpt2", model)
    assert source["h.0.ln_1.weight"].read()[0] == 2.0  # before attention
    assert source["h.0.ln_2.weight"].read()[0] == 1.0  # before feed-forward


PREFIXES = [
    pytest.param("hf-bert", "", "embeddings.LayerNorm.weight", "hf-bert-to-ruda"),
    pytest.param("hf-bert", ":bert.", "bert.embeddings.LayerNorm.weight", "hf-bert-to-ruda:bert."),
    pytest.param("hf-gpt2", ":transformer.", "lm_head.weight", "hf-gpt2-to-ruda:transformer."),
    pytest.param("hf-llama", "", "model.norm.weight", "hf-llama-to-ruda"),
    pytest.param("hf-llama", ":-", "norm.weight", "hf-llama-to-ruda:-"),
    pytest.param("hf-vit", "", "vit.layernorm.weight", "hf-vit-to-ruda"),
]


@pytest.mark.parametrize(("name", "option", "key", "adapter"), PREFIXES)
def test_prefixes_are_read_and_written(name, option, key, adapter) -> None:
    model = model_for(name)
    source = file_for(name, model, option)
    assert key in source
    assert recognised(frozenset(source)) == (adapter,)
    for said in (f"{name}-to-ruda", adapter):
        assert diff(source, model, recipe=Recipe(adapt=(said,))).is_clean


def test_other_prefixes_are_not_read_where_one_is_said() -> None:
    model = model_for("hf-bert")
    report = diff(
        file_for("hf-bert", model), model, recipe=Recipe(adapt=("hf-bert-to-ruda:bert.",))
    )
    assert not report.is_complete
    applied = {row.key for row in report.of(Status.APPLIED)}
    names = ("word", "position", "token_type")
    assert applied == {f"embeddings.{name}_embeddings.weight" for name in names}  # called alike


def test_old_names_of_norms_are_read() -> None:
    model, fresh = model_for("hf-bert"), model_for("hf-bert", seed=6)
    new = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}

    def old(key: str) -> str:
        for one, other in new.items():
            key = key.replace(one, other)
        return key

    source = file_for("hf-bert", model)
    aged = TensorIndex.of([s.renamed(old(key)) for key, s in source.items()], format="pytorch")
    assert "embeddings.LayerNorm.gamma" in aged
    apply(aged, fresh, recipe=Recipe(adapt=("hf-bert-to-ruda",)))
    assert equal(fresh, model)


@pytest.mark.parametrize("name", ["hf-gpt2", "hf-llama"])
def test_a_tied_head_is_taken_from_the_embedding(name: str) -> None:
    table = {"hf-gpt2": "wte.weight", "hf-llama": "model.embed_tokens.weight"}[name]
    recipe = Recipe(adapt=(f"{name}-to-ruda",))
    tied, untied = model_for(name, tied=1), model_for(name)
    source = file_for(name, tied)
    assert "lm_head.weight" not in source
    report = diff(source, untied, recipe=recipe)
    assert report.is_clean
    assert dict(report.reused)[table] == 2
    apply(source, untied, recipe=recipe)
    found, head = values(untied), "head.weight" if name == "hf-gpt2" else "output.weight"
    rows = "token_embeddings.weight" if name == "hf-gpt2" else "tok_embeddings.weight"
    np.testing.assert_array_equal(found[head], found[rows].T)
    ids = np.array([[1, 2, 3]])
    apply(source, tied, recipe=recipe)
    np.testing.assert_allclose(tied(Tensor(ids)).numpy(), untied(Tensor(ids)).numpy(), atol=1e-5)


def test_heads_are_asked_for_where_nothing_says_them() -> None:
    source = file_for("hf-llama", model_for("hf-llama"))
    with pytest.raises(AdapterError, match="the number of heads is not known: name the model"):
        convert(source, recipe=Recipe(adapt=("hf-llama-to-ruda",)))
    made = convert(source, recipe=Recipe(adapt=("hf-llama-to-ruda:4,2",)))
    expected = values(model_for("hf-llama"))
    assert set(made) == set(expected)
    assert all(np.array_equal(made[key].read(), expected[key]) for key in expected)
    wrong = Recipe(adapt=("hf-llama-to-ruda:5,5",))
    with pytest.raises(AdapterError, match=r"\[8, 24\] of f32 has no columns for 5 heads"):
        convert(source, recipe=wrong)


OPTIONS = [
    pytest.param("hf-bert-to-ruda:bert", "prefix of the keys", id="no dot"),
    pytest.param("hf-bert-to-ruda:8", "stands the prefix of the keys .* got '8'", id="heads"),
    pytest.param("hf-llama-to-ruda:8,4,2", r"or the heads \(32,8\); got '8,4,2'", id="three"),
    pytest.param("hf-llama-to-ruda:0", "or the heads", id="none"),
    pytest.param("hf-llama-to-ruda:" + "9" * 5000, "or the heads", id="endless"),
    pytest.param("hf-llama-to-ruda:", "or the heads", id="empty"),
    pytest.param("hf-berd-to-ruda", "no adapter is called 'hf-berd-to-ruda'", id="name"),
    pytest.param("hf-bert", "no adapter is called 'hf-bert'; known: .*hf-bert-to-ruda", id="way"),
]


@pytest.mark.parametrize(("name", "message"), OPTIONS)
def test_wrong_names_are_refused(name: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        Recipe(adapt=(name,))


NAMED = [
    "hf-llama-to-ruda:8,2",
    "ruda-to-hf-llama:model.:8",
    "ruda-to-hf-bert:bert.",
    "hf-vit-to-ruda:-",
]


@pytest.mark.parametrize("name", NAMED)
def test_names_are_kept_and_turned(name: str) -> None:
    adapter = adapter_named(name)
    assert adapter.name == name
    assert adapter.reverse().reverse() == adapter


def test_keys_of_others_are_not_recognised() -> None:
    assert recognised(frozenset({"conv1.weight", "layer1.0.conv1.weight"})) == ()
    assert recognised(frozenset()) == ()


def test_what_the_table_does_not_know_is_pytorchs() -> None:
    extra = {
        "cls.dense.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
        "cls.dense.bias": np.zeros(2, np.float32),
    }
    source = TensorIndex.of(
        [TensorSnapshot.from_array(key, array) for key, array in extra.items()], format="pytorch"
    )
    made = convert(source, recipe=Recipe(adapt=("hf-bert-to-ruda",)))
    assert made["cls.dense.weight"].shape == (3, 2)
    back = convert(made, recipe=Recipe(adapt=("ruda-to-hf-bert",)))
    np.testing.assert_array_equal(back["cls.dense.weight"].read(), extra["cls.dense.weight"])


def test_columns_that_do_not_divide_are_an_error_row() -> None:
    model = model_for("hf-gpt2")
    source = file_for("hf-gpt2", model)
    odd = [
        TensorSnapshot.from_array(key, np.zeros((4, 11), np.float32))
        if key == "h.0.attn.c_attn.weight"
        else s
        for key, s in source.items()
    ]
    report = diff(TensorIndex.of(odd, format="x"), model, recipe=Recipe(adapt=("hf-gpt2-to-ruda",)))
    errors = report.of(Status.ERROR)
    assert [row.key.split(".")[4] for row in errors] == ["query", "key", "value"]
    assert all("[4, 11] does not divide into 3 blocks of columns" in row.reason for row in errors)


@pytest.mark.parametrize("name", MAPS)
def test_a_diff_without_a_recipe_hints_at_the_adapter(name: str) -> None:
    model = model_for(name)
    report = diff(file_for(name, model), model)
    assert (report.hints[0].kind, report.hints[0].value) == ("adapt", f"{name}-to-ruda")
    taken = len(diff(file_for(name, model), model, recipe=Recipe(adapt=(f"{name}-to-ruda",))).rows)
    alike = len(report.of(Status.APPLIED)) + len(report.of(Status.ERROR))
    assert report.hints[0].matches >= taken - alike
    noted = diff(file_for(name, model), model, recipe=Recipe(adapt=(f"{name}-to-ruda",))).notes
    expected = name_map(name).note
    assert noted == ((f"{name}-to-ruda: {expected}",) if expected else ())


COMPUTED = [
    pytest.param("embeddings.position_ids", (1, 5), True, id="positions"),
    pytest.param("h.0.attn.bias", (1, 1, 5, 5), True, id="mask"),
    pytest.param("h.0.attn.masked_bias", (), True, id="value of a mask"),
    pytest.param("model.rotary_emb.inv_freq", (3,), True, id="frequencies"),
    pytest.param("h.0.attn.bias", (5,), False, id="a bias"),
    pytest.param("h.0.cross_attn.bias", (1, 1, 5, 5), False, id="another name"),
]


@pytest.mark.parametrize(("key", "shape", "is_harmless"), COMPUTED)
def test_computed_tables_are_not_missed(key, shape, is_harmless) -> None:
    model = model_for("hf-bert")
    source = file_for("hf-bert", model)
    extra = TensorSnapshot.from_array(key, np.zeros(shape, np.float32))
    report = diff(
        TensorIndex.of([*source.values(), extra], format="x"),
        model,
        recipe=Recipe(adapt=("hf-bert-to-ruda",)),
    )
    assert report.is_complete
    assert report.is_clean is is_harmless
    (row,) = report.of(Status.UNUSED)
    assert ("harmless" in row.reason) is is_harmless


@pytest.mark.parametrize(
    "other",
    ["pytorch-to-ruda", "hf-vit-to-ruda", "gpt2-to-ruda", "rope-to-pairs:4", "keras-to-ruda"],
)
def test_nothing_is_turned_twice(other: str) -> None:
    message = f"'hf-bert-to-ruda' turns matrices, and so does '{other}': take one of them"
    with pytest.raises(RecipeError, match=message):
        Recipe(
            adapt=(other, "hf-bert-to-ruda") if "vit" not in other else ("hf-bert-to-ruda", other)
        )


def test_a_tied_head_may_stand_beside_a_map() -> None:
    assert Recipe(adapt=("hf-bert-to-ruda", "tied-head")).adapter().name == (
        "hf-bert-to-ruda then tied-head"
    )


def test_layers_of_one_tensor_are_taken_one_by_one() -> None:
    source, recipe = file_for("llama2c", model_for("llama2c")), Recipe(adapt=("llama2c-to-ruda",))
    fewer = diff(source, model_for("llama2c", layers=1), recipe=recipe)
    assert fewer.is_complete
    assert "1 of the 2 blocks of rows of 'wq' are wanted by nobody" in fewer.notes
    more = diff(source, model_for("llama2c", layers=3), recipe=recipe)
    errors = more.of(Status.ERROR)
    assert len(errors) == 9
    assert "holds 2 layers, numbered from 0: there is no layer 2" in errors[0].reason
    there = convert(source, recipe=recipe)
    assert set(there) == set(values(model_for("llama2c")))
    again = convert(there, recipe=Recipe(adapt=("ruda-to-llama2c",)))
    assert {key: s.shape for key, s in again.items()} == {k: s.shape for k, s in source.items()}
    assert all(again[key].read().tobytes() == source[key].read().tobytes() for key in source)
    with pytest.raises(AdapterError, match="the target wants 1 of the 2 blocks of its rows"):
        convert(source, recipe=recipe, target=model_for("llama2c", layers=1))
    half = TensorIndex.of(
        [s for key, s in there.items() if key != "layers.0.attention.wq.weight"], format="x"
    )
    with pytest.raises(AdapterError, match="'wq': only 1 of the 2 tensors that it is made of"):
        convert(half, recipe=Recipe(adapt=("ruda-to-llama2c",)))


def test_a_layer_is_read_out_of_the_file_alone(tmp_path) -> None:
    path = tmp_path / "layers.safetensors"
    save(file_for("llama2c", model_for("llama2c")), path)
    with open_store(path) as source:
        there = convert(source, recipe=Recipe(adapt=("llama2c-to-ruda",)))
        norm, expected = there["layers.1.ffn_norm.gamma"], source["ffn_norm"]
        assert (norm.origin.offset, norm.nbytes) == (expected.origin.offset + 32, 32)
        np.testing.assert_array_equal(norm.read(), expected.read()[1])
        again = convert(there, recipe=Recipe(adapt=("ruda-to-llama2c",)))
        assert b"".join(again["ffn_norm"].chunks(8)) == expected.read().tobytes()


ODD_LAYERS = ["01", "1" * 5000, "\u0663", "-1", "+1", "1.0"]


@pytest.mark.parametrize(
    "number", ODD_LAYERS, ids=["zero", "long", "arabic", "minus", "plus", "dot"]
)
def test_a_layer_has_one_number(number: str) -> None:
    key = f"layers.{number}.attention.wq.weight"
    assert name_map("llama2c").find(key) is None
    odd = TensorSnapshot.from_array(key, np.zeros((8, 8), np.float32))
    model = collect(model_for("llama2c"))
    mixed = TensorIndex.of([*model.values(), odd], format="x")
    made = convert(mixed, recipe=Recipe(adapt=("ruda-to-llama2c",)))
    assert key in made  # it stays what it is, and takes no other's place
    assert made["wq"].shape == (2, 8, 8)


@pytest.mark.parametrize("outer", ["module.", "model.module.", "net."])
@pytest.mark.parametrize("name", ["hf-bert", "hf-gpt2", "timm-vit"])
def test_something_before_every_key_hides_no_family(name: str, outer: str) -> None:
    """A layout that is guessed instead would turn what must not be turned."""
    model, fresh = model_for(name), model_for(name, seed=6)
    wrapped = [each.renamed(outer + key) for key, each in file_for(name, model).items()]
    source = TensorIndex.of(wrapped, format="pytorch")
    report = suggest(source, fresh)
    assert {step.verdict.value for step in report.suggestions} == {"certain"}
    recipe = report.to_recipe()
    assert recipe.adapt == (f"{name}-to-ruda",)
    apply(source, fresh, recipe=recipe)
    assert equal(fresh, model)


@pytest.mark.parametrize("name", MAPS)
def test_a_conversion_guesses_no_kinds_that_the_table_knows(name: str) -> None:
    heads = ":4,2" if name == "hf-llama" else ""
    source = file_for(name, model_for(name))
    there = convert(source, recipe=Recipe(adapt=(f"{name}-to-ruda{heads}",)))
    back = convert(there, recipe=Recipe(adapt=(f"ruda-to-{name}{heads}",)))
    assert (there.notes, back.notes) == ((), ())
    half = convert(source, recipe=Recipe(adapt=(f"{name}-to-ruda{heads}",), cast=CastPolicy.half()))
    kept = {key for key, each in half.items() if str(each.dtype) == "f32"}
    norms = {entry.key for entry in model_for(name).walk() if "BatchNorm" in entry.containers[-1]}
    assert norms <= kept
    linear = {e.key for e in model_for(name).walk() if e.containers[-1] == "Struct:Linear"}
    assert linear.isdisjoint(kept)


def test_names_of_conv1d_make_a_guess_no_more_than_likely() -> None:
    """Without the embeddings of places no family is recognised; shapes alone would turn c_fc."""
    model = model_for("hf-gpt2")
    source = file_for("hf-gpt2", model)
    part = TensorIndex.of([each for key, each in source.items() if "wpe" not in key], format="x")
    assert recognised(frozenset(part)) == ()
    report = suggest(part, model)
    (adapter,) = (step for step in report.suggestions if step.adapter is not None)
    assert (adapter.adapter, adapter.verdict.value) == ("pytorch-to-ruda", "likely")
    assert "c_attn is a Conv1D in GPT-2, which this adapter turns wrongly" in adapter.evidence
    assert report.to_recipe().adapt == ()


@dataclass(frozen=True)
class Unsorted(Chaining):
    """An adapter that does not say which tensors are alike: each is asked about."""

    inner: ModuleAdapter

    @property
    def name(self) -> str:
        return self.inner.name

    def adapt(self, snapshot: TensorSnapshot) -> TensorSnapshot:
        return self.inner.adapt(snapshot)

    def alternative_name(self, name: str, kind: str | None) -> str | None:
        return self.inner.alternative_name(name, kind)

    def pieces(self, key: str, containers: tuple[str, ...]) -> tuple[tuple[Piece, ...], ...]:
        return self.inner.pieces(key, containers)

    def reverse(self) -> ModuleAdapter:
        return Unsorted(self.inner.reverse())


@pytest.mark.parametrize("name", MAPS)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_kinds_of_rows_are_those_of_every_row_alone(name: str, data: st.DataObject) -> None:
    """Tensors that are judged alike have the rows that they would have alone, damaged or not."""
    model = model_for(name)
    there = file_for(name, model)
    forward = data.draw(st.booleans())
    source, target = (there, ModuleSpec.of(model)) if forward else (collect(model), there)
    keys = st.sampled_from(sorted(source))
    odd = data.draw(st.sets(keys, max_size=4))
    lost = data.draw(st.sets(keys, max_size=2))
    source = TensorIndex.of(
        [
            TensorSnapshot.from_array(key, np.zeros((*s.shape, 2), "<f2")) if key in odd else s
            for key, s in source.items()
            if key not in lost
        ],
        format="pytorch",
    )
    adapter = adapter_named(f"{name}-to-ruda" if forward else f"ruda-to-{name}")
    together = diff(source, target, recipe=Recipe(adapt=(adapter,)))
    alone = diff(source, target, recipe=Recipe(adapt=(Unsorted(adapter),)))
    assert together.counts == alone.counts
    assert together.coverage == alone.coverage
    assert [row.as_data() for row in together.rows] == [row.as_data() for row in alone.rows]
    assert len(together.table.known) <= len(alone.table.known)
    for kind, row in zip(together.table.kinds, together.rows, strict=True):
        known = together.table.known[kind]
        assert (known.status, known.cause) == (row.status, row.cause)
    told = [note for note in together.notes if not note.startswith(adapter.name)]
    assert told == list(alone.notes)


def test_layers_are_judged_once() -> None:
    model = model_for("hf-llama", layers=6)
    source = file_for("hf-llama", model)
    table = diff(source, model, recipe=Recipe(adapt=("hf-llama-to-ruda",))).table
    few = diff(file_for("hf-llama", model_for("hf-llama")), model_for("hf-llama"),
               recipe=Recipe(adapt=("hf-llama-to-ruda",))).table  # fmt: skip
    assert len(table) > len(few)
    assert len(table.known) == len(few.known)
