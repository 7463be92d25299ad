"""convert: the tensors of a file as they are after a recipe, without a model to load them into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ruda.errors import AdapterError, KeyCollisionError
from ruda.store.adapt import IdentityAdapter
from ruda.store.containers import infer_containers
from ruda.store.diff import alternative_key
from ruda.store.diff_rows import TargetParam
from ruda.store.index import TensorIndex
from ruda.store.recipe import Recipe
from ruda.store.snapshot import TensorSnapshot
from ruda.store.targets import Target, expected_of
from ruda.store.transforms import relabelled


def convert(source: TensorIndex, *, recipe: Recipe, target: Target | None = None) -> TensorIndex:
    """View of the source after the recipe: lazy snapshots with new key, shape, dtype and trail.

    Kinds of module come from the target, else from sibling keys; what was inferred, or left open,
    is in ``notes``. Metadata, order and parameter ids are carried over, and the view shares the
    source's files. With nothing to do it is the source itself.

    Raises KeyCollisionError for two tensors that would get one key, AdapterError where an adapter
    cannot take a tensor (decide to skip it, or leave the adapter out).
    """
    if recipe.is_identity:
        return source
    changes = recipe.remap.remap(source)
    renamed = {
        change.after: _renamed(snapshot, change.after)
        for change, snapshot in zip(changes, source.snapshots.values(), strict=True)
    }
    labelled, notes = _labelled(renamed, recipe, target)
    adapter = recipe.adapter()
    made: dict[str, TensorSnapshot] = {}
    origin: dict[str, TensorSnapshot] = {}
    failures: list[AdapterError] = []
    select, skipped = recipe.select, recipe.skipped_keys
    for snapshot, original in zip(labelled, source.snapshots.values(), strict=True):
        try:
            adapted = adapter.adapt(snapshot)
        except AdapterError as error:
            adapted = snapshot
            if original.key not in skipped and snapshot.key not in skipped:
                failures.append(error)
        if skipped & {adapted.key, original.key, snapshot.key}:
            continue
        if not select.matches(adapted.key, adapted.containers):
            continue
        if adapted.key in made:
            both = (origin[adapted.key].key, original.key)
            raise KeyCollisionError(adapted.key, both, step=adapter.name, path=source.path)
        made[adapted.key] = _one_rename(adapted, original)
        origin[adapted.key] = original
    _refuse(failures)
    return TensorIndex.of(
        _aliases(made, origin).values(),
        format=source.format,
        path=source.path,
        metadata=source.metadata,
        shards=source.shards,
        notes=(*source.notes, *notes),
        unsafe=source.unsafe,
        tree=source.tree,
        extra=source.extra,
        closers=source.closers,
    )


def _renamed(snapshot: TensorSnapshot, key: str) -> TensorSnapshot:
    return relabelled(snapshot, key, snapshot.containers)


def _labelled(
    renamed: Mapping[str, TensorSnapshot], recipe: Recipe, target: Target | None
) -> tuple[list[TensorSnapshot], tuple[str, ...]]:
    """The snapshots with the containers of the modules that own them, as far as they are known."""
    if isinstance(recipe.adapter(), IdentityAdapter):
        return list(renamed.values()), ()
    known: dict[str, tuple[str, ...]] = {}
    notes: tuple[str, ...] = ()
    if target is not None:
        known, notes = _containers_of(target, recipe)
    rest = {key: snapshot for key, snapshot in renamed.items() if key not in known}
    if rest:
        inferred = infer_containers(rest if known else renamed)
        known |= {key: value for key, value in inferred.containers.items() if key in rest}
        notes = (*notes, *inferred.notes)
    labelled = [
        relabelled(snapshot, key, known[key]) if key in known else snapshot
        for key, snapshot in renamed.items()
    ]
    return labelled, notes


def _containers_of(
    target: Target, recipe: Recipe
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Containers by the target's keys and by the adapter's other names for them."""
    expected = expected_of(target)
    adapter = recipe.adapter()
    known = {param.key: param.containers for param in expected.params}
    for param in expected.params:
        other = alternative_key(adapter, TargetParam(*param))
        if other is not None:
            known.setdefault(other, param.containers)
    return known, expected.notes


def _one_rename(adapted: TensorSnapshot, original: TensorSnapshot) -> TensorSnapshot:
    """The trail with one ``rename`` at most, however many steps renamed."""
    fresh = list(adapted.trail[len(original.trail) :])
    head = ["rename"] if adapted.key != original.key else []
    others = [step for step in fresh if step != "rename"]
    if fresh == [*head, *others]:
        return adapted
    return replace(adapted, trail=(*original.trail, *head, *others))


def _aliases(
    made: Mapping[str, TensorSnapshot], origin: Mapping[str, TensorSnapshot]
) -> dict[str, TensorSnapshot]:
    """Aliases point at the new key of their owner, if both went the same way; else at nothing."""
    new_keys = {original.key: key for key, original in origin.items()}
    fixed: dict[str, TensorSnapshot] = {}
    for key, snapshot in made.items():
        if snapshot.shared_with is not None:
            owner = new_keys.get(snapshot.shared_with)
            same = owner is not None and _work(made[owner]) == _work(snapshot)
            snapshot = replace(snapshot, shared_with=owner if same else None)
        fixed[key] = snapshot
    return fixed


def _work(snapshot: TensorSnapshot) -> tuple[str, ...]:
    return tuple(step for step in snapshot.trail if step != "rename")


def _refuse(failures: list[AdapterError]) -> None:
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise AdapterError(f"{failures[0]}{more}")
