"""Adapters by their names; what adapters are made of is in ``adapter``."""

from __future__ import annotations

import difflib

from ruda.errors import RecipeError
from ruda.store.adapter import (
    KNOWN_KINDS,
    NORMS,
    ChainAdapter,
    Chaining,
    IdentityAdapter,
    ModuleAdapter,
    PyTorchToRuda,
    RudaToPyTorch,
    all_pieces_of,
    chain,
    has_rules,
    key_depth,
    may_divide,
    module_kinds,
    other_keys_of,
    owners_of,
    pieces_of,
    results_of,
    rule_of,
    rules_of,
    with_last_segment,
)
from ruda.store.naming import NAME_FORMS, naming_named
from ruda.store.special import FORMS, special_named

__all__ = [
    "KNOWN_KINDS",
    "NORMS",
    "ChainAdapter",
    "Chaining",
    "IdentityAdapter",
    "ModuleAdapter",
    "PyTorchToRuda",
    "RudaToPyTorch",
    "adapter_named",
    "adapter_names",
    "all_pieces_of",
    "chain",
    "has_rules",
    "key_depth",
    "may_divide",
    "module_kinds",
    "other_keys_of",
    "owners_of",
    "pieces_of",
    "results_of",
    "rule_of",
    "rules_of",
    "with_last_segment",
]

LONGEST_NAME = 80
"""Letters of an unknown name for which a slip of the pen is looked for."""

_BY_NAME: dict[str, ModuleAdapter] = {
    adapter.name: adapter for adapter in (PyTorchToRuda(), RudaToPyTorch())
}


def adapter_names() -> tuple[str, ...]:
    """Names that a recipe's ``adapt`` may list and that hints try; the special ones are not."""
    return tuple(_BY_NAME)


def adapter_named(name: str) -> ModuleAdapter:
    """The adapter of this name, the special ones too. Raises RecipeError listing the names."""
    found = _BY_NAME.get(name) or special_named(name) or naming_named(name)
    if found is None:
        names = (*_BY_NAME, *FORMS, *NAME_FORMS)
        near = difflib.get_close_matches(name[:LONGEST_NAME], names, n=1, cutoff=0.8)
        if near:
            raise RecipeError(
                f"no adapter is called {name!r}; did you mean {near[0]!r}?", step="adapt"
            )
        known = ", ".join(names)
        raise RecipeError(f"no adapter is called {name!r}; known: {known}", step="adapt")
    return found
