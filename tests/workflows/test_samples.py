"""The built-in sample: its files load with one rename and one adapter, and not with less."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ruda.data import DataLoader, StackBatcher, open_dataset
from ruda.models import get
from ruda.nn import Module
from ruda.store import KeyRemapper, Recipe, Status, apply, diff, open_store

FILES = ["digits-checkpoint.pt", "digits.safetensors", "digits.bpk"]
RENAME = KeyRemapper.of((r"^(state_dict\.)?module\.", ""))
COUNTERS = {f"norm{n}.num_batches_tracked" for n in (1, 2)}


@pytest.fixture
def samples(project: Path) -> Path:
    return project / "resources" / "samples"


def accuracy(model: Module, digits: Path) -> float:
    """Share of the digits that the model gets right."""
    dataset, right = open_dataset(digits), 0
    for batch in DataLoader(dataset, StackBatcher(), batch_size=250, num_workers=2):
        guesses = model(get("digits").input.prepare(batch["image"].numpy())).argmax(1)
        right += int(np.count_nonzero(guesses.numpy() == batch["label"].numpy()))
    return right / len(dataset)


def test_the_dataset(samples: Path) -> None:
    dataset = open_dataset(samples / "digits")
    assert len(dataset) == 1000
    assert dataset.class_names == tuple("0123456789")
    assert dataset.features["image"].shape == (28, 28)
    labels = [item["label"] for item in dataset]
    np.testing.assert_array_equal(np.bincount(labels), [100] * 10)


def test_it_is_small(samples: Path) -> None:
    assert sum(path.stat().st_size for path in samples.rglob("*") if path.is_file()) < 600_000


def test_a_checkpoint_is_more_than_its_weights(samples: Path) -> None:
    with open_store(samples / "digits-checkpoint.pt") as index:
        assert index.tree is not None
        assert {node.name for node in index.tree.children} == {
            "epoch",
            "accuracy",
            "optimizer",
            "state_dict",
        }


PARTIAL = [
    pytest.param(Recipe(), 0, 18, id="nothing"),
    pytest.param(Recipe(adapt=("pytorch-to-ruda",)), 0, 18, id="adapter alone"),
    pytest.param(Recipe(remap=RENAME), None, None, id="rename alone"),
]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("recipe", "applied", "unused"), PARTIAL)
def test_one_of_the_two_is_not_enough(
    samples: Path, name: str, recipe: Recipe, applied: int | None, unused: int | None
) -> None:
    with open_store(samples / name) as index:
        report = diff(index, get("digits").build(), recipe=recipe)
    assert report.counts[Status.APPLIED] < 16
    if applied is not None:
        assert report.counts[Status.APPLIED] == applied
        assert report.counts[Status.UNUSED] == unused


@pytest.mark.parametrize("name", FILES)
def test_with_both_it_loads_and_reads_digits(samples: Path, name: str) -> None:
    model = get("digits").build()
    recipe = Recipe(remap=RENAME, adapt=("pytorch-to-ruda",))
    with open_store(samples / name) as index:
        result = apply(index, model, recipe=recipe)
    assert len(result.applied) == 16
    assert (result.missing, result.errors, result.skipped) == ((), (), ())
    assert {row.key for row in result.report.of(Status.UNUSED)} == COUNTERS
    assert accuracy(model, samples / "digits") >= 0.97


def test_the_three_files_hold_the_same_bits(samples: Path) -> None:
    found = []
    for name in FILES:
        with open_store(samples / name) as index:
            found.append({RENAME.rename(key): index[key].sha256() for key in index})
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 18
