"""Predicates by name, for filters: what a key and its container path say together."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

from ruda.errors import RecipeError
from ruda.store.scales import counts_things

Predicate = Callable[[str, str], bool]
"""Of a key and its dotted container path (``Struct:Model.Struct:Linear``, or empty)."""

_NORM = re.compile(r"(?:^|[._])(?:\w*norm\w*|bn\d*|ln(?:_?\w)?)$", re.IGNORECASE)
_NORM_KINDS = re.compile(r"(?:^|\.)Struct:(?:Batch|Group|Instance|Layer|Rms)Norm$")
_EMBEDDING = re.compile(r"embed|(?:^|[._])(?:wte|wpe)$", re.IGNORECASE)


def _owner(key: str) -> str:
    return key.rpartition(".")[0]


def _is_bias(key: str, containers: str) -> bool:
    return key.rpartition(".")[2] in ("bias", "beta") or "bias_" in key.rpartition(".")[2]


def _is_norm(key: str, containers: str) -> bool:
    if containers:
        return _NORM_KINDS.search(containers) is not None
    return _NORM.search(_owner(key)) is not None


def _is_embedding(key: str, containers: str) -> bool:
    if containers:
        return containers.endswith("Struct:Embedding")
    return _EMBEDDING.search(_owner(key).rpartition(".")[2]) is not None


def _is_buffer(key: str, containers: str) -> bool:
    return key.rpartition(".")[2] in ("running_mean", "running_var", "num_batches_tracked")


def _is_counter(key: str, containers: str) -> bool:
    return counts_things(key)


_NAMED: dict[str, Predicate] = {
    "bias": _is_bias,
    "norm": _is_norm,
    "embedding": _is_embedding,
    "buffer": _is_buffer,
    "counter": _is_counter,
}


def _of_kind(kind: str) -> Predicate:
    entry = f"Struct:{kind}"
    return lambda key, containers: entry in containers.split(".")


def _under(prefix: str) -> Predicate:
    return lambda key, containers: key == prefix or key.startswith(f"{prefix}.")


_MADE: dict[str, Callable[[str], Predicate]] = {"kind": _of_kind, "under": _under}


def register_predicate(name: str, predicate: Predicate) -> None:
    """Give a predicate a name, under which filters, recipe files and the terminal know it.

    ``predicate(key, container_path)`` is asked for every key and has to be pure. Raises
    RecipeError for a name that is taken, empty, or holds a colon.
    """
    if not name or ":" in name or name in _NAMED or name in _MADE:
        raise RecipeError(
            f"a predicate cannot be called {name!r}: the name is taken, empty, or has a colon",
            step="select",
        )
    _NAMED[name] = predicate


def predicate_names() -> tuple[str, ...]:
    """Names that a filter may use; those with a colon take a word behind it."""
    return (*_NAMED, *(f"{name}:…" for name in _MADE))


def predicate_named(name: str) -> Predicate:
    """The predicate of this name. Raises RecipeError with the nearest name, or all of them.

    ``bias``, ``norm``, ``embedding``, ``buffer`` (running statistics), ``counter`` (tensors that
    count or number things), ``kind:Linear`` (inside such a module), ``under:encoder`` (below that
    key), and what was registered.
    """
    found = _NAMED.get(name)
    word, colon, rest = name.partition(":")
    if found is None and colon and rest and word in _MADE:
        found = _MADE[word](rest)
    if found is None:
        near = difflib.get_close_matches(name, [*_NAMED, *_MADE], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(predicate_names())}"
        raise RecipeError(f"no predicate is called {name!r}; {hint}", step="select")
    return found
