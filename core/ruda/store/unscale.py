"""Multiplying scales in again, where a recipe asks for plain floats."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from ruda.store.adapted import cast_to
from ruda.store.castable import CASTABLE
from ruda.store.index import TensorIndex
from ruda.store.int8 import SUFFIX, scale_shape, with_scale
from ruda.store.patterns import compile_pattern, guard
from ruda.store.recipe import CastScope, Recipe
from ruda.store.scales import FLOAT8, scale_of
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType


def unscaled(source: TensorIndex, recipe: Recipe) -> TensorIndex:
    """The source with int8 tensors and 8-bit floats in f32 if the recipe casts to a plain float.

    A scale per channel is multiplied in and goes; an 8-bit float without a scale is taken as it
    is, one with a scale stays. With no such tensor, or no such cast, it is the source itself.
    Raises RecipeError for a pattern of the policy that takes too long on these keys.
    """
    to = None if recipe.cast is None else recipe.cast.to
    if to is None or to not in CASTABLE or recipe.cast is None or recipe.cast.keep:
        return source
    if recipe.cast.scope is not CastScope.ALL:
        return source
    changed: dict[str, TensorSnapshot] = {}
    gone: set[str] = set()
    decided = recipe.choices
    for policy in recipe.policy:
        guard(policy.pattern, source, "policy")
    rules = [compile_pattern(policy.pattern, "policy").search for policy in recipe.policy]
    for key, snapshot in source.items():
        if key in decided or any(search(key) for search in rules):
            continue
        if snapshot.dtype is not DType.I8 and snapshot.dtype not in FLOAT8:
            continue
        name = scale_of(key, source)
        if name is None and snapshot.dtype in FLOAT8:
            # To f32 first, which is exact: the cast of the recipe then takes it as any float.
            changed[key] = cast_to(snapshot, DType.F32)
        elif name == key + SUFFIX and snapshot.dtype is DType.I8:
            scale = source[name]
            if scale.shape == scale_shape(snapshot.shape):
                changed[key] = with_scale(snapshot, scale)
                gone.add(name)
    if not changed:
        return source
    kept = {key: changed.get(key, s) for key, s in source.items() if key not in gone}
    return replace(source, snapshots=MappingProxyType(kept))
