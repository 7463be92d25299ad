"""The registry: names, settings, input, and cheap building."""

import numpy as np
import pytest

from ruda.errors import (
    DTypeError,
    SettingError,
    ShapeError,
    UnknownArchitectureError,
)
from ruda.models import architectures, get
from ruda.nn import ModuleSpec
from ruda.store import Recipe
from ruda.tensor import Tensor

ALL = [pytest.param(a, id=a.name) for a in architectures()]
SMALL = {
    "resnet18": {"width": 8},
    "resnet34": {"width": 8},
    "resnet50": {"width": 8},
    "mobilenet-v2": {"width": 10},
    "vit-b16": {"hidden": 8, "layers": 1, "heads": 2, "ff": 8},
    "bert-base": {"hidden": 8, "layers": 2, "heads": 2, "ff": 8, "vocab": 20},
    "minilm-l6": {"hidden": 12, "heads": 3, "ff": 8, "vocab": 20},
    "gpt2": {"hidden": 8, "layers": 2, "heads": 2, "ff": 8, "vocab": 20},
    "llama": {"layers": 1},
    "tinyllama-1.1b": {"dim": 8, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 8, "vocab": 20},
    "qwen2-0.5b": {"dim": 8, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 8, "vocab": 20},
    "qwen3-0.6b": {"dim": 8, "layers": 2, "heads": 4, "kv_heads": 1, "hidden": 8, "vocab": 20},
}
"""Settings with which the large ones run at once."""

IMAGES = [a for a in architectures() if len(a.input.shape) == 3]
RUN = [pytest.param(a, id=a.name) for a in IMAGES]
TEXT = [pytest.param(a, id=a.name) for a in architectures() if len(a.input.shape) == 1]

KEYS = {
    "burn-mnist": ("conv1.conv.weight", (64, 1, 3, 3), 18, 260_810),
    "import-mnist": ("conv1.weight", (8, 1, 3, 3), 18, 376_938),
    "digits": ("conv1.weight", (8, 1, 3, 3), 16, 14_506),
    "digit-recognizer": ("conv_layers.0.weight", (32, 1, 3, 3), 10, 390_410),
    "resnet20": ("conv1.weight", (16, 3, 3, 3), 97, 271_098),
    "crepe-tiny": ("conv1.weight", (128, 1, 512, 1), 38, 487_096),
    "mtcnn-pnet": ("conv1.weight", (10, 3, 3, 3), 13, 6_632),
    "mtcnn-rnet": ("conv1.weight", (28, 3, 3, 3), 16, 100_178),
    "mtcnn-onet": ("conv1.weight", (32, 3, 3, 3), 21, 389_040),
    "resnet18": ("conv1.weight", (64, 3, 7, 7), 102, 11_699_112),
    "resnet34": ("conv1.weight", (64, 3, 7, 7), 182, 21_814_696),
    "resnet50": ("conv1.weight", (64, 3, 7, 7), 267, 25_610_152),
    "mobilenet-v2": ("features.0.0.weight", (32, 3, 3, 3), 262, 3_538_984),
    "vit-b16": ("class_token", (1, 1, 768), 200, 86_567_656),
    "bert-base": ("embeddings.word_embeddings.weight", (30522, 768), 199, 109_482_240),
    "minilm-l6": ("embeddings.word_embeddings.weight", (30522, 384), 103, 22_713_216),
    "gpt2": ("token_embeddings.weight", (50257, 768), 196, 124_439_808),
    "llama": ("tok_embeddings.weight", (512, 64), 48, 292_800),
    "tinyllama-1.1b": ("tok_embeddings.weight", (32000, 2048), 201, 1_100_048_384),
    "qwen2-0.5b": ("tok_embeddings.weight", (151936, 896), 290, 494_032_768),
    "qwen3-0.6b": ("tok_embeddings.weight", (151936, 1024), 310, 596_049_920),
}


def test_names_are_unique_and_found():
    assert {a.name for a in architectures()} == set(KEYS)
    assert all(get(a.name) is a for a in architectures())


