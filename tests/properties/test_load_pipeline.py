"""Laws of the load pipeline: totals, remapping, adapters, recipe files, all or nothing."""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda import nn
from ruda.errors import LoadError, RecipeError, TruncatedFileError
from ruda.nn import ModuleSpec, ParamSpec
from ruda.store import (
    CastPolicy,
    CastScope,
    Decision,
    KeyRemapper,
    PathFilter,
    PyTorchToRuda,
    Recipe,
    RemapRule,
    RudaToPyTorch,
    Status,
    apply,
    convert,
    diff,
    recipe_from_json,
    recipe_from_toml,
    recipe_to_json,
    recipe_to_toml,
)
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

KINDS = ["Linear", "BatchNorm", "LayerNorm", "PRelu", "Conv2d", "Mine"]
LEAVES = ["weight", "bias", "gamma", "beta", "alpha", "num_batches_tracked"]
DTYPES = [DType.F32, DType.F16, DType.BF16, DType.I64, DType.BOOL]

keys = st.builds(
    ".".join,
    st.tuples(
        st.sampled_from(["a", "b", "module", "0", "12"]),
        st.sampled_from(["x", "1", "n"]),
        st.sampled_from(LEAVES),
    ),
)
shapes = st.sampled_from([(), (2,), (3,), (2, 3), (3, 2), (2, 2), (0,), (2, 1, 3, 3)])
patterns = st.sampled_from(
    ["a", r"^module\.", r"\d+", r"(\w+)\.(\w+)$", "^", "weight$", "x|n", "."]
)
templates = st.sampled_from(["", "b", "module.", "z.", "$$"])
rules = st.builds(RemapRule, patterns, templates, st.booleans())
remappers = st.builds(KeyRemapper, st.lists(rules, max_size=3).map(tuple), st.booleans())
plain_filters = st.builds(
    PathFilter,
    regexes=st.lists(patterns, max_size=2).map(tuple),
    keys=st.lists(keys, max_size=2).map(tuple),
    takes_all=st.booleans(),
    negated=st.booleans(),
)
filters = st.recursive(
    plain_filters,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0].without(pair[1])),
        inner.map(lambda one: ~one),
    ),
    max_leaves=4,
)
kinds = st.sets(st.sampled_from(KINDS[:4]), max_size=2).map(frozenset)
casts = st.one_of(
    st.none(),
    st.builds(CastPolicy, st.sampled_from(DTYPES[:3]), st.just(CastScope.ALL), kinds),
    st.builds(CastPolicy, st.sampled_from(DTYPES[:3]), st.just(CastScope.MODULES), kinds, kinds),
)
recipes = st.builds(
    Recipe,
    select=filters,
    remap=remappers,
    adapt=st.lists(st.sampled_from(["pytorch-to-ruda", "ruda-to-pytorch"]), max_size=2).map(tuple),
    cast=casts,
    decide=st.sets(keys, max_size=2).map(lambda found: tuple(Decision(k) for k in sorted(found))),
)


class Unread:
    def read(self) -> np.ndarray[Any, Any]:
        raise AssertionError("a diff read values")


def _snapshot(key: str, shape: tuple[int, ...], dtype: DType) -> TensorSnapshot:
    numel = int(np.prod(shape, dtype=int))
    return TensorSnapshot(key, dtype, shape, dtype.nbytes(numel), Unread())


def _index(snapshots: list[TensorSnapshot]) -> TensorIndex:
    return TensorIndex.of(snapshots, format="pytorch")


sources = st.lists(
    st.builds(_snapshot, keys, shapes, st.sampled_from(DTYPES)),
    unique_by=lambda s: s.key,
    max_size=8,
).map(_index)
params = st.builds(
    ParamSpec,
    keys,
    shapes,
    st.sampled_from(DTYPES),
    st.sampled_from(KINDS).map(lambda kind: ("Struct:Model", f"Struct:{kind}")),
    st.none(),
)
specs = st.lists(params, unique_by=lambda p: p.key, max_size=8).map(
    lambda found: ModuleSpec(tuple(found))
)


@given(sources, st.one_of(specs, sources), recipes)
def test_every_tensor_has_one_row_and_both_totals_hold(
    source: TensorIndex, target: ModuleSpec | TensorIndex, recipe: Recipe
) -> None:
    report = diff(source, target, recipe=recipe)
    assert report.totals_hold
    taken = [row.source_key for row in report.rows if row.source is not None]
    wanted = [row.target_key for row in report.rows if row.target is not None]
    assert sorted(taken) == sorted(source)
    expected = list(target) if isinstance(target, TensorIndex) else [p.key for p in target]
    assert wanted == expected
    for row in report.rows:
        assert (row.source is None) == (
            row.status is Status.MISSING
        ) or row.status is Status.SKIPPED
        assert row.reason
        assert row.as_data()["status"] == row.status.value
        if row.status is Status.APPLIED:
            assert row.adapted_shape == row.target_shape


