from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ruda import nn
from ruda.errors import LoadError, SpecError
from ruda.nn import ModuleSpec
from ruda.store import (
    Cause,
    Flag,
    Recipe,
    Status,
    TensorIndex,
    TensorSnapshot,
    apply,
    arch_from_json,
    arch_from_toml,
    arch_to_json,
    arch_to_toml,
    diff,
    open_store,
    save,
)
from ruda.store.decisions import Decision, Take


class Tied(nn.Module):
    """Two layers that share their weight."""

    def __init__(self) -> None:
        self.embed = nn.Linear(4, 3, bias=False, seed=0)
        self.norm = nn.LayerNorm(3)
        self.head = nn.Linear(4, 3, bias=False, seed=1)
        self.head.weight = self.embed.weight


WEIGHT = np.arange(12, dtype="<f4").reshape(4, 3)
NORM = {"norm.gamma": np.ones(3, "<f4"), "norm.beta": np.zeros(3, "<f4")}


def index_of(**arrays: np.ndarray) -> TensorIndex:
    found = {key.replace("__", "."): values for key, values in arrays.items()} | NORM
    return TensorIndex.of(
        [TensorSnapshot.from_array(key, values) for key, values in found.items()], format="test"
    )


ONE_KEY = [
    pytest.param("embed", "head", id="the first key"),
    pytest.param("head", "embed", id="the later key"),
]


@pytest.mark.parametrize(("given", "other"), ONE_KEY)
def test_a_file_with_one_of_the_keys_applies_fully(given: str, other: str) -> None:
    source = index_of(**{f"{given}__weight": WEIGHT})
    model = Tied()
    report = diff(source, model)
    assert report.is_complete
    assert report.totals_hold
    assert report.reused == {f"{given}.weight": 2}
    assert report.coverage.share == 1.0
    assert report.hints == ()
    (row,) = [row for row in report.rows if row.key == f"{other}.weight"]
    assert row.trail == (f"tied {given}.weight",)
    assert Flag.TIED in row.flags
    assert report.notes == (
        f"1 parameter loaded as tied: '{other}.weight' takes the tensor of '{given}.weight'",
    )
    apply(source, model)
    np.testing.assert_array_equal(model.embed.weight.value().numpy(), WEIGHT)
    assert model.head.weight is model.embed.weight


def test_a_file_with_both_keys_is_taken_if_they_are_the_same() -> None:
    model = Tied()
    source = index_of(embed__weight=WEIGHT, head__weight=WEIGHT.copy())
    assert diff(source, model).notes == (
        "the target has one tensor for 'embed.weight' and 'head.weight', and the source has both: "
        "a load compares their values and takes them only if they are the same",
    )
    apply(source, model)
    np.testing.assert_array_equal(model.embed.weight.value().numpy(), WEIGHT)


def test_values_that_differ_are_refused_and_nothing_changes() -> None:
    model = Tied()
    before = model.embed.weight.value().numpy().copy()
    source = index_of(embed__weight=WEIGHT, head__weight=WEIGHT + 1)
    with pytest.raises(LoadError, match=r"one parameter for 'embed\.weight' and 'head\.weight'"):
        apply(source, model)
    np.testing.assert_array_equal(model.embed.weight.value().numpy(), before)


def test_neither_key_is_missing_twice() -> None:
    report = diff(index_of(), Tied())
    assert report.counts[Status.MISSING] == 2
    assert report.totals_hold


def test_a_tied_key_that_is_left_out_stays_out() -> None:
    source = index_of(embed__weight=WEIGHT)
    report = diff(source, Tied(), recipe=Recipe().with_skip("head.weight"))
    assert report.counts[Status.SKIPPED] == 1
    assert report.totals_hold


TAKERS = {
    "both wanted": ("embed.weight", "other.weight"),
    "one wanted": ("embed.weight", "nobody"),
    "none wanted": ("nobody", "nobody.else"),
}


@pytest.mark.parametrize("keys", TAKERS.values(), ids=TAKERS)
def test_one_tensor_of_another_file_that_two_decisions_take_is_one(tmp_path, keys) -> None:
    path = tmp_path / "other.safetensors"
    save(index_of(w=WEIGHT), path)
    target = index_of(embed__weight=WEIGHT, other__weight=WEIGHT)
    recipe = Recipe()
    for key in keys:
        recipe = recipe.with_further(Decision.of(key, Take(str(path), "w")))
    report = diff(index_of(), target, recipe=recipe)
    wanted = sum(key in target for key in keys)
    assert report.counts[Status.APPLIED] == wanted + len(NORM)
    assert report.counts[Status.UNUSED] == (not wanted)
    assert report.source_tensors == 1 + len(NORM)
    assert report.reused == ({"other.safetensors:w": 2} if wanted == 2 else {})
    assert report.totals_hold


