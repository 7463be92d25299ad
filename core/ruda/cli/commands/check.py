"""``ruda check``: what looks wrong in weight files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ruda.cli.program import FINDINGS, FINE, REFUSED
from ruda.cli.terminal import complain, monitor, say, say_json

if TYPE_CHECKING:
    from ruda.store import CheckReport


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--values", is_flag=True, help="Read every value, too: NaN, Inf, constant, …")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    help="How the findings are printed.",
)
def command(files: tuple[str, ...], values: bool, form: str) -> int:
    """Check weight files for damage and for what is probably not meant so.

    Exit code 0 when nothing is worse than a note, 1 with warnings or errors, 2 when a file is
    refused: truncated, a Git LFS pointer, an HTML page. The other files are checked all the same.
    """
    from ruda.errors import RudaError
    from ruda.store import CheckReport, Finding, Severity, check, open_store

    reports: list[CheckReport] = []
    refused = 0
    for file in files:
        try:
            with monitor(f"Checking {file}") as watch, open_store(file, monitor=watch) as index:
                found = check(index, values=values, monitor=watch)
            reports.append(CheckReport(file, found.findings, found.tensors, values))
            if form == "text":
                _show(reports[-1])
        except RudaError as error:
            complain(f"ruda: {error}")
            refused += 1
            reports.append(
                CheckReport(file, (Finding("refused", Severity.ERROR, str(error)),), 0, values)
            )
    _print_all(reports, form)
    if refused:
        return REFUSED
    return FINE if all(report.is_healthy for report in reports) else FINDINGS


def _print_all(reports: list[CheckReport], form: str) -> None:
    if form == "json":
        objects = [report.as_data() for report in reports]
        say_json(objects[0] if len(objects) == 1 else objects)
    elif form == "sarif":
        from ruda import __version__
        from ruda.store import to_sarif

        say_json(to_sarif(reports, version=__version__))


def _show(report: CheckReport) -> None:
    say(f"{report.path}: {report.summary}")
    for finding in report.findings:
        say(f"  {finding}")
