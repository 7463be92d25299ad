"""Tensors that PyTorch keeps as one and Ruda as several: recurrent layers, attention, norms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ruda import nn
from ruda.errors import AdapterError, LoadError
from ruda.nn import Module, ModuleSpec
from ruda.store import (
    CastPolicy,
    Flag,
    KeyRemapper,
    Recipe,
    RemapRule,
    RudaToPyTorch,
    SafetensorsStore,
    Status,
    apply,
    collect,
    convert,
    diff,
    open_store,
    save,
)
from ruda.store.containers import infer_containers
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

TO_RUDA = Recipe(adapt=("pytorch-to-ruda",))
TO_PYTORCH = Recipe(adapt=("ruda-to-pytorch",))


def index_of(**shapes: tuple[int, ...]) -> TensorIndex:
    """A file with these tensors; ``__`` in a name is a dot."""
    rng = np.random.Generator(np.random.PCG64(0))
    return TensorIndex.of(
        [
            TensorSnapshot.from_array(
                key.replace("__", "."), rng.normal(size=shape).astype(np.float32)
            )
            for key, shape in shapes.items()
        ],
        format="pytorch",
    )


def recurrent(gates: int, d: int, h: int, *suffixes: str, head: str = "") -> TensorIndex:
    shapes: dict[str, tuple[int, ...]] = {}
    for at, suffix in enumerate(suffixes):
        wide = d if at == 0 or "l0" in suffix else h
        shapes[f"{head}weight_ih{suffix}"] = (gates * h, wide)
        shapes[f"{head}weight_hh{suffix}"] = (gates * h, h)
        shapes[f"{head}bias_ih{suffix}"] = (gates * h,)
        shapes[f"{head}bias_hh{suffix}"] = (gates * h,)
    return index_of(**shapes)


class Holder(Module):
    def __init__(self, field: object) -> None:
        self.part = field


def loaded(module: Module, source: TensorIndex, recipe: Recipe = TO_RUDA) -> dict[str, np.ndarray]:
    apply(source, module, recipe=recipe)
    return {entry.key: entry.param.value().numpy() for entry in module.walk()}


GATE_ORDER = {
    "Lstm": ["input_gate", "forget_gate", "cell_gate", "output_gate"],
    "Gru": ["reset_gate", "update_gate", "new_gate"],
    "Rnn": ["gate"],
}


@pytest.mark.parametrize("kind", ["Lstm", "Gru", "Rnn"])
def test_gates_are_blocks_of_rows(kind: str) -> None:
    gates = GATE_ORDER[kind]
    source = recurrent(len(gates), 3, 4, "_l0")
    values = loaded(getattr(nn, kind)(3, 4), source)
    for at, gate in enumerate(gates):
        rows = slice(at * 4, at * 4 + 4)
        for part, short in (("input_transform", "ih"), ("hidden_transform", "hh")):
            weight = source[f"weight_{short}_l0"].read()[rows].T
            np.testing.assert_array_equal(values[f"{gate}.{part}.weight"], weight)
            bias = source[f"bias_{short}_l0"].read()[rows]
            np.testing.assert_array_equal(values[f"{gate}.{part}.bias"], bias)


def test_a_split_source_counts_once_and_has_a_row_for_each_part() -> None:
    report = diff(recurrent(4, 3, 4, "_l0"), nn.Lstm(3, 4), recipe=TO_RUDA)
    assert (report.source_tensors, report.target_tensors) == (4, 16)
    assert report.counts[Status.APPLIED] == 16
    assert report.totals_hold
    assert dict(report.reused) == dict.fromkeys(
        ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"], 4
    )
    row = report.rows[0]
    assert row.source_key == "weight_ih_l0"
    assert row.trail == ("rename", "split 4", "transpose 1,0")
    assert row.flags == {Flag.SPLIT, Flag.RENAMED, Flag.TRANSPOSED}
    assert row.nbytes == 4 * 3 * 4
    assert report.as_data()["reused"]["weight_ih_l0"] == 4
    told = "4 of 4 sources are used several times, 'weight_ih_l0' first (4 times)"
    assert f"listed apart: {told}" in str(report)


def test_square_blocks_are_proven_by_what_they_are_blocks_of() -> None:
    report = diff(recurrent(4, 4, 4, "_l0"), nn.Lstm(4, 4), recipe=TO_RUDA)
    assert not any(row.caution for row in report.rows)


def test_both_ways_and_layers() -> None:
    both = recurrent(3, 3, 4, "_l0", "_l0_reverse")
    values = loaded(nn.BiGru(3, 4), both)
    expected = both["weight_hh_l0_reverse"].read()[4:8].T
    found = values["reverse.update_gate.hidden_transform.weight"]
    np.testing.assert_array_equal(found, expected)
    deep = recurrent(4, 3, 4, "_l0", "_l1", head="part__")
    values = loaded(Holder([nn.Lstm(3, 4), nn.Lstm(4, 4)]), deep)
    found = values["part.1.cell_gate.input_transform.weight"]
    np.testing.assert_array_equal(found, deep["part.weight_ih_l1"].read()[8:12].T)


def test_a_list_of_layers_may_be_one_in_pytorch_too() -> None:
    first, second = (recurrent(4, 3, 3, "_l0", head=f"part__{at}__") for at in range(2))
    source = TensorIndex.of([*first.values(), *second.values()], format="pytorch")
    report = diff(source, Holder([nn.Lstm(3, 3), nn.Lstm(3, 3)]), recipe=TO_RUDA)
    assert report.is_clean
    assert report.totals_hold
    assert report.rows[0].source_key == "part.0.weight_ih_l0"


def test_cells_have_no_number() -> None:
    assert loaded(nn.Gru(3, 4), recurrent(3, 3, 4, ""))


def test_without_biases() -> None:
    source = index_of(weight_ih_l0=(16, 3), weight_hh_l0=(16, 4))
    assert diff(source, nn.Lstm(3, 4, bias=False), recipe=TO_RUDA).is_clean


def attention(d: int, head: str = "") -> dict[str, tuple[int, ...]]:
    return {
        f"{head}in_proj_weight": (3 * d, d),
        f"{head}in_proj_bias": (3 * d,),
        f"{head}out_proj__weight": (d, d),
        f"{head}out_proj__bias": (d,),
    }


def test_attention_in_thirds() -> None:
    source = index_of(**attention(4))
    values = loaded(nn.MultiHeadAttention(4, 2), source)
    whole = source["in_proj_weight"].read()
    for at, name in enumerate(("query", "key", "value")):
        np.testing.assert_array_equal(values[f"{name}.weight"], whole[at * 4 : at * 4 + 4].T)
    np.testing.assert_array_equal(values["output.weight"], source["out_proj.weight"].read().T)


def test_attention_with_matrices_of_its_own() -> None:
    shapes = attention(4)
    del shapes["in_proj_weight"]
    source = index_of(**shapes, q_proj_weight=(4, 4), k_proj_weight=(4, 4), v_proj_weight=(4, 4))
    values = loaded(nn.MultiHeadAttention(4, 2), source)
    np.testing.assert_array_equal(values["key.weight"], source["k_proj_weight"].read().T)


def encoder(norms: int, *attentions: str) -> TensorIndex:
    shapes: dict[str, tuple[int, ...]] = {}
    for name in attentions:
        shapes |= attention(4, f"{name}__")
    shapes |= {"linear1__weight": (6, 4), "linear1__bias": (6,)}
    shapes |= {"linear2__weight": (4, 6), "linear2__bias": (4,)}
    for at in range(norms):
        shapes |= {f"norm{at + 1}__weight": (4,), f"norm{at + 1}__bias": (4,)}
    return index_of(**shapes)


@pytest.mark.parametrize(
    ("norm_first", "places"), [(False, (1, 2)), (True, (2, 1))], ids=["norms last", "norms first"]
)
def test_norms_of_an_encoder_layer(norm_first: bool, places: tuple[int, ...]) -> None:
    source = encoder(2, "self_attn")
    layer = nn.TransformerEncoderLayer(nn.TransformerSettings(4, 6, 2, norm_first=norm_first))
    values = loaded(layer, source)
    for at, place in enumerate(places):
        expected = source[f"norm{place}.weight"].read()
        np.testing.assert_array_equal(values[f"norm_{at + 1}.gamma"], expected)
    inner = source["linear1.weight"].read().T
    np.testing.assert_array_equal(values["pwff.linear_inner.weight"], inner)


@pytest.mark.parametrize(
    ("norm_first", "places"),
    [(False, (1, 2, 3)), (True, (2, 3, 1))],
    ids=["norms last", "norms first"],
)
def test_norms_of_a_decoder_layer(norm_first: bool, places: tuple[int, ...]) -> None:
    source = encoder(3, "self_attn", "multihead_attn")
    layer = nn.TransformerDecoderLayer(nn.TransformerSettings(4, 6, 2, norm_first=norm_first))
    values = loaded(layer, source)
    for at, place in enumerate(places):
        expected = source[f"norm{place}.bias"].read()
        np.testing.assert_array_equal(values[f"norm_{at + 1}.beta"], expected)
    whole = source["multihead_attn.in_proj_weight"].read()
    np.testing.assert_array_equal(values["cross_attn.value.weight"], whole[8:].T)


def test_joined_rows_when_the_target_is_a_file_of_pytorch() -> None:
    target = recurrent(4, 3, 4, "_l0", head="rnn__")
    model = Holder(nn.Lstm(3, 4))
    recipe = replace_part(TO_PYTORCH)
    report = diff(collect(model), target, recipe=recipe)
    assert report.counts[Status.APPLIED] == 4
    assert report.totals_hold
    row = next(row for row in report.rows if row.key == "rnn.weight_hh_l0")
    assert row.trail == ("rename", "transpose 1,0", "join 4")
    assert Flag.JOINED in row.flags
    assert len(row.sources) == 4
    assert not report.reused
    assert row.adapted is not None
    assert row.adapted.shape == (16, 4)
    order = GATE_ORDER["Lstm"]
    gates = [getattr(model.part, name).hidden_transform.weight.value().numpy().T for name in order]
    np.testing.assert_array_equal(row.adapted.read(), np.concatenate(gates))
    streamed = b"".join(bytes(piece) for piece in row.adapted.chunks(7))
    assert streamed == np.concatenate(gates).tobytes()


def replace_part(recipe: Recipe) -> Recipe:
    return recipe.with_remap(KeyRemapper((RemapRule("^part", "rnn"),)))


def test_a_part_that_is_absent_leaves_the_whole_missing() -> None:
    target = recurrent(4, 3, 4, "_l0")
    kept = [s for key, s in collect(nn.Lstm(3, 4)).items() if not key.startswith("cell_gate")]
    report = diff(TensorIndex.of(kept, format="module"), target, recipe=TO_PYTORCH)
    assert report.counts[Status.MISSING] == 4
    assert report.counts[Status.UNUSED] == 12
    assert report.totals_hold


def test_rows_that_do_not_divide_are_an_error_row_and_nothing_is_loaded() -> None:
    source = index_of(weight_ih_l0=(15, 3), weight_hh_l0=(16, 4))
    module = nn.Lstm(3, 4, bias=False)
    report = diff(source, module, recipe=TO_RUDA)
    assert report.counts[Status.ERROR] == 4
    assert report.totals_hold
    with pytest.raises(LoadError, match="does not divide into 4 blocks of rows"):
        apply(source, module, recipe=TO_RUDA)
    assert not any(entry.param.is_initialized for entry in module.walk())


def test_blocks_that_nobody_wants_are_noted() -> None:
    spec = ModuleSpec.of(nn.MultiHeadAttention(4, 2))
    half = ModuleSpec(tuple(e for e in spec.entries if not e.key.startswith("value")))
    report = diff(index_of(**attention(4)), half, recipe=TO_RUDA)
    assert "1 of the 3 blocks of rows of 'in_proj_weight' are wanted by nobody" in report.notes
    assert report.totals_hold


def test_a_skipped_part_leaves_the_others() -> None:
    recipe = TO_RUDA.with_skip("key.weight", "key.bias")
    module = nn.MultiHeadAttention(4, 2)
    report = diff(index_of(**attention(4)), module, recipe=recipe)
    assert report.counts[Status.SKIPPED] == 2
    assert report.counts[Status.APPLIED] == 6
    assert report.totals_hold


def test_casts_come_after_the_split() -> None:
    recipe = TO_RUDA.with_cast(CastPolicy.half(DType.F16))
    report = diff(index_of(**attention(4)), nn.MultiHeadAttention(4, 2), recipe=recipe)
    row = report.rows[0]
    assert row.trail == ("rename", "split 3", "transpose 1,0", "cast f16")
    assert row.adapted is not None
    assert row.adapted.read().dtype == np.float16


def test_a_diff_without_the_adapter_says_that_it_would_help() -> None:
    report = diff(recurrent(4, 3, 4, "_l0"), nn.Lstm(3, 4))
    assert report.hints[0].value == "pytorch-to-ruda"
    assert report.hints[0].matches == 16


def test_only_the_rows_are_read_from_a_file(tmp_path) -> None:
    save(recurrent(4, 64, 64, "_l0"), tmp_path / "lstm.safetensors")
    with open_store(tmp_path / "lstm.safetensors") as source:
        report = diff(source, nn.Lstm(64, 64), recipe=TO_RUDA)
        place = report.rows[0].adapted.origin
        assert place is not None
        whole = source["weight_ih_l0"]
        found = report.rows[0].adapted.read()
        np.testing.assert_array_equal(found, whole.read()[:64].T)
        part = next(r for r in report.rows if r.key == "forget_gate.input_transform.bias").adapted
        assert part.origin.nbytes == 64 * 4
        assert part.origin.offset == source["bias_ih_l0"].origin.offset + 64 * 4
        np.testing.assert_array_equal(part.read(), source["bias_ih_l0"].read()[64:128])


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (recurrent(4, 3, 4, "_l0"), {"weight_ih_l0": ("Struct:Lstm",)}),
        (recurrent(3, 3, 4, "_l0", "_l1"), {"bias_hh_l1": ("Vec", "Struct:Gru")}),
        (recurrent(1, 3, 4, "_l0", "_l0_reverse"), {"weight_hh_l0": ("Struct:BiRnn",)}),
        (recurrent(2, 3, 4, "_l0"), {}),
        (
            index_of(**attention(4, "a__")),
            {
                "a.in_proj_bias": ("Struct:MultiHeadAttention",),
                "a.out_proj.weight": ("Struct:MultiHeadAttention", "Struct:Linear"),
            },
        ),
    ],
    ids=["lstm", "deep gru", "both ways", "two gates", "attention"],
)
def test_kinds_inferred_from_names_and_shapes(source, kinds) -> None:
    found = infer_containers(source.snapshots).containers
    assert {key: found.get(key) for key in kinds} == kinds
    if not kinds:
        assert not any(containers[-1].startswith("Struct:") for containers in found.values())


def test_parts_of_other_shapes_cannot_be_joined() -> None:
    model = nn.Lstm(3, 4)
    others = [
        s if s.key != "cell_gate.input_transform.weight" else collect(nn.Lstm(5, 4))[s.key]
        for s in collect(model).values()
    ]
    source = TensorIndex.of(others, format="module")
    report = diff(source, recurrent(4, 3, 4, "_l0"), recipe=TO_PYTORCH)
    (row,) = report.of(Status.ERROR)
    assert "cannot be joined by rows" in row.reason
    with pytest.raises(AdapterError, match="cannot be joined by rows"):
        raise AdapterError(row.reason)


def same(one: TensorIndex, other: TensorIndex) -> None:
    assert set(one.keys()) == set(other.keys())
    for key, snapshot in one.items():
        np.testing.assert_array_equal(snapshot.read(), other[key].read(), err_msg=key)


SOURCES = [
    pytest.param(recurrent(4, 3, 4, "_l0", head="a__b__"), None, id="lstm"),
    pytest.param(recurrent(3, 3, 4, "_l0", "_l1"), None, id="deep gru"),
    pytest.param(
        recurrent(1, 3, 4, "_l0", "_l0_reverse", "_l1", "_l1_reverse", head="r__"),
        None,
        id="deep rnn both ways",
    ),
    pytest.param(index_of(**attention(4, "layer__")), None, id="attention"),
    pytest.param(encoder(2, "self_attn"), False, id="encoder"),
    pytest.param(encoder(2, "self_attn"), True, id="encoder, norms first"),
]


def target_of(norm_first: bool | None) -> Module | None:
    if norm_first is None:
        return None
    return nn.TransformerEncoderLayer(nn.TransformerSettings(4, 6, 2, norm_first=norm_first))


@pytest.mark.parametrize(("source", "norm_first"), SOURCES)
def test_there_and_back_is_the_file(source: TensorIndex, norm_first: bool | None) -> None:
    target = target_of(norm_first)
    there = convert(source, recipe=TO_RUDA, target=target)
    assert not any("weight_ih" in key or "in_proj" in key for key in there)
    same(source, convert(there, recipe=TO_PYTORCH, target=target))


@pytest.mark.parametrize(("source", "norm_first"), SOURCES[:4])
def test_back_from_a_file_that_knows_no_modules(source, norm_first, tmp_path) -> None:
    save(convert(source, recipe=TO_RUDA), tmp_path / "there.safetensors")
    with open_store(tmp_path / "there.safetensors") as there:
        same(source, convert(there, recipe=TO_PYTORCH))


def test_convert_for_a_target_gives_what_it_applies() -> None:
    source = encoder(2, "self_attn")
    module = target_of(True)
    assert module is not None
    made = convert(source, recipe=TO_RUDA, target=module)
    report = diff(made, module)
    assert report.is_clean
    values = loaded(target_of(True), source)
    for key, value in values.items():
        np.testing.assert_array_equal(made[key].read(), value)
    assert made["mha.query.weight"].trail == ("rename", "split 3", "transpose 1,0")


def test_convert_to_a_file_of_pytorch_as_target() -> None:
    model = nn.Lstm(3, 4)
    made = convert(collect(model), recipe=TO_PYTORCH, target=recurrent(4, 3, 4, "_l0"))
    assert list(made) == ["weight_ih_l0", "bias_ih_l0", "weight_hh_l0", "bias_hh_l0"]
    assert made["weight_ih_l0"].trail == ("rename", "transpose 1,0", "join 4")
    assert made["weight_ih_l0"].shape == (16, 3)


def test_convert_refuses_to_drop_blocks_and_to_join_what_is_not_all_there() -> None:
    spec = ModuleSpec.of(nn.MultiHeadAttention(4, 2))
    half = ModuleSpec(tuple(e for e in spec.entries if not e.key.startswith("value")))
    with pytest.raises(AdapterError, match="the target wants 2 of the 3 blocks of its rows"):
        convert(index_of(**attention(4)), recipe=TO_RUDA, target=half)
    model = nn.Lstm(3, 4)
    kept = [s for key, s in collect(model).items() if not key.startswith("cell_gate")]
    with pytest.raises(AdapterError, match="only 3 of the 4 tensors that it is made of are there"):
        convert(TensorIndex.of(kept, format="module"), recipe=TO_PYTORCH, target=model)


@pytest.mark.parametrize(("keys", "values"), [(5, 6), (4, 6), (5, 4)])
def test_attention_over_other_widths_comes_back_without_a_target(keys: int, values: int) -> None:
    source = index_of(
        m__q_proj_weight=(4, 4),
        m__k_proj_weight=(4, keys),
        m__v_proj_weight=(4, values),
        m__in_proj_bias=(12,),
        m__out_proj__weight=(4, 4),
        m__out_proj__bias=(4,),
    )
    native = convert(source, recipe=TO_RUDA)
    assert native["m.key.weight"].shape == (keys, 4)
    plain = [replace(native[key], containers=()) for key in native]
    back = convert(TensorIndex.of(plain, format="memory"), recipe=TO_PYTORCH)
    same(source.snapshots, back.snapshots)


def test_linears_named_as_attention_over_other_widths_stay_linears() -> None:
    """Without biases, fewer heads for keys in PyTorch's layout have the same shapes."""
    shapes = {"query": (4, 4), "key": (2, 4), "value": (2, 4), "output": (4, 4)}
    source = index_of(**{f"m__{name}__weight": shape for name, shape in shapes.items()})
    assert set(convert(source, recipe=TO_PYTORCH)) == set(source)


