"""What a person can intend: each function starts the work and says what success and failure do.

Nothing here knows a widget. Recipe edits are in ``recipe_operations``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ruda.errors import RudaError, UnsafeContentError
from ruda.progress import Monitor, track
from ruda.session import (
    Document,
    DocumentState,
    JobFailure,
    SessionState,
    TargetChoice,
    comparison_of_state,
    listed,
    open_part,
    recipe_of_state,
    refused_file_page,
    refused_page,
    target_of_state,
    tr,
)
from ruda.store import Recipe, TensorIndex, open_store
from ruda_workbench import assets, data_operations
from ruda_workbench.context import Context

Part = tuple[TensorIndex, tuple[str, ...]]
"""An opened file, or a part of it, and the parts that the file has."""
Found = list[tuple[DocumentState, Part | RudaError]]
"""Documents of a session with their files, or why a file was refused."""


def open_document(
    context: Context,
    path: Path,
    *,
    recipe: Recipe | None = None,
    target: TargetChoice | None = None,
    top_level_key: str | None = None,
    dirty: bool = False,
    remember: bool = True,
    show: str = "weights",
    done: Callable[[Document], None] | None = None,
) -> None:
    """Open a file of weights in a job and bring it to the front; a refusal becomes a notice.

    A ``dirty`` recipe or target was not saved before. ``show`` names the workspace that comes to
    the front with it; ``done`` is given the document. What was away comes back with its recipe.
    """
    absent = context.storage.absent_at(path) if recipe is None and target is None else None
    if absent is not None:
        _bring_back(context, absent, show=show, done=done)
        return
    document_id = context.session.reserve()
    harmful: list[str] = []
    sizes: list[int] = []

    def work(monitor: Monitor) -> Part:
        try:
            made = open_part(path, top_level_key, monitor=monitor)
        except UnsafeContentError as error:
            harmful.extend(error.names)
            raise
        sizes.append(made[0].nbytes if made[0].unsafe else 0)
        return made

    def opened(found: Part) -> None:
        index, parts = found
        document = context.session.open(
            path,
            index,
            document_id=document_id,
            recipe=recipe,
            target=target,
            top_level_key=top_level_key,
            parts=parts,
            dirty=dirty,
        )
        if index.unsafe:
            _tell_unknown(context, document, *sizes)
        context.folder = path.parent
        if remember:
            context.storage.remember(path)
        if done is not None:
            done(document)
        context.workspace_wanted.emit(show)

    failed = partial(_tell_refused, context, path.name, harmful)
    title = tr("Opening {name}", name=path.name)
    context.jobs.start(title, work, owner=context, done=opened, failed=failed)


def _tell_refused(context: Context, name: str, harmful: list[str], failure: JobFailure) -> None:
    """Say why a file was not opened, and offer the names that act, where it asks for some."""
    title = tr("{name} was not opened", name=name)
    if not harmful:
        context.fail(title, failure)
        return
    show = partial(context.refused_wanted.emit, refused_file_page(name, harmful))
    context.notify("error", title, failure.summary, (tr("Show"), show))


def _tell_unknown(context: Context, document: Document, nbytes: int) -> None:
    """Name the classes that a file asks for, none of which is loaded."""
    context.notify(
        "warning",
        tr("{name} asks for code, none of it was run", name=document.path.name),
        tr(
            "Refused: {unsafe}. The tensors are read all the same.",
            unsafe=listed(document.index.unsafe),
        ),
        (tr("Show"), partial(context.refused_wanted.emit, refused_page(document, nbytes))),
    )


def _bring_back(
    context: Context,
    absent: DocumentState,
    *,
    show: str = "weights",
    done: Callable[[Document], None] | None = None,
) -> None:
    recipe, note = recipe_of_state(absent)
    if note:
        context.notify("warning", tr("A recipe was not restored"), note)

    def opened(document: Document) -> None:
        context.storage.let_go(absent)
        if done is not None:
            done(document)

    open_document(
        context,
        Path(absent.path),
        recipe=recipe,
        target=target_of_state(absent),
        top_level_key=absent.top_level_key,
        dirty=absent.dirty,
        show=show,
        done=opened,
    )


def look_again(context: Context) -> None:
    """Open what was away when the last session was opened, as far as it is there now."""
    for absent in context.storage.absent:
        _bring_back(context, absent)


def close_document(context: Context, document_id: int) -> None:
    """Close a document and its file; a recipe that was not saved can be brought back.

    Nothing is asked: a save of it that runs keeps the file open and ends well, since whoever
    started it wants the new file, not the tab.
    """
    document = context.session.document(document_id)
    dirty = context.session.history(document_id).is_dirty
    context.session.close(document_id)
    if dirty:
        # Not the document: the notice would keep all that is known of its file.
        back = partial(
            open_document,
            context,
            document.path,
            recipe=document.recipe,
            target=document.target,
            top_level_key=document.top_level_key,
            dirty=True,
        )
        text = tr("Its recipe or target was not saved.")
        context.notify(
            "info", tr("{name} was closed", name=document.name), text, (tr("Bring it back"), back)
        )


def close_active(context: Context) -> None:
    """Close the document in front."""
    document = context.session.active
    if document is not None:
        close_document(context, document.id)


def step_document(context: Context, by: int) -> None:
    """Bring the next or previous document to the front."""
    documents = context.session.documents
    active = context.session.active
    if active is None or len(documents) < 2:
        return
    ids = [document.id for document in documents]
    context.session.activate(ids[(ids.index(active.id) + by) % len(ids)])
    context.workspace_wanted.emit("weights")


def choose_target(context: Context, document: Document, target: TargetChoice | None) -> None:
    """Lay a document onto another target."""
    if document.target != target:
        context.session.retarget(document.id, target)


def take_part(context: Context, document: Document, key: str | None) -> None:
    """Take only the tensors under a key of the checkpoint's root, or the whole file again."""
    if document.top_level_key == key:
        return

    def work(monitor: Monitor) -> TensorIndex:
        return open_store(document.path, top_level_key=key, monitor=monitor)

    def done(index: TensorIndex) -> None:
        if any(each.id == document.id for each in context.session.documents):
            context.session.take_part(document.id, index, key)
        else:
            index.close()

    def failed(failure: JobFailure) -> None:
        context.fail(tr("{name} was not opened", name=key or document.name), failure)

    title = tr("Opening {name}", name=document.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed)


