"""Recipes as files: taken from one, written to one; and the recipe that takes one back."""

from __future__ import annotations

import os
from pathlib import Path

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import Document, JobFailure, tr
from ruda.store import Recipe, read_recipe, write_recipe
from ruda_workbench.context import Context


def import_recipe(context: Context, document: Document, path: Path) -> None:
    """Take the recipe of a file in the place of the document's, as one edit; read in a job."""

    def work(monitor: Monitor) -> Recipe:
        monitor.check()
        return read_recipe(path)

    def done(recipe: Recipe) -> None:
        context.folder = path.parent
        if _is_open(context, document):
            context.session.edit(document.id, tr("The recipe {name}", name=path.name), recipe)

    def failed(failure: JobFailure) -> None:
        context.fail(tr("{name} was not taken", name=path.name), failure)

    title = tr("Opening {name}", name=path.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed)


def export_recipe(context: Context, document: Document, path: Path) -> None:
    """Write the document's recipe to a file, in the write lane; it is saved then.

    A file that is there already is replaced only where its whole name was asked for.
    """
    named = path if path.suffix else path.with_suffix(".toml")

    def work(monitor: Monitor) -> bool:
        monitor.check()
        if named != path and os.path.exists(named):
            return False
        write_recipe(document.recipe, named)
        return True

    def done(is_written: bool) -> None:
        if not is_written:
            text = tr("There is a file {name}. Name it with its ending to replace it.", name=named)
            context.notify("warning", tr("{name} was not written", name=named.name), text)
            return
        context.folder = named.parent
        if _is_open(context, document):
            context.session.mark_saved(document.id, document)
        context.notify("done", tr("Saved {name}", name=named.name), str(named))

    def failed(failure: JobFailure) -> None:
        context.fail(tr("{name} was not written", name=named.name), failure)

    title = tr("Saving {name}", name=named.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed, write=True)


def _is_open(context: Context, document: Document) -> bool:
    """True unless it was closed meanwhile."""
    return document.id in {each.id for each in context.session.documents}


def reverse_recipe(context: Context, document: Document) -> None:
    """Put the recipe in its place that takes it back, where one recipe can."""
    title = tr("The recipe was not reversed")
    try:
        back = document.recipe.reverse()
    except RudaError as error:
        context.notify("warning", title, str(error))
        return
    if len(back) > 1:
        text = tr(
            "It takes {count} recipes in a row: reverse its parts one by one.", count=len(back)
        )
        context.notify("warning", title, text)
    elif not back:
        context.notify("info", title, tr("It has no step."))
    else:
        context.session.edit(document.id, tr("Reverse"), back[0])
