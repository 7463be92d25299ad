"""Decisions at work in a diff and a conversion: what other files give, and what is protected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ruda.nn import ModuleSpec, ParamSpec
from ruda.progress import SILENT, Monitor
from ruda.store.adapted import relabelled
from ruda.store.castable import CASTABLE
from ruda.store.containers import counted
from ruda.store.decisions import Action
from ruda.store.diff_report import DiffReport
from ruda.store.diff_rows import Cause, DiffRow, Status
from ruda.store.index import TensorIndex
from ruda.store.merging import merged
from ruda.store.patterns import compile_pattern, quoted
from ruda.store.recipe import Recipe
from ruda.store.remap import KeyRemapper
from ruda.store.scales import counts_things, protected_keys
from ruda.store.snapshot import TensorSnapshot
from ruda.store.taking import TakenTensors, taken_tensors
from ruda.store.unscale import unscaled
from ruda.tensor import DType

Pair = tuple[TensorSnapshot, TensorSnapshot]
"""A tensor as its file has it, and under its key after the remap rules."""


Again = Callable[[TensorIndex, ModuleSpec, Recipe], DiffReport]
"""The load diff itself, for the few tensors of other files."""


def prepared(source: TensorIndex, recipe: Recipe) -> tuple[TensorIndex, tuple[str, ...]]:
    """The source with what the recipe merges, and scales that a cast multiplies in; with notes."""
    notes: tuple[str, ...] = ()
    if recipe.merge:
        source, notes = merged(source, recipe.merge)
    return unscaled(source, recipe), notes


def shielded(source: TensorIndex, recipe: Recipe) -> dict[str, str]:
    """What ``protected_by`` says of a source after the renaming of the recipe."""
    if not (recipe.casts or recipe.changes):
        return {}
    if recipe.remap.is_empty:
        return protected_by(source.snapshots, recipe)
    changes = recipe.remap.plan(source.snapshots).changes
    return protected_by({c.after: source.snapshots[c.before] for c in changes}, recipe)


def protected_by(index: Mapping[str, TensorSnapshot], recipe: Recipe) -> dict[str, str]:
    """Tensors that no cast may take by itself, with what they mean nothing without.

    Scaled tensors and their scales name the scale. Tensors that count or number things and are
    stored as floats name nothing: a cast to fewer bits would round them, and one that widens is
    not kept from them.
    """
    if not (recipe.casts or recipe.changes):
        return {}
    found = protected_keys(index)
    to = None if recipe.cast is None else recipe.cast.to
    if to is None:
        return found
    for key in index:
        if counts_things(key) and key not in found and _narrows(index[key].dtype, to):
            found[key] = ""
    return found


def _narrows(before: DType, after: DType) -> bool:
    """True if a cast of floats can round."""
    if before not in CASTABLE or before is after:
        return False
    wide = after in (DType.F64, DType.F32, DType.FLEX32)
    return not wide or after.bits < before.bits


def shield_notes(protected: Mapping[str, str], recipe: Recipe) -> tuple[str, ...]:
    """What is said of tensors that keep their element type though the recipe casts."""
    if not protected or not recipe.casts:
        return ()
    scaled = [key for key, scale in protected.items() if scale]
    counting = [key for key, scale in protected.items() if not scale]
    notes: list[str] = []
    if scaled:
        first = scaled[0]
        notes.append(
            f"{counted(len(scaled), 'tensor')} that are scaled, or are scales, keep their "
            f"element type: {first!r} means nothing without {protected[first]!r}"
        )
    if counting:
        verb = "keeps its" if len(counting) == 1 else "keep their"
        notes.append(
            f"{counted(len(counting), 'tensor')} {verb} element type, {counting[0]!r} first: whole "
            "numbers stored as floats, which the cast would round; decide for the key to cast it"
        )
    return tuple(notes)


def policy_notes(recipe: Recipe, keys: Iterable[str]) -> tuple[str, ...]:
    """The patterns of the policy that are found in no key."""
    if not recipe.policy:
        return ()
    found = list(keys)
    return tuple(
        f"the policy {policy.text!r} fits no key"
        for policy in recipe.policy
        if not any(map(compile_pattern(policy.pattern, "policy").search, found))
    )


def remap_notes(
    remap: KeyRemapper, keys: Collection[str], names: Collection[str]
) -> tuple[str, ...]:
    """The rules for keys, where they are found in none; ``names`` are the keys after them."""
    rules = [rule for rule in remap.rules if rule.enabled]
    if not rules or not keys or not _same(keys, names):
        return ()
    if any(rule.hits(key) for rule in rules for key in keys):
        return ()
    shown = " or ".join(quoted(rule.pattern) for rule in rules[:3])
    more = f" or {len(rules) - 3} more rules" if len(rules) > 3 else ""
    return (f"nothing is renamed: {shown}{more} is found in no key",)


def _same(keys: Iterable[str], names: Iterable[str]) -> bool:
    """True if both hold the same texts; in loops, which hold up no other thread."""
    here, there = {key for key in keys}, {name for name in names}  # noqa: C416
    return len(here) == len(there) and all(name in here for name in there)


def with_decisions(
    report: DiffReport,
    params: Sequence[ParamSpec],
    recipe: Recipe,
    again: Again,
    monitor: Monitor = SILENT,
) -> DiffReport:
    """The report with tensors of other files in their rows, and a note on what is not the file's.

    ``again`` is the load diff itself, for those few tensors.
    """
    if not recipe.decide:
        return report
    report = _with_other_files(report, params, recipe, again, monitor)
    return replace(report, notes=(*report.notes, *_change_notes(report.rows, recipe)))


def _with_other_files(
    report: DiffReport,
    params: Sequence[ParamSpec],
    recipe: Recipe,
    again: Again,
    monitor: Monitor = SILENT,
) -> DiffReport:
    """The report with the tensors that decisions take from other files in their rows.

    They go through every step of the recipe but the renaming. What they displace becomes a
    skipped row; one that cannot be had, an error. Both totals count them as sources.
    """
    takes = recipe.takes
    if not takes:
        return report
    taken = taken_tensors(takes, monitor)
    wanted = {param.key: param for param in params if param.key in takes}
    found = {key: s for key, s in taken.found.items() if key in wanted}
    judged = _judged(found, wanted, recipe, again)
    rows: list[DiffRow] = []
    lost: list[DiffRow] = []
    for row in report.rows:
        key = "" if row.target is None else row.target.key
        if key in judged:
            rows.append(judged[key])
            lost.append(row)
        elif key in taken.failed and row.status is not Status.SKIPPED:
            fact = str(taken.failed[key])
            rows.append(DiffRow(Status.ERROR, Cause.DECISION, row.source, None, row.target, fact,
                                others=row.others, share=row.share))  # fmt: skip
        else:
            rows.append(row)
    rows += _displaced(lost, rows)
    rows += _idle(taken.found, found)
    failed = sum(row.source is None for row in rows if row.status is Status.ERROR)
    said = [str(error) for key, error in taken.failed.items() if key not in wanted]
    return replace(
        report,
        rows=tuple(rows),
        # One tensor that several decisions take is one tensor: ``reused`` lists its further uses.
        source_tensors=report.source_tensors + len({s.key for s in taken.found.values()}) + failed,
        notes=(*report.notes, *said),
    )


def _idle(
    taken: Mapping[str, TensorSnapshot], wanted: Mapping[str, TensorSnapshot]
) -> list[DiffRow]:
    """An unused row for every tensor of another file that no parameter of the target takes."""
    known = {snapshot.key for snapshot in wanted.values()}
    rows = []
    for key, snapshot in taken.items():
        if snapshot.key not in known:
            known.add(snapshot.key)
            rows.append(
                DiffRow(Status.UNUSED, Cause.NO_TARGET, snapshot, replace(snapshot, key=key))
            )
    return rows


def _judged(
    found: Mapping[str, TensorSnapshot],
    wanted: Mapping[str, ParamSpec],
    recipe: Recipe,
    again: Again,
) -> dict[str, DiffRow]:
    """The row of every target that takes a tensor of another file, by its key."""
    if not found:
        return {}
    given = [replace(snapshot, key=key) for key, snapshot in found.items()]
    rest = tuple(d for d in recipe.decide if d.action is not Action.TAKE and d.key in found)
    steps = replace(recipe, remap=KeyRemapper(), decide=rest, merge=())
    report = again(
        TensorIndex.of(given, format="other files"),
        ModuleSpec(tuple(wanted[key] for key in found)),
        steps,
    )
    return {
        row.target.key: replace(row, source=found[row.target.key])
        for row in report.rows
        if row.target is not None
    }


def _displaced(lost: Iterable[DiffRow], rows: Iterable[DiffRow]) -> list[DiffRow]:
    """A skipped row for every source that no row is about any more."""
    used = {source.key for row in rows for source in row.sources}
    fact = "left out by your decision: the tensor of another file takes its place"
    alone = {s.key: s for row in lost for s in row.sources if s.key not in used}
    return [
        DiffRow(Status.SKIPPED, Cause.DECISION, source, source, detail=fact)
        for source in alone.values()
    ]


def with_taken(pairs: Sequence[Pair], taken: TakenTensors) -> list[Pair]:
    """The tensors of a conversion with those of other files in their places, or behind the others.

    Raises DecisionError for the first that cannot be had.
    """
    for error in taken.failed.values():
        raise error
    rest = dict(taken.found)
    result: list[Pair] = []
    for original, renamed in pairs:
        if renamed.key not in taken.found:
            result.append((original, renamed))
        elif (found := rest.pop(renamed.key, None)) is not None:
            result.append((found, relabelled(found, renamed.key, ())))
    result += [(found, relabelled(found, key, ())) for key, found in rest.items()]
    return result


def _change_notes(rows: Iterable[DiffRow], recipe: Recipe) -> tuple[str, ...]:
    """How many applied tensors are not what the file holds, by a decision to cut, pad or take."""
    words = (Action.SLICE, Action.PAD, Action.TAKE)
    keys = {decision.key for decision in recipe.decide if decision.action in words}
    if not keys:
        return ()
    found = [row.key for row in rows if row.status is Status.APPLIED and row.key in keys]
    if not found:
        return ()
    verb = "is" if len(found) == 1 else "are"
    return (
        f"{counted(len(found), 'tensor')} {verb} applied by your decision, {found[0]!r} first, "
        "with values cut off, padded, or of another file",
    )