def reopen_document(context: Context, document_id: int) -> None:
    """Open a document's file anew, in its place and under its recipe, onto its target."""
    if all(each.id != document_id for each in context.session.documents):
        return  # it was closed since this was offered
    document = context.session.document(document_id)

    def work(monitor: Monitor) -> Part:
        return open_part(document.path, document.top_level_key, monitor=monitor)

    def done(found: Part) -> None:
        index, parts = found
        if any(each.id == document_id for each in context.session.documents):
            context.session.reopen(document_id, index, parts)
        else:
            index.close()

    def failed(failure: JobFailure) -> None:
        context.fail(tr("{name} was not opened", name=document.name), failure)

    title = tr("Opening {name}", name=document.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed)


def can_undo(context: Context) -> bool:
    """True if the document in front has an edit to take back."""
    document = context.session.active
    return document is not None and context.session.history(document.id).undo_title is not None


def can_redo(context: Context) -> bool:
    """True if the document in front has an edit to bring back."""
    document = context.session.active
    return document is not None and context.session.history(document.id).redo_title is not None


def undo(context: Context) -> None:
    """Take back the last edit of the document in front."""
    document = context.session.active
    if document is not None:
        context.session.undo(document.id)


def redo(context: Context) -> None:
    """Bring back the edit that was undone last."""
    document = context.session.active
    if document is not None:
        context.session.redo(document.id)


def has_document(context: Context) -> bool:
    """True if a document is in front."""
    return context.session.active is not None


def has_sample(context: Context) -> bool:
    """True if the embedded sample is installed."""
    return assets.sample_weights() is not None


def open_sample(context: Context) -> None:
    """Open the embedded digits model onto its architecture, and the digits beside it."""
    path = assets.sample_weights()
    if path is None:
        context.notify("warning", tr("The sample is not installed"), str(assets.samples()))
        return
    open_document(context, path, target=TargetChoice.of("digits"), remember=False)
    data_operations.open_sample(context, show=False)