def test_what_is_left_out_is_not_divided() -> None:
    source = index_of(weight_ih_l0=(15, 3), weight_hh_l0=(16, 4), bias_hh_l0=(16,))
    with pytest.raises(AdapterError, match="does not divide into 4 blocks of rows"):
        convert(source, recipe=TO_RUDA)
    made = convert(source, recipe=TO_RUDA.with_skip("weight_ih_l0"))
    assert len(made) == 8
    assert not any("no tensor has the key" in note for note in made.notes)


def test_a_module_is_saved_as_pytorch_has_it(tmp_path) -> None:
    model = nn.Lstm(3, 4, seed=5)
    path = tmp_path / "lstm.safetensors"
    model.save_into(SafetensorsStore.from_file(path).with_to_adapter(RudaToPyTorch()))
    again = nn.Lstm(3, 4, seed=6)
    with open_store(path) as index:
        assert {key: s.shape for key, s in index.items()} == {
            "weight_ih_l0": (16, 3),
            "bias_ih_l0": (16,),
            "weight_hh_l0": (16, 4),
            "bias_hh_l0": (16,),
        }
        apply(index, again, recipe=TO_RUDA)
    same(collect(model), collect(again))


@pytest.mark.parametrize("norm_first", [False, True])
def test_norms_of_transformer_layers_are_not_guessed_from_a_file(norm_first: bool) -> None:
    source = encoder(2, "self_attn")
    made = convert(source, recipe=TO_RUDA)
    assert "norm1.gamma" in made
    assert any(note.startswith("1 transformer layer: the names inside") for note in made.notes)
    module = target_of(norm_first)
    assert module is not None
    plain = collect(Holder(module))
    bare = TensorIndex.of(
        [TensorSnapshot.from_array(key, s.read()) for key, s in plain.items()], format="rudapack"
    )
    back = convert(bare, recipe=TO_PYTORCH)
    assert {"part.norm_1.weight", "part.mha.in_proj_weight"} <= set(back)
    assert any(note.startswith("1 transformer layer: ") for note in back.notes)
