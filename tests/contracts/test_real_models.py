"""Published models: what is suggested for them alone, and that their recipes load all of them."""

import json
from pathlib import Path

import numpy as np
import pytest

from ruda.models import get
from ruda.store import (
    Recipe,
    Status,
    TensorIndex,
    apply,
    convert,
    diff,
    open_store,
    read_recipe,
    suggest,
)
from ruda.store.snapshot import ArraySource, TensorSnapshot
from ruda.tensor import DType, Tensor
from ruda.testing import counted_reads

pytestmark = pytest.mark.cases

RECIPES = Path(__file__).parent.parent / "recipes"

FILES = [
    pytest.param("resnet20", "resnet20_cifar10/resnet20-12fca82f.th", id="resnet20"),
    pytest.param("mtcnn-pnet", "mtcnn/pnet.pt", id="pnet"),
    pytest.param("mtcnn-rnet", "mtcnn/rnet.pt", id="rnet"),
    pytest.param("mtcnn-onet", "mtcnn/onet.pt", id="onet"),
    pytest.param("crepe-tiny", "crepe_tiny/tiny.pth", id="crepe"),
    pytest.param("digit-recognizer", "digit_recognizer_cnn/handwriting_model.pth", id="digits"),
    pytest.param("import-mnist", "burn_import_mnist/mnist.pt", id="import-pt"),
    pytest.param("import-mnist", "burn_import_mnist/mnist.safetensors", id="import-safetensors"),
    pytest.param("import-mnist", "burn_onnx_mnist/mnist.onnx", id="onnx"),
    pytest.param("burn-mnist", "burn_mnist_bpk/model.bpk", id="rudapack"),
]


def recipe_for(file: str) -> Recipe:
    return read_recipe(RECIPES / f"{Path(file).parent}.toml")


@pytest.mark.parametrize(("name", "file"), FILES)
def test_recipes_load_completely(cases, name, file):
    with open_store(cases / "models" / file) as source:
        report = diff(source, get(name).build(), recipe=recipe_for(file))
        assert report.is_clean
        assert report.coverage.share == 1.0
        result = apply(source, get(name).build(), recipe=recipe_for(file))
    assert not result.missing
    assert not result.unused
    assert not result.errors


@pytest.mark.parametrize(("name", "file"), FILES)
def test_suggested_recipes_load_completely(cases, name, file):
    with open_store(cases / "models" / file) as source:
        report = suggest(source, get(name).build())
        found = diff(source, get(name).build(), recipe=report.to_recipe())
    assert found.is_clean
    assert found.coverage.share == 1.0


@pytest.mark.parametrize(("name", "file"), FILES)
def test_nothing_is_read_before_a_load(cases, name, file):
    model, recipe = get(name).build(), recipe_for(file)
    with open_store(cases / "models" / file) as source, counted_reads() as counter:
        report = diff(source, model, recipe=recipe)
        assert str(report)
        assert all(row.reason for row in report.rows)
        suggest(source, model)
        convert(source, recipe=recipe, target=model)
        assert counter.bytes == 0
        apply(source, model, recipe=recipe)
        assert counter.bytes >= sum(row.source.nbytes for row in report.of(Status.APPLIED))


def test_every_model_with_weights_has_a_recipe(cases):
    weights = {".pt", ".pth", ".th", ".safetensors", ".bpk", ".onnx", ".bin", ".h5"}
    models = {f.parent.name for f in (cases / "models").glob("*/*") if f.suffix in weights}
    names = {recipe.stem.removesuffix("2c") for recipe in RECIPES.glob("*.toml")}
    assert models <= names


def loaded(cases, name, file):
    model = get(name).build()
    with open_store(cases / "models" / file) as source:
        apply(source, model, recipe=recipe_for(file))
    return model


RUNS = [
    pytest.param("resnet20", FILES[0].values[1], "input", "logits", id="resnet20"),
    pytest.param("digit-recognizer", FILES[5].values[1], "input", "logits", id="digits"),
]


@pytest.mark.parametrize(("name", "file", "given", "expected"), RUNS)
def test_results_are_the_reference(cases, name, file, given, expected):
    with np.load(cases / "models" / Path(file).parent / "ref.npz") as reference:
        found = loaded(cases, name, file)(Tensor(reference[given])).numpy()
        np.testing.assert_allclose(found, reference[expected], atol=1e-4)


def test_crepe_hears_the_pitch(cases):
    with np.load(cases / "models" / "crepe_tiny" / "ref.npz") as reference:
        frames = Tensor(reference["frames"].reshape(-1, 1, 1024, 1))
        logits = loaded(cases, "crepe-tiny", "crepe_tiny/tiny.pth")(frames).numpy()
        np.testing.assert_allclose(1 / (1 + np.exp(-logits)), reference["activations"], atol=1e-4)


