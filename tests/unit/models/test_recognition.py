"""Which architecture a file is for: sizes by its shapes, the rest by the config.json beside it."""

from __future__ import annotations

import json
import math
import struct

import numpy as np
import pytest

from ruda.errors import RudaError
from ruda.models import config_beside, get, proposals
from ruda.store import CastPolicy, Recipe, collect, convert, open_store
from ruda.store.formats.llama2c import LlamaSizes
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

BERT = {"num_attention_heads": 2, "layer_norm_eps": 1e-12}
LLAMA = {"num_attention_heads": 4, "rms_norm_eps": 1e-6, "rope_theta": 500000.0}
SIZES = {"dim": 24, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 10, "vocab": 9}

FILES = [
    pytest.param(
        "hf-bert",
        "bert-base",
        {"hidden": 6, "layers": 1, "heads": 2, "ff": 7, "vocab": 9, "positions": 5, "pooler": 0},
        BERT,
        (),
        id="bert",
    ),
    pytest.param(
        "hf-bert", "minilm-l6", {"vocab": 5}, {**BERT, "num_attention_heads": 12}, (), id="minilm"
    ),
    pytest.param(
        "hf-gpt2",
        "gpt2",
        {"hidden": 6, "layers": 2, "heads": 3, "ff": 7, "vocab": 9, "positions": 5},
        {"n_head": 3},
        (),
        id="gpt2",
    ),
    pytest.param("hf-llama", "llama", {**SIZES, "eps": 6, "theta": 500000}, LLAMA, (), id="llama"),
    pytest.param(
        "hf-llama",
        "qwen2-0.5b",
        {**SIZES, "theta": 500000},
        LLAMA,
        (),
        id="qwen2",
    ),
    pytest.param(
        "hf-llama",
        "qwen3-0.6b",
        {**SIZES, "head_dim": 8, "eps": 6, "theta": 500000},
        LLAMA,
        (),
        id="qwen3",
    ),
    pytest.param(
        "hf-llama",
        "qwen3-0.6b",
        {**SIZES, "head_dim": 8},
        {},
        ("theta", "eps"),
        id="heads by norms",
    ),
    pytest.param("pytorch", "llama", {**SIZES, "eps": 6, "theta": 500000}, LLAMA, (), id="meta"),
    pytest.param(
        "llama2c", "llama", {"layers": 1}, {}, ("heads", "kv_heads", "theta", "eps"), id="c"
    ),
    pytest.param("pytorch", "resnet18", {"width": 4, "stage3": 1}, {}, (), id="resnet18"),
    pytest.param("pytorch", "resnet34", {"width": 4}, {}, (), id="resnet34"),
    pytest.param("hf-resnet", "resnet50", {"width": 4, "classes": 3}, {}, (), id="resnet50"),
    pytest.param("pytorch", "mobilenet-v2", {"width": 35}, {}, (), id="mobilenet"),
    pytest.param("timm-mobilenet-v2", "mobilenet-v2", {"classes": 3}, {}, (), id="mobilenet, timm"),
    pytest.param(
        "hf-mobilenet-v2",
        "mobilenet-v2",
        {"width": 75, "eps": 3, "tf": 1},
        {"depth_multiplier": 0.75, "layer_norm_eps": 0.001, "tf_padding": True},
        (),
        id="mobilenet, hf",
    ),
    pytest.param(
        "hf-vit",
        "vit-b16",
        {"hidden": 6, "layers": 1, "heads": 2, "ff": 8, "image": 8, "patch": 4, "eps": 12},
        BERT,
        (),
        id="vit",
    ),
    pytest.param(
        "timm-vit", "vit-b16", {"hidden": 12, "layers": 1}, {}, ("heads",), id="vit, timm"
    ),
    pytest.param(None, "vit-b16", {"hidden": 12, "layers": 1}, {}, ("heads",), id="vit, ours"),
]


