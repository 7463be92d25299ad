"""Recipes taken back: the file that went in comes out again, and what cannot come back says so."""

from __future__ import annotations

import numpy as np
import pytest

from ruda.errors import RecipeError
from ruda.models import get
from ruda.store import (
    CastPolicy,
    PathFilter,
    Recipe,
    RemapRule,
    TensorIndex,
    TensorSnapshot,
    collect,
    convert,
)
from ruda.store.adapt import adapter_named
from ruda.store.decisions import Decision
from ruda.store.recipe import DTypePolicy

LLAMA = {"dim": 8, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 6, "vocab": 7, "tied": 0}
GPT2 = {"hidden": 4, "layers": 2, "heads": 2, "ff": 6, "vocab": 7, "positions": 5, "tied": 0}

MODELS = [
    pytest.param("llama", LLAMA, "hf-llama", ":4,2", id="rotary order"),
    pytest.param("gpt2", GPT2, "hf-gpt2", "", id="blocks of columns"),
]


@pytest.mark.parametrize(("architecture", "settings", "names", "option"), MODELS)
def test_a_recipe_and_its_reverse_give_the_file_again(
    architecture: str, settings: dict[str, int], names: str, option: str
) -> None:
    model = get(architecture).build(**{**settings, "seed": 3})
    there = convert(collect(model), recipe=Recipe(adapt=(f"ruda-to-{names}{option}",)))
    source = TensorIndex.of(
        [s.renamed(f"module.{key}") for key, s in there.items()], format="pytorch"
    )
    turned = next(key for key, s in collect(model).items() if len(set(s.shape)) == 2)
    recipe = Recipe(
        adapt=(f"{names}-to-ruda{option}",),
        decide=(Decision.parse(turned, "transpose 1,0"),),
    ).with_rule(r"^module\.", "")
    made = convert(source, recipe=recipe)
    assert set(made) == set(collect(model))
    back = recipe.reverse()
    assert [(bool(r.decide), bool(r.adapt), not r.remap.is_empty) for r in back] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    for step in back:
        made = convert(made, recipe=step)
    assert set(made) == set(source)
    for key, snapshot in source.items():
        np.testing.assert_array_equal(made[key].read(), snapshot.read(), err_msg=key)


def test_several_transposes_are_taken_back_in_their_order() -> None:
    values = np.arange(24, dtype="<f4").reshape(2, 3, 4)
    source = TensorIndex.of([TensorSnapshot.from_array("w", values)], format="test")
    texts = ("transpose 1,2,0", "transpose 0,2,1")
    recipe = Recipe(decide=tuple(Decision.parse("w", text) for text in texts))
    (back,) = recipe.reverse()
    made = convert(convert(source, recipe=recipe), recipe=back)
    np.testing.assert_array_equal(made["w"].read(), values)


def test_adapters_are_taken_back_in_their_order_and_keep_their_kind() -> None:
    own = adapter_named("gpt2-to-ruda")
    (back,) = Recipe(adapt=(own, "rope-to-pairs:8,2", "tied-head")).reverse()
    assert back.adapt == ("rope-to-halves:8,2", own.reverse())
    assert Recipe().reverse() == ()
    assert Recipe(adapt=("tied-head",)).reverse() == ()


def test_a_prefix_that_not_all_keys_had_is_not_given_to_the_others() -> None:
    recipe = Recipe().with_rule(r"^module\.", "")
    assert recipe.reverse(["module.a", "module.b"]) == recipe.reverse()
    with pytest.raises(
        RecipeError, match=r"makes 'module\.b' of the key that was 'b'; write one by hand"
    ) as found:
        recipe.reverse(["module.a", "b"])
    assert found.value.step == recipe.remap.rules[0].name


def test_the_rule_that_does_not_come_back_is_named() -> None:
    recipe = Recipe().with_rule("^a", "b").with_rule(r"\.x$", ".y")
    assert recipe.reverse(["a.x", "c.x"])
    with pytest.raises(
        RecipeError, match=r"^remap '\\\\.x\$' -> '\.y': .* makes 'c\.x' of .* 'c\.y'"
    ):
        recipe.reverse(["a.x", "c.y"])
    off = Recipe().with_rules([RemapRule("^a", "b", enabled=False)])
    assert off.reverse(["b"])[0:] == ()


LOST = [
    pytest.param(Recipe(merge=("scales",)), "merge: has no reverse: what it computed", id="merge"),
    pytest.param(
        Recipe(select=PathFilter.of("^a")), "select: has no reverse: what is left out", id="select"
    ),
    pytest.param(Recipe(cast=CastPolicy.half()), "cast: has no reverse: .* take it out", id="cast"),
    pytest.param(
        Recipe(policy=(DTypePolicy.parse("w=bf16"),)), "policy: has no reverse", id="policy"
    ),
    pytest.param(Recipe().with_skip("w"), "decide: 'skip' of 'w' has no reverse", id="skip"),
    pytest.param(
        Recipe().with_rules([RemapRule("(a|b)+", "c")]), "this rule has no reverse", id="rule"
    ),
]


@pytest.mark.parametrize(("recipe", "message"), LOST)
def test_what_cannot_be_taken_back_says_why(recipe: Recipe, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        recipe.reverse()
