"""convert: the tensors of a file as they are after a recipe, without a model to load them into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ruda._bulk import without_collections
from ruda.errors import AdapterError, KeyCollisionError
from ruda.nn import ParamSpec
from ruda.store.adapt import IdentityAdapter, owners_of, with_last_segment
from ruda.store.adapted import relabelled
from ruda.store.containers import counted, infer_containers
from ruda.store.deciding import (
    policy_notes,
    prepared,
    protected_by,
    remap_notes,
    shield_notes,
    with_taken,
)
from ruda.store.diff_match import alternative_key
from ruda.store.idle_adapters import idle_in_conversion
from ruda.store.index import TensorIndex
from ruda.store.int8 import scale_beside
from ruda.store.recipe import Recipe
from ruda.store.regrouping import Joining, Pair, adapt, regrouped
from ruda.store.snapshot import TensorSnapshot
from ruda.store.taking import taken_tensors, trail_of
from ruda.store.targets import Target, expected_of


class _Kept(NamedTuple):
    """A tensor that stays."""

    original: TensorSnapshot
    """As the file has it."""
    given: TensorSnapshot | Joining
    """As the adapters are given it."""
    adapted: TensorSnapshot


@without_collections()
def convert(source: TensorIndex, *, recipe: Recipe, target: Target | None = None) -> TensorIndex:
    """View of the source after the recipe: lazy snapshots with new key, shape, dtype and trail.

    Kinds of module come from the target, else from sibling keys; what was inferred, or left open,
    is in ``notes``. Metadata, order and parameter ids are carried over, and the view shares the
    source's files. With nothing to do it is the source itself.

    Raises KeyCollisionError for two tensors that would get one key, AdapterError where an adapter
    cannot take a tensor (decide to skip it, or leave the adapter out), RecipeError for a pattern
    that takes exponential time on these keys.
    """
    if recipe.is_identity:
        return source
    source, merge_notes = prepared(source, recipe)
    plan = recipe.remap.plan(source.snapshots)
    merge_notes = (*merge_notes, *remap_notes(recipe.remap, plan.before, plan.after))
    renamed = [
        (snapshot, relabelled(snapshot, change.after, snapshot.containers))
        for change, snapshot in zip(plan.changes, source.snapshots.values(), strict=True)
    ]
    renamed = with_taken(renamed, taken_tensors(recipe.takes))
    labelled, notes = _labelled([pair[1] for pair in renamed], recipe, target)
    recipe.guard([snapshot.key for snapshot in labelled])
    params = () if target is None else expected_of(target).params
    plain = [(pair[0], given) for pair, given in zip(renamed, labelled, strict=True)]
    kept, idle = _adapted(_regrouped(plain, recipe, params), recipe)
    idle = (*idle, *idle_in_conversion(recipe, (pair.given for pair in kept), labelled, params))
    steps = {clash.key: clash.step for clash in plan.collisions}
    made: dict[str, TensorSnapshot] = {}
    origin: dict[str, TensorSnapshot] = {}
    for original, _, adapted in kept:
        key = adapted.key
        if key in made:
            both = (origin[key].key, original.key)
            step = steps.get(key, recipe.adapter().name)
            raise KeyCollisionError(key, both, step=step, path=source.path)
        made[key] = _one_rename(adapted, original)
        origin[key] = original
    _add_scales(made, source)
    return TensorIndex.of(
        _aliases(made, origin).values(),
        format=_format_of(source, recipe),
        path=source.path,
        metadata=source.metadata,
        shards=source.shards,
        notes=(*source.notes, *merge_notes, *notes, *idle, *_doubts(made, recipe, target)),
        unsafe=source.unsafe,
        tree=source.tree,
        extra=source.extra,
        closers=source.closers,
    )


def _format_of(source: TensorIndex, recipe: Recipe) -> str:
    """What the result is of: PyTorch's tensors in Ruda's layout are a module's, as if collected.

    A file of them must not be marked as PyTorch's.
    """
    if source.format != "pytorch" or not recipe.adapt:
        return source.format
    last = recipe.adapt[-1]
    name = last if isinstance(last, str) else last.name
    return "module" if name.partition(":")[0].endswith("-to-ruda") else source.format


def _regrouped(
    pairs: Sequence[tuple[TensorSnapshot, TensorSnapshot]],
    recipe: Recipe,
    params: Sequence[ParamSpec],
) -> list[Pair]:
    """The pairs split and joined; those that are left out by their key in the file stay whole."""
    skipped = recipe.skipped_keys
    left_out = [pair for pair in pairs if not skipped.isdisjoint((pair[0].key, pair[1].key))]
    if left_out:
        pairs = [pair for pair in pairs if skipped.isdisjoint((pair[0].key, pair[1].key))]
    return [*regrouped(pairs, recipe.adapter(), params), *left_out]


def _add_scales(made: dict[str, TensorSnapshot], source: TensorIndex) -> None:
    """Put the scale of every tensor that becomes int8 beside it."""
    for snapshot in tuple(made.values()):
        scale = scale_beside(snapshot)
        if scale is None:
            continue
        there = made.get(scale.key)
        if there is not None and there.source == scale.source:
            continue  # the source is a conversion to int8 itself
        if there is not None:
            both = (snapshot.key, scale.key)
            raise KeyCollisionError(scale.key, both, step="scale of int8", path=source.path)
        made[scale.key] = scale


def _adapted(pairs: Sequence[Pair], recipe: Recipe) -> tuple[list[_Kept], tuple[str, ...]]:
    """Every tensor that stays, and sentences on what of the recipe is without an effect."""
    protected = protected_by(
        {given.key: given for _, given in pairs if isinstance(given, TensorSnapshot)}, recipe
    )
    adapter = recipe.adapter(protected)
    select, skipped = recipe.select, recipe.skipped_keys
    kept: list[_Kept] = []
    failures: list[AdapterError] = []
    unmet = set(skipped)
    undecided = set(recipe.decided_keys)
    takes = recipe.takes
    keys: list[str] = []
    taken = 0
    for original, labelled in pairs:
        failure: AdapterError | None = None
        try:
            adapted = adapt(adapter, labelled)
        except AdapterError as error:
            adapted, failure = relabelled(original, labelled.key, labelled.containers), error
        is_taken = select.matches(adapted.key, adapted.containers)
        undecided.discard(adapted.key)
        keys.append(adapted.key)
        if adapted.key in takes and original.trail[-1:] != trail_of(takes[adapted.key]):
            continue  # the tensor of another file takes its place
        taken += is_taken
        if skipped and not skipped.isdisjoint(names := (adapted.key, original.key, labelled.key)):
            unmet.difference_update(names)
            continue
        if not is_taken:
            continue
        kept.append(_Kept(original, labelled, adapted))
        if failure is not None:
            failures.append(failure)
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise type(failures[0])(f"{failures[0]}{more}")
    idle = [f"no tensor has the key {key!r} of a decision" for key in sorted(unmet | undecided)]
    idle += [*shield_notes(protected, recipe), *policy_notes(recipe, keys)]
    if pairs and not taken:
        idle.insert(0, "the filter takes none of the keys")
    return kept, tuple(idle)


def _labelled(
    renamed: list[TensorSnapshot], recipe: Recipe, target: Target | None
) -> tuple[list[TensorSnapshot], tuple[str, ...]]:
    """The snapshots with the containers of the modules that own them, as far as they are known."""
    if isinstance(recipe.adapter(), IdentityAdapter):
        return renamed, ()
    known: dict[str, tuple[str, ...]] = {}
    notes: tuple[str, ...] = ()
    if target is not None:
        known, notes = _containers_of(target, recipe)
    found = any(snapshot.key in known for snapshot in renamed)
    rest = {snapshot.key: snapshot for snapshot in renamed if snapshot.key not in known}
    named = _named(recipe, rest)
    known |= named
    rest = {key: snapshot for key, snapshot in rest.items() if key not in named}
    if rest:
        inferred = infer_containers(rest)
        known |= inferred.containers
        notes = (*notes, *_why_inferred(inferred.notes, target, found=found))
    labelled = [
        relabelled(snapshot, snapshot.key, known.get(snapshot.key, snapshot.containers))
        for snapshot in renamed
    ]
    return labelled, notes


def _why_inferred(notes: tuple[str, ...], target: Target | None, *, found: bool) -> tuple[str, ...]:
    """The notes of an inference, the first with why a target did not spare it.

    Without a target nothing is said: whoever converts may have one, and not have passed it.
    """
    if target is None or not notes:
        return notes
    if found:
        return (f"the target does not have every key: {notes[0]}", *notes[1:])
    return (f"the target has none of these keys: {notes[0]}", *notes[1:])


def _named(recipe: Recipe, snapshots: Mapping[str, TensorSnapshot]) -> dict[str, tuple[str, ...]]:
    """Containers of the tensors that the adapters know by their keys, where nothing else did."""
    adapter = recipe.adapter()
    found: dict[str, tuple[str, ...]] = {}
    for key, snapshot in snapshots.items():
        owners = owners_of(adapter, key)
        if owners is not None:
            found[key] = snapshot.containers or owners
    return found


def _containers_of(
    target: Target, recipe: Recipe
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Containers by the target's keys and by the adapter's other names for them."""
    expected = expected_of(target)
    adapter = recipe.adapter()
    known = {param.key: param.containers for param in expected.params}
    for param in expected.params:
        other = alternative_key(adapter, param)
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


