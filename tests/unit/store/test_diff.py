from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ruda import nn
from ruda.store import (
    CastPolicy,
    Cause,
    DiffReport,
    Flag,
    KeyRemapper,
    PathFilter,
    Recipe,
    Status,
    diff,
)
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType

TORCH = Recipe(adapt=("pytorch-to-ruda",))
A, S, M, U, E = Status.APPLIED, Status.SKIPPED, Status.MISSING, Status.UNUSED, Status.ERROR


class Net(nn.Module):
    def __init__(self) -> None:
        self.conv = nn.Conv2d(1, 2, 3, seed=0)
        self.norm = nn.BatchNorm(2)
        self.fc = nn.Linear(3, 2, seed=0)
        self.square = nn.Linear(2, 2, seed=0)


SHAPES = {
    "conv.weight": (2, 1, 3, 3),
    "conv.bias": (2,),
    "norm.weight": (2,),
    "norm.bias": (2,),
    "norm.running_mean": (2,),
    "norm.running_var": (2,),
    "fc.weight": (2, 3),
    "fc.bias": (2,),
    "square.weight": (2, 2),
    "square.bias": (2,),
}


class Unread:
    """A source that must not be read."""

    def read(self) -> np.ndarray[Any, Any]:
        raise AssertionError("a diff read values")


def index(
    shapes: dict[str, tuple[int, ...]],
    *,
    prefix: str = "",
    dtype: DType = DType.F32,
    format: str = "pytorch",
) -> TensorIndex:
    return TensorIndex.of(
        (
            TensorSnapshot(
                prefix + key, dtype, shape, dtype.nbytes(int(np.prod(shape, dtype=int))), Unread()
            )
            for key, shape in shapes.items()
        ),
        format=format,
    )


def statuses(report: DiffReport) -> dict[str, Status]:
    assert report.totals_hold
    return {row.key: row.status for row in report.rows}


def row_of(report: DiffReport, key: str) -> Any:
    return next(row for row in report.rows if row.key == key)


def test_with_the_adapter_everything_is_applied() -> None:
    report = diff(index(SHAPES), Net(), recipe=TORCH)
    assert set(statuses(report).values()) == {A}
    assert report.is_clean
    assert report.banner is None
    assert report.coverage == (10, 10, 42, 42)
    assert report.coverage.share == 1.0
    gamma = row_of(report, "norm.gamma")
    assert (gamma.source_key, gamma.trail) == ("norm.weight", ("rename",))
    assert gamma.flags == {Flag.RENAMED}
    assert gamma.containers == ("Struct:Net", "Struct:BatchNorm")


def test_without_it_every_problem_has_its_row() -> None:
    report = diff(index(SHAPES), Net())
    found = statuses(report)
    assert {key for key, status in found.items() if status is M} == {"norm.gamma", "norm.beta"}
    assert {key for key, status in found.items() if status is U} == {"norm.weight", "norm.bias"}
    assert found["fc.weight"] is E
    assert row_of(report, "fc.weight").reason == (
        "shape: the file has [2, 3], the target expects [3, 2]; "
        "the axes are swapped, as between PyTorch and Ruda for Linear"
    )
    assert row_of(report, "norm.gamma").nearest[0].key == "norm.weight"
    assert report.hints[0][:2] == ("adapt", "pytorch-to-ruda")
    assert report.banner == (
        "1 of 10 cannot be applied, and 2 keep their initial value; "
        "the adapter pytorch-to-ruda would match 3 more"
    )


def test_targets_are_alike() -> None:
    source, net = index(SHAPES), Net()
    spec = nn.ModuleSpec.of(net)
    by_module, by_spec = diff(source, net, recipe=TORCH), diff(source, spec, recipe=TORCH)
    assert by_module.as_data() == by_spec.as_data()
    assert by_module.target_name == "Net"


