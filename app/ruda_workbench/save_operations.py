"""Saving a converted document, and the command line that does the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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
    open_part,
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
    """Open a file that was saved, and lay it beside the one that it came from, value by value.

    A source that was closed meanwhile is opened again, with the recipe that was carried out.
    """
    through = SideView.FILE if document.recipe.is_identity else SideView.UNCAST
    options = CompareOptions(any_dtype=True, left=CompareSide(through))

    def opened(source: Document) -> None:
        def done(saved: Document) -> None:
            if source.id in _open_ids(context):
                context.compare_wanted.emit(source.id, saved.id, options)

        operations.open_document(context, path, show="compare", done=done)

    if document.id in _open_ids(context):
        opened(document)
    else:
        operations.open_document(
            context,
            document.path,
            recipe=document.recipe,
            target=document.target,
            top_level_key=document.top_level_key,
            show="compare",
            done=opened,
        )


def save(
    context: Context,
    document: Document,
    view: TensorIndex,
    options: SaveOptions,
    *,
    done: Callable[[SavedPage], None] | None = None,
) -> None:
    """Write the converted view in the write lane; the result and every refusal become notices.

    The document may be edited or closed meanwhile: what is saved is what it was, and its file stays
    open for the save. Closing a tab asks nothing therefore, since nothing is lost by it; quitting
    asks, for that ends the save.
    """
    left: list[Stamp] = []
    source = _Source(context, document, options.path)

    def work(monitor: Monitor) -> SaveResult | MetadataEdit:
        made = _carry_out(document, view, options, monitor, source.release)
        left.extend(stamps_of((made.path, *getattr(made, "parts", ()))))
        return made

    def finished(result: SaveResult | MetadataEdit) -> None:
        context.writes.end(left)
        source.end(but=document.id)
        page = saved_page(result) if isinstance(result, SaveResult) else edited_page(result)
        if document.id in _open_ids(context):
            context.session.mark_saved(document.id, document)
        again = is_same_file(options.path, document.path)
        place = None if again else result.path
        _tell_saved(context, document, options, page, late=job.stop_asked, place=place)
        if done is not None:
            done(page)
        if document.id in _open_ids(context):
            if again:
                _open_again(context, document)
            elif source.is_released:
                operations.reopen_document(context, document.id)

    def failed(failure: JobFailure) -> None:
        context.writes.end()
        source.end()
        context.fail(tr("{name} was not saved", name=options.path.name), failure)

    def cancelled() -> None:
        context.writes.end()
        source.end()
        text = tr("The file that was there before, if any, is untouched.")
        context.notify("info", tr("Saving {name} was stopped", name=options.path.name), text)

    context.writes.begin()
    job = context.jobs.start(
        tr("Saving {name}", name=options.path.name),
        work,
        owner=context,
        done=finished,
        failed=failed,
        cancelled=cancelled,
        write=True,
    )


def _tell_saved(
    context: Context,
    document: Document,
    options: SaveOptions,
    page: SavedPage,
    *,
    late: bool,
    place: Path | None,
) -> None:
    """What a save did, and what can be done now; ``late`` after a stop that it did not hear.

    ``place`` is what can be laid beside the source: not where the source itself was saved over.
    """
    text = page.cast_text if page.casts.numel else ""
    kind = "warning" if page.casts.overflow or page.remarks else "done"
    if page.worst or page.remarks:
        text = "; ".join(filter(None, [text, *page.worst[:3], *page.remarks[:3]]))
    if late:
        told = tr("The stop came too late, the file is written whole.")
        text = " ".join(filter(None, [told, text]))
    buttons = [
        (tr("Open it"), lambda: operations.open_document(context, options.path)),
        (tr("Show in folder"), lambda: show_folder(options.path)),
        (tr("Copy command"), lambda: copy_save_command(context, document, options)),
    ]
    if place is not None:
        compare = (tr("Diff with source"), partial(diff_with_source, context, document, place))
        buttons[1:1] = [compare]
    context.notify(kind, page.title, text, *buttons)


class _Source:
    """The files that a save reads, kept open for it; those that it replaces, let go for it."""

    def __init__(self, context: Context, document: Document, path: Path) -> None:
        self._context = context
        self._let_go = context.session.hold(document)
        self._at_place = context.session.files_at(path)
        self.is_released = False

    def release(self) -> None:
        """Close what the window has open of the file to be replaced: Windows asks for it.

        Called in the thread of the save, when nothing has to be read any more.
        """
        self.is_released = True
        for index in self._at_place:
            index.close()
        self._context.derived.forget()  # the file may be a target, too

    def end(self, *, but: int | None = None) -> None:
        """The save is over: open anew what was closed for it, unless it is the document ``but``."""
        self._let_go()
        if not self.is_released:
            return
        for document in self._context.session.documents:
            is_closed = any(document.index is index for index in self._at_place)
            if is_closed and document.id != but:
                operations.reopen_document(self._context, document.id)


def _carry_out(
    document: Document,
    view: TensorIndex,
    options: SaveOptions,
    monitor: Monitor,
    release: Callable[[], None],
) -> SaveResult | MetadataEdit:
    if document.target is None:  # as the command does it, so that both write the same bytes
        found = document.index, document.recipe, options
        edit = edit_only(*found, monitor=monitor, release=release)
        if edit is not None:
            return edit
    plan = plan_saving(view, options)
    return write(plan, verify=options.verify, monitor=monitor, release=release)


def _open_again(context: Context, saved: Document) -> None:
    """Show a file that was saved over as it is now: its recipe has been carried out.

    What was edited meanwhile stays as edits of it, which is said: they were made on another file.
    """

    def work(monitor: Monitor) -> operations.Part:
        return open_part(saved.path, monitor=monitor)

    def done(found: operations.Part) -> None:
        index, parts = found
        if saved.id not in _open_ids(context):
            index.close()
            return
        now = context.session.saved_over(saved, index, parts)
        if now.recipe.is_identity:
            return
        text = tr("What was edited meanwhile stands as the recipe of the saved file, not saved.")
        context.notify("info", tr("{name} was edited while it was saved", name=now.name), text)

    def failed(failure: JobFailure) -> None:
        context.fail(tr("{name} was not opened", name=saved.name), failure)

    title = tr("Opening {name}", name=saved.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed)


def show_folder(path: Path) -> None:
    """Open the folder of a file in the desktop's file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path.parent)))


def _open_ids(context: Context) -> set[int]:
    return {document.id for document in context.session.documents}
