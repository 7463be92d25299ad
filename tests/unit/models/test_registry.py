"""The registry: names, settings, input, and cheap building."""

import numpy as np
import pytest

from ruda.errors import (
    DTypeError,
    ModelError,
    SettingError,
    ShapeError,
    UnknownArchitectureError,
)
from ruda.models import architectures, get
from ruda.nn import ModuleSpec
from ruda.tensor import Tensor

ALL = [pytest.param(a, id=a.name) for a in architectures()]
RUN = [pytest.param(a, id=a.name) for a in architectures() if a.name != "llama"]

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
    "llama": ("tok_embeddings.weight", (512, 64), 48, 292_800),
}


def test_names_are_unique_and_found():
    assert {a.name for a in architectures()} == set(KEYS)
    assert all(get(a.name) is a for a in architectures())


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
    output = architecture.build(seed=3)(x)
    assert output.shape[:2] == (2, len(architecture.input.classes))
    np.testing.assert_array_equal(output.numpy(), architecture.build(seed=3)(x).numpy())
    assert (output.numpy() != architecture.build(seed=4)(x).numpy()).any()
    if architecture.output == "log_probs":
        np.testing.assert_allclose(np.exp(output.numpy()).sum(axis=1), 1, rtol=1e-5)


def test_a_llama_holds_weights_only():
    model = get("llama").build(layers=2, dim=16, heads=4, kv_heads=2, tied=1)
    shapes = {entry.key: entry.param.shape for entry in model.walk()}
    assert shapes["layers.1.attention.wk.weight"] == (16, 8)
    assert "output.weight" not in shapes
    with pytest.raises(ModelError, match="Llama cannot be run yet; its weights can be loaded"):
        model(Tensor.zeros((1, 3)))
    with pytest.raises(SettingError, match="heads divide dim and kv_heads divide heads"):
        get("llama").build(heads=7)
    with pytest.raises(ShapeError, match=r"this network takes no images, but inputs of \[512\]"):
        get("llama").input.prepare(np.zeros((1, 28, 28), np.uint8))


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
