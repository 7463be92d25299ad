import shlex
from dataclasses import fields, replace
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.cli.options import recipe_of, recipe_options
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
from ruda.session.flags import flat_filter
from ruda.store import (
    Aliases,
    CastPolicy,
    Decision,
    DTypePolicy,
    KeyRemapper,
    PathFilter,
    PyTorchToRuda,
    Recipe,
    RemapRule,
    TensorIndex,
)
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


FURTHER = [
    pytest.param(Recipe().with_select(~PathFilter.of("a")), id="negated filter"),
    pytest.param(Recipe().with_select(PathFilter.of("a").without("b")), id="exclusion"),
    pytest.param(
        Recipe().with_select(PathFilter().without("a").without(PathFilter.from_paths(["b"]))),
        id="two exclusions",
    ),
    pytest.param(
        Recipe().with_select(PathFilter.from_predicate("norm").without(PathFilter.of("x"))),
        id="predicate by name",
    ),
    pytest.param(Recipe().with_remap(KeyRemapper((), True, "^layers")), id="compaction"),
    pytest.param(Recipe().with_cast(CastPolicy.half(add=["BatchNorm"])), id="added module"),
    pytest.param(Recipe().with_policy(DTypePolicy.parse("a=b=clamp:f16")), id="policy"),
    pytest.param(Recipe().with_merge("scales", "weight-norm"), id="merges"),
    pytest.param(
        Recipe().with_further(
            *(
                Decision.parse(key, text)
                for key, text in [
                    ("a", "slice 0 0:2"),
                    ("b", "skip"),
                    ("a", "pad 1 0:1 -0.5"),
                    ("a", "take 'my file.pt' x.w"),
                    ("c", "cast bf16"),
                ]
            )
        ),
        id="decisions",
    ),
]


@pytest.mark.parametrize("recipe", FURTHER)
def test_the_command_line_says_a_recipe_and_gives_it_back(recipe):
    flags = RecipeFlags.of(recipe)
    command = recipe_options(click.command("x")(lambda **words: None))
    found = command.make_context("x", flags.arguments()).params
    made = recipe_of(found)
    assert flat_filter(made.select) == flat_filter(recipe.select)
    assert replace(made, select=recipe.select) == recipe
    keys = ["a", "b", "x.norm.weight", "ab"]
    assert [made.select.matches(key) for key in keys] == [
        recipe.select.matches(key) for key in keys
    ]


def test_every_flag_of_a_recipe_is_an_option():
    command = recipe_options(click.command("x")(lambda **words: None))
    assert {f.name for f in fields(RecipeFlags)} <= {option.name for option in command.params}


@given(recipes())
def test_flags_say_a_recipe_and_give_it_back(recipe):
    assert RecipeFlags.of(recipe).recipe() == recipe


BEYOND_FLAGS = [
    pytest.param(
        Recipe().with_select(PathFilter.from_predicate(lambda key, containers: True)),
        id="predicate without a name",
    ),
    pytest.param(
        Recipe().with_select(PathFilter.of("a").without("b") | PathFilter.of("c")),
        id="filter of filters",
    ),
    pytest.param(Recipe(adapt=(PyTorchToRuda(),)), id="adapter of one's own"),
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


def test_decisions_of_flags_replace_those_of_a_file():
    start = Recipe().with_skip("a", "b")
    flags = RecipeFlags(decide=(("a", "slice 0 0:1"), ("a", "transpose 1,0")))
    assert [(d.key, d.text) for d in flags.recipe(start).decide] == [
        ("b", "skip"),
        ("a", "slice 0 0:1"),
        ("a", "transpose 1,0"),
    ]


def test_what_a_file_excludes_stays_excluded():
    start = Recipe().with_select(PathFilter().without("count"))
    made = RecipeFlags(select=("^enc",)).recipe(start)
    keys = ("enc.w", "enc.count", "dec.w")
    assert [made.select.matches(key) for key in keys] == [True, False, False]


def test_presets_are_flags():
    made = RecipeFlags(preset=("ddp", "no-counters", "scales")).recipe()
    assert made.remap.rename("module.a") == "a"
    assert not made.select.matches("bn.num_batches_tracked")
    assert made.merge == ("scales",)
    assert RecipeFlags.of(made).recipe().remap == made.remap


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
    pytest.param(RecipeFlags(add=("Linear",), cast="f16"), "add --half", id="add without half"),
    pytest.param(RecipeFlags(keep_indices="a"), "add --contiguous", id="indices kept of nothing"),
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


STEPS = [
    pytest.param(Recipe().with_merge("scales"), ["merge scales"], id="merge"),
    pytest.param(
        Recipe().with_policy(*map(DTypePolicy.parse, ["a=keep", "b=bf16", "c=clamp:f16"])),
        ["keep the type of a", "cast b to bf16", "clamp c to f16"],
        id="policies",
    ),
    pytest.param(
        Recipe().with_select(PathFilter.of("^enc").without("x").without(PathFilter(keys=("k",)))),
        ["select ^enc", "leave out x and k"],
        id="what is left out",
    ),
    pytest.param(
        Recipe().with_select(~PathFilter.from_predicate("norm")), ["leave out norm"], id="negation"
    ),
    pytest.param(
        Recipe().with_further(
            Decision.parse("a", "skip"),
            Decision.parse("b", "slice 0 0:2"),
            Decision.parse("b", "transpose 1,0"),
        ),
        ["skip a", "slice 0 0:2: b", "transpose 1,0: b"],
        id="decisions",
    ),
]


@pytest.mark.parametrize(("recipe", "lines"), STEPS)
def test_every_step_of_a_recipe_is_a_line(recipe, lines):
    assert list(step_lines(recipe)) == lines
    assert steps_text(recipe).split()[2:3] == [str(len(lines))]
