"""Stories of the conversion: an estimate, an exact check, and a way out for each line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ruda.session import SAMPLE
from ruda.store import TensorIndex, TensorSnapshot, save
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.self_test import make_green
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui

Settled = Callable[[], None]


@pytest.fixture
def wide(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, tmp_path: Path
) -> WeightsWorkspace:
    late = np.ones(SAMPLE + 10, np.float32)
    late[-1] = 1e6
    tensors = [
        TensorSnapshot.from_array("head.0.scale", np.array([1.0, 1e6, -1e6], np.float32)),
        TensorSnapshot.from_array("head.1.scale", np.array([2.0, 3.0, 1e-9], np.float32)),
        TensorSnapshot.from_array("late", late),
        TensorSnapshot.from_array("fine", np.ones((4, 4), np.float32)),
    ]
    path = tmp_path / "wide.safetensors"
    save(TensorIndex.of(tensors, format="safetensors"), path)
    window.open_paths([path])
    settled()
    weights.show_view("convert")
    weights.convert.every.setChecked(True)
    weights.convert.choose("f16")
    settled()
    return weights


def effects(weights: WeightsWorkspace) -> dict[str, str]:
    model = weights.convert.model
    return {line.key: model.cell(row, 6).text for row, line in enumerate(model.lines)}


def types(weights: WeightsWorkspace) -> dict[str, str]:
    laid = weights.watch.current
    assert laid is not None
    assert laid.view is not None
    return {key: snapshot.dtype.label for key, snapshot in laid.view.items()}


def choose(weights: WeightsWorkspace, key: str, fix: str) -> None:
    row = [line.key for line in weights.convert.model.lines].index(key)
    weights.convert.table.select_row(row)
    weights.convert.fixes[fix].click()


def test_an_estimate_says_that_it_is_one_and_a_check_reads_all(
    wide: WeightsWorkspace, settled: Settled
) -> None:
    wide.convert.estimate.click()
    settled()
    assert effects(wide)["late"] == "all in range · exact"
    assert effects(wide)["head.*.scale"] == "overflow 2"
    assert wide.convert.banner.text == (
        "2 values would overflow to infinity. "
        "Only the first values of large tensors were looked at."
    )
    wide.convert.scan.click()
    settled()
    assert effects(wide)["late"] == "overflow 1"
    assert wide.convert.banner.text == "3 values would overflow to infinity."


@pytest.mark.parametrize(
    ("fix", "dtype", "effect"),
    [
        ("keep", "f32", ""),
        ("bf16", "bf16", "all in range · ±580"),
        ("clamp", "f16", "clamped 2"),
    ],
)
def test_each_line_has_a_way_out(
    window: MainWindow,
    wide: WeightsWorkspace,
    settled: Settled,
    fix: str,
    dtype: str,
    effect: str,
) -> None:
    choose(wide, "head.*.scale", fix)
    settled()
    assert types(wide) == {
        "head.0.scale": dtype,
        "head.1.scale": dtype,
        "late": "f16",
        "fine": "f16",
    }
    wide.convert.scan.click()
    settled()
    assert effects(wide)["head.*.scale"] == effect
    choose(wide, "head.*.scale", "none")
    settled()
    assert set(types(wide).values()) == {"f16"}
    window.book.run("edit.undo")
    window.book.run("edit.undo")
    settled()
    document = wide.watch.document
    assert document is not None
    assert document.recipe.policy == ()


def test_only_the_chosen_line_is_changed_and_the_last_choice_counts(
    wide: WeightsWorkspace, settled: Settled
) -> None:
    choose(wide, "late", "bf16")
    settled()
    choose(wide, "late", "keep")
    settled()
    assert types(wide)["late"] == "f32"
    assert types(wide)["fine"] == "f16"
    document = wide.watch.document
    assert document is not None
    assert [policy.pattern for policy in document.recipe.policy] == ["^late$"]


@pytest.mark.parametrize(
    ("to", "why"),
    [("f16", "small running variances would become 0"), ("bf16", "need more digits")],
)
@pytest.mark.parametrize("every", [False, True], ids=["halves", "every"])
def test_what_becomes_of_batch_norm_is_said_and_changed_with_one_click(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    to: str,
    why: str,
    every: bool,
) -> None:
    operations.open_sample(window.context)
    settled()
    make_green(window)
    weights.show_view("convert")
    note = weights.convert.norm
    assert note.text == "", "nothing is cast yet"
    weights.convert.choose(to)
    settled()
    if every:
        weights.convert.every.click()
        settled()
    assert note.text.startswith("BatchNorm keeps its type")
    assert why in note.text
    assert types(weights)["norm1.running_var"] == "f32"
    note.button.click()
    settled()
    assert types(weights)["norm1.running_var"] == to
    assert note.text.startswith("BatchNorm is cast as well")
    weights.convert.scan.click()
    settled()
    note.button.click()
    settled()
    assert types(weights)["norm1.running_var"] == "f32"
    assert weights.convert.kept_kinds() == ("BatchNorm",)
    weights.convert.choose("f32")
    settled()
    assert note.text == ""


def test_where_no_batch_norm_is_nothing_is_said_of_it(wide: WeightsWorkspace) -> None:
    assert wide.convert.norm.text == ""


def test_the_switch_for_all_does_not_promise_what_is_kept(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled
) -> None:
    operations.open_sample(window.context)
    settled()
    make_green(window)
    weights.show_view("convert")
    convert = weights.convert
    convert.choose("f16")
    convert.every.click()
    settled()
    assert convert.kept_kinds() == ("BatchNorm",)
    found = types(weights)
    kept = [key for key, to in found.items() if to == "f32"]
    assert kept, "BatchNorm stays f32"
    assert all("norm" in key for key in kept)
    assert convert.every.text() == "All but what is kept"
    assert "not what stands under Keep" in convert.every.toolTip()
    convert.keep.clear()
    convert.keep.editingFinished.emit()
    settled()
    assert "f32" not in types(weights).values(), "nothing is kept, so it is all"
