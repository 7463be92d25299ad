from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import RecipeError
from ruda.store import (
    KeyRemapper,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    convert,
    preset_named,
    presets,
)


def names_after(preset: str, *keys: str) -> list[str]:
    arrays = [TensorSnapshot.from_array(key, np.zeros(2, "<f4")) for key in keys]
    source = TensorIndex.of(arrays, format="test")
    return list(convert(source, recipe=preset_named(preset).on(Recipe())))


KEYS = [
    pytest.param("ddp", ["module.a", "module.module.b", "c.module.d"], ["a", "b", "c.module.d"]),
    pytest.param("ddp", ["_orig_mod.module.a"], ["_orig_mod.a"], id="ddp inside compile"),
    pytest.param("compile", ["_orig_mod.a", "m._orig_mod.b"], ["a", "m.b"]),
    pytest.param(
        "fsdp",
        ["_fsdp_wrapped_module.a", "l.0._fsdp_wrapped_module._checkpoint_wrapped_module.b"],
        ["a", "l.0.b"],
    ),
    pytest.param(
        "lightning",
        ["state_dict.model.a", "state_dict.model.model.b", "optimizer_states.0.x", "epoch"],
        ["a", "model.b"],
    ),
    pytest.param("lightning", ["model.a", "loss.w"], ["a", "loss.w"], id="lightning, one part"),
    pytest.param(
        "peft",
        [
            "base_model.model.q.base_layer.weight",
            "base_model.model.q.lora_A.default.weight",
            "base_model.model.head.modules_to_save.default.weight",
            "base_model.model.head.original_module.weight",
        ],
        ["q.weight", "q.lora_A.default.weight", "head.weight"],
    ),
    pytest.param(
        "gamma-beta",
        ["enc.LayerNorm.gamma", "enc.LayerNorm.beta", "bn1.gamma", "ln_f.beta", "block.gamma"],
        ["enc.LayerNorm.weight", "enc.LayerNorm.bias", "bn1.weight", "ln_f.bias", "block.gamma"],
    ),
    pytest.param(
        "ema",
        ["ema_model.a", "online_model.a", "initted", "step"],
        ["a"],
    ),
    pytest.param("no-counters", ["bn.num_batches_tracked", "bn.weight"], ["bn.weight"]),
]


@pytest.mark.parametrize(("preset", "before", "after"), KEYS)
def test_presets_take_the_names(preset: str, before: list[str], after: list[str]) -> None:
    assert names_after(preset, *before) == after


SEGMENTS = st.sampled_from(
    ["module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"]
)


@given(st.lists(SEGMENTS, max_size=6))
def test_wrappers_go_in_any_order_and_depth(wrappers: list[str]) -> None:
    assert names_after("wrappers", ".".join([*wrappers, "layer", "weight"])) == ["layer.weight"]


@pytest.mark.parametrize("order", list(itertools.permutations(["ddp", "compile", "fsdp"])))
def test_presets_of_wrappers_may_come_in_any_order(order: tuple[str, ...]) -> None:
    recipe = Recipe()
    for name in order:
        recipe = preset_named(name).on(recipe)
    key = "_orig_mod.module._fsdp_wrapped_module.a"
    assert recipe.remap.rename(key) == "a"


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_a_preset_is_added_once(preset) -> None:
    once = preset.on(Recipe())
    assert not once.is_identity
    assert preset.on(once) == once
    assert preset.title
    both = preset.on(Recipe().with_rule("a", "b"))
    assert both.remap.rules[0].pattern == "a"


def test_all_presets_together_are_a_recipe() -> None:
    recipe = Recipe()
    for preset in presets():
        recipe = preset.on(recipe)
    assert all(preset.on(recipe) == recipe for preset in presets())


def test_a_preset_that_is_none() -> None:
    with pytest.raises(RecipeError, match="no preset is called 'dpp'; did you mean 'ddp'"):
        preset_named("dpp")


def test_rules_cannot_follow_compaction() -> None:
    recipe = Recipe(remap=KeyRemapper(contiguous=True))
    with pytest.raises(RecipeError, match="ddp: rules cannot follow index compaction"):
        preset_named("ddp").on(recipe)
