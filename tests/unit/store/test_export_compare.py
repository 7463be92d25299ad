"""A comparison as CSV, Markdown, JSON and HTML: whole, and harmless for what reads it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from ruda.errors import SettingError
from ruda.store import (
    CompareReport,
    TensorIndex,
    TensorSnapshot,
    compare,
    compare_to_csv,
    compare_to_html,
    compare_to_json,
    compare_to_markdown,
    write_comparison,
)

EVIL = "=cmd|'/c calc'!A1<script>|x"


@pytest.fixture
def report() -> CompareReport:
    def index(tensors: dict[str, list[float]]) -> TensorIndex:
        made = [TensorSnapshot.from_array(k, np.array(v, np.float32)) for k, v in tensors.items()]
        return TensorIndex.of(made, format="safetensors")

    left = index({"a": [1, 2], "b": [0, 0], EVIL: [1]})
    right = index({"a": [1, 2.5], "b": [0, 0], "new": [1]})
    return compare(left, right, values=True)


def test_csv_has_every_row_and_figure(report: CompareReport) -> None:
    rows = list(csv.DictReader(io.StringIO(compare_to_csv(report))))
    assert [(r["status"], r["key"]) for r in rows] == [
        ("changed", "a"),
        ("same", "b"),
        ("only left", f"'{EVIL}"),
        ("only right", "new"),
    ]
    assert (rows[0]["max difference"], rows[0]["changed values"], rows[0]["values"]) == (
        "0.5",
        "1",
        "2",
    )
    assert (rows[2]["right shape"], rows[2]["cosine"]) == ("", "")


def test_markdown_and_html_cannot_be_left_by_a_key(report: CompareReport) -> None:
    markdown, html = compare_to_markdown(report), compare_to_html(report)
    assert "<script>" not in markdown + html
    assert markdown.count("\n| ") == 2 + 4
    assert "- ▲ changed: 1" in markdown
    assert 'class="missing"><th scope="row"><span aria-hidden="true">▲</span> changed' in html


def test_json_is_the_report(report: CompareReport) -> None:
    assert json.loads(compare_to_json(report)) == report.as_data()


@pytest.mark.parametrize("suffix", [".csv", ".md", ".json", ".html"])
def test_the_suffix_says_the_form(report: CompareReport, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"report{suffix}"
    write_comparison(report, path)
    assert "only right" in path.read_text("utf-8")


def test_weights_are_not_replaced_by_a_report(report: CompareReport, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"a report of this form ends in \.csv"):
        write_comparison(report, tmp_path / "model.safetensors")
