"""The comparison of two documents: sides, lines, sorting, heat maps and the command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import DTypeError, RecipeError, ShapeError
from ruda.session import (
    CompareOptions,
    CompareSide,
    CompareTable,
    Document,
    PlaneChoice,
    Query,
    RuleDraft,
    SideView,
    compare_command,
    compare_documents,
    compare_page,
    compare_values,
)
from ruda.store import (
    CastPolicy,
    Likeness,
    PyTorchToRuda,
    Recipe,
    TensorIndex,
    TensorSnapshot,
)
from ruda.tensor import DType


def document(tensors: Mapping[str, object], number: int = 1, **more: object) -> Document:
    index = TensorIndex.of(
        [TensorSnapshot.from_array(key, np.asarray(value)) for key, value in tensors.items()],
        format="safetensors",
    )
    recipe = more.pop("recipe", Recipe())
    assert isinstance(recipe, Recipe)
    path = Path(f"/d/{number}.safetensors")
    return Document(number, path, index, recipe, **more)  # type: ignore[arg-type]


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


LEFT = {
    "layers.0.w": f32(1, 2, 3),
    "layers.1.w": f32(4, 5, 6),
    "head.w": f32(1, 1),
    "old": f32(0),
}
RIGHT = {
    "layers.0.w": f32(1, 2, 3.5),
    "layers.1.w": f32(4, 5, 7),
    "head.w": f32(1, 1),
    "new": f32(0),
}


STRIP = RuleDraft(r"^m\.", "")


def table(**options: object) -> CompareTable:
    asked = CompareOptions(values=True, **options)  # type: ignore[arg-type]
    return CompareTable(compare_documents(document(LEFT), document(RIGHT, 2), asked))


def lines(found: CompareTable, **view: object) -> list[tuple[str, str, int]]:
    page = compare_page(found, **view)  # type: ignore[arg-type]
    return [(line.status.value, line.key, line.count) for line in page.lines]


def test_families_that_compare_alike_are_one_line() -> None:
    assert lines(table()) == [
        ("changed", "layers.*.w", 2),
        ("same", "head.w", 1),
        ("only left", "old", 1),
        ("only right", "new", 1),
    ]
    assert lines(table(), folded=False)[:2] == [
        ("changed", "layers.0.w", 1),
        ("changed", "layers.1.w", 1),
    ]


def test_a_family_opens_and_adds_up_its_figures() -> None:
    page = compare_page(table())
    family = page.lines[0]
    assert family.figures == ("1", "0.25", f"{_cosine():.6f}", "33.3 %")
    opened = compare_page(table(), opened=frozenset({family.name}))
    assert [line.key for line in opened.lines][:3] == ["layers.*.w", "layers.0.w", "layers.1.w"]
    assert opened.lines[1].is_member
    assert opened.lines.position_of("layers.1.w") == 2
    assert page.lines.position_of("layers.1.w") == 0


def _cosine() -> float:
    a, b = np.array([1, 2, 3, 4, 5, 6.0]), np.array([1, 2, 3.5, 4, 5, 7])
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_rows_are_sorted_by_figures_and_what_has_none_is_last() -> None:
    page = compare_page(table(), sort="max", descending=True, folded=False)
    assert [line.key for line in page.lines] == ["layers.1.w", "layers.0.w", "head.w", "old", "new"]
    page = compare_page(table(), sort="max", folded=False)
    assert [line.key for line in page.lines][:3] == ["head.w", "layers.0.w", "layers.1.w"]
    assert [line.key for line in page.lines][3:] == ["old", "new"]


def test_statuses_and_keys_choose_rows() -> None:
    only = frozenset({Likeness.LEFT, Likeness.RIGHT})
    assert lines(table(), statuses=only) == [("only left", "old", 1), ("only right", "new", 1)]
    page = compare_page(table(), query=Query("head"))
    assert (page.shown, page.total) == (1, 5)
    assert compare_page(table(), query=Query("(", regex=True)).problem is not None


def test_the_next_difference_is_found() -> None:
    page = compare_page(table())
    assert [page.next_difference(at) for at in (-1, 0, 2, 3)] == [0, 2, 3, None]
    assert page.next_difference(2, -1) == 0


def test_the_headline_says_whether_values_were_looked_at() -> None:
    same = document(LEFT)
    structure = compare_documents(same, document(LEFT, 2), CompareOptions())
    page = compare_page(CompareTable(structure))
    assert page.headline == "All of 4 tensors have the same keys, types and shapes"
    assert page.summary == "36 B and 36 B · structure only, values were not compared"
    page = compare_page(table())
    assert page.headline == "1 of 5 tensors are the same"
    assert page.summary == (
        "2 changed · 1 only left · 1 only right · 25.0 % of the values differ · "
        "36 B and 36 B · values compared"
    )


HALVED = {**LEFT, "head.w": np.array([1, 1], np.float16)}
NEAR = {**LEFT, "head.w": f32(1, 1.25)}
HEADLINES = [
    pytest.param(
        HALVED,
        CompareOptions(any_dtype=True),
        "have the same keys and shapes, 1 another type",
        id="other types",
    ),
    pytest.param(
        HALVED,
        CompareOptions(any_dtype=True, values=True),
        "are the same, value by value",
        id="other types, same values",
    ),
    pytest.param(
        NEAR,
        CompareOptions(values=True, absolute=0.5),
        "are the same within the tolerance",
        id="tolerated",
    ),
    pytest.param(
        LEFT,
        CompareOptions(values=True, absolute=0.5),
        "are the same, value by value",
        id="the very same",
    ),
]


@pytest.mark.parametrize(("right", "options", "said"), HEADLINES)
def test_the_headline_claims_no_more_than_holds(
    right: Mapping[str, object], options: CompareOptions, said: str
) -> None:
    report = compare_documents(document(LEFT), document(right, 2), options)
    assert report.is_same
    assert compare_page(CompareTable(report)).headline == f"All of 4 tensors {said}"


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        (CompareOptions(values=True), 2),
        (CompareOptions(values=True, absolute=0.6), 1),
        (CompareOptions(values=True, relative=0.2), 0),
        (CompareOptions(values=True, ulp=1 << 21), 0),
        (CompareOptions(values=True, ulp=(1 << 21) - 1), 2),
    ],
    ids=["exact", "atol", "rtol", "ulp", "an ulp short"],
)
def test_tolerances_excuse_small_differences(options: CompareOptions, changed: int) -> None:
    report = compare_documents(document(LEFT), document(RIGHT, 2), options)
    assert report.counts[Likeness.CHANGED] == changed


def test_tolerances_are_kept_while_only_headers_are_compared() -> None:
    options = CompareOptions(absolute=0.1, ulp=3)
    assert compare_documents(document(LEFT), document(RIGHT, 2), options).counts[Likeness.SAME] == 3


def test_either_side_is_renamed() -> None:
    wrapped = document({f"module.{key}": value for key, value in LEFT.items()})
    strip = CompareSide(rules=(RuleDraft(r"^module\.", ""), RuleDraft("", "")))
    plain = document(LEFT, 2)
    assert compare_documents(wrapped, plain, CompareOptions(left=strip)).is_same
    assert compare_documents(plain, wrapped, CompareOptions(right=strip)).is_same
    broken = CompareSide(rules=(RuleDraft("(", ""),))
    with pytest.raises(RecipeError, match="remap"):
        compare_documents(wrapped, plain, CompareOptions(left=broken))


def test_a_side_is_taken_after_its_recipe_with_or_without_the_cast() -> None:
    recipe = Recipe().with_rule("^", "m.").with_cast(CastPolicy.every(DType.F16))
    left = document({"w": f32(1, 2)}, recipe=recipe)
    right = document({"m.w": f32(1, 2)}, 2)
    as_recipe = CompareOptions(left=CompareSide(SideView.RECIPE))
    uncast = CompareOptions(left=CompareSide(SideView.UNCAST))
    assert compare_documents(left, right, as_recipe).rows[0].reason == "dtype f16 and f32"
    assert compare_documents(left, right, uncast).is_same


def test_the_command_says_the_same() -> None:
    options = CompareOptions(
        values=True,
        absolute=1e-5,
        ulp=2,
        any_dtype=True,
        right=CompareSide(rules=(RuleDraft("^a$", "b"), RuleDraft("x", "y", enabled=False))),
    )
    words = compare_command(document(LEFT), document(RIGHT, 2, top_level_key="ema"), options)
    assert words == [
        *("ruda", "compare", "/d/1.safetensors", "/d/2.safetensors", "--values"),
        *("--atol", "1e-05", "--ulp", "2", "--any-dtype", "--remap-b", "^a$", "b"),
        *("--top-level-key-b", "ema"),
    ]
    assert "--atol" not in compare_command(document(LEFT), document(RIGHT, 2), CompareOptions())


def test_the_command_says_the_whole_recipe_of_either_side() -> None:
    cast = Recipe().with_cast(CastPolicy.every(DType.F16))
    adapted = Recipe().with_adapt("pytorch-to-ruda").with_rule("^m", "n")
    view = CompareSide(SideView.RECIPE)
    words = compare_command(
        document(LEFT, recipe=cast),
        document(RIGHT, 2, recipe=adapted),
        CompareOptions(left=view, right=view, only="w$"),
    )
    assert words[4:] == [
        *("--only", "w$", "--cast", "f16"),
        *("--remap-b", "^m", "n", "--adapt-b", "pytorch-to-ruda"),
    ]


def test_a_recipe_that_needs_a_file_is_no_command() -> None:
    left = document(LEFT, recipe=Recipe().with_adapt(PyTorchToRuda()))
    options = CompareOptions(left=CompareSide(SideView.RECIPE))
    with pytest.raises(RecipeError, match="do not fit on a command line"):
        compare_command(left, document(RIGHT, 2), options)


def test_only_the_keys_of_the_scope_are_compared() -> None:
    options = CompareOptions(values=True, only="^layers", left=CompareSide(rules=(STRIP,)))
    left = document({f"m.{key}": value for key, value in LEFT.items()})
    report = compare_documents(left, document(RIGHT, 2), options)
    assert [row.key for row in report.rows] == ["layers.0.w", "layers.1.w"]
    assert report.notes == ("3 keys are outside of what is compared",)
    assert "position 0" in CompareOptions(only="(").problem


def test_the_page_says_bytes_and_shares() -> None:
    page = compare_page(table())
    assert page.summary == (
        "2 changed · 1 only left · 1 only right · 25.0 % of the values differ · "
        "36 B and 36 B · values compared"
    )
    assert dict(page.shares)[Likeness.CHANGED] == "24 B, 60.0 % of the bytes"


def test_a_plane_of_both_is_drawn() -> None:
    left = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    right = left.copy()
    right[1, 2, 3] += 1
    for choice, place in (
        (PlaneChoice(1, 2, (1, 0, 0)), (2, 3)),
        (PlaneChoice(2, 0, (0, 2, 0)), (3, 1)),
    ):
        found = compare_values(*snapshots(left, right), choice)
        assert found.choice == choice
        assert np.argwhere(found.difference.grid).tolist() == [list(place)]
    elsewhere = compare_values(*snapshots(left, right), PlaneChoice(1, 2, (0, 0, 0)))
    assert not elsewhere.difference.grid.any()
    with pytest.raises(ValueError, match="a plane needs two axes"):
        compare_values(*snapshots(left, right), PlaneChoice(1, 3, (0, 0, 0)))


def snapshots(left: np.ndarray, right: np.ndarray) -> tuple[TensorSnapshot, TensorSnapshot]:
    return TensorSnapshot.from_array("w", left), TensorSnapshot.from_array("w", right)


def test_heat_maps_share_a_scale_and_the_difference_has_its_own() -> None:
    left = f32(1, -4, 2).reshape(1, 3)
    right = f32(1, -4, 2.25).reshape(1, 3)
    found = compare_values(*snapshots(left, right))
    assert (found.left.absmax, found.right.absmax) == (4.0, 4.0)
    np.testing.assert_array_equal(found.difference.grid, [[0, 0, 0.25]])
    assert found.caption == "largest difference 0.25"


def test_equal_infinities_and_nans_differ_by_nothing() -> None:
    left = f32(np.nan, np.inf, np.inf, 1)
    right = f32(np.nan, np.inf, -np.inf, np.nan)
    found = compare_values(*snapshots(left, right))
    np.testing.assert_array_equal(found.difference.nonfinite, [[False, False, True, True]])
    assert found.caption == "differ where one side is not finite"


def test_large_integers_that_differ_by_one_do_not_look_equal() -> None:
    big = np.array([(1 << 62) + 1], np.int64)
    found = compare_values(*snapshots(big, big + 1))
    assert found.difference.absmax == 1.0


def burn_numbers(*numbers: int, mode: str = "Symmetric") -> TensorSnapshot:
    """Whole numbers of 8 bits under a scale of 0.5."""
    raw = np.array([*np.array(numbers, np.int8).view(np.uint8), 0, 0, 0, 0x3F], np.uint8)
    scheme = {"value": "Q8S", "param": "F32", "store": "Native", "level": "Tensor", "mode": mode}
    held = TensorSnapshot.from_array("w", raw, dtype=DType.QFLOAT).source
    return TensorSnapshot(
        key="w", dtype=DType.QFLOAT, shape=(1, 4), nbytes=8, source=held, scheme=scheme
    )


def test_quantized_tensors_of_burn_are_drawn_by_their_values() -> None:
    found = compare_values(burn_numbers(1, 2, 3, 4), burn_numbers(1, 2, 3, 6))
    np.testing.assert_array_equal(found.left.grid, [[0.5, 1, 1.5, 2]])
    np.testing.assert_array_equal(found.difference.grid, [[0, 0, 0, 1]])
    odd = burn_numbers(1, 2, 3, 4, mode="Codebook")
    with pytest.raises(DTypeError, match="the mode 'Codebook' is not known"):
        compare_values(odd, odd)


def test_what_cannot_be_drawn_says_why() -> None:
    with pytest.raises(ShapeError, match=r"shapes \[2\] and \[3\] differ"):
        compare_values(*snapshots(f32(1, 2), f32(1, 2, 3)))
    odd = np.array([1j], np.complex64)
    with pytest.raises(DTypeError, match="no values that can be drawn"):
        compare_values(*snapshots(odd, odd))
