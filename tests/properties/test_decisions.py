"""Laws of decisions: whatever is decided, every tensor is counted once, and a load does as told."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import AdapterError, RecipeError
from ruda.nn import ModuleSpec, ParamSpec
from ruda.session import Document, History
from ruda.store import (
    CastPolicy,
    Decision,
    DTypePolicy,
    Recipe,
    Status,
    Take,
    TensorIndex,
    TensorSnapshot,
    convert,
    diff,
    recipe_from_json,
    recipe_from_toml,
    recipe_to_json,
    recipe_to_toml,
    save,
)
from ruda.tensor import DType

KEYS = st.sampled_from(["a.w", "a.b", "b.w", "c", "x.position_ids"])
SHAPES = st.sampled_from([(2, 3), (3, 2), (3,), (), (2, 3, 4), (0, 3)])
KINDS = st.sampled_from(["<f4", "<f2", "<i4", "u1"])


@st.composite
def indexes(draw) -> TensorIndex:
    found = []
    for key in draw(st.lists(KEYS, unique=True, max_size=5)):
        shape = draw(SHAPES)
        values = np.arange(int(np.prod(shape))).reshape(shape).astype(draw(KINDS))
        found.append(TensorSnapshot.from_array(key, values))
    return TensorIndex.of(found, format="test")


TEXTS = st.sampled_from(
    [
        *("skip", "keep", "cast f16", "clamp bf16", "transpose 1,0", "transpose 2,0,1"),
        *("slice 0 0:2", "slice 1 1:2", "slice 0 1:9", "pad 0 1:0 7", "pad 1 0:1 0.5"),
        *("reshape 6", "reshape 3,2", "take donor", "take none"),
    ]
)
POLICIES = st.sampled_from(["a=keep", "w$=bf16", "b=clamp:f16", "zzz=keep"])


@pytest.fixture(scope="module")
def donor() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "donor.safetensors"
        values = np.full((2, 3), 9, "<f4")
        save(TensorIndex.of([TensorSnapshot.from_array("k", values)], format="x"), path)
        yield str(path)


def recipe_of(decisions, policies, cast, donor: str) -> Recipe:
    """A recipe of those decisions that do not exclude each other."""
    recipe = Recipe().with_policy(*map(DTypePolicy.parse, policies))
    if cast is not None:
        recipe = recipe.with_cast(CastPolicy.every(cast))
    for key, text in decisions:
        if text.startswith("take"):
            file = donor if text == "take donor" else donor + ".none"
            decision = Decision.of(key, Take(file, "k"))
        else:
            decision = Decision.parse(key, text)
        try:
            recipe = recipe.with_further(decision)
        except RecipeError:
            continue
    return recipe


RECIPES = (
    st.lists(st.tuples(KEYS, TEXTS), max_size=5),
    st.lists(POLICIES, max_size=2),
    st.sampled_from([None, DType.F16, DType.BF16, DType.F32]),
)


@given(indexes(), indexes(), *RECIPES)
def test_every_tensor_is_counted_once(donor, source, target, decisions, policies, cast) -> None:
    recipe = recipe_of(decisions, policies, cast, donor)
    spec = ModuleSpec(tuple(ParamSpec(s.key, s.shape, s.dtype) for s in target.values()))
    report = diff(source, spec, recipe=recipe)
    assert report.totals_hold
    counts = report.counts
    skipped = report.of(Status.SKIPPED)
    pairs = counts[Status.APPLIED] + counts[Status.ERROR]
    sources = pairs + counts[Status.UNUSED] + sum(r.source is not None for r in skipped)
    sources -= sum(uses - 1 for uses in report.reused.values())
    targets = pairs + counts[Status.MISSING] + sum(r.target is not None for r in skipped)
    assert (sources, targets) == (report.source_tensors, report.target_tensors)
    keys = Counter(row.target.key for row in report.rows if row.target is not None)
    assert keys == Counter(param.key for param in spec)
    for row in report.of(Status.APPLIED):
        assert row.adapted.read().shape == row.target.shape
    str(report)


@given(indexes(), *RECIPES)
def test_a_conversion_is_what_its_decisions_say(donor, source, decisions, policies, cast) -> None:
    recipe = recipe_of(decisions, policies, cast, donor)
    try:
        view = convert(source, recipe=recipe)
    except AdapterError:
        return
    assert set(view) == (set(source) | set(recipe.takes)) - recipe.skipped_keys
    for key, snapshot in view.items():
        values = snapshot.read()
        assert values.shape == snapshot.shape
        assert b"".join(map(bytes, snapshot.chunks(7))) == values.tobytes()
        if key in recipe.takes:
            assert snapshot.trail[0] == "take donor.safetensors:k"


@given(*RECIPES)
def test_files_hold_the_recipe(donor, decisions, policies, cast) -> None:
    recipe = recipe_of(decisions, policies, cast, donor)
    assert recipe_from_toml(recipe_to_toml(recipe)) == recipe
    assert recipe_from_json(recipe_to_json(recipe)) == recipe


def test_decisions_are_undone_and_done_again() -> None:
    document = Document(1, Path("a.bpk"), TensorIndex.of([], format="test"), Recipe())
    history = History.begin(document)
    for text in ("slice 0 0:2", "transpose 1,0"):
        recipe = history.document.recipe.with_further(Decision.parse("w", text))
        history = history.push(f"w: {text}", history.document.with_recipe(recipe))
    assert history.undo_title == "w: transpose 1,0"
    back = history.undo()
    assert [d.text for d in back.document.recipe.decide] == ["slice 0 0:2"]
    assert back.undo().document.recipe.is_identity
    assert [d.text for d in back.redo().document.recipe.decide] == ["slice 0 0:2", "transpose 1,0"]