def restore(context: Context, state: SessionState, *, crashed: bool) -> None:
    """Open again what a state names, in its order; what is gone or refused is said.

    Until it is open, it is pending: whoever quits or crashes meanwhile finds it the next time.
    """
    storage = context.storage
    storage.pending = state
    present = [kept for kept in state.documents if Path(kept.path).exists()]
    away = [kept for kept in state.documents if kept not in present]
    gone: list[str] = []
    if state.dataset is not None:
        folder, split = Path(state.dataset), state.dataset_split
        if folder.exists():
            ended = partial(storage.opened_again, dataset=True)
            data_operations.open_dataset(
                context, folder, split=split, show=False, remember=False, ended=ended
            )
        else:
            storage.opened_again(dataset=True)
            gone.append(folder.name)
    if away or gone:
        _tell_away(context, away, gone)
    if present:
        _reopen(context, present, state, away)
    else:
        storage.opened_again(documents=True, absent=away)
    if crashed and state.documents:
        context.notify(
            "info",
            tr("The last session ended without a close"),
            tr("Its documents and recipes are back as they were."),
        )


def _tell_away(context: Context, away: Sequence[DocumentState], gone: Sequence[str]) -> None:
    """Say what is not there: ``away`` is carried along, for its disk may only not be there yet."""
    text = ", ".join([*(Path(kept.path).name for kept in away), *gone])
    buttons: list[tuple[str, Callable[[], None]]] = []
    if away:
        kept = tr("Files come back with their recipes when they are there again.")
        text = f"{text}. {kept}"
        buttons.append((tr("Look again"), partial(look_again, context)))
        buttons.append((tr("Forget them"), partial(context.storage.let_go, *away)))
    context.notify("warning", tr("Not found any more"), text, *buttons)


def _tell_refusal(context: Context, kept: DocumentState, error: RudaError) -> None:
    forget = (tr("Forget it"), partial(context.storage.let_go, kept))
    title = tr("{name} was not opened", name=Path(kept.path).name)
    context.notify("error", title, str(error), forget)


def _tell_stopped(context: Context, kept: Sequence[DocumentState]) -> None:
    names = ", ".join(Path(each.path).name for each in kept)
    again = (tr("Look again"), partial(look_again, context))
    context.notify("info", tr("The last session was not opened"), names, again)


def _reopen(
    context: Context,
    kept: Sequence[DocumentState],
    state: SessionState,
    away: Sequence[DocumentState],
) -> None:
    def work(monitor: Monitor) -> Found:
        found: Found = []
        for each in track(kept, monitor, "files", len(kept)):
            try:
                key = each.top_level_key
                found.append((each, open_part(Path(each.path), key, monitor=monitor)))
            except RudaError as error:
                found.append((each, error))
        return found

    def ended(refused: Sequence[DocumentState] = kept) -> None:
        # What could not be opened is not lost by that either: the next start tries it again.
        context.storage.opened_again(documents=True, absent=[*refused, *away])

    def done(found: Found) -> None:
        ended([each for each, part in found if isinstance(part, RudaError)])
        wanted = None if state.active is None else state.documents[state.active]
        front: int | None = None
        ids: dict[int, int] = {}
        for each, part in found:
            if isinstance(part, RudaError):
                _tell_refusal(context, each, part)
                continue
            index, parts = part
            recipe, note = recipe_of_state(each)
            if note:
                context.notify("warning", tr("A recipe was not restored"), note)
            opened = context.session.open(
                Path(each.path),
                index,
                recipe=recipe,
                target=target_of_state(each),
                top_level_key=each.top_level_key,
                parts=parts,
                dirty=each.dirty,
            )
            front = opened.id if each is wanted else front
            ids[next(at for at, one in enumerate(state.documents) if one is each)] = opened.id
        if state.comparison is not None:
            context.session.compare(comparison_of_state(state.comparison, ids))
        if front is not None:
            context.session.activate(front)

    def failed(failure: JobFailure) -> None:
        ended()
        context.fail(tr("The last session was not opened"), failure)

    def cancelled() -> None:
        ended()
        _tell_stopped(context, kept)

    title = tr("Opening the last session")
    context.jobs.start(title, work, owner=context, done=done, failed=failed, cancelled=cancelled)
