"""A report as a text that a person keeps: cells of CSV, a Markdown page, an HTML page.

Keys come from files of strangers: every cell is escaped for its form, and no cell of a CSV begins
like a formula. Characters that steer a terminal or turn the direction of writing show as codes.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from ruda.errors import SettingError
from ruda.store._sibling import replace_file

R = TypeVar("R")
SUFFIXES = MappingProxyType(
    {
        ".csv": "csv",
        ".md": "markdown",
        ".markdown": "markdown",
        ".json": "json",
        ".html": "html",
        ".htm": "html",
    }
)
"""The form of a report by the suffix of its file."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the start of a formula, in full width as well."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~$-])")


def require_report_name(path: Path, *suffixes: str) -> None:
    """Raise SettingError unless the name ends as a report of this form does.

    It keeps a slip of the pen from replacing a file of weights.
    """
    wanted = suffixes or tuple(SUFFIXES)
    if path.suffix.lower() not in wanted:
        raise SettingError(f"{path}: a report of this form ends in {' or '.join(wanted)}")


def write_report(report: R, path: Path | str, forms: Mapping[str, Callable[[R], str]]) -> None:
    """Write a report in the form of its suffix, whole or not at all; ``forms`` are by name.

    Raises SettingError for another suffix, SaveError where it cannot be written; an old file is
    untouched then.
    """
    path = Path(path)
    require_report_name(path)
    text = forms[SUFFIXES[path.suffix.lower()]](report)
    replace_file(path, text.encode("utf-8", "backslashreplace"))


def harmless_cell(cell: str) -> str:
    """The cell of a CSV, with a ``'`` before what a spreadsheet would take for a formula."""
    return f"'{cell}" if cell.lstrip(" ").startswith(_FORMULA) else cell


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


def html_page(
    title: str,
    lead: str,
    counts: Iterable[tuple[str, str, str, int]],
    notes: Iterable[str],
    columns: Iterable[str],
    rows: Iterable[tuple[str, str, Sequence[str]]],
) -> str:
    """A report as one HTML page; ``lead`` is HTML, all else is plain text.

    A count is (class, shape, word, number), a row (class, shape, cells) with its word first.
    """
    items = "".join(
        f'<li class="{kind}"><span aria-hidden="true">{shape}</span> {word} {count}</li>'
        for kind, shape, word, count in counts
    )
    told = "".join(f"<p>note: {escaped_html(note)}</p>" for note in notes)
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
        f'{told}\n<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n'
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