def test_what_is_taken_from_another_file_is_tied_too(tmp_path) -> None:
    path = tmp_path / "other.safetensors"
    save(index_of(w=WEIGHT), path)
    recipe = Recipe().with_further(Decision.of("embed.weight", Take(str(path), "w")))
    report = diff(index_of(), Tied(), recipe=recipe)
    assert report.is_complete
    assert report.totals_hold
    assert report.reused == {"other.safetensors:w": 2}
    model = Tied()
    apply(index_of(), model, recipe=recipe)
    np.testing.assert_array_equal(model.head.weight.value().numpy(), WEIGHT)


def test_the_adapter_goes_before() -> None:
    source = index_of(embed__weight=np.ascontiguousarray(WEIGHT.T))
    report = diff(source, Tied(), recipe=Recipe(adapt=("pytorch-to-ruda",)))
    (row,) = [row for row in report.rows if row.key == "head.weight"]
    assert row.trail == ("transpose 1,0", "tied embed.weight")
    assert report.is_complete


def test_a_description_says_what_is_tied() -> None:
    spec = ModuleSpec.of(Tied())
    assert spec.tied == (("head.weight", "embed.weight"),)
    for read, write in ((arch_from_toml, arch_to_toml), (arch_from_json, arch_to_json)):
        assert read(write(spec)).tied == spec.tied
    assert diff(index_of(embed__weight=WEIGHT), arch_from_toml(arch_to_toml(spec))).is_complete


class Untied(nn.Module):
    """What a model is that has no head of its own."""

    def __init__(self) -> None:
        self.embed = nn.Linear(4, 3, bias=False, seed=0)
        self.norm = nn.LayerNorm(3)


OTHER_KEYS = [
    pytest.param("embed.weight", "head.weight", WEIGHT.T, True, id="the alias is left"),
    pytest.param("head.weight", "embed.weight", WEIGHT.T, True, id="the owner is left"),
    pytest.param("embed.weight", "head.weight", WEIGHT, False, id="nothing is applied"),
]


@pytest.mark.parametrize(("owner", "alias", "values", "clean"), OTHER_KEYS)
def test_another_key_of_an_applied_tensor_is_harmless(
    tmp_path, owner: str, alias: str, values: np.ndarray, clean: bool
) -> None:
    path = tmp_path / "tied.pt"
    first = TensorSnapshot.from_array(owner, np.ascontiguousarray(values))
    second = replace(first, key=alias, shared_with=owner)
    save(TensorIndex.of([first, second, *index_of().values()], format="x"), path)
    with open_store(path) as source:
        assert {s.shared_with for s in source.values()} == {None, owner}
        report = diff(source, Untied(), recipe=Recipe(adapt=("pytorch-to-ruda",)))
        (row,) = [row for row in report.of(Status.UNUSED) if row.key == "head.weight"]
        assert report.is_clean is clean
        assert report.totals_hold
        expected = "the same tensor as 'embed.weight', which is applied: nothing of it is lost"
        assert (row.reason == expected) is clean
        assert (row.cause is Cause.HARMLESS) is clean


def test_a_view_of_a_part_is_no_other_key_of_the_tensor() -> None:
    whole = index_of(embed__weight=WEIGHT)["embed.weight"]
    part = replace(whole, key="part", shape=(2, 6), shared_with="embed.weight")
    source = TensorIndex.of([whole, part, *index_of().values()], format="x")
    report = diff(source, Untied())
    assert report.is_complete
    assert not report.is_clean


def test_another_file_as_target_knows_its_aliases(tmp_path) -> None:
    path = tmp_path / "tied.safetensors"
    shared = TensorSnapshot.from_array("head.weight", WEIGHT)
    index = index_of(embed__weight=WEIGHT)
    save(TensorIndex.of([*index.values(), shared], format="x"), path)
    with open_store(path) as target:
        assert diff(index, target).counts[Status.MISSING] == 1  # two tensors in full, not one


BAD = [
    pytest.param('"a.w" = "c.w"', "no parameter has the key 'c.w'", id="no such key"),
    pytest.param('"a.w" = "a.w"', "must be two of one shape and type", id="itself"),
    pytest.param('"a.w" = "b.w"', "must be two of one shape and type", id="shapes"),
    pytest.param('"a.w" = 3', "expected str, found 3", id="no text"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_bad_ties_are_refused(line: str, message: str) -> None:
    text = (
        'format = "ruda-arch"\nversion = 1\n[[module]]\npath = "a"\nparams = {w = [1]}\n'
        f'[[module]]\npath = "b"\nparams = {{w = [2]}}\n[tied]\n{line}\n'
    )
    with pytest.raises(SpecError, match=message):
        arch_from_toml(text)
