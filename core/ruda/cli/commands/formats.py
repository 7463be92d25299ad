"""``ruda formats``: what is read and written."""

from __future__ import annotations

import click

from ruda.cli.program import FINE
from ruda.cli.terminal import table


@click.command("formats")
def command() -> int:
    """List the formats of weight files and the kinds of dataset, with what can be done."""
    from ruda.data import available_sources
    from ruda.session import can_write
    from ruda.store import available_formats

    rows = [["format", "", "suffixes", ""]]
    for each in available_formats():
        verbs = "read, write" if can_write(each.name) else "read"
        rows.append([each.name, each.title, " ".join(each.suffixes), verbs])
    for source in available_sources():
        rows.append([source.name, source.title, "", "dataset"])
    table(rows, indent=0)
    return FINE
