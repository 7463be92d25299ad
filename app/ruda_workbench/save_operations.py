"""Saving a converted document, and the command line that does the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from ruda.errors import RudaError
from ruda.progress import Monitor
from ruda.session import (
    CompareOptions,
    CompareSide,
    Document,
    JobFailure,
    SavedPage,
    SaveOptions,
    SavePlanPage,
    SideView,
    command_text,
    convert_command,
    diff_command,
    edit_only,
    edited_page,
    inspect_command,
    plan_saving,
    save_plan_page,
    saved_page,
    tr,
)
from ruda.store import MetadataEdit, SaveResult, Stamp, TensorIndex, is_same_file, write
from ruda_workbench import assets, operations
from ruda_workbench.context import Context
from ruda_workbench.own_writes import stamps_of

AT_ONCE = 20_000
"""Tensors up to which a plan is made without being asked for, and without a job."""


def copy_command(context: Context, document: Document) -> None:
    """Put the command that does what the window shows on the clipboard."""
    try:
        if document.target is not None:
            words = diff_command(document)
        elif document.recipe.is_identity:
            words = inspect_command(document.path, top_level_key=document.top_level_key)
        else:
            out = proposed_path(document)
            words = convert_command(document, SaveOptions(out))
    except RudaError as error:
        context.notify("warning", tr("The command was not copied"), str(error))
        return
    text = command_text(words)
    QGuiApplication.clipboard().setText(text)
    context.notify("done", tr("Command copied"), text)


def proposed_path(document: Document) -> Path:
    """Where a converted file goes unless one says otherwise; never the source itself."""
    stem = document.path.stem
    suffix = document.path.suffix
    kept = suffix if suffix in (".safetensors", ".bpk") else ".safetensors"
    cast = document.recipe.cast
    mark = "converted" if cast is None else cast.to.label
    folder = document.path.parent
    if folder.is_relative_to(assets.resources()):
        folder = Path.home()
    return folder / f"{stem}-{mark}{kept}"


def plan_page(document: Document, view: TensorIndex, options: SaveOptions) -> SavePlanPage:
    """What a save would do. Raises SaveError where no format can be told."""
    dropped = frozenset(options.drop_metadata)
    return save_plan_page(plan_saving(view, options), document.index, dropped=dropped)


def copy_save_command(context: Context, document: Document, options: SaveOptions) -> None:
    """Put the command that writes the same bytes on the clipboard."""
    try:
        text = command_text(convert_command(document, options))
    except RudaError as error:
        context.notify("warning", tr("The command was not copied"), str(error))
        return
    QGuiApplication.clipboard().setText(text)
    context.notify("done", tr("Command copied"), text)


def diff_with_source(context: Context, document: Document, path: Path) -> None:
    """Open a file that was saved, and lay it beside the one that it came from, value by value."""
    through = SideView.FILE if document.recipe.is_identity else SideView.UNCAST
    options = CompareOptions(any_dtype=True, left=CompareSide(through))

    def done(saved: Document) -> None:
        if document.id in _open_ids(context):
            context.compare_wanted.emit(document.id, saved.id, options)

    operations.open_document(context, path, show="compare", done=done)


def save(
    context: Context,
    document: Document,
    view: TensorIndex,
    options: SaveOptions,
    *,
    done: Callable[[SavedPage], None] | None = None,
) -> None:
    """Write the converted view in the write lane; the result and every refusal become notices."""
    left: list[Stamp] = []

    def work(monitor: Monitor) -> SaveResult | MetadataEdit:
        made = _carry_out(document, view, options, monitor)
        left.extend(stamps_of((made.path, *getattr(made, "parts", ()))))
        return made

    def finished(result: SaveResult | MetadataEdit) -> None:
        context.writes.end(left)
        page = saved_page(result) if isinstance(result, SaveResult) else edited_page(result)
        place = result.path
        if context.session.active is not None and document.id in _open_ids(context):
            context.session.mark_saved(document.id)
        text = page.cast_text if page.casts.numel else ""
        kind = "warning" if page.casts.overflow or page.remarks else "done"
        if page.worst or page.remarks:
            text = "; ".join(filter(None, [text, *page.worst[:3], *page.remarks[:3]]))
        again = is_same_file(options.path, document.path)
        buttons = [
            (tr("Open it"), lambda: operations.open_document(context, options.path)),
            (tr("Show in folder"), lambda: show_folder(options.path)),
            (tr("Copy command"), lambda: copy_save_command(context, document, options)),
        ]
        if not again:
            compare = (tr("Diff with source"), lambda: diff_with_source(context, document, place))
            buttons[1:1] = [compare]
        context.notify(kind, page.title, text, *buttons)
        if done is not None:
            done(page)
        if again and document.id in _open_ids(context):
            _open_again(context, document)

    def failed(failure: JobFailure) -> None:
        context.writes.end()
        context.fail(tr("{name} was not saved", name=options.path.name), failure)

    def cancelled() -> None:
        context.writes.end()
        text = tr("The file that was there before, if any, is untouched.")
        context.notify("info", tr("Saving {name} was stopped", name=options.path.name), text)

    context.writes.begin()
    context.jobs.start(
        tr("Saving {name}", name=options.path.name),
        work,
        owner=context,
        done=finished,
        failed=failed,
        cancelled=cancelled,
        write=True,
    )


def _carry_out(
    document: Document, view: TensorIndex, options: SaveOptions, monitor: Monitor
) -> SaveResult | MetadataEdit:
    plain = document.target is None
    edit = edit_only(document.index, document.recipe, options) if plain else None
    if edit is not None:  # as the command does it, so that both write the same bytes
        return edit
    return write(plan_saving(view, options), verify=options.verify, monitor=monitor)


def _open_again(context: Context, document: Document) -> None:
    """Show a file that was saved over as it is now: its recipe has been carried out."""
    context.session.close(document.id)
    operations.open_document(context, document.path, target=document.target)


def show_folder(path: Path) -> None:
    """Open the folder of a file in the desktop's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))


def _open_ids(context: Context) -> set[int]:
    return {document.id for document in context.session.documents}
