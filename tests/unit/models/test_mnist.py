"""The MNIST networks with their published weights: reference values and accuracy."""

import numpy as np
import pytest

from ruda.data import open_dataset
from ruda.models import get
from ruda.nn import predict
from ruda.store import PytorchStore, PyTorchToRuda, RudapackStore, SafetensorsStore
from ruda.tensor import Tensor

pytestmark = pytest.mark.cases


def burn_mnist(cases):
    model = get("burn-mnist").build()
    path = cases / "models" / "burn_mnist_bpk" / "model.bpk"
    result = model.load_from(RudapackStore.from_file(path))
    assert len(result.applied) == 18
    return model


def import_mnist(cases, suffix):
    model = get("import-mnist").build()
    path = cases / "models" / "burn_import_mnist" / f"mnist.{suffix}"
    store = PytorchStore if suffix == "pt" else SafetensorsStore
    result = model.load_from(store.from_file(path, from_adapter=PyTorchToRuda()))
    assert len(result.applied) == 18
    return model


@pytest.fixture(scope="module")
def mnist_test_set(cases):
    dataset = open_dataset(cases / "data" / "mnist")
    items = [dataset[i] for i in range(len(dataset))]
    return np.stack([item["image"] for item in items]), np.array([i["label"] for i in items])


def test_burn_mnist_matches_its_reference(cases):
    model, reference = (
        burn_mnist(cases),
        np.load(cases / "models" / "burn_mnist_bpk" / "ref.npz"),
    )
    x = get("burn-mnist").input.prepare(reference["images_u8"])
    np.testing.assert_allclose(x.numpy(), reference["input"], atol=1e-6)
    conv1 = model.conv1(x[:2])
    np.testing.assert_allclose(conv1.numpy(), reference["conv1"], atol=1e-4)
    np.testing.assert_allclose(model.conv2(conv1).numpy(), reference["conv2"], atol=1e-4)
    np.testing.assert_allclose(model(x).numpy(), reference["logits"], atol=1e-4)


@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_import_mnist_matches_its_reference(cases, suffix):
    reference = np.load(cases / "models" / "burn_import_mnist" / "ref.npz")
    output = import_mnist(cases, suffix)(Tensor.from_data(reference["input"]))
    np.testing.assert_allclose(output.numpy(), reference[f"log_probs_{suffix}"], atol=1e-4)


ACCURACY = [
    pytest.param("burn-mnist", burn_mnist, (), 0.9847, id="burn-mnist"),
    pytest.param("import-mnist", import_mnist, ("pt",), 0.9915, id="import-mnist pt"),
    pytest.param(
        "import-mnist", import_mnist, ("safetensors",), 0.9917, id="import-mnist safetensors"
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "load", "arguments", "expected"), ACCURACY)
def test_accuracy_on_the_test_images(cases, mnist_test_set, name, load, arguments, expected):
    images, labels = mnist_test_set
    output = predict(load(cases, *arguments), get(name).input.prepare(images))
    assert (output.argmax(1).numpy() == labels).mean() == pytest.approx(expected, abs=1e-9)
