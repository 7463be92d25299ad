"""Models of transformers, timm and torchvision: loaded, run, and saved back, by goldens.

``tests/oracles/check_architectures.py`` made the goldens with these libraries: the keys, shapes and
results of a model that is filled with values out of the names of its tensors.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda.models import get
from ruda.store import Flag, Recipe, Status, apply, collect, convert, diff, suggest
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.store.suggest_report import Verdict
from ruda.tensor import Tensor

GOLDEN = Path(__file__).parents[2] / "golden" / "architectures"

_spec = importlib.util.spec_from_file_location("golden_values", GOLDEN / "values.py")
values = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(values)

NUMPY = {"f32": "float32", "i64": "int64"}


@dataclass
class Golden:
    """One model: its file, Ruda's model of it, and what it gives."""

    name: str
    about: dict[str, Any]
    source: TensorIndex
    output: np.ndarray

    @classmethod
    def read(cls, path: Path) -> Golden:
        with np.load(path) as content:
            tensors = json.loads(str(content["tensors"]))
            about = json.loads(str(content["about"]))
            output = content["output"]
        snapshots = [
            TensorSnapshot.from_array(key, values.weights(key, tuple(shape), NUMPY[dtype]))
            for key, shape, dtype in tensors
        ]
        return cls(path.stem, about, TensorIndex.of(snapshots, format="safetensors"), output)

    def build(self) -> Any:
        return get(self.about["architecture"]).build(**self.about["settings"])

    @property
    def recipe(self) -> Recipe:
        return Recipe(adapt=(self.about["adapt"],))

    @property
    def back(self) -> Recipe:
        return Recipe(adapt=(self.recipe.adapter().reverse().name,))

    @property
    def input(self) -> Tensor:
        shape = tuple(self.about["input"])
        return Tensor(values.tokens(shape, 11) if len(shape) == 2 else values.pictures(shape))


NAMES = sorted(path.stem for path in GOLDEN.glob("*.npz"))


@pytest.fixture(scope="module", params=NAMES)
def golden(request):
    return Golden.read(GOLDEN / f"{request.param}.npz")


def same(one: TensorSnapshot, other: TensorSnapshot) -> bool:
    return one.dtype is other.dtype and one.read().tobytes() == other.read().tobytes()


def test_all_families_have_a_golden():
    families = {name.partition("-")[2].partition("-")[0] for name in NAMES}
    assert families == {"bert", "gpt2", "llama", "mistral", "qwen2", "qwen3"} | {
        "resnet",
        "mobilenet",
        "vit",
    }


def test_it_loads_and_gives_the_same_results(golden):
    model = golden.build()
    report = diff(golden.source, model, recipe=golden.recipe)
    assert report.is_complete
    assert report.totals_hold
    unused = [row for row in report.of(Status.UNUSED) if Flag.HARMLESS not in row.flags]
    assert all(row.key.startswith("cls.") for row in unused)
    apply(golden.source, model, recipe=golden.recipe)
    np.testing.assert_allclose(model(golden.input).numpy(), golden.output, atol=2e-5)


def test_saved_back_it_has_the_keys_and_bits_of_the_file(golden):
    model = golden.build()
    report = diff(golden.source, model, recipe=golden.recipe)
    apply(golden.source, model, recipe=golden.recipe)
    used = {source.key for row in report.rows if row.target for source in row.sources}
    back = convert(collect(model), recipe=golden.back)
    assert set(back.snapshots) == used
    assert all(same(back[key], golden.source[key]) for key in used)


def test_there_and_back_without_a_model_is_the_identity(golden):
    recipe, back = golden.recipe, golden.back
    if "llama" in recipe.adapt[0]:  # no shape in a file says how many heads there are
        settings = {s.name: s.default for s in get(golden.about["architecture"]).settings}
        settings |= golden.about["settings"]
        heads = f":{settings['heads']},{settings['kv_heads']}"
        recipe, back = (Recipe(adapt=(r.adapt[0] + heads,)) for r in (recipe, back))
    there = convert(golden.source, recipe=recipe)
    expected = {entry.key: entry.param.shape for entry in golden.build().walk()}
    assert expected.items() <= {key: s.shape for key, s in there.items()}.items()
    again = convert(there, recipe=back)
    assert set(again.snapshots) == set(golden.source.snapshots)
    assert all(same(again[key], golden.source[key]) for key in golden.source)


def test_the_adapter_is_suggested_as_certain(golden):
    model = golden.build()
    report = suggest(golden.source, model)
    assert report.to_recipe().adapt == (golden.about["adapt"],)
    assert [step.verdict for step in report.suggestions] == [Verdict.CERTAIN]
    assert diff(golden.source, model, recipe=report.to_recipe()).is_complete
