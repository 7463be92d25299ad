from __future__ import annotations

import numpy as np
import pytest

from ruda.store import infer_containers
from ruda.store.snapshot import TensorSnapshot


def snapshots(shapes: dict[str, tuple[int, ...]]) -> dict[str, TensorSnapshot]:
    return {
        key: TensorSnapshot.from_array(key, np.zeros(shape, np.float32))
        for key, shape in shapes.items()
    }


KINDS = [
    pytest.param(
        {"weight": (4,), "bias": (4,), "running_mean": (4,), "running_var": (4,)},
        "Struct:BatchNorm",
        id="batch norm",
    ),
    pytest.param(
        {"gamma": (4,), "beta": (4,), "running_mean": (4,), "running_var": (4,)},
        "Struct:BatchNorm",
        id="batch norm in Ruda's names",
    ),
    pytest.param({"weight": (4, 3), "bias": (4,)}, "Struct:Linear", id="linear of PyTorch"),
    pytest.param({"weight": (3, 4), "bias": (4,)}, "Struct:Linear", id="linear of Ruda"),
    pytest.param({"weight": (4, 3), "bias": (5,)}, "Either:Embedding|Linear", id="odd bias"),
    pytest.param({"weight": (4, 3)}, "Either:Embedding|Linear", id="matrix alone"),
    pytest.param({"weight": (4,), "bias": (4,)}, "Struct:LayerNorm", id="layer norm"),
    pytest.param({"gamma": (4,)}, "Struct:RmsNorm", id="gamma alone"),
    pytest.param({"weight": (4,)}, "Either:PRelu|RmsNorm", id="vector alone"),
    pytest.param({"alpha": (4,)}, "Struct:PRelu", id="alpha"),
    pytest.param({"weight": (4, 3, 5), "bias": (4,)}, "Struct:Conv1d", id="conv1d"),
    pytest.param({"weight": (4, 3, 5, 5), "bias": (4,)}, "Struct:Conv2d", id="conv2d"),
    pytest.param({"weight": (4, 3, 5, 5)}, "Struct:Conv2d", id="conv2d without bias"),
    pytest.param({"weight": (4, 3, 5, 5, 5)}, "Struct:Conv3d", id="conv3d"),
    pytest.param({"weight": (4, 3, 5, 5), "bias": (3,)}, "Struct:ConvTranspose2d", id="transpose"),
    pytest.param({"weight": (4, 3, 5, 5), "bias": (6,)}, "Struct:ConvTranspose2d", id="groups"),
]


@pytest.mark.parametrize(("siblings", "expected"), KINDS)
def test_kind(siblings: dict[str, tuple[int, ...]], expected: str) -> None:
    shapes = {f"a.b.{leaf}": shape for leaf, shape in siblings.items()}
    found = infer_containers(snapshots(shapes)).containers
    assert found == dict.fromkeys(shapes, (expected,))


NAMES = [
    pytest.param("embed_tokens.weight", (9, 3), "Struct:Embedding", id="embedding by name"),
    pytest.param("wte.weight", (9, 3), "Struct:Embedding", id="GPT-2's embedding"),
    pytest.param("input_layernorm.weight", (9,), "Struct:RmsNorm", id="norm by name"),
    pytest.param("up.deconv.weight", (4, 3, 2, 2), "Struct:ConvTranspose2d", id="deconv by name"),
    pytest.param("prelu1.weight", (9,), "Struct:PRelu", id="prelu by name"),
    pytest.param("weight", (2, 3), "Either:Embedding|Linear", id="no parent"),
]


@pytest.mark.parametrize(("key", "shape", "expected"), NAMES)
def test_names_are_evidence(key: str, shape: tuple[int, ...], expected: str) -> None:
    assert infer_containers(snapshots({key: shape})).containers == {key: (expected,)}


def test_containers_that_are_known_stay() -> None:
    known = TensorSnapshot.from_array("a.weight", np.zeros((2, 2)), containers=("Struct:Mine",))
    inference = infer_containers({"a.weight": known})
    assert inference.containers == {"a.weight": ("Struct:Mine",)}
    assert inference.notes == ()


def test_notes_state_what_was_concluded_and_what_is_open() -> None:
    found = infer_containers(
        snapshots({"a.weight": (2, 3), "a.bias": (2,), "b.weight": (2, 3), "c.scale": (1,)})
    )
    assert found.notes == (
        "kinds of module inferred from names and shapes: 1 Linear",
        "1 module could be Embedding or Linear: only what is the same for both was done; "
        "name a target model to decide",
        "1 float tensor belongs to no known kind of module: not adapted",
    )
