"""``ruda diff``: what a file would do to a model."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import click

from ruda.cli.options import (
    RecipeWords,
    hint_words,
    recipe_of,
    recipe_options,
    report_options,
    report_paths,
)
from ruda.cli.program import FINDINGS, FINE
from ruda.cli.terminal import monitor, say, say_json, table

if TYPE_CHECKING:
    from ruda.session import DiffLine
    from ruda.store import DiffReport


@click.command("diff")
@click.argument("source")
@click.argument("target")
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@recipe_options
@click.option("--all", "show_all", is_flag=True, help="Show every tensor on a row of its own.")
@report_options
def command(
    source: str,
    target: str,
    settings: tuple[str, ...],
    show_all: bool,
    as_json: bool,
    html: str | None,
    csv: str | None,
    markdown: str | None,
    **words: Unpack[RecipeWords],
) -> int:
    """Show what SOURCE would do to TARGET, tensor by tensor, without loading anything.

    TARGET is an architecture (see `ruda models`) with its settings, a description of a model
    (arch.toml; `ruda models NAME --save-target FILE` makes one), or another weights file.
    Exit code 0 when the load would be complete, 1 when it would not.
    """
    from ruda.session import parse_target, resolve_target
    from ruda.store import diff, open_store, write_diff

    recipe = recipe_of(words)
    exports = report_paths(html, csv, markdown)
    choice = parse_target(target, settings)
    with (
        monitor("Comparing") as watch,
        open_store(source, top_level_key=words["top_level_key"], monitor=watch) as index,
        closing(resolve_target(choice, monitor=watch)) as found,
    ):
        report = diff(index, found.expectation, recipe=recipe, monitor=watch)
    named = replace(report, target_name=choice.title)
    for path in exports:
        write_diff(named, path)
    if as_json:
        data = {**report.as_data(), "target": choice.title}
        say_json(data)
    else:
        _show(report, choice.title, show_all=show_all)
    return FINE if report.is_complete else FINDINGS


def _show(report: DiffReport, target: str, *, show_all: bool) -> None:
    from ruda.session import diff_headline, diff_lines, diff_summary, is_problem, status_look

    say(f"{report.source_name} onto {target}")
    say(f"{diff_headline(report)} · {diff_summary(report)}")
    counts = (f"{status_look(s).word} {count}" for s, count in report.counts.items())
    say("   ".join(counts))
    if report.merge_sentence is not None:
        say(report.merge_sentence)
    say()
    problems = [row for row in report.rows if is_problem(row.status)]
    rest = [row for row in report.rows if not is_problem(row.status)]
    ordered = sorted(problems, key=lambda row: _ORDER.index(row.status.value))
    lines = diff_lines(report, [*ordered, *rest], folded=not show_all)
    table([_cells(line) for line in lines])
    if not show_all and any(line.is_family for line in lines):
        say("rows whose keys differ in numbers only are one; --all shows every tensor")
    for note in report.notes:
        say(f"note: {note}")
    if report.banner is not None:
        say()
        say(f"{report.banner[0].upper()}{report.banner[1:]}.")
    for hint in report.hints:
        how = " by name" if hint.rule is not None else ""
        say(f"  try {hint_words(hint)}  ({hint.matches} tensors would match{how})")
    if report.hints:
        say("  `ruda suggest`, on the same file and target, looks for all the steps at once")


_ORDER = ("error", "missing", "unused")


def _cells(line: DiffLine) -> list[str]:
    from ruda.session import status_look
    from ruda.store import fold

    look = status_look(line.status)
    many = f"  ×{line.count}" if line.count > 1 else ""
    what = line.what
    if line.nearest:
        near = line.nearest[0].key
        what += f"; did you mean {(fold(near) if line.count > 1 else near)!r}?"
    return [
        f"{look.glyph} {look.word}",
        f"{line.source}{many}" if line.source else "",
        line.arrow,
        f"{line.target}{many}" if line.target else "",
        line.shape,
        line.dtype,
        what,
    ]