def test_a_square_weight_is_marked_with_and_without_the_adapter() -> None:
    for recipe in (TORCH, Recipe()):
        report = diff(index(SHAPES), Net(), recipe=recipe)
        row = row_of(report, "square.weight")
        assert row.status is A
        assert Flag.UNPROVEN in row.flags
        assert "its shape cannot prove the orientation" in row.reason
    native = diff(index(SHAPES, format="rudapack"), Net())
    assert Flag.UNPROVEN not in row_of(native, "square.weight").flags


def test_counter_of_pytorch_is_harmless() -> None:
    source = index({**SHAPES, "norm.num_batches_tracked": ()})
    report = diff(source, Net(), recipe=TORCH)
    row = row_of(report, "norm.num_batches_tracked")
    assert (row.status, row.cause) == (U, Cause.HARMLESS)
    assert "harmless" in row.reason
    assert report.is_clean


PREFIXES = [
    pytest.param("module.", "stripping 'module.' would match 8", id="one"),
    pytest.param("_orig_mod.module.", "stripping '_orig_mod.module.' would match 8", id="two"),
]


@pytest.mark.parametrize(("prefix", "banner"), PREFIXES)
def test_prefix_is_probed(prefix: str, banner: str) -> None:
    report = diff(index(SHAPES, prefix=prefix), Net())
    assert report.banner == f"nothing would be loaded: 0 of 10; {banner}"
    rule = report.hints[0].rule
    assert rule is not None
    after = diff(index(SHAPES, prefix=prefix), Net(), recipe=TORCH.with_rule(*rule))
    assert after.is_clean


def test_missing_prefix_is_probed() -> None:
    target = index(SHAPES, prefix="backbone.")
    report = diff(index(SHAPES), target)
    assert report.banner is not None
    assert "adding 'backbone.' would match 10" in report.banner
    rule = report.hints[0].rule
    assert rule is not None
    assert diff(index(SHAPES), target, recipe=Recipe().with_rule(*rule)).is_clean


def test_skipped_wins_over_absence_and_misfit() -> None:
    source = index({"conv.weight": (9,), "extra": (1,)})
    recipe = Recipe(select=PathFilter.of("^conv.bias$")).with_skip("conv.bias")
    report = diff(source, Net(), recipe=recipe)
    assert set(statuses(report).values()) == {S}
    assert row_of(report, "conv.bias").cause is Cause.DECISION
    assert row_of(report, "conv.weight").cause is Cause.FILTER
    assert row_of(report, "extra").target_key is None


def test_decision_by_the_key_in_the_file() -> None:
    report = diff(
        index({"m.x": (1,)}), Net(), recipe=Recipe().with_rule("^m.", "").with_skip("m.x")
    )
    assert row_of(report, "x").cause is Cause.DECISION


DTYPES = [
    pytest.param(DType.F32, DType.F16, Recipe(), Cause.DTYPE, id="another float"),
    pytest.param(DType.F32, DType.I32, Recipe(), Cause.KIND, id="integer"),
    pytest.param(DType.I64, DType.I32, Recipe(), Cause.DTYPE, id="another integer"),
    pytest.param(DType.F32, DType.BOOL, Recipe(), Cause.KIND, id="bool"),
    pytest.param(DType.F32, DType.FLEX32, Recipe(), Cause.TAKEN, id="flex32 is f32 in a file"),
    pytest.param(
        DType.F32,
        DType.BF16,
        Recipe(cast=CastPolicy.every(DType.F32)),
        Cause.TAKEN,
        id="cast to the target",
    ),
    pytest.param(
        DType.F32,
        DType.F32,
        Recipe(cast=CastPolicy.every(DType.F16)),
        Cause.TAKEN,
        id="cast that was asked for",
    ),
    pytest.param(
        DType.F32,
        DType.F16,
        Recipe(cast=CastPolicy.half()),
        Cause.DTYPE,
        id="half leaves f16 alone",
    ),
]


