"""Recipes as files: taken from one, written to one; and the recipe that takes one back."""

from __future__ import annotations

from pathlib import Path

from ruda.errors import RudaError
from ruda.session import Document, tr
from ruda.store import read_recipe, write_recipe
from ruda_workbench.context import Context


def import_recipe(context: Context, document: Document, path: Path) -> None:
    """Take the recipe of a file in the place of the document's, as one edit."""
    try:
        recipe = read_recipe(path)
    except (RudaError, OSError) as error:
        context.notify("error", tr("{name} was not taken", name=path.name), str(error))
        return
    context.folder = path.parent
    context.session.edit(document.id, tr("The recipe {name}", name=path.name), recipe)


def export_recipe(context: Context, document: Document, path: Path) -> None:
    """Write the document's recipe to a file; it is saved then."""
    if not path.suffix:
        path = path.with_suffix(".toml")
    try:
        write_recipe(document.recipe, path)
    except (RudaError, OSError) as error:
        context.notify("error", tr("{name} was not written", name=path.name), str(error))
        return
    context.folder = path.parent
    context.session.mark_saved(document.id)
    context.notify("done", tr("Saved {name}", name=path.name), str(path))


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
