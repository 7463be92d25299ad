"""What a merge cannot compute is said: by the save, by the load and on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ruda import nn
from ruda.cli import main
from ruda.session import saved_page
from ruda.store import (
    CastPolicy,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    apply,
    convert,
    save,
)
from ruda.store.moving import remarks_in
from ruda.tensor import DType

HALVES = np.float32([[1, 2], [0, 0], [3, 4]])
WEIGHT_NORM = {"fc.weight_g": np.ones((3, 1), "<f4"), "fc.weight_v": HALVES}
SPECTRAL = {
    "fc.weight_orig": HALVES,
    "fc.weight_u": np.zeros(3, "<f4"),
    "fc.weight_v": np.ones(2, "<f4"),
}
SCALED = {
    "fc.weight": np.int8([[1, 2], [3, 100], [4, 5]]),
    "fc.weight_scale": np.float32([1, 1e37, 1])[:, None],
}
TOO_LARGE = {
    "fc.weight_g": np.float16([[60000], [1], [1]]),
    "fc.weight_v": np.float16([[1, 0], [1, 1], [0, 1]]),
}


def index_of(arrays: dict[str, np.ndarray]) -> TensorIndex:
    return TensorIndex.of(
        [TensorSnapshot.from_array(key, values) for key, values in arrays.items()], format="test"
    )


LOST = [
    pytest.param(
        WEIGHT_NORM,
        "weight-norm",
        "'fc.weight': 2 of 6 values became infinite or NaN: 1 of 3 directions have the length 0; "
        "PyTorch computes the same",
        id="direction of length 0",
    ),
    pytest.param(
        SPECTRAL,
        "spectral-norm",
        "'fc.weight': 6 of 6 values became infinite or NaN: its norm by the stored vectors is 0; "
        "PyTorch computes the same",
        id="norm of 0",
    ),
    pytest.param(
        SCALED,
        "scales",
        "'fc.weight': 1 of 6 values became infinite or NaN by the scale 'fc.weight_scale'",
        id="scale beyond f32",
    ),
]


@pytest.mark.parametrize("cast", [None, DType.BF16], ids=["as it is", "cast"])
@pytest.mark.parametrize(("arrays", "merge", "expected"), LOST)
def test_a_save_says_it(
    tmp_path: Path, arrays: dict[str, np.ndarray], merge: str, expected: str, cast: DType | None
) -> None:
    recipe = Recipe(merge=(merge,), cast=None if cast is None else CastPolicy.every(cast))
    source = index_of(arrays)
    for suffix in (".safetensors", ".pt"):
        result = save(convert(source, recipe=recipe), tmp_path / f"out{suffix}")
        assert result.remarks == (expected,)
        assert saved_page(result).remarks == (expected,)


@pytest.mark.parametrize(("arrays", "merge", "expected"), LOST)
def test_a_load_says_it(arrays: dict[str, np.ndarray], merge: str, expected: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            self.fc = nn.Linear(2, 3, bias=False, seed=0)

    recipe = Recipe(merge=(merge,), adapt=("pytorch-to-ruda",))
    result = apply(index_of(arrays), Net(), recipe=recipe)
    assert result.remarks == (expected,)
    assert expected in str(result)


FINE = [
    pytest.param({**WEIGHT_NORM, "fc.weight_v": HALVES + 1}, "weight-norm", id="weight norm"),
    pytest.param({**SPECTRAL, "fc.weight_u": np.ones(3, "<f4")}, "spectral-norm", id="spectral"),
    pytest.param(
        {**SCALED, "fc.weight_scale": np.ones((3, 1), "<f4")}, "scales", id="scales in range"
    ),
    pytest.param(TOO_LARGE, "weight-norm", id="just in range"),
]


@pytest.mark.parametrize(("arrays", "merge"), FINE)
def test_numbers_need_no_remark(arrays: dict[str, np.ndarray], merge: str) -> None:
    made = convert(index_of(arrays), recipe=Recipe(merge=(merge,)))["fc.weight"]
    assert np.isfinite(made.read()).all()
    assert remarks_in(made.source) == ()


def test_what_was_no_number_before_is_no_news() -> None:
    arrays = {**WEIGHT_NORM, "fc.weight_v": np.float32([[1, 2], [np.nan, 1], [3, 4]])}
    made = convert(index_of(arrays), recipe=Recipe(merge=("weight-norm",)))["fc.weight"]
    assert np.isnan(made.read()).sum() == 2
    assert remarks_in(made.source) == ()


def test_a_later_read_of_better_values_takes_it_back() -> None:
    arrays = {key: values.copy() for key, values in WEIGHT_NORM.items()}
    made = convert(index_of(arrays), recipe=Recipe(merge=("weight-norm",)))["fc.weight"]
    made.read()
    assert remarks_in(made.source)
    arrays["fc.weight_v"] += 1
    made.read()
    assert remarks_in(made.source) == ()


def test_the_command_warns_and_its_exit_code_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    save(index_of(WEIGHT_NORM), before)
    assert main(["convert", str(before), str(after), "--merge", "weight-norm"]) == 1
    assert "warning: 'fc.weight': 2 of 6 values became infinite or NaN" in capsys.readouterr().err
