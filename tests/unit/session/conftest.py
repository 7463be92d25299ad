import numpy as np
import pytest

from ruda.models import get
from ruda.session import Session, TargetChoice
from ruda.store import Recipe, TensorIndex, TensorSnapshot, collect, convert, save


def tensor(key, shape=(2, 3), dtype="f4", fill=0.0):
    return TensorSnapshot.from_array(key, np.full(shape, fill, dtype))


def index_of(*snapshots, path=None):
    return TensorIndex.of(snapshots, format="safetensors", path=path)


@pytest.fixture
def digits():
    """The digits architecture's own tensors, initialised."""
    return collect(get("digits").build(seed=3))


@pytest.fixture
def pytorch_file(tmp_path, digits):
    """The same network as PyTorch would have saved it, under a ``net.`` prefix."""
    recipe = Recipe().with_rule("^", "net.").with_adapt("ruda-to-pytorch")
    path = tmp_path / "digits.safetensors"
    save(convert(digits, recipe=recipe), path)
    return path


@pytest.fixture
def session():
    session = Session()
    yield session
    for document in session.documents:
        session.close(document.id)


@pytest.fixture
def digits_target():
    return TargetChoice.of("digits")
