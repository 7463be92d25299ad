"""``ruda compare``: two files beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from ruda.cli.options import (
    RecipeWords,
    recipe_of,
    recipe_options,
    report_options,
    report_paths,
    second_recipe_options,
    second_words,
)
from ruda.cli.program import FINDINGS, FINE
from ruda.cli.terminal import monitor, say, say_json, table

if TYPE_CHECKING:
    from ruda.session import CompareLine
    from ruda.store import CompareReport, CompareRow
    from ruda.tensor import Deviation, Tolerance


@click.command("compare")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option("--values", is_flag=True, help="Compare every value, too; else headers only.")
@click.option("--atol", type=float, help="Values may differ by less than this.")
@click.option("--rtol", type=float, help="Values may differ by less than this share of themselves.")
@click.option("--ulp", type=int, default=0, help="Values may be this many floats apart.")
@click.option("--any-dtype", is_flag=True, help="Another element type alone is no difference.")
@click.option(
    "--only",
    multiple=True,
    metavar="RE",
    help="Compare only keys that match, after the renaming; may be repeated.",
)
@recipe_options
@second_recipe_options
@click.option(
    "--all",
    "show_all",
    is_flag=True,
    help="Show every tensor on a row of its own, those that are the same, too.",
)
@report_options
def command(
    left: str,
    right: str,
    values: bool,
    atol: float | None,
    rtol: float | None,
    ulp: int,
    any_dtype: bool,
    only: tuple[str, ...],
    show_all: bool,
    as_json: bool,
    html: str | None,
    csv: str | None,
    markdown: str | None,
    **words: Any,
) -> int:
    """Show where the weight files A and B differ, tensor by tensor.

    Keys, dtypes and shapes come from the headers; --values reads the tensors in pieces. Either
    file may be compared through a recipe: the options of A are those of the other commands, those
    of B end in -b. Tensors that differ alike and whose keys differ in numbers only are one row;
    --json has every tensor. Exit code 0 when they are the same, 1 when they differ.
    """
    from ruda.store import PathFilter, compare, open_store, write_comparison

    first, second = cast("RecipeWords", words), second_words(words)
    recipes = recipe_of(first), recipe_of(second)
    exports = report_paths(html, csv, markdown)
    tolerance = _tolerance(atol, rtol)
    if not values and (tolerance is not None or ulp):
        raise click.UsageError("--atol, --rtol and --ulp are for values; add --values")
    with (
        monitor("Comparing") as watch,
        open_store(left, top_level_key=first["top_level_key"], monitor=watch) as a,
        open_store(right, top_level_key=second["top_level_key"], monitor=watch) as b,
    ):
        report = compare(
            a,
            b,
            values=values,
            tolerance=tolerance,
            ulp=ulp,
            any_dtype=any_dtype,
            only=PathFilter(only) if only else None,
            recipe_left=recipes[0],
            recipe_right=recipes[1],
            monitor=watch,
        )
    for path in exports:
        write_comparison(report, path)
    if as_json:
        say_json({**report.as_data(), "left": left, "right": right})
    else:
        _show(report, left, right, show_all)
    return FINE if report.is_same else FINDINGS


def _tolerance(atol: float | None, rtol: float | None) -> Tolerance | None:
    from ruda.tensor import Tolerance

    if atol is None and rtol is None:
        return None
    return Tolerance.rel_abs(rtol or 0.0, atol or 0.0)


def _show(report: CompareReport, left: str, right: str, show_all: bool) -> None:
    from ruda.session import CompareTable, compare_page
    from ruda.store import Likeness

    say(f"{left} and {right}")
    say(report.summary)
    shown = frozenset(Likeness) if show_all else frozenset(Likeness) - {Likeness.SAME}
    lines = compare_page(CompareTable(report), statuses=shown, folded=not show_all).lines
    if lines:
        say()
        members = ([report.rows[at] for at in lines.members_of(i)] for i in range(len(lines)))
        table([_cells(line, rows) for line, rows in zip(lines, members, strict=True)])
    for line in lines:
        for place in _places(line.rows[0]):
            say(place)
    if lines.has_families:
        say(
            "rows whose keys differ in numbers only are one, with the places of the first; "
            "--all shows every tensor"
        )
    for note in report.notes:
        say(f"note: {note}")
    one_sided = {Likeness.LEFT, Likeness.RIGHT}
    if {row.likeness for row in report.rows} == one_sided:
        say("no key is in both files; `ruda suggest A B` looks for steps that make A's fit B's")


def _cells(line: CompareLine, rows: list[CompareRow]) -> list[str]:
    many = f"  ×{line.count}" if line.count > 1 else ""
    found, reason, where = line.deviation, line.reason, ""
    if line.is_family:
        each = reason and all(row.reason == reason for row in rows)
        reason = f"{reason}, each" if each else reason
        where = f" ({max(rows, key=_largest).key})"
    figures = "" if found is None or not found.changed else _figures(found, where)
    name = f"{line.key}{many}"
    return [line.status.value, name, line.shape, line.dtype, reason, figures]


def _largest(row: CompareRow) -> float:
    return -1.0 if row.deviation is None else row.deviation.max_absolute


def _figures(found: Deviation, where: str) -> str:
    """Figures of all values behind a row; ``where`` says in which of its tensors the largest is."""
    cosine = "–" if found.cosine is None else f"{found.cosine:.6f}"
    figures = (
        f"max {found.max_absolute:.3g}{where}, mean {found.mean_absolute:.3g}, "
        f"rms {found.rms:.3g}, cosine {cosine}"
    )
    if found.max_ulp is not None:
        figures += f", ulp {found.max_ulp}"
    return figures + (f", NaN {found.nans[0]} / {found.nans[1]}" if any(found.nans) else "")


def _places(row: CompareRow) -> list[str]:
    from ruda.store import Likeness, position_of

    if row.deviation is None or row.left is None or row.likeness is Likeness.SAME:
        return []
    shape = row.left.shape
    return [
        f"  {row.key}{position_of(spot.offset, shape)}: {spot.left} and {spot.right}"
        for spot in row.deviation.first
    ]
