"""What a suggestion claims is what its steps would really load."""

from __future__ import annotations

import numpy as np
import pytest

from ruda.models import get
from ruda.store import (
    ArraySource,
    Recipe,
    Status,
    TensorIndex,
    TensorSnapshot,
    collect,
    convert,
    diff,
    suggest,
)
from ruda.tensor import DType


class Unreadable(ArraySource):
    """A source that must not be read."""

    def read(self):
        raise AssertionError("suggest reads headers only")


def digits(**dtypes: DType) -> TensorIndex:
    """The digits network as PyTorch would name it below a prefix; some keys of other types."""
    recipe = Recipe().with_adapt("ruda-to-pytorch").with_rule("^", "module.")
    view = convert(collect(get("digits").build()), recipe=recipe)
    source = Unreadable(np.empty(0))
    return TensorIndex.of(
        (
            TensorSnapshot(
                key, dtypes.get(key.replace(".", "_"), snapshot.dtype), snapshot.shape, 4, source
            )
            for key, snapshot in view.items()
        ),
        format="pytorch",
    )


MATRICES = {"module_fc1_weight", "module_fc2_weight"}
CASES = [
    pytest.param({}, 16, 16, [], id="all of it"),
    pytest.param(
        dict.fromkeys(MATRICES, DType.F4_E2M1), 14, 14, ["cannot be transposed"], id="two refused"
    ),
    pytest.param(
        dict.fromkeys(MATRICES, DType.I64), 14, 14, ["i64"], id="two of another kind of number"
    ),
    pytest.param(
        dict.fromkeys(MATRICES, DType.F16), 14, 16, ["2 tensors have"], id="two that a cast mends"
    ),
]


@pytest.mark.parametrize(("dtypes", "applied", "found", "expected"), CASES)
def test_the_claim_is_what_a_load_would_do(dtypes, applied, found, expected) -> None:
    source, target = digits(**dtypes), get("digits").build()
    report = suggest(source, target)
    loaded = diff(source, target, recipe=report.to_recipe(likely=True))
    assert loaded.counts[Status.APPLIED] == report.matched_after == applied
    assert sum(step.matches for step in report.suggestions) == found
    assert f"{applied} with the steps below" in str(report)
    assert len(report.refused) == len(expected)
    for sentence, words in zip(report.refused, expected, strict=True):
        assert words in sentence
        assert sentence in str(report)
    assert report.as_data()["refused"] == list(report.refused)


def test_what_was_there_is_counted_in_the_same_way() -> None:
    source, target = digits(**dict.fromkeys(MATRICES, DType.I64)), get("digits").build()
    recipe = Recipe().with_rule(r"^module\.", "").with_adapt("pytorch-to-ruda")
    report = suggest(source, target, recipe=recipe)
    assert report.suggestions == ()
    assert report.matched_before == report.matched_after == 14
    assert len(report.refused) == 1