@given(sources)
def test_a_file_fits_itself(source: TensorIndex) -> None:
    report = diff(source, source)
    assert report.counts[Status.APPLIED] == len(source)
    assert report.is_clean


@given(sources, sources)
def test_a_diff_mirrors(one: TensorIndex, other: TensorIndex) -> None:
    there, back = diff(one, other), diff(other, one)
    for status, mirrored in (
        (Status.APPLIED, Status.APPLIED),
        (Status.ERROR, Status.ERROR),
        (Status.MISSING, Status.UNUSED),
        (Status.UNUSED, Status.MISSING),
    ):
        assert {row.key for row in there.of(status)} == {row.key for row in back.of(mirrored)}


@given(st.lists(keys, unique=True), filters)
def test_a_filter_and_its_opposite_share_nothing_and_leave_nothing(
    names: list[str], chosen: PathFilter
) -> None:
    assert all(chosen.matches(key) != (~chosen).matches(key) for key in names)
    if chosen.criteria_count:  # a filter without criteria adds none to a union
        assert all((chosen | ~chosen).matches(key) for key in names)
    assert not any(chosen.without(chosen).matches(key) for key in names)


@given(st.lists(keys, unique=True))
def test_no_rules_are_the_identity(names: list[str]) -> None:
    assert [change.after for change in KeyRemapper().remap(names)] == names


@given(keys, st.lists(rules, max_size=3), st.lists(rules, max_size=3))
def test_rules_compose_left_to_right(
    key: str, first: list[RemapRule], then: list[RemapRule]
) -> None:
    one, two = KeyRemapper(tuple(first)), KeyRemapper(tuple(then))
    assert one.then(two).rename(key) == two.rename(one.rename(key))
    assert one.trace(key)[-1] == one.rename(key)


@given(st.lists(keys, unique=True), remappers)
def test_a_plan_names_every_collision(names: list[str], remapper: KeyRemapper) -> None:
    plan = remapper.plan(names)
    assert [change.before for change in plan.changes] == names
    joined = {clash.key: set(clash.sources) for clash in plan.collisions}
    groups: dict[str, set[str]] = {}
    for change in plan.changes:
        groups.setdefault(change.after, set()).add(change.before)
    assert joined == {key: group for key, group in groups.items() if len(group) > 1}


words = st.text(string.ascii_letters + "._0", min_size=1, max_size=8)


@given(words, words, words, st.integers(0, 999))
def test_a_reversed_rule_takes_the_renaming_back(
    before: str, after: str, tail: str, number: int
) -> None:
    escaped = "".join(f"\\{letter}" if letter == "." else letter for letter in before)
    rule = RemapRule(rf"^{escaped}(\d+)#", f"{after}#${{1}}-")
    back = rule.reverse()
    assert back is not None
    key = f"{before}{number}#{tail}"
    assert back.rename(rule.rename(key)) == key


turnable = st.builds(
    RemapRule,
    st.sampled_from(["a", r"^module\.", "^", "weight$", "^(a|b)", r"(x)\.(n|1)"]),
    st.sampled_from(["", "b", "module.", "z", "${1}", "${2}-${1}"]),
    st.booleans(),
)


def _comes_back(names: list[str], rules: list[RemapRule]) -> bool:
    for rule in rules:
        back = rule.reverse()
        renamed = [rule.rename(key) for key in names] if rule.enabled else names
        if back is None or (rule.enabled and [back.rename(key) for key in renamed] != names):
            return False
        names = renamed
    return True


@given(st.lists(keys, unique=True, max_size=6), st.data())
def test_a_reverse_that_was_tried_on_the_keys_gives_all_of_them_back(
    names: list[str], data: st.DataObject
) -> None:
    some: list[RemapRule] = []
    for _ in range(data.draw(st.integers(0, 3))):
        try:
            some.append(data.draw(turnable))
        except RecipeError:  # it has no such group
            continue
    remapper = KeyRemapper(tuple(some))
    if not _comes_back(names, some):
        with pytest.raises(RecipeError, match="reverse"):
            remapper.reverse(names)
        return
    back = remapper.reverse(names)
    assert [back.rename(remapper.rename(key)) for key in names] == names


@given(recipes)
def test_a_recipe_file_gives_the_recipe_back(recipe: Recipe) -> None:
    assert recipe_from_toml(recipe_to_toml(recipe)) == recipe
    assert recipe_from_json(recipe_to_json(recipe)) == recipe