@pytest.mark.parametrize("net", ["pnet", "rnet", "onet"])
def test_mtcnn_finds_the_faces(cases, net):
    with np.load(cases / "models" / "mtcnn" / "ref.npz") as reference:
        found = loaded(cases, f"mtcnn-{net}", f"mtcnn/{net}.pt")(Tensor(reference[f"{net}_in"]))
        prob = Tensor(found.numpy()[:, :2]).softmax(1).numpy()
        np.testing.assert_allclose(prob, reference[f"{net}_prob"], atol=1e-4)
        np.testing.assert_allclose(found.numpy()[:, 2:6], reference[f"{net}_box"], atol=1e-4)
        if net == "onet":
            np.testing.assert_allclose(found.numpy()[:, 6:], reference["onet_landmarks"], atol=1e-4)


def test_the_names_of_minilm_load_completely(cases):
    """Its weights are not among the cases, only what they are called and how large they are."""
    about = json.loads((cases / "models" / "index.json").read_text())["minilm_l6_v2"]
    snapshots = [
        TensorSnapshot.from_array(key, np.zeros(tensor["shape"], tensor["dtype"]))
        for key, tensor in about["tensors"].items()
    ]
    source = TensorIndex.of(snapshots, format="safetensors")
    model, recipe = get("minilm-l6").build(), read_recipe(RECIPES / "minilm_l6_v2.toml")
    result = apply(source, model, recipe=recipe)
    assert len(result.applied) == len(source) - 1 == 103
    assert not result.missing
    assert not result.unused
    found = suggest(source, model).to_recipe()
    assert found.adapt == recipe.adapt
    assert diff(source, model, recipe=found).is_clean


def llama2c(path: Path) -> TensorIndex:
    """The tensors of a llama2.c file under the names of its PyTorch checkpoint."""
    dim, hidden, layers, heads, kv_heads, vocab, _ = np.fromfile(path, "<i4", 7)
    values = np.fromfile(path, "<f4", offset=28)
    shared, at = dim // heads * kv_heads, 0
    found: dict[str, np.ndarray] = {}

    def take(name: str, *shape: int) -> None:
        nonlocal at
        size = int(np.prod(shape))
        found[name] = values[at : at + size].reshape(shape)
        at += size

    take("tok_embeddings", vocab, dim)
    take("attention_norm", layers, dim)
    for name, rows in (("wq", dim), ("wk", shared), ("wv", shared), ("wo", dim)):
        take(f"attention.{name}", layers, rows, dim)
    take("ffn_norm", layers, dim)
    for name, shape in (("w1", (hidden, dim)), ("w2", (dim, hidden)), ("w3", (hidden, dim))):
        take(f"feed_forward.{name}", layers, *shape)
    take("norm", dim)
    whole = {"tok_embeddings", "norm"}
    named = {f"{name}.weight": found[name] for name in whole}
    for layer in range(layers):
        for name in found.keys() - whole:
            named[f"layers.{layer}.{name}.weight"] = found[name][layer]
    return TensorIndex.of(
        (
            TensorSnapshot(key, DType.F32, array.shape, array.nbytes, ArraySource(array))
            for key, array in named.items()
        ),
        format="llama2.c",
    )


def test_stories_load_completely(cases):
    source = llama2c(cases / "models" / "stories260k_llama" / "stories260K.bin")
    model = get("llama").build(tied=1)
    recipe = read_recipe(RECIPES / "stories260k_llama.toml")
    assert diff(source, model, recipe=recipe).is_clean
    result = apply(source, model, recipe=recipe)
    assert len(result.applied) == 47
    assert not result.missing
    assert not result.unused
    assert diff(source, model, recipe=suggest(source, model).to_recipe()).is_clean


def test_the_file_of_the_stories_loads_completely_as_it_is(cases):
    model = get("llama").build(tied=1)
    with open_store(cases / "models" / "stories260k_llama" / "stories260K.bin") as source:
        report = suggest(source, model)
        assert report.to_recipe() == read_recipe(RECIPES / "stories260k_llama2c.toml")
        assert diff(source, model, recipe=report.to_recipe()).is_clean
        result = apply(source, model, recipe=report.to_recipe())
    assert len(result.applied) == 47
    assert not result.missing


def test_stories_are_told_word_for_word(cases):
    folder = cases / "models" / "stories260k_llama"
    model = get("llama").build(tied=1)
    with open_store(folder / "stories260K.bin") as source:
        apply(source, model, recipe=read_recipe(RECIPES / "stories260k_llama2c.toml"))
    with np.load(folder / "ref.npz") as reference:
        ids, logits = reference["ids"], reference["logits16"]
    found = model(Tensor(ids[None])).numpy()[0]
    np.testing.assert_allclose(found[:16], logits, atol=1e-3)
    np.testing.assert_array_equal(found[:-1].argmax(1), ids[1:])  # every word is the likeliest