def _doubts(
    made: Mapping[str, TensorSnapshot], recipe: Recipe, target: Target | None
) -> tuple[str, ...]:
    """What is done as told, and looks wrong: shapes unlike the target's, layouts turned twice."""
    if target is not None:
        shapes = {param.key: param.shape for param in expected_of(target).params}
        odd = [key for key, s in made.items() if s.shape != shapes.get(key, s.shape)]
        reason = "will not have the shape that the target expects"
    else:
        odd = [key for key in made if _is_turned_wrong(key, made, recipe)]
        reason = (
            "had its axes in order already, by the size of its bias, and is turned all the same"
        )
    if not odd:
        return ()
    return (f"{counted(len(odd), 'tensor')}, {odd[0]!r} first: {reason}",)


def _is_turned_wrong(key: str, made: Mapping[str, TensorSnapshot], recipe: Recipe) -> bool:
    """True if a bias fits the axis of a turned matrix that it should not fit after the turn."""
    snapshot = made[key]
    bias = made.get(with_last_segment(key, "bias"))
    if bias is None or len(snapshot.shape) != 2 or "transpose 1,0" not in snapshot.trail:
        return False
    out_axis = 1 if "-to-ruda" in recipe.adapter().name else 0
    return bias.shape == snapshot.shape[1 - out_axis :][:1] != snapshot.shape[out_axis:][:1]
