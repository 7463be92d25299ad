"""Laws of recipe files: whatever a recipe holds, TOML, JSON and files on the disk give it back."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import RecipeError
from ruda.store import (
    CastPolicy,
    CastScope,
    Decision,
    DTypePolicy,
    KeyRemapper,
    PathFilter,
    Recipe,
    RemapRule,
    Take,
    read_recipe,
    recipe_from_json,
    recipe_from_toml,
    recipe_to_json,
    recipe_to_toml,
    write_recipe,
)
from ruda.store.decision_file import with_absolute_files
from ruda.store.merging import MERGES
from ruda.store.naming import NAME_FORMS
from ruda.tensor import DType

# What a file has to write in another way, and what looks like its own signs.
ODD = ['"', "'", "\\", "\n", "\r\n", "\t", "\0", "\x7f", "\x85", "\u2028", "#", "=", "]", "'''"]
texts = st.lists(
    st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), max_size=4)),
    max_size=4,
).map("".join)
names = texts.filter(bool)
patterns = st.one_of(
    texts.map(re.escape), st.sampled_from([r"^(\w+)\.", "a|b", r"\d+$", r'"(?P<n>x)"', "(?i)A"])
)


@st.composite
def rules(draw: st.DrawFn) -> RemapRule:
    """A rule; a replacement that the pattern has no group for becomes plain text."""
    pattern, text = draw(patterns), draw(texts | st.sampled_from(["${1}", "$n", r"\1", "$$"]))
    enabled = draw(st.booleans())
    try:
        return RemapRule(pattern, text, enabled)
    except RecipeError:
        return RemapRule(pattern, "$$", enabled)


filters = st.recursive(
    st.builds(
        PathFilter,
        regexes=st.lists(patterns, max_size=2).map(tuple),
        keys=st.lists(texts, max_size=2).map(tuple),
        predicates=st.lists(
            st.sampled_from(["norm", "bias", "kind:Linear", "under:a.b"]), max_size=2
        ).map(tuple),
        takes_all=st.booleans(),
        negated=st.booleans(),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0].without(pair[1])),
        inner.map(lambda one: ~one),
    ),
    max_leaves=4,
)
kinds = st.frozensets(st.sampled_from(["Linear", "BatchNorm", "Conv2d"]), max_size=2)
casts = st.one_of(
    st.builds(CastPolicy, st.sampled_from([DType.F16, DType.BF16, DType.F8_E5M2]), keep=kinds),
    st.builds(
        CastPolicy,
        st.sampled_from([DType.F16, DType.BF16]),
        st.just(CastScope.MODULES),
        kinds,
        kinds,
    ),
)
WORDS = [
    *("skip", "keep", "cast bf16", "clamp f16", "transpose 1,0", "reshape 10,1"),
    *("slice 0 1:2", "pad 1 0:2 -0.5", "pad 0 3:0 1e300", "pad 0 1:1 0"),
]
decisions = st.one_of(
    st.builds(Decision.parse, names, st.sampled_from(WORDS)),
    st.builds(lambda key, file, there: Decision.of(key, Take(file, there)), names, names, names),
)
policies = st.builds(
    lambda pattern, what: DTypePolicy.parse(f"{pattern}={what}"),
    patterns.filter(bool),
    st.sampled_from(["keep", "bf16", "clamp:f16", "int8"]),
)
ADAPTERS = ["pytorch-to-ruda", "gpt2-to-ruda", "keras-to-ruda", "tied-head", "rope-to-pairs:8,2"]
adapts = st.one_of(
    st.lists(st.sampled_from(ADAPTERS), max_size=3).map(tuple),
    st.sampled_from([*NAME_FORMS, "hf-bert-to-ruda:bert.", "hf-llama-to-ruda:-:8,2"]).map(
        lambda name: (name,)
    ),
)


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    """A recipe of anything that a file can hold."""
    recipe = Recipe(
        draw(filters),
        KeyRemapper(
            tuple(draw(st.lists(rules(), max_size=3))),
            draw(st.booleans()),
            draw(st.none() | patterns),
        ),
        draw(adapts),
        draw(st.none() | casts),
        policy=tuple(draw(st.lists(policies, max_size=2))),
        merge=tuple(draw(st.lists(st.sampled_from(list(MERGES)), max_size=3))),
    )
    for decision in draw(st.lists(decisions, max_size=3)):
        try:
            recipe = recipe.with_further(decision)
        except RecipeError:  # it excludes one before
            continue
    return recipe


@given(recipes())
def test_texts_give_the_recipe_back(recipe: Recipe) -> None:
    assert recipe_from_toml(recipe_to_toml(recipe)) == recipe
    assert recipe_from_json(recipe_to_json(recipe)) == recipe


@given(recipes(), st.sampled_from(["r.toml", "r.json", "r.JSON", "r"]))
def test_files_give_the_recipe_back(recipe: Recipe, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_recipe(recipe, path)
        # Files that tensors are taken from are relative to the file of the recipe.
        assert with_absolute_files(read_recipe(path)) == with_absolute_files(recipe)


@given(recipes(), recipes())
def test_other_recipes_have_other_files(one: Recipe, other: Recipe) -> None:
    assert (recipe_to_toml(one) == recipe_to_toml(other)) == (one == other)
    assert (recipe_to_toml(one) == recipe_to_toml(Recipe())) == (one == Recipe())