@pytest.mark.parametrize(("expected", "found", "recipe", "cause"), DTYPES)
def test_dtype(expected: DType, found: DType, recipe: Recipe, cause: Cause) -> None:
    target = index({"a.weight": (2,)}, dtype=expected)
    report = diff(index({"a.weight": (2,)}, dtype=found), target, recipe=recipe)
    row = row_of(report, "a.weight")
    assert (row.cause, report.totals_hold) == (cause, True)
    if cause is Cause.DTYPE:
        assert f"the file has {found}, the target expects {expected}" in row.reason


SHAPE_FACTS = [
    pytest.param((2, 3, 4), (2, 1, 4), "axis 1: 3 against 1", id="one axis"),
    pytest.param((2, 3), (2,), "2 axes against 1", id="another rank"),
    pytest.param((0,), (5,), "an empty placeholder", id="placeholder"),
]


@pytest.mark.parametrize(("found", "expected", "fact"), SHAPE_FACTS)
def test_shape_fact(found: tuple[int, ...], expected: tuple[int, ...], fact: str) -> None:
    report = diff(index({"a": found}), index({"a": expected}))
    row = row_of(report, "a")
    assert (row.status, row.cause) == (E, Cause.SHAPE)
    assert fact in row.reason
    assert (Flag.PLACEHOLDER in row.flags) == (0 in found)


def test_adapter_failure_is_a_row_and_the_rest_goes_on() -> None:
    snapshots = dict(index(SHAPES))
    snapshots["fc.weight"] = TensorSnapshot("fc.weight", DType.QFLOAT, (2, 3), 6, Unread())
    source = TensorIndex.of(snapshots.values(), format="rudapack")
    report = diff(source, Net(), recipe=TORCH)
    assert report.counts == {A: 9, S: 0, M: 0, U: 0, E: 1}
    assert row_of(report, "fc.weight").cause is Cause.ADAPTER
    assert "qfloat values cannot be transposed" in row_of(report, "fc.weight").reason


def test_collision_is_a_row_that_names_both_and_the_rule() -> None:
    source = index({"a.bias": (2,), "b.bias": (2,), "c.x": (1,), "d.x": (1,)})
    remap = KeyRemapper.of(("^[ab]", "fc"), ("^d", "c"))
    report = diff(source, Net(), recipe=Recipe(remap=remap))
    row = row_of(report, "fc.bias")
    assert (row.status, row.cause) == (E, Cause.COLLISION)
    assert row.reason == (
        "'a.bias' and 'b.bias' would both become 'fc.bias' by remap '^[ab]' -> 'fc'"
    )
    assert report.totals_hold
    assert [r.source_key for r in report.of(U) if r.cause is Cause.COLLISION] == [
        "c.x",
        "b.bias",
        "d.x",
    ]


def test_the_exact_name_goes_before_the_other_one() -> None:
    source = index({**SHAPES, "norm.gamma": (2,)})
    report = diff(source, Net(), recipe=TORCH)
    assert row_of(report, "norm.gamma").source_key == "norm.gamma"
    assert statuses(report)["norm.weight"] is U


def test_one_source_fills_one_target() -> None:
    spec = nn.ModuleSpec(
        tuple(
            nn.ParamSpec(key, (2,), DType.F32, ("Struct:BatchNorm",))
            for key in ("n.gamma", "n.weight")
        )
    )
    report = diff(index({"n.weight": (2,)}), spec, recipe=TORCH)
    assert statuses(report) == {"n.gamma": M, "n.weight": A}


def test_file_as_target_infers_kinds_and_says_so() -> None:
    target = index({"fc.weight": (2, 3), "fc.bias": (2,)})
    native = index({"fc.weight": (3, 2), "fc.bias": (2,)}, format="rudapack")
    report = diff(native, target, recipe=Recipe(adapt=("ruda-to-pytorch",)))
    assert set(statuses(report).values()) == {A}
    assert report.notes == (
        "target pytorch: kinds of module inferred from names and shapes: 1 Linear",
    )


def test_families_fold_numbers() -> None:
    keys = {f"layers.{n}.mlp.w{m}": (1,) for n in range(9) for m in range(3)}
    report = diff(index(keys), index(keys))
    (family,) = report.families()
    assert (family.name, len(family.rows)) == ("layers.*.mlp.w*", 27)


