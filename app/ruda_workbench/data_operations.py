"""What a person can intend with datasets: opening one, and looking at another of its batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ruda.progress import Monitor
from ruda.session import BatchChoice, JobFailure, OpenDataset, read_dataset, tr
from ruda_workbench import assets
from ruda_workbench.context import Context


def open_dataset(
    context: Context,
    path: Path,
    *,
    split: str | None = None,
    show: bool = True,
    remember: bool = True,
    ended: Callable[[], None] | None = None,
) -> None:
    """Open a folder or file as a dataset in a job; a refusal becomes a notice.

    ``ended`` is called whatever comes of it.
    """

    def work(monitor: Monitor) -> OpenDataset:
        return read_dataset(path, split=split, monitor=monitor)

    def over() -> None:
        if ended is not None:
            ended()

    def done(opened: OpenDataset) -> None:
        over()
        context.session.set_dataset(opened)
        context.folder = path.parent
        if remember:
            context.storage.remember(path, "dataset")
        if show:
            context.workspace_wanted.emit("data")

    def failed(failure: JobFailure) -> None:
        over()
        context.fail(tr("{name} was not opened", name=path.name), failure)

    title = tr("Opening {name}", name=path.name)
    context.jobs.start(title, work, owner=context, done=done, failed=failed, cancelled=over)


def sample_dataset() -> Path | None:
    """Folder of the sample's digits; None where it is absent."""
    found = assets.samples() / "digits"
    return found if found.is_dir() else None


def open_sample(context: Context, *, show: bool = True) -> None:
    """Open the sample's digits."""
    path = sample_dataset()
    if path is not None:
        open_dataset(context, path, show=show, remember=False)
    elif show:
        context.notify("warning", tr("The sample is not installed"), str(assets.samples()))


def has_sample(context: Context) -> bool:
    """True if the sample's digits are installed."""
    return sample_dataset() is not None


def has_dataset(context: Context) -> bool:
    """True if a dataset is open."""
    return context.session.dataset is not None


def close_dataset(context: Context) -> None:
    """Let the dataset go."""
    context.session.set_dataset(None)


def choose_split(context: Context, split: str) -> None:
    """Open another part of the dataset."""
    opened = context.session.dataset
    if opened is not None and split != opened.split:
        open_dataset(context, opened.path, split=split, show=False, remember=False)


def step_batch(context: Context, by: int) -> None:
    """Look at a batch further on or back; the ends stay where they are."""
    batch = context.session.batch
    context.session.choose_batch(replace(batch, number=max(0, batch.number + by)))


def go_to_batch(context: Context, number: int) -> None:
    """Look at a batch by its number from 0; -1 is the last one."""
    opened, batch = context.session.dataset, context.session.batch
    if number < 0 and opened is not None:
        number = batch.batches(len(opened.dataset)) - 1
    context.session.choose_batch(replace(batch, number=max(0, number)))


def resize_batches(context: Context, size: int) -> None:
    """Make batches of another size; the first item that is shown stays in sight."""
    batch = context.session.batch
    number = batch.number * batch.size // size
    context.session.choose_batch(BatchChoice(number, size, batch.shuffle))
    context.storage.change(batch_size=size)


def shuffle(context: Context, seed: int | None) -> None:
    """Take the items in the order of a seed, or in their own order for None, from the start."""
    context.session.choose_batch(BatchChoice(0, context.session.batch.size, seed))