def file_of(adapter: str | None, name: str, settings: dict[str, int]) -> TensorIndex:
    made = collect(get(name).build(**settings))
    if adapter is not None:
        made = convert(made, recipe=Recipe(adapt=(f"ruda-to-{adapter}",)))
    plain = [
        TensorSnapshot.from_array(key, np.zeros(each.shape, np.float32))
        for key, each in made.items()
    ]
    return TensorIndex.of(plain, format="safetensors")


def told(name: str, settings: dict[str, int]) -> dict[str, int]:
    """All settings, so that the choice between alike architectures does not matter."""
    return {s.name: settings.get(s.name, s.default) for s in get(name).settings}


@pytest.mark.parametrize(("adapter", "name", "settings", "config", "left"), FILES)
def test_files_are_recognised(adapter, name, settings, config, left) -> None:
    found = proposals(file_of(adapter, name, settings), config)
    best = found[0]
    wanted = told(name, settings)
    assert told(best.architecture.name, dict(best.settings)) == wanted
    assert best.adapter == (None if adapter is None else f"{adapter}-to-ruda")
    assert best.left == left
    assert best.doubts == ()
    assert best.tensors == len(list(get(name).build(**settings).walk()))


def test_only_what_is_unusual_is_told() -> None:
    (found,) = proposals(
        file_of("hf-bert", "minilm-l6", {"vocab": 5}), BERT | {"num_attention_heads": 12}
    )
    assert (found.architecture.name, dict(found.settings)) == ("minilm-l6", {"vocab": 5})
    assert found.configured == ("heads", "eps")


DOUBTS = [
    pytest.param({**BERT, "hidden_act": "relu"}, "hidden_act is 'relu' in the configuration"),
    pytest.param({**BERT, "layer_norm_eps": 3e-6}, "an epsilon of 3e-06 is no power of ten"),
    pytest.param({**BERT, "position_embedding_type": "relative_key"}, "position_embedding_type is"),
]


@pytest.mark.parametrize(("config", "doubt"), DOUBTS, ids=["activation", "epsilon", "positions"])
def test_what_is_not_computed_is_said(config, doubt) -> None:
    sizes = {"hidden": 6, "layers": 1, "heads": 2, "ff": 7, "vocab": 9, "positions": 5}
    (found,) = proposals(file_of("hf-bert", "bert-base", sizes), config)
    assert found.doubts[0].startswith(doubt)


def test_scaled_rotary_positions_are_not_computed() -> None:
    scaled = {**LLAMA, "rope_scaling": {"type": "linear", "factor": 2.0}}
    found = proposals(file_of("hf-llama", "llama", SIZES), scaled)
    assert found[0].doubts[0].startswith("rope_scaling is {'type': 'linear'")
    found = proposals(
        file_of("hf-llama", "llama", SIZES), {**LLAMA, "rope_parameters": {"rope_type": "yarn"}}
    )
    assert found[0].doubts == ("rope_type is 'yarn' in the configuration, which is not computed",)


def test_files_of_nobody_are_not_recognised() -> None:
    other = TensorIndex.of(
        [TensorSnapshot.from_array("a.weight", np.zeros((2, 3), np.float32))], format="x"
    )
    assert proposals(other) == ()
    part = file_of(
        "hf-bert", "bert-base", {"hidden": 6, "layers": 1, "heads": 2, "ff": 7, "vocab": 9}
    )
    lacking = [each for key, each in part.items() if not key.endswith("query.bias")]
    assert proposals(TensorIndex.of(lacking, format="x")) == ()


NO_CONFIGS = [
    pytest.param("[1]", "no JSON object", id="list"),
    pytest.param("{", "no JSON object", id="cut short"),
    pytest.param("[" * 100000, "no JSON object", id="deep"),
    pytest.param(" " * ((1 << 20) + 1), "larger than 1048576 bytes", id="large"),
]


@pytest.mark.parametrize(("text", "message"), NO_CONFIGS)
def test_a_broken_configuration_is_refused(tmp_path, text, message) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(RudaError, match=message):
        config_beside(tmp_path / "model.safetensors")