def test_notes_say_what_had_no_effect() -> None:
    recipe = Recipe(select=PathFilter.of("zzz"), cast=CastPolicy.half(keep=["Lstm"]))
    report = diff(index(SHAPES), Net(), recipe=recipe.with_skip("nobody"))
    assert report.notes == (
        "the filter takes none of the keys",
        "no tensor has the key 'nobody' of a decision",
        "keep Lstm: no such module here",
    )


def test_empty_sides() -> None:
    nothing = index({})
    assert diff(nothing, nothing).is_clean
    assert diff(nothing, nothing).coverage.share == 1.0
    assert set(statuses(diff(index(SHAPES), nothing)).values()) == {U}
    assert set(statuses(diff(nothing, Net())).values()) == {M}


def test_a_row_is_data() -> None:
    row = row_of(diff(index(SHAPES), Net(), recipe=TORCH), "fc.weight")
    assert row.as_data() == {
        "status": "applied",
        "cause": "taken",
        "flags": ["transposed"],
        "family": "fc.weight",
        "source_key": "fc.weight",
        "other_source_keys": [],
        "merged_from": [],
        "target_key": "fc.weight",
        "source_shape": [2, 3],
        "adapted_shape": [3, 2],
        "target_shape": [3, 2],
        "source_dtype": "f32",
        "adapted_dtype": "f32",
        "target_dtype": "f32",
        "bytes": 24,
        "trail": ["transpose 1,0"],
        "reason": "the target takes this tensor after: transpose 1,0",
        "containers": ["Struct:Net", "Struct:Linear"],
        "nearest": [],
    }


@pytest.mark.cases
def test_real_file_against_its_model(cases: Any) -> None:
    from ruda.models import get
    from ruda.store import open_store

    with open_store(cases / "models" / "burn_import_mnist" / "mnist.pt") as source:
        model = get("import-mnist").build()
        with_adapter = diff(source, model, recipe=TORCH)
        assert with_adapter.counts == {A: 18, S: 0, M: 0, U: 2, E: 0}
        assert with_adapter.is_clean
        without = diff(source, model)
        assert without.counts == {A: 12, S: 0, M: 4, U: 6, E: 2}
        assert {row.key for row in without.of(E)} == {"fc1.weight", "fc2.weight"}


def test_a_collision_that_is_left_out_does_not_matter() -> None:
    source = index({"a.bias": (2,), "b.bias": (2,)})
    recipe = Recipe(remap=KeyRemapper.of(("^[ab]", "fc"))).with_skip("fc.bias")
    report = diff(source, Net(), recipe=recipe)
    assert row_of(report, "fc.bias").status is S
    assert report.totals_hold


def test_a_printed_report_says_counts_problems_and_steps() -> None:
    source = TensorIndex.of(
        [
            TensorSnapshot.from_array("module.fc.weight", np.zeros((2, 3), "<f4")),
            TensorSnapshot.from_array("extra", np.zeros(1, "<f4")),
        ],
        format="memory",
    )
    recipe = Recipe(remap=KeyRemapper.of((r"^module\.", "")), adapt=("pytorch-to-ruda",))

    class Head(nn.Module):
        def __init__(self) -> None:
            self.fc = nn.Linear(3, 2, seed=0)

    report = diff(source, Head(), recipe=recipe)
    assert str(report).splitlines() == [
        "memory onto Head",
        "75.0 % of elements would load, 1 of 2 tensors",
        "applied 1   skipped 0   missing 1   unused 1   error 0",
        "  missing  fc.bias: nothing in the source; the target keeps its initial value",
        "  unused   extra: in the source, wanted by nobody",
        "  applied  fc.weight: rename, transpose 1,0",
        "1 of 2 keep their initial value",
    ]
    assert repr(report) == (
        "<DiffReport memory onto Head: applied=1 skipped=0 missing=1 unused=1 error=0>"
    )
