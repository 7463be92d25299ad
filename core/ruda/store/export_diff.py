"""A load diff as CSV, Markdown, JSON, or one HTML page that needs nothing else.

Keys come from files of strangers: every cell is escaped for its form, and no cell of a CSV begins
like a formula. Characters that steer a terminal or turn the direction of writing show as codes.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ruda.errors import SettingError
from ruda.store._sibling import replace_file
from ruda.store.diff_report import DiffReport
from ruda.store.diff_rows import DiffRow, Status
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

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the start of a formula, in full width as well."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")


def diff_to_csv(report: DiffReport) -> str:
    """One line per row under a line of names; a cell that begins like a formula gets a ``'``."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerow(COLUMNS)
    writer.writerows([harmless_cell(cell) for cell in cells_of(row)] for row in report.rows)
    return out.getvalue()


def harmless_cell(cell: str) -> str:
    """The cell of a CSV, with a ``'`` before what a spreadsheet would take for a formula."""
    return f"'{cell}" if cell.lstrip(" ").startswith(_FORMULA) else cell


def diff_to_markdown(report: DiffReport) -> str:
    """Title, coverage, counts and one table; keys cannot leave their cell."""
    counts = [(SHAPES[s], s.value, count) for s, count in report.counts.items()]
    rows = ((SHAPES[row.status], cells_of(row)) for row in report.rows)
    told = (_coverage(report), *filter(None, (report.banner,)))
    return markdown_page(_title(report), told, counts, report.notes, COLUMNS, rows)


def markdown_page(
    title: str,
    told: Iterable[str],
    counts: Iterable[tuple[str, str, int]],
    notes: Iterable[str],
    columns: Sequence[str],
    rows: Iterable[tuple[str, Sequence[str]]],
) -> str:
    """A report as Markdown, out of plain text: title, the first of what is told, counts, the rest.

    A count is (shape, word, number), a row (shape, cells) with its word first.
    """
    first, *rest = map(escaped_markdown, told)
    lines = [f"# {escaped_markdown(title)}", "", first, ""]
    lines += [f"- {shape} {word}: {count}" for shape, word, count in counts]
    lines += [line for text in rest for line in ("", f"**{text}**")]
    lines += [f"\n> {escaped_markdown(note)}" for note in notes]
    lines += ["", "| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for shape, cells in rows:
        shown = " | ".join(map(escaped_markdown, cells))
        lines.append(f"| {shape} {shown} |")
    return "\n".join(lines) + "\n"


def escaped_markdown(text: str) -> str:
    """The text as Markdown that means just these characters."""
    plain = html.escape(plain_text(text), quote=False)
    return _MARKDOWN.sub(r"\\\1", plain).replace("://", ":&#47;&#47;").replace("www.", "www&#46;")


def diff_to_json(report: DiffReport) -> str:
    """The report as indented JSON, as ``as_data`` has it."""
    return json.dumps(report.as_data(), indent=2, allow_nan=False) + "\n"


def diff_to_html(report: DiffReport) -> str:
    """One page without scripts or resources, light or dark as the reader's system is."""
    counts = [(s.value, SHAPES[s], s.value, count) for s, count in report.counts.items()]
    lead = f"<p>{escaped_html(_coverage(report))}</p>"
    if report.banner:
        lead += f'\n<p class="banner">{escaped_html(report.banner)}</p>'
    notes = "".join(f"<p>note: {escaped_html(note)}</p>" for note in report.notes)
    rows = [(row.status.value, SHAPES[row.status], cells_of(row)) for row in report.rows]
    return html_page(_title(report), lead, counts, notes, COLUMNS, rows)


def html_page(
    title: str,
    lead: str,
    counts: Iterable[tuple[str, str, str, int]],
    notes: str,
    columns: Iterable[str],
    rows: Iterable[tuple[str, str, Sequence[str]]],
) -> str:
    """A report as one HTML page; ``lead`` and ``notes`` are HTML, all else is plain text.

    A count is (class, shape, word, number), a row (class, shape, cells) with its word first.
    """
    items = "".join(
        f'<li class="{kind}"><span aria-hidden="true">{shape}</span> {word} {count}</li>'
        for kind, shape, word, count in counts
    )
    head = "".join(f'<th scope="col">{escaped_html(name)}</th>' for name in columns)
    body = "\n".join(_html_row(*row) for row in rows)
    name = escaped_html(title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{name}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{name}</h1>\n{lead}\n<ul>{items}</ul>\n"
        f'{notes}\n<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table></div>\n</main>\n</body>\n</html>\n"
    )


def _html_row(kind: str, shape: str, cells: Sequence[str]) -> str:
    status, *others = cells
    first = f'<span aria-hidden="true">{shape}</span> {escaped_html(status)}'
    rest = "".join(f"<td>{escaped_html(cell)}</td>" for cell in others)
    return f'<tr class="{kind}"><th scope="row">{first}</th>{rest}</tr>'


def escaped_html(text: str) -> str:
    """The text as HTML that means just these characters."""
    return html.escape(plain_text(text))


def plain_text(text: str) -> str:
    """The text with control characters, line ends and turns of direction written as codes."""
    return text if text.isprintable() else "".join(map(_plain_character, text))


def _plain_character(char: str) -> str:
    category = unicodedata.category(char)
    hidden = category[0] == "C" or category in ("Zl", "Zp")
    return char.encode("unicode_escape").decode("ascii") if hidden else char


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
        ".csv": diff_to_csv,
        ".md": diff_to_markdown,
        ".markdown": diff_to_markdown,
        ".json": diff_to_json,
        ".html": diff_to_html,
        ".htm": diff_to_html,
    }
)


def require_report_name(path: Path, *suffixes: str) -> None:
    """Raise SettingError unless the name ends as a report of this form does.

    It keeps a slip of the pen from replacing a file of weights.
    """
    wanted = suffixes or tuple(_FORMS)
    if path.suffix.lower() not in wanted:
        raise SettingError(f"{path}: a report of this form ends in {' or '.join(wanted)}")


def write_diff(report: DiffReport, path: Path | str) -> None:
    """Write a report in the form of its suffix (.csv, .md, .json, .html), whole or not at all.

    Raises SettingError for another suffix, SaveError where it cannot be written; an old file is
    untouched then.
    """
    path = Path(path)
    require_report_name(path)
    text = _FORMS[path.suffix.lower()](report)
    replace_file(path, text.encode("utf-8", "backslashreplace"))


_STYLE = """
:root { color-scheme: light dark; --text: #1b1b1f; --back: #ffffff; --line: #d0d0d8;
  --head: #f2f2f6; --applied: #1a6b34; --skipped: #5a5a66; --missing: #8a5a00;
  --unused: #5b3f9e; --error: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e6ea; --back: #17171a; --line: #3a3a42;
  --head: #222227; --applied: #7fd69a; --skipped: #b0b0bc; --missing: #f0c060;
  --unused: #c5b0ff; --error: #ff9b92; } }
body { margin: 1.5rem; font: 14px/1.45 system-ui, sans-serif; color: var(--text);
  background: var(--back); }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
ul { display: flex; flex-wrap: wrap; gap: 1rem; padding: 0; list-style: none; }
.banner { font-weight: 600; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
td { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
thead th { position: sticky; top: 0; background: var(--head); }
tbody th { white-space: nowrap; font-weight: 600; }
.applied > th, li.applied { color: var(--applied); }
.skipped > th, li.skipped { color: var(--skipped); }
.missing > th, li.missing { color: var(--missing); }
.unused > th, li.unused { color: var(--unused); }
.error > th, li.error { color: var(--error); }
"""