def test_the_configuration_beside_a_file(tmp_path) -> None:
    assert config_beside(tmp_path / "model.safetensors") is None
    (tmp_path / "config.json").write_text(json.dumps(BERT))
    assert config_beside(tmp_path / "model.safetensors") == BERT
    assert config_beside(tmp_path) == BERT


ODD = [{"num_attention_heads": value} for value in (True, "2", -1, 2.5, None, [2], {}, 0)]


@pytest.mark.parametrize("config", ODD, ids=[str(each["num_attention_heads"]) for each in ODD])
def test_odd_values_of_a_configuration_are_not_taken(config) -> None:
    sizes = {"hidden": 12, "layers": 1, "ff": 7, "vocab": 9, "positions": 5}
    for found in proposals(file_of("hf-bert", "bert-base", sizes), config):
        assert "heads" in found.left
    for found in proposals(file_of("hf-llama", "llama", SIZES), config):
        assert "heads" in found.left


def test_hostile_shapes_and_numbers_are_no_model() -> None:
    keys = {
        "encoder.layer.0.attention.self.query.weight": (0, 0),
        f"encoder.layer.{'9' * 5000}.output.dense.bias": (1,),
        "encoder.layer.99999999.output.dense.bias": (1,),
        "embeddings.word_embeddings.weight": (0, 0),
        "embeddings.position_embeddings.weight": (1, 0),
        "embeddings.token_type_embeddings.weight": (1, 0),
        "encoder.layer.0.intermediate.dense.weight": (0, 0),
        "tok_embeddings.weight": (1, 0),
        "layers.0.attention.wq.weight": (0, 0),
        "layers.0.attention.wk.weight": (0, 0),
        "layers.0.attention.q_norm.gamma": (0,),
        "layers.0.feed_forward.w1.weight": (0, 0),
        "conv1.weight": (0, 3, 7, 7),
        "fc.weight": (0, 0),
        "position_embeddings": (1, 0, 0),
        "patches.weight": (0, 3, 0, 0),
        "head.weight": (0, 0),
        "encoder.layers.0.pwff.linear_inner.weight": (0, 0),
    }
    odd = [TensorSnapshot.from_array(k, np.zeros(s, np.float32)) for k, s in keys.items()]
    config = {"num_attention_heads": 10**30, "layer_norm_eps": float("inf"), "rope_theta": 1e300}
    assert proposals(TensorIndex.of(odd, format="x"), config) == ()
    assert proposals(TensorIndex.of(odd, format="x")) == ()


def test_halves_are_recognised_with_the_cast_that_they_need() -> None:
    sizes = {"hidden": 6, "layers": 1, "heads": 2, "ff": 7, "vocab": 9, "positions": 5}
    halves = Recipe(cast=CastPolicy.every(DType.F16))
    source = convert(file_of("hf-bert", "bert-base", sizes), recipe=halves)
    (found,) = proposals(source, BERT)
    assert (found.cast, told("bert-base", dict(found.settings))) == (
        "f32",
        told("bert-base", sizes),
    )
    (plain,) = proposals(file_of("hf-bert", "bert-base", sizes), BERT)
    assert plain.cast is None


@pytest.mark.parametrize(("heads", "kv_heads"), [(2, 1), (4, 4), (8, 2)])
def test_heads_of_llama2c_are_those_that_its_angles_tell(tmp_path, heads, kv_heads) -> None:
    sizes = (32, 24, 2, heads, kv_heads, 12, 8)
    shapes = LlamaSizes(*sizes, has_output=False).tensors()
    count = sum(math.prod(shape) for shape in shapes.values())
    file = tmp_path / "small.bin"
    file.write_bytes(struct.pack("<7i", *sizes) + bytes(4 * count))
    (found,) = proposals(open_store(file))
    model = found.architecture.build(**found.settings)
    containers = collect(model)["layers.0.attention.wq.weight"].containers
    assert f"Struct:RotaryAttention({heads},{kv_heads})" in containers
    assert not {"heads", "kv_heads"} & set(found.left)
