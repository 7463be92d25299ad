"""Presets: steps of a recipe for files that well-known programs write, by name.

Nothing is applied by itself: a preset is added to a recipe, where its rules are seen and edited.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ruda.errors import RecipeError
from ruda.store.recipe import Recipe
from ruda.store.remap import RemapRule

_WRAPPERS = r"(?:_orig_mod\.|_fsdp_wrapped_module\.|_checkpoint_wrapped_module\.)"
_NORM_OWNER = r"(?i)((?:^|\.)(?:[^.]*norm[^.]*|bn\d*|ln(?:_\w+)?))"


@dataclass(frozen=True, slots=True)
class Preset:
    """Steps under one name: rules that rename, keys that are left out, merges."""

    name: str
    title: str
    """What it is for, in one line."""
    rules: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()
    """Regexes of keys that no model wants, after the renaming."""
    merge: tuple[str, ...] = ()
    note: str = ""
    """What it does not do, where somebody may expect it."""

    def on(self, recipe: Recipe) -> Recipe:
        """The recipe with these steps after its own; those that it has already are not repeated.

        Raises RecipeError where its numbers are compacted: no rule can come after that.
        """
        there = {(rule.pattern, rule.replacement) for rule in recipe.remap.active}
        fresh = [RemapRule(*rule) for rule in self.rules if rule not in there]
        if fresh and recipe.remap.contiguous:
            raise RecipeError("rules cannot follow index compaction", step=self.name)
        if fresh:
            recipe = recipe.with_rules((*recipe.remap.rules, *fresh))
        for pattern in self.left_out:
            if not _leaves_out(recipe, pattern):
                recipe = recipe.with_select(recipe.select.without(pattern))
        merges = dict.fromkeys((*recipe.merge, *self.merge))
        return recipe if len(merges) == len(recipe.merge) else recipe.with_merge(*merges)


def _leaves_out(recipe: Recipe, pattern: str) -> bool:
    """True if the filter of a recipe excludes this pattern already."""
    members = [] if recipe.select.excluded is None else [recipe.select.excluded]
    while members:
        member = members.pop()
        if pattern in member.regexes:
            return True
        members += member.any_of
    return False


_ALL = (
    Preset(
        "wrappers",
        "strip module., _orig_mod. and FSDP's segments, in whatever order they were put",
        rules=((rf"(^|\.){_WRAPPERS}+", "${1}"), (r"^(?:module\.)+", "")),
    ),
    Preset(
        "ddp",
        "strip module. of DataParallel and DistributedDataParallel",
        rules=((rf"^({_WRAPPERS}*)(?:module\.)+", "${1}"),),
    ),
    Preset(
        "compile", "strip _orig_mod. of torch.compile", rules=((r"(^|\.)(?:_orig_mod\.)+", "${1}"),)
    ),
    Preset(
        "fsdp",
        "strip _fsdp_wrapped_module. and _checkpoint_wrapped_module.",
        rules=((r"(^|\.)(?:_fsdp_wrapped_module\.|_checkpoint_wrapped_module\.)+", "${1}"),),
    ),
    Preset(
        "lightning",
        "take state_dict of a Lightning checkpoint and strip model.",
        rules=((r"^state_dict\.", ""), (r"^model\.", "")),
        left_out=(
            r"^(?:optimizer_states|lr_schedulers|callbacks|loops|hyper_parameters)\.",
            r"^(?:epoch|global_step)$",
        ),
    ),
    Preset(
        "peft",
        "take the names of the base model out of a PEFT file",
        rules=(
            (r"^base_model\.model\.", ""),
            (r"\.base_layer\.", "."),
            (r"\.modules_to_save\.(?:default\.)?", "."),
        ),
        left_out=(r"(?:^|\.)original_module\.",),
        note="low-rank tensors (lora_A, lora_B) stay unused: merging them needs their scaling, "
        "which is in adapter_config.json and not in the file",
    ),
    Preset(
        "gamma-beta",
        "rename gamma and beta of norms to weight and bias",
        rules=(
            (rf"{_NORM_OWNER}\.gamma$", "${1}.weight"),
            (rf"{_NORM_OWNER}\.beta$", "${1}.bias"),
        ),
        note="only below a name that reads like a norm: a gamma of LayerScale is another thing",
    ),
    Preset(
        "ema",
        "take the averaged weights, strip ema., ema_model. or model_ema.",
        rules=((r"^(?:ema_model|model_ema|ema)\.(?:module\.)?", ""),),
        left_out=(r"^online_model\.", r"^(?:initted|step|n_averaged|num_updates|decay)$"),
    ),
    Preset(
        "no-counters",
        "leave num_batches_tracked out",
        left_out=(r"(?:^|\.)num_batches_tracked$",),
    ),
    Preset(
        "weight-norm",
        "compute the weights of weight_norm: g · v / ‖v‖",
        merge=("weight-norm",),
    ),
    Preset(
        "spectral-norm",
        "compute the weights of spectral_norm: W / (u · W v)",
        merge=("spectral-norm",),
    ),
    Preset(
        "scales",
        "multiply fp8 and int8 tensors with the scales beside them, into f32",
        merge=("scales",),
    ),
)


def presets() -> tuple[Preset, ...]:
    """All presets, in the order in which they are shown."""
    return _ALL


def preset_named(name: str) -> Preset:
    """The preset of this name. Raises RecipeError with the nearest name."""
    known = {preset.name: preset for preset in _ALL}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
        raise RecipeError(f"no preset is called {name!r}; {hint}", step="preset")
    return known[name]
