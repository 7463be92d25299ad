"""A comparison of two files as CSV, Markdown, JSON, or one HTML page that needs nothing else."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from ruda.store.compare_report import CompareReport, CompareRow, Likeness
from ruda.store.report_pages import (
    escaped_html,
    harmless_cell,
    html_page,
    markdown_page,
    write_report,
)

SHAPES = MappingProxyType(
    {Likeness.SAME: "●", Likeness.CHANGED: "▲", Likeness.LEFT: "◐", Likeness.RIGHT: "■"}
)
"""The shape of every status, to be told apart without colour."""
_CLASSES = MappingProxyType(
    {
        Likeness.SAME: "applied",
        Likeness.CHANGED: "missing",
        Likeness.LEFT: "skipped",
        Likeness.RIGHT: "unused",
    }
)

COLUMNS = (
    "status",
    "key",
    "left shape",
    "right shape",
    "left dtype",
    "right dtype",
    "max difference",
    "mean difference",
    "rms difference",
    "cosine",
    "changed values",
    "values",
    "reason",
)


def compare_to_csv(report: CompareReport) -> str:
    """One line per row under a line of names; a cell that begins like a formula gets a ``'``."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    for row in report.rows:
        words, figures = _words(row), _figures(row)
        cells = [*map(harmless_cell, words), *figures, harmless_cell(row.reason)]
        writer.writerow(cells)
    return out.getvalue()


def compare_to_markdown(report: CompareReport) -> str:
    """Title, how it was compared, counts and one table; keys cannot leave their cell."""
    counts = [(SHAPES[s], s.value, count) for s, count in report.counts.items()]
    rows = ((SHAPES[row.likeness], _cells(row)) for row in report.rows)
    return markdown_page(_title(report), (_how(report),), counts, report.notes, COLUMNS, rows)


def compare_to_json(report: CompareReport) -> str:
    """The report as indented JSON, as ``as_data`` has it."""
    return json.dumps(report.as_data(), indent=2, allow_nan=False) + "\n"


def compare_to_html(report: CompareReport) -> str:
    """One page without scripts or resources, light or dark as the reader's system is."""
    counts = [(_CLASSES[s], SHAPES[s], s.value, count) for s, count in report.counts.items()]
    rows = [(_CLASSES[r.likeness], SHAPES[r.likeness], _cells(r)) for r in report.rows]
    lead = f"<p>{escaped_html(_how(report))}</p>"
    return html_page(_title(report), lead, counts, report.notes, COLUMNS, rows)


_FORMS: Mapping[str, Callable[[CompareReport], str]] = MappingProxyType(
    {
        "csv": compare_to_csv,
        "markdown": compare_to_markdown,
        "json": compare_to_json,
        "html": compare_to_html,
    }
)


def write_comparison(report: CompareReport, path: Path | str) -> None:
    """Write a report in the form of its suffix (.csv, .md, .json, .html), whole or not at all.

    Raises SettingError for another suffix, SaveError where it cannot be written; an old file is
    untouched then.
    """
    write_report(report, path, _FORMS)


def _title(report: CompareReport) -> str:
    return f"{report.left_name} and {report.right_name}"


def _how(report: CompareReport) -> str:
    return "values compared" if report.values else "structure only: values were not compared"


def _cells(row: CompareRow) -> tuple[str, ...]:
    return (*_words(row), *_figures(row), row.reason)


def _words(row: CompareRow) -> tuple[str, ...]:
    sides = (row.left, row.right)
    shapes = ("" if side is None else str(list(side.shape)) for side in sides)
    dtypes = ("" if side is None else side.dtype_label for side in sides)
    return (row.likeness.value, row.key, *shapes, *dtypes)


def _figures(row: CompareRow) -> tuple[str, ...]:
    found = row.deviation
    if found is None:
        return ("",) * 6
    cosine = "" if found.cosine is None else repr(found.cosine)
    distances = (repr(x) for x in (found.max_absolute, found.mean_absolute, found.rms))
    return (*distances, cosine, str(found.changed), str(found.numel))