@pytest.mark.parametrize("architecture", ALL)
def test_its_adapters_are_adapters(architecture):
    assert architecture.adapters
    assert Recipe(adapt=architecture.adapters[:1]).adapter().name == architecture.adapters[0]
    assert all(Recipe(adapt=(name,)) for name in architecture.adapters)


UNKNOWN = [
    pytest.param("burn-mnst", "no architecture is called 'burn-mnst'; did you mean 'burn-mnist'?"),
    pytest.param("zzz", "no architecture is called 'zzz'; see `ruda models`"),
]


@pytest.mark.parametrize(("name", "message"), UNKNOWN, ids=["near", "far"])
def test_unknown_names(name, message):
    with pytest.raises(UnknownArchitectureError, match=message.replace("?", r"\?")):
        get(name)


@pytest.mark.parametrize("architecture", ALL)
def test_building_makes_no_values(architecture):
    model = architecture.build()
    spec = ModuleSpec.of(model)
    first, shape, count, values = KEYS[architecture.name]
    assert (spec.entries[0].key, spec.entries[0].shape, len(spec)) == (first, shape, count)
    assert model.num_params() == values
    assert spec.entries[0].containers[0].startswith("Struct:")
    assert not any(entry.param.is_initialized for entry in model.walk())


@pytest.mark.parametrize("architecture", RUN)
def test_fresh_networks_run(architecture):
    channels, height, width = architecture.input.shape
    size = (2, height, width, channels)
    pixels = np.random.default_rng(1).integers(0, 256, size, np.uint8)
    x = architecture.input.prepare(pixels)
    small = SMALL.get(architecture.name, {})
    output = architecture.build(seed=3, **small)(x)
    assert output.shape[:2] == (2, len(architecture.input.classes))
    np.testing.assert_array_equal(output.numpy(), architecture.build(seed=3, **small)(x).numpy())
    assert (output.numpy() != architecture.build(seed=4, **small)(x).numpy()).any()
    if architecture.output == "log_probs":
        np.testing.assert_allclose(np.exp(output.numpy()).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("architecture", TEXT)
def test_fresh_networks_read_text(architecture):
    model = architecture.build(seed=3, **SMALL[architecture.name])
    ids = np.random.default_rng(1).integers(0, 20, (2, 5))
    output = model(Tensor(ids)).numpy()
    assert output.shape[:2] == (2, 5)
    assert np.isfinite(output).all()
    # What is not there yet changes nothing, but for those that see the whole text.
    sees_all = architecture.output == "states"
    shorter = model(Tensor(ids[:, :3])).numpy()
    assert np.allclose(output[:, :3], shorter, atol=1e-5) is not sees_all


def test_settings_of_a_llama():
    model = get("llama").build(layers=2, dim=16, heads=4, kv_heads=2, tied=1)
    shapes = {entry.key: entry.param.shape for entry in model.walk()}
    assert shapes["layers.1.attention.wk.weight"] == (16, 8)
    assert "output.weight" not in shapes
    kinds = {entry.containers[3] for entry in model.walk() if ".attention.wq" in entry.key}
    assert kinds == {"Struct:RotaryAttention(4,2)"}
    with pytest.raises(SettingError, match="heads divide dim and kv_heads divide heads"):
        get("llama").build(heads=7)
    with pytest.raises(ShapeError, match=r"this network takes no images, but inputs of \[512\]"):
        get("llama").input.prepare(np.zeros((1, 28, 28), np.uint8))


TOO_LONG = [
    pytest.param("gpt2", {**SMALL["gpt2"], "positions": 4}, id="gpt2"),
    pytest.param("bert-base", {**SMALL["bert-base"], "positions": 4}, id="bert"),
]


@pytest.mark.parametrize(("name", "settings"), TOO_LONG)
def test_a_text_may_be_too_long(name, settings):
    model = get(name).build(**settings)
    with pytest.raises(ShapeError, match="5 tokens, there are 4 positions"):
        model(Tensor(np.zeros((1, 5), np.int64)))


def test_what_is_only_there_to_fill_up_does_not_count():
    model = get("minilm-l6").build(**SMALL["minilm-l6"])
    ids, mask = np.array([[3, 4, 5, 9, 9]]), np.array([[1, 1, 1, 0, 0]])
    filled = model.encode(Tensor(ids), mask=mask).numpy()
    alone = model.encode(Tensor(ids[:, :3])).numpy()
    np.testing.assert_allclose(filled[:, :3], alone, atol=1e-6)
    said = model.sentence(Tensor(ids), mask=mask).numpy()
    np.testing.assert_allclose(said, model.sentence(Tensor(ids[:, :3])).numpy(), atol=1e-6)
    np.testing.assert_allclose(np.square(said).sum(), 1, atol=1e-6)
    with pytest.raises(ShapeError, match=r"a mask of shape \[1, 4\] for \[1, 5\] tokens"):
        model.encode(Tensor(ids), mask=mask[:, :4])


def test_pictures_have_to_be_of_whole_patches():
    with pytest.raises(SettingError, match="patches of 16 pixels do not divide a picture of 30"):
        get("vit-b16").build(image=30)
    model = get("vit-b16").build(image=32, **SMALL["vit-b16"])
    with pytest.raises(ShapeError, match="a picture of 9 patches, there are places for 4"):
        model(Tensor.zeros((1, 3, 48, 48)))


def test_layers_draw_different_values():
    model = get("burn-mnist").build()
    starts = [
        entry.param.value().numpy().reshape(-1)[0]
        for entry in model.walk()
        if entry.key.split(".")[-1] in ("weight", "bias")
    ]
    assert len(set(starts)) == len(starts)


def test_settings():
    model = get("burn-mnist").build(hidden=16)
    assert ModuleSpec.of(model).by_key()["fc2.weight"].shape == (16, 16)


SETTINGS = [
    pytest.param({"hiden": 3}, r"has no setting 'hiden'; did you mean 'hidden'", id="near"),
    pytest.param({"zzz": 3}, "no setting 'zzz'; it has hidden, seed", id="far"),
    pytest.param({"hidden": 0}, "hidden is a whole number from 1 to 65536, got 0", id="range"),
    pytest.param({"hidden": 2.0}, "hidden is a whole number .* got 2.0", id="float"),
    pytest.param({"hidden": True}, "hidden is a whole number .* got True", id="bool"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "message"), SETTINGS)
def test_bad_settings(settings, message):
    with pytest.raises(SettingError, match=message):
        get("burn-mnist").build(**settings)


def test_input_is_normalised():
    spec = get("burn-mnist").input
    pixels = np.full((1, 28, 28, 1), 255, np.uint8)
    x = spec.prepare(pixels)
    assert x.shape == (1, 1, 28, 28)
    np.testing.assert_allclose(x.numpy(), (1 - 0.1307) / 0.3081, rtol=1e-6)
    np.testing.assert_array_equal(x.numpy(), spec.prepare(pixels[..., 0]).numpy())
    assert get("digits").input.prepare(pixels).numpy().max() == 1


INPUTS = [
    pytest.param(np.zeros((1, 28, 28), np.float32), DTypeError, "expected u8 pixels", id="dtype"),
    pytest.param(
        np.zeros((1, 32, 32), np.uint8),
        ShapeError,
        r"expected images of 28 × 28 pixels in 1 channel\(s\), got shape \[1, 32, 32\]",
        id="size",
    ),
    pytest.param(np.zeros((1, 28, 28, 3), np.uint8), ShapeError, "1 channel", id="colour"),
    pytest.param(np.zeros((28, 28), np.uint8), ShapeError, r"got shape \[28, 28\]", id="rank"),
]


@pytest.mark.parametrize(("pixels", "error", "message"), INPUTS)
def test_bad_inputs(pixels, error, message):
    with pytest.raises(error, match=message):
        get("digits").input.prepare(pixels)


def test_errors_name_the_layer():
    with pytest.raises(ShapeError, match=r"conv1.conv \(Conv2d\): expected an input of shape"):
        get("burn-mnist").build()(Tensor.zeros((1, 3, 28, 28)))
