"""What a check of the values says on the Convert screen of tensors that are merged."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ruda.session import Document, loss_page
from ruda.store import Recipe, TensorIndex, TensorSnapshot


def page_of(direction: np.ndarray, sample: int | None = None):
    arrays = {"fc.weight_v": direction, "fc.weight_g": np.ones((2, 1), "<f4")}
    made = [TensorSnapshot.from_array(key, values) for key, values in arrays.items()]
    index = TensorIndex.of(made, format="test")
    document = Document(1, Path("a.safetensors"), index, Recipe(merge=("weight-norm",)))
    return loss_page(document, None, sample=sample)


def test_a_merge_that_loses_values_is_an_error() -> None:
    for sample in (None, 1):
        page = page_of(np.float32([[1, 2], [0, 0]]), sample)
        assert page.level == "error"
        assert "2 of 4 values became infinite or NaN" in page.sentence
        line = page.lines["fc.weight", "f32"]
        assert line.status == "error"
        assert line.text == page.sentence


def test_a_merge_that_loses_none_says_nothing() -> None:
    page = page_of(np.float32([[1, 2], [3, 4]]))
    assert page.sentence == ""
    assert page.lines["fc.weight", "f32"].text == ""
