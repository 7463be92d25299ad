"""An adapter that touches no tensor says so: in a diff, in a conversion, on the command line."""

from __future__ import annotations

import numpy as np
import pytest

from ruda.cli import main
from ruda.models import get
from ruda.nn import ModuleSpec, ParamSpec
from ruda.store import (
    PathFilter,
    PyTorchToRuda,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    collect,
    convert,
    diff,
    save,
)
from ruda.tensor import DType

LINEAR = ("Struct:Model", "Struct:Linear")


def index(**shapes: tuple[int, ...]) -> TensorIndex:
    made = (
        TensorSnapshot.from_array(key.replace("__", "."), np.zeros(shape, "<f4"))
        for key, shape in shapes.items()
    )
    return TensorIndex.of(made, format="memory")


def spec(**shapes: tuple[int, ...]) -> ModuleSpec:
    return ModuleSpec(
        tuple(
            ParamSpec(key.replace("__", "."), shape, DType.F32, LINEAR)
            for key, shape in shapes.items()
        )
    )


def said(notes: tuple[str, ...]) -> list[str]:
    """The adapters that are said to touch nothing."""
    return [note.split("'")[1] for note in notes if "touches nothing" in note]


FC = {"fc__weight": (2, 6), "fc__bias": (2,)}
ATTENTION = {"wq__weight": (6, 6), "wk__weight": (6, 6)}
CASES = [
    pytest.param(FC, ("pytorch-to-ruda", "rope-to-pairs:3"), ["rope-to-pairs:3"], id="no queries"),
    pytest.param(ATTENTION, ("pytorch-to-ruda", "rope-to-pairs:3"), [], id="queries"),
    pytest.param(ATTENTION, ("pytorch-to-ruda", "rope-to-pairs:5"), [], id="refused"),
    pytest.param(FC, ("pytorch-to-ruda", "tied-head"), ["tied-head"], id="no head"),
    pytest.param(FC, ("hf-bert-to-ruda",), [], id="what PyTorch's adapter turns"),
    pytest.param({"x": (2,)}, ("hf-bert-to-ruda",), ["hf-bert-to-ruda"], id="a name map"),
    pytest.param({"x": (2,)}, (PyTorchToRuda(),), ["pytorch-to-ruda"], id="not by name"),
    pytest.param({}, ("pytorch-to-ruda",), ["pytorch-to-ruda"], id="nothing there"),
]


@pytest.mark.parametrize(("shapes", "adapters", "expected"), CASES)
def test_a_diff_says_which(shapes, adapters, expected) -> None:
    turned = {key: shape[::-1] for key, shape in shapes.items()}
    report = diff(index(**shapes), spec(**turned), recipe=Recipe().with_adapt(*adapters))
    assert said(report.notes) == expected


@pytest.mark.parametrize(
    ("shapes", "adapters", "expected"), [case for case in CASES if case.id != "refused"]
)
def test_a_conversion_says_which(shapes, adapters, expected) -> None:
    turned = {key: shape[::-1] for key, shape in shapes.items()}
    view = convert(index(**shapes), recipe=Recipe().with_adapt(*adapters), target=spec(**turned))
    assert said(view.notes) == expected


def test_a_head_that_is_tied_is_touched() -> None:
    source, target = index(wte__weight=(5, 3)), spec(wte__weight=(5, 3), head__weight=(5, 3))
    recipe = Recipe().with_adapt("tied-head")
    assert said(diff(source, target, recipe=recipe).notes) == []
    assert said(convert(source, recipe=recipe, target=target).notes) == []
    assert said(convert(source, recipe=recipe).notes) == ["tied-head"]


SMALL = {"hidden": 8, "layers": 1, "heads": 2, "ff": 16, "vocab": 12, "positions": 4}
MODELS = [
    pytest.param("digits", {}, "pytorch-to-ruda", id="other names"),
    pytest.param("gpt2", SMALL, "hf-gpt2-to-ruda", id="split and joined"),
    pytest.param("llama", {"layers": 1}, "hf-llama-to-ruda:8,4", id="permuted"),
]


@pytest.mark.parametrize(("name", "settings", "adapter"), MODELS)
def test_what_is_split_joined_or_only_renamed_is_touched(name, settings, adapter) -> None:
    model = get(name).build(**settings)
    recipe = Recipe().with_adapt(adapter)
    (back,) = recipe.reverse()
    other = convert(collect(model), recipe=back)
    assert said(other.notes) == []
    assert said(convert(other, recipe=recipe).notes) == []
    assert said(convert(other, recipe=recipe, target=model).notes) == []
    assert said(diff(other, model, recipe=recipe).notes) == []


def test_what_the_filter_leaves_out_is_not_touched() -> None:
    recipe = Recipe().with_adapt("pytorch-to-ruda").with_select(PathFilter(("bias",)))
    assert said(convert(index(**FC), recipe=recipe).notes) == ["pytorch-to-ruda"]
    target = spec(fc__weight=(6, 2), fc__bias=(2,))
    assert said(diff(index(**FC), target, recipe=recipe).notes) == ["pytorch-to-ruda"]


def test_the_command_line_says_it(tmp_path, capsys) -> None:
    path = str(tmp_path / "a.safetensors")
    save(index(**FC), path)
    words = ["--adapt", "rope-to-pairs:3"]
    assert main(["diff", path, path, *words]) == 0
    assert "note: the adapter 'rope-to-pairs:3' touches nothing" in capsys.readouterr().out
    assert main(["convert", path, str(tmp_path / "b.safetensors"), "--dry-run", *words]) == 0
    assert "note: the adapter 'rope-to-pairs:3' touches nothing" in capsys.readouterr().out
