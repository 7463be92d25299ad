"""How much of each registered model a file has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ruda.models import get
from ruda.nn import ModuleSpec
from ruda.session import Document, ModelCoverage, Session, model_coverages, model_fits
from ruda.store import TensorIndex, TensorSnapshot

DIGITS = {entry.key: tuple(entry.shape) for entry in ModuleSpec.of(get("digits").build())}
Rename = Callable[[str], str | None]


def document(rename: Rename, dtype: str = "float32") -> Document:
    tensors = [
        TensorSnapshot.from_array(name, np.zeros(shape, dtype))
        for key, shape in DIGITS.items()
        if (name := rename(key)) is not None
    ]
    session = Session()
    return session.open(Path("made-up.safetensors"), TensorIndex.of(tensors, format="safetensors"))


def best(found: tuple[ModelCoverage, ...]) -> tuple[str, int, int]:
    return found[0].name, found[0].found, found[0].tensors


@pytest.mark.parametrize(
    ("rename", "dtype", "found"),
    [
        (lambda key: key, "float32", 16),
        (lambda key: f"module.{key}", "float32", 16),
        (lambda key: f"backbone.{key}", "float32", 16),
        (lambda key: key, "float16", 16),
        (lambda key: None if key.startswith("fc2") else key, "float32", 14),
        (lambda key: None if key.startswith("fc2") else f"module.{key}", "float32", 14),
    ],
    ids=["as it is", "wrapped", "prefix", "f16", "a part", "a part, wrapped"],
)
def test_the_best_model_is_the_one_with_most_of_its_tensors(
    rename: Rename, dtype: str, found: int
) -> None:
    coverages = model_coverages(document(rename, dtype))
    assert best(coverages) == ("digits", found, 16)
    assert coverages[0].text == f"fits {found} of 16 tensors"
    shares = [each.found / each.tensors for each in coverages]
    assert shares == sorted(shares, reverse=True)


def test_models_of_which_nothing_is_there_are_not_named() -> None:
    names = {each.name for each in model_coverages(document(lambda key: key))}
    assert "gpt2" not in names
    assert model_coverages(document(lambda key: "one" if key == "fc2.bias" else None)) == ()


def test_steps_are_said_and_what_is_complete_is_not_looked_at_again() -> None:
    wrapped = document(lambda key: f"module.{key}")
    assert model_coverages(wrapped)[0].help == "fits 16 of 16 tensors, with wrappers"
    fits = model_fits(wrapped)
    assert best(model_coverages(wrapped, fits)) == ("digits", 16, 16)
    assert model_coverages(wrapped, fits)[0].is_complete
