"""Merges: tensors that only mean something together, computed into one.

    scales         an fp8 or int8 tensor times the scale beside it, in f32
    weight-norm    ``weight_g`` and ``weight_v`` (``original0`` and ``original1``), of weight_norm
    spectral-norm  ``weight_orig``, ``weight_u`` and ``weight_v``, of spectral_norm

A rename cannot do this: the values are another's product. It is done on the keys of the file,
before any other step, and only where a recipe asks for it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ruda.errors import RecipeError
from ruda.store.block_scales import scaled_product
from ruda.store.index import TensorIndex
from ruda.store.norm_merges import spectral_normed, weight_normed
from ruda.store.scales import scale_of
from ruda.store.snapshot import TensorSnapshot


@dataclass(frozen=True, slots=True)
class Merge:
    """One tensor out of several; ``parts`` go with it, whether or not it succeeds."""

    key: str
    parts: tuple[str, ...]
    """Keys of the tensors it is made of, the one whose place it takes first."""
    make: Callable[[], TensorSnapshot | str]
    """The tensor, lazy; or why there is none, as the end of a sentence."""


def require_merge(name: str) -> None:
    """Raise RecipeError, with the names, for a merge that is none."""
    if name not in MERGES:
        near = difflib.get_close_matches(name, MERGES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(MERGES)}"
        raise RecipeError(f"no merge is called {name!r}; {hint}", step="merge")


def merged(source: TensorIndex, names: Iterable[str]) -> tuple[TensorIndex, tuple[str, ...]]:
    """The source with these merges done, lazily, and notes on what was and was not merged.

    Reads headers only; with nothing to merge it is the source itself.
    """
    source, notes, _ = _all_merged(source, names)
    return source, tuple(notes)


def left_unmerged(source: TensorIndex, names: Iterable[str]) -> Mapping[str, str]:
    """The tensors that these merges leave as they are, with the sentence that says why.

    By the key of the first of those that belong together. Reads headers only.
    """
    return _all_merged(source, names)[2]


def _all_merged(
    source: TensorIndex, names: Iterable[str]
) -> tuple[TensorIndex, list[str], dict[str, str]]:
    """The source with these merges, the notes, and among them those of what was left."""
    notes: list[str] = []
    left: dict[str, str] = {}
    for name in dict.fromkeys(names):
        made: dict[str, TensorSnapshot] = {}
        written: set[str] = set()
        gone: set[str] = set()
        needed: set[str] = set()
        for merge in MERGES[name](source):
            first = merge.parts[0]
            taken = merge.key in written or (merge.key in source and merge.key not in merge.parts)
            found = f"{merge.key!r} is there already" if taken else merge.make()
            if isinstance(found, str):
                left[first] = f"{name}: {first!r} is left as it is: {found}"
                notes.append(left[first])
                needed.update(merge.parts)  # a scale may be that of another one, too
                continue
            made[first] = found
            written.add(found.key)
            gone.update(merge.parts[1:])
        gone -= needed
        if made:
            kept = (made.get(key, s) for key, s in source.items() if key not in gone)
            snapshots = MappingProxyType({snapshot.key: snapshot for snapshot in kept})
            source = replace(source, snapshots=snapshots)
            many = "1 tensor" if len(made) == 1 else f"{len(made)} tensors"
            first = next(iter(made.values())).key
            notes.append(f"{name}: {many} computed out of {len(made) + len(gone)}, {first!r} first")
        elif not any(note.startswith(f"{name}:") for note in notes):
            notes.append(f"{name}: there is nothing to merge")
    return source, notes, left


def _scales(source: TensorIndex) -> Iterator[Merge]:
    for key in source:
        scale = scale_of(key, source)
        if scale is None:
            continue
        whole, factor = source[key], source[scale]
        yield Merge(key, (key, scale), lambda w=whole, f=factor: scaled_product(w, f))  # type: ignore[misc]


def _weight_norms(source: TensorIndex) -> Iterator[Merge]:
    for key in source:
        head, dot, last = key.rpartition(".")
        if last.endswith("_v") and f"{head}{dot}{last[:-2]}_g" in source:
            name, length = f"{head}{dot}{last[:-2]}", f"{head}{dot}{last[:-2]}_g"
        elif last == "original1" and f"{head}.original0" in source:
            name, length = _parametrized(head), f"{head}.original0"
        else:
            continue
        direction, size = source[key], source[length]
        yield Merge(
            name,
            (key, length),
            lambda k=name, v=direction, g=size: weight_normed(k, v, g),  # type: ignore[misc]
        )


def _spectral_norms(source: TensorIndex) -> Iterator[Merge]:
    for key in source:
        head, dot, last = key.rpartition(".")
        if last.endswith("_orig"):
            stem = f"{head}{dot}{last[:-5]}"
            name, others = stem, (f"{stem}_u", f"{stem}_v")
        elif last == "original" and dot:
            name, others = _parametrized(head), (f"{head}.0._u", f"{head}.0._v")
        else:
            continue
        if others[0] not in source or others[1] not in source:
            continue
        weight, u, v = source[key], source[others[0]], source[others[1]]
        yield Merge(
            name,
            (key, *others),
            lambda k=name, w=weight, a=u, b=v: spectral_normed(k, w, a, b),  # type: ignore[misc]
        )


def _parametrized(head: str) -> str:
    """``conv.parametrizations.weight`` → ``conv.weight``."""
    owner, _, name = head.rpartition(".")
    owner = owner.removesuffix("parametrizations").removesuffix(".")
    return f"{owner}.{name}" if owner else name


MERGES: dict[str, Callable[[TensorIndex], Iterator[Merge]]] = {
    "scales": _scales,
    "weight-norm": _weight_norms,
    "spectral-norm": _spectral_norms,
}
"""The merges by their names in a recipe."""
