"""A report before writing looks at merges, too: what they lose, and what they leave as it is."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from ruda.cli import main
from ruda.store import (
    CastPolicy,
    PathFilter,
    Recipe,
    TensorIndex,
    TensorSnapshot,
    conversion_report,
    describe,
    diff,
    save,
)
from ruda.tensor import DType

V = np.float32([[1, 2], [0, 0], [3, 4]])
WEIGHT_NORM = {"fc.weight_g": np.ones((3, 1), "<f4"), "fc.weight_v": V}
FINE = {**WEIGHT_NORM, "fc.weight_v": V + 1}
SPECTRAL = {
    "fc.weight_orig": V,
    "fc.weight_u": np.zeros(3, "<f4"),
    "fc.weight_v": np.ones(2, "<f4"),
}
SCALED = {
    "fc.weight": np.full((3, 2), 448, ml_dtypes.float8_e4m3fn),
    "fc.weight_scale": np.float32([[1], [1e38], [1]]),
}
INT8 = {
    "fc.weight": np.int8([[1, 2], [3, 100], [4, 5]]),
    "fc.weight_scale": np.float32([[1], [1e37], [1]]),
}
UNMERGED = {
    "fc.weight": np.ones((3, 2), ml_dtypes.float8_e4m3fn),
    "fc.weight_scale": np.ones(5, "<f4"),
}


def index_of(arrays: dict[str, np.ndarray]) -> TensorIndex:
    made = [TensorSnapshot.from_array(key, values) for key, values in arrays.items()]
    return TensorIndex.of(made, format="test")


def recipe_of(*merges: str, cast: DType | None = None) -> Recipe:
    return Recipe(merge=merges, cast=None if cast is None else CastPolicy.every(cast))


LOST = [
    pytest.param(WEIGHT_NORM, recipe_of("weight-norm"), "1 of 3 directions", id="weight norm"),
    pytest.param(
        WEIGHT_NORM,
        recipe_of("weight-norm", cast=DType.BF16),
        "1 of 3 directions",
        id="weight norm, cast",
    ),
    pytest.param(SPECTRAL, recipe_of("spectral-norm"), "6 of 6 values", id="spectral norm"),
    pytest.param(SCALED, recipe_of("scales"), "2 of 6 values", id="scales"),
    pytest.param(SCALED, recipe_of("scales", cast=DType.BF16), "2 of 6 values", id="scales, cast"),
    pytest.param(INT8, recipe_of(cast=DType.F32), "1 of 6 values", id="int8 to floats"),
]


@pytest.mark.parametrize(("arrays", "recipe", "expected"), LOST)
def test_values_that_a_merge_loses_are_reported(
    arrays: dict[str, np.ndarray], recipe: Recipe, expected: str
) -> None:
    report = conversion_report(index_of(arrays), recipe)
    (row,) = report.rows
    assert set(row.merged_from) == set(arrays)
    assert row.is_lost
    assert row.is_loud
    (remark,) = row.remarks
    assert expected in remark
    assert not report.fits
    assert not report.is_harmless
    assert expected in str(report)
    assert "1 merged, 1 of them with values lost" in report.summary
    assert json.loads(json.dumps(report.as_data()))["rows"][0]["remarks"] == [remark]


def test_a_merge_that_loses_nothing_is_listed_all_the_same() -> None:
    report = conversion_report(index_of(FINE), recipe_of("weight-norm"))
    (row,) = report.rows
    assert report.fits
    assert report.is_harmless
    assert describe(row) == (
        "computed out of 'fc.weight_v', 'fc.weight_g': no value is lost by that"
    )
    assert (report.bytes_before, report.bytes_after) == (36, 24)


def test_merges_within_merges_name_every_part_and_every_loss() -> None:
    arrays = {
        "fc.weight_v": np.full((3, 2), 448, ml_dtypes.float8_e4m3fn),
        "fc.weight_v_scale": np.float32([[1], [1e38], [1]]),
        "fc.weight_g": np.ones((3, 1), "<f4"),
    }
    (row,) = conversion_report(index_of(arrays), recipe_of("scales", "weight-norm")).rows
    assert set(row.merged_from) == set(arrays)
    assert "by the scale 'fc.weight_v_scale'" in " ".join(row.remarks)


def test_a_sample_looks_at_the_first_values_of_a_merge() -> None:
    rows = 1024
    scale = np.ones((rows, 1), "<f4")
    scale[-1] = 1e38
    arrays = {
        "w": np.full((rows, 2048), 448, ml_dtypes.float8_e4m3fn),
        "w_scale": scale,
    }
    (some,) = conversion_report(index_of(arrays), recipe_of("scales"), sample=10).rows
    assert some.sampled
    assert not some.remarks
    (every,) = conversion_report(index_of(arrays), recipe_of("scales")).rows
    assert "2048 of 2097152 values" in every.remarks[0]
    scale[0] = 1e38
    (some,) = conversion_report(index_of(arrays), recipe_of("scales"), sample=10).rows
    assert "2048 of 1048576 values" in some.remarks[0]


LEFT_OUT = [
    pytest.param(recipe_of("scales"), 1, id="taken"),
    pytest.param(recipe_of("scales").with_skip("fc.weight"), 0, id="skipped"),
    pytest.param(recipe_of("scales").with_select(PathFilter(("other",))), 0, id="filtered"),
    pytest.param(recipe_of("scales").with_rule("^fc", "out"), 1, id="renamed"),
]


@pytest.mark.parametrize(("recipe", "expected"), LEFT_OUT)
def test_what_a_merge_leaves_is_reported_unless_it_is_left_out(
    recipe: Recipe, expected: int
) -> None:
    report = conversion_report(index_of(UNMERGED), recipe)
    assert len(report.unmerged) == expected
    assert report.fits == (not expected)
    assert ("1 not merged" in report.summary) == bool(expected)
    assert all("fits no known layout" in sentence for sentence in report.unmerged)


REFUSED = [
    pytest.param(WEIGHT_NORM, "weight-norm", "values become infinite or NaN by a merge", id="lost"),
    pytest.param(UNMERGED, "scales", "not every merge that is asked for can be done", id="left"),
]


@pytest.mark.parametrize(("arrays", "merge", "expected"), REFUSED)
def test_strict_writes_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arrays: dict[str, np.ndarray],
    merge: str,
    expected: str,
) -> None:
    before, after = str(tmp_path / "a.safetensors"), tmp_path / "b.safetensors"
    save(index_of(arrays), before)
    assert main(["convert", before, str(after), "--merge", merge, "--strict"]) == 1
    assert f"{expected}, and --strict: nothing was written" in capsys.readouterr().err
    assert not after.exists()
    look = ["--merge", merge, "--report", "--dry-run"]
    assert main(["convert", before, str(after), *look]) == 1
    assert main(["convert", before, str(after), "--report", "--json", "--merge", merge]) == 1


def test_strict_writes_what_merges_well(tmp_path: Path) -> None:
    before, after = str(tmp_path / "a.safetensors"), tmp_path / "b.safetensors"
    save(index_of(FINE), before)
    assert main(["convert", before, str(after), "--merge", "weight-norm", "--strict"]) == 0
    assert after.exists()


def test_a_diff_accounts_for_every_tensor_of_the_file() -> None:
    source = index_of({**FINE, "fc.bias": np.ones(3, "<f4"), "other": np.ones(1, "<f4")})
    target = index_of({"fc.weight": V, "fc.bias": np.ones(3, "<f4")})
    report = diff(source, target, recipe=recipe_of("weight-norm"))
    assert report.totals_hold
    assert report.source_tensors + report.merged_tensors == len(source)
    data = report.as_data()
    assert data["merged_tensors"] == 1
    assert {row["target_key"]: row["merged_from"] for row in data["rows"]} == {
        "fc.weight": ["fc.weight_v", "fc.weight_g"],
        "fc.bias": [],
        None: [],
    }
    assert "4 tensors in the source, 1 of them merged into others" in str(report)
    assert "merged into others" not in str(diff(source, target))


def test_the_diff_of_the_command_line_says_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = str(tmp_path / "a.safetensors"), str(tmp_path / "b.safetensors")
    save(index_of(FINE), before)
    save(index_of({"fc.weight": V}), after)
    assert main(["diff", before, after, "--merge", "weight-norm"]) == 0
    assert "2 tensors in the source, 1 of them merged into others" in capsys.readouterr().out
