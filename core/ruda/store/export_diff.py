"""A load diff as CSV, Markdown, JSON, or one HTML page that needs nothing else."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from ruda.store.diff_report import DiffReport
from ruda.store.diff_rows import DiffRow, Status
from ruda.store.report_pages import (
    escaped_html,
    harmless_cell,
    html_page,
    markdown_page,
    write_report,
)
from ruda.store.shares import share_text

SHAPES = MappingProxyType(
    {
        Status.APPLIED: "●",
        Status.SKIPPED: "◐",
        Status.MISSING: "▲",
        Status.UNUSED: "■",
        Status.ERROR: "✖",
    }
)
"""The shape of every status, to be told apart without colour."""

COLUMNS = (
    "status",
    "source key",
    "target key",
    "source shape",
    "target shape",
    "source dtype",
    "target dtype",
    "bytes",
    "steps",
    "reason",
    "did you mean",
)


def diff_to_csv(report: DiffReport) -> str:
    """One line per row under a line of names; a cell that begins like a formula gets a ``'``."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    writer.writerows([harmless_cell(cell) for cell in cells_of(row)] for row in report.rows)
    return out.getvalue()


def diff_to_markdown(report: DiffReport) -> str:
    """Title, coverage, counts and one table; keys cannot leave their cell."""
    counts = [(SHAPES[s], s.value, count) for s, count in report.counts.items()]
    rows = ((SHAPES[row.status], cells_of(row)) for row in report.rows)
    told = (_coverage(report), *filter(None, (report.banner,)))
    return markdown_page(_title(report), told, counts, report.notes, COLUMNS, rows)


def diff_to_json(report: DiffReport) -> str:
    """The report as indented JSON, as ``as_data`` has it."""
    return json.dumps(report.as_data(), indent=2, allow_nan=False) + "\n"


def diff_to_html(report: DiffReport) -> str:
    """One page without scripts or resources, light or dark as the reader's system is."""
    counts = [(s.value, SHAPES[s], s.value, count) for s, count in report.counts.items()]
    lead = f"<p>{escaped_html(_coverage(report))}</p>"
    if report.banner:
        lead += f'\n<p class="banner">{escaped_html(report.banner)}</p>'
    rows = [(row.status.value, SHAPES[row.status], cells_of(row)) for row in report.rows]
    return html_page(_title(report), lead, counts, report.notes, COLUMNS, rows)


def cells_of(row: DiffRow) -> tuple[str, ...]:
    """The texts of a row in the order of COLUMNS."""
    return (
        row.status.value,
        row.source_key or "",
        row.target_key or "",
        _shape(row.source_shape),
        _shape(row.target_shape),
        "" if row.source is None else row.source.dtype_label,
        "" if row.target_dtype is None else str(row.target_dtype),
        str(row.nbytes),
        "; ".join(row.trail),
        row.reason,
        row.nearest[0].key if row.nearest else "",
    )


def _shape(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else str(list(shape))


def _title(report: DiffReport) -> str:
    return f"{report.source_name} onto {report.target_name}"


def _coverage(report: DiffReport) -> str:
    found = report.coverage
    share = share_text(found.params, found.params_total)
    return f"{share} of elements would load, {found.tensors} of {found.tensors_total} tensors"


_FORMS: Mapping[str, Callable[[DiffReport], str]] = MappingProxyType(
    {
        "csv": diff_to_csv,
        "markdown": diff_to_markdown,
        "json": diff_to_json,
        "html": diff_to_html,
    }
)


def write_diff(report: DiffReport, path: Path | str) -> None:
    """Write a report in the form of its suffix (.csv, .md, .json, .html), whole or not at all.

    Raises SettingError for another suffix, SaveError where it cannot be written; an old file is
    untouched then.
    """
    write_report(report, path, _FORMS)