@given(
    st.sampled_from(KINDS),
    st.sampled_from(["weight", "bias", "running_mean"]),
    st.sampled_from([(2,), (2, 3), (3, 3), (0, 4), (2, 1, 3, 3)]),
    st.sampled_from(DTYPES),
)
def test_pytorch_to_ruda_and_back_is_the_identity(
    kind: str, leaf: str, shape: tuple[int, ...], dtype: DType
) -> None:
    # All different, so that no turned matrix looks like another (bools cannot be).
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype.carrier)
    before = TensorSnapshot.from_array(
        f"m.{leaf}", values, dtype=dtype, containers=("Struct:Model", f"Struct:{kind}")
    )
    after = RudaToPyTorch().adapt(PyTorchToRuda().adapt(before))
    assert (after.key, after.shape, after.dtype) == (before.key, before.shape, before.dtype)
    np.testing.assert_array_equal(after.read(), values)


@given(sources, recipes)
def test_convert_states_what_a_diff_states(source: TensorIndex, recipe: Recipe) -> None:
    """Without adapters and collisions, a converted file is what the diff says it will be."""
    recipe = Recipe(
        recipe.select,
        recipe.remap,
        cast=recipe.cast if recipe.cast and recipe.cast.scope is CastScope.ALL else None,
    )
    if recipe.remap.plan(source).collisions:
        return
    view = convert(source, recipe=recipe)
    report = diff(
        source,
        _index(list(convert(source, recipe=Recipe(remap=recipe.remap)).values())),
        recipe=recipe,
    )
    assert {row.key for row in report.of(Status.APPLIED)} == set(view)
    assert all(view[row.key].dtype is row.adapted_dtype for row in report.of(Status.APPLIED))


class Net(nn.Module):
    def __init__(self) -> None:
        self.norm = nn.BatchNorm(2)
        self.fc = nn.Linear(2, 2, seed=0)


class Broken:
    def read(self) -> np.ndarray[Any, Any]:
        raise TruncatedFileError("the file ends too early", offset=0)


def _state(module: nn.Module) -> dict[str, bytes]:
    return {entry.key: entry.param.value().numpy().tobytes() for entry in module.walk()}


MODULE_KEYS = [entry.key for entry in Net().walk()]


@given(
    st.sets(st.sampled_from(MODULE_KEYS)),
    st.sets(st.sampled_from(MODULE_KEYS)),
    st.sets(st.sampled_from(MODULE_KEYS)),
    st.sets(st.sampled_from(["norm.weight", "fc.gamma", "a.x.weight", "z"])),
    filters,
    st.booleans(),
    st.booleans(),
)
def test_apply_changes_all_that_it_says_or_nothing(
    absent: set[str],
    broken: set[str],
    odd: set[str],
    extra: set[str],
    select: PathFilter,
    allow_partial: bool,
    validate: bool,
) -> None:
    module = Net()
    before = _state(module)
    snapshots: list[TensorSnapshot] = []
    for entry in module.walk():
        shape = (7,) if entry.key in odd else entry.param.shape
        values = np.full(shape, 9.0, np.float32)
        snapshot = TensorSnapshot.from_array(entry.key, values)
        if entry.key in broken:
            snapshot = TensorSnapshot(entry.key, DType.F32, shape, values.nbytes, Broken())
        if entry.key not in absent:
            snapshots.append(snapshot)
    snapshots += [TensorSnapshot.from_array(key, np.zeros(2, "<f4")) for key in sorted(extra)]
    try:
        result = apply(
            _index(snapshots),
            module,
            recipe=Recipe(select=select),
            allow_partial=allow_partial,
            validate=validate,
        )
    except LoadError as error:
        assert _state(module) == before
        result = error.result
    else:
        after = _state(module)
        changed = {key for key in after if after[key] != before[key]}
        assert changed == set(result.applied)
    lists = [
        *result.applied,
        *result.skipped,
        *(m.key for m in result.missing),
        *result.unused,
        *(e.key for e in result.errors),
    ]
    left_out = {key for key in extra if not select.matches(key)}
    assert sorted(lists) == sorted([*MODULE_KEYS, *extra])
    assert set(result.unused) == extra - left_out
    assert left_out <= set(result.skipped)
    assert result.report.totals_hold


@pytest.mark.parametrize("count", [0, 1, 40])
def test_rows_are_as_many_as_tensors(count: int) -> None:
    source = _index([_snapshot(f"a.{n}", (1,), DType.F32) for n in range(count)])
    assert len(diff(source, source).rows) == count
