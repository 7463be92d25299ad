import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import RecipeError, SettingError
from ruda.session import (
    Document,
    RecipeFlags,
    SaveOptions,
    TargetChoice,
    command_text,
    convert_command,
    diff_command,
    inspect_command,
    parse_target,
    run_command,
    step_lines,
    steps_text,
)
from ruda.store import Aliases, CastPolicy, PathFilter, Recipe, RemapRule, TensorIndex
from ruda.tensor import DType

words = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=6)
casts = st.one_of(
    st.none(),
    st.builds(CastPolicy.half, st.sampled_from([DType.F16, DType.BF16]), keep=st.just(["Linear"])),
    st.builds(CastPolicy.every, st.sampled_from([DType.F16, DType.F64])),
)


@st.composite
def recipes(draw):
    recipe = Recipe().with_cast(draw(casts))
    if select := draw(st.lists(words, max_size=2)):
        recipe = recipe.with_select(PathFilter.of(*select))
    for before, after in draw(st.lists(st.tuples(words, words), max_size=3)):
        recipe = recipe.with_rule(before, after)
    recipe = recipe.with_adapt(*draw(st.lists(st.just("pytorch-to-ruda"), max_size=2)))
    return recipe.with_skip(*draw(st.lists(words, max_size=2, unique=True)))


@given(recipes())
def test_flags_say_a_recipe_and_give_it_back(recipe):
    assert RecipeFlags.of(recipe).recipe() == recipe


BEYOND_FLAGS = [
    pytest.param(Recipe().with_select(~PathFilter.of("a")), id="negated filter"),
    pytest.param(Recipe().with_remap(Recipe().remap.map_indices_contiguous()), id="compaction"),
    pytest.param(Recipe().with_cast(CastPolicy.half(add=["BatchNorm"])), id="added module"),
]


@pytest.mark.parametrize("recipe", BEYOND_FLAGS)
def test_what_flags_cannot_say_needs_a_file(recipe):
    assert RecipeFlags.of(recipe) is None
    with pytest.raises(RecipeError, match="does not fit on a command line"):
        diff_command(document(recipe))
    assert diff_command(document(recipe), recipe_file=Path("r.toml"))[-2:] == ["--recipe", "r.toml"]


def test_rules_that_are_off_are_left_out():
    recipe = Recipe().with_rules([RemapRule("a", "b", enabled=False), RemapRule("c", "d")])
    assert RecipeFlags.of(recipe).remap == (("c", "d"),)


def test_flags_are_added_to_a_recipe_file():
    start = Recipe().with_rule("a", "b").with_cast(CastPolicy.half())
    flags = RecipeFlags(remap=(("c", "d"),), keep=("Linear",), select=("x",))
    made = flags.recipe(start)
    assert made.remap.to_regex_pairs() == (("a", "b"), ("c", "d"))
    assert made.cast.keep == {"Linear"}
    assert made.select == PathFilter.of("x")


EXCLUDED = [
    pytest.param(RecipeFlags(half="f16", cast="f32"), "exclude each other", id="half and cast"),
    pytest.param(RecipeFlags(keep=("Linear",)), "add --half or --cast", id="keep alone"),
]


@pytest.mark.parametrize(("flags", "message"), EXCLUDED)
def test_flags_that_make_no_sense_together(flags, message):
    with pytest.raises(SettingError, match=message):
        flags.recipe()


def document(recipe=None, **fields):
    index = TensorIndex.of([], format="pytorch")
    target = fields.pop("target", TargetChoice.of("digits", {"seed": 4}))
    return Document(1, Path("my files/a b.pt"), index, recipe or Recipe(), target, **fields)


def test_the_command_lines_of_a_document():
    recipe = Recipe().with_rule(r"^module\.", "").with_adapt("pytorch-to-ruda")
    made = document(recipe.with_cast(CastPolicy.half()), top_level_key="state dict")
    options = SaveOptions(
        Path("out.bpk"), metadata=(("by", "a b"),), overwrite=True, verify=True, format="rudapack"
    )
    tail = [
        *("--remap", r"^module\.", "", "--adapt", "pytorch-to-ruda", "--half", "f16"),
        *("--top-level-key", "state dict"),
    ]
    source = "my files/a b.pt"
    assert diff_command(made) == ["ruda", "diff", source, "digits", "seed=4", *tail]
    assert convert_command(made, options) == [
        *("ruda", "convert", source, "out.bpk", "--target", "digits", "--set", "seed=4", *tail),
        *("--format", "rudapack", "--metadata", "by=a b", "--overwrite", "--verify"),
    ]
    spread = SaveOptions(
        Path("o.safetensors"),
        drop_metadata=("by",),
        shard_size=5_000_000_000,
        aliases=Aliases.ONCE,
        owners=("wte",),
    )
    assert convert_command(document(target=None), spread)[4:] == [
        *("--drop-metadata", "by", "--shard-size", "5000000000"),
        *("--aliases", "once", "--owner", "wte"),
    ]
    assert run_command(made, Path("mnist")) == [
        *("ruda", "run", "digits", "seed=4", "--weights", source, "--dataset", "mnist", *tail)
    ]
    assert shlex.split(command_text(diff_command(made))) == diff_command(made)
    assert command_text(inspect_command(Path("a b"))) == "ruda inspect 'a b'"


def test_a_command_needs_a_target():
    with pytest.raises(RecipeError, match=r"a b\.pt: choose a target first"):
        diff_command(document(target=None))
    assert "--target" not in convert_command(document(target=None), SaveOptions(Path("o.bpk")))


def test_steps_in_words():
    recipe = (
        Recipe()
        .with_rule(r"^module\.", "")
        .with_rule("fc2", "head")
        .with_adapt("pytorch-to-ruda")
        .with_cast(CastPolicy.half(keep=["Linear"]))
        .with_select(PathFilter.of("^head"))
        .with_skip("head.bias")
    )
    assert step_lines(recipe) == (
        r"strip ^module\.",
        "rename fc2 to head",
        "adapt pytorch-to-ruda",
        "half precision f16, Linear kept",
        "select ^head",
        "skip head.bias",
    )
    assert steps_text(recipe) == "recipe has 6 steps"
    assert steps_text(Recipe()) == "no recipe"


def test_targets_of_a_command_line(tmp_path):
    assert parse_target("digits", ["seed=3"]) == TargetChoice.of("digits", {"seed": 3})
    assert parse_target("other.safetensors").is_file
    (tmp_path / "weights").touch()
    assert parse_target(str(tmp_path / "weights")).is_file


SETTINGS = [
    pytest.param("seed", "expected KEY=VALUE, got 'seed'", id="no sign"),
    pytest.param("=3", "expected KEY=VALUE, got '=3'", id="no key"),
    pytest.param("seed=x", "seed: expected a whole number, got 'x'", id="no number"),
]


@pytest.mark.parametrize(("word", "message"), SETTINGS)
def test_settings_that_cannot_be_understood(word, message):
    with pytest.raises(SettingError, match=message):
        parse_target("digits", [word])
