from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ruda.store import (
    DiffRow,
    Recipe,
    Status,
    TensorIndex,
    TensorSnapshot,
    diff,
    open_store,
    save,
)
from ruda.store.index import LazySnapshots
from ruda.store.row_list import RowList

LAYERS = 40


def snapshots() -> list[TensorSnapshot]:
    return [
        TensorSnapshot.from_array(f"net.{layer}.{name}", np.zeros((2, 3), np.float32))
        for layer in range(LAYERS)
        for name in ("up", "down")
    ]


def made(report_rows: object) -> int:
    assert isinstance(report_rows, RowList)
    return len(report_rows._made)


def test_a_diff_makes_one_row_of_a_kind() -> None:
    index = TensorIndex.of(snapshots(), format="safetensors")
    report = diff(index, index, recipe=Recipe().with_rule("^net", "net"))
    assert report.counts[Status.APPLIED] == 2 * LAYERS
    assert report.coverage.params == 2 * LAYERS * 6
    assert [(f.name, len(f.rows)) for f in report.families()] == [
        ("net.*.up", LAYERS),
        ("net.*.down", LAYERS),
    ]
    assert made(report.rows) <= 2
    assert report.rows[5] is report.rows[5] is report.families()[1].rows[2]
    assert report.rows[-1].key == f"net.{LAYERS - 1}.down"
    assert [row.key for row in report.rows[1:3]] == ["net.0.down", "net.1.up"]
    with pytest.raises(IndexError, match="out of range"):
        report.rows[2 * LAYERS]


def test_a_file_is_compared_without_making_its_snapshots(tmp_path: Path) -> None:
    save(TensorIndex.of(snapshots(), format="safetensors"), tmp_path / "net.safetensors")
    with open_store(tmp_path / "net.safetensors") as source:
        target = TensorIndex.of(snapshots(), format="rudapack")
        report = diff(source, target)
        assert report.counts[Status.APPLIED] == 2 * LAYERS
        assert isinstance(source.snapshots, LazySnapshots)
        assert len(source.snapshots._made) <= 2
        assert all(row.status is Status.APPLIED for row in report.rows)


def test_rows_that_are_there_are_a_list_too() -> None:
    index = TensorIndex.of(snapshots()[:3], format="safetensors")
    rows: tuple[DiffRow, ...] = tuple(diff(index, index).rows)
    table = RowList.of(rows)
    assert list(table) == list(rows)
    assert table.keys == list(index)
    assert table.at((Status.APPLIED,)) == range(3)
    assert list(table.at((Status.MISSING,))) == []
    assert list(RowList.of([]).families()) == []
