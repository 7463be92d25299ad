"""The run screen: accuracy, confusion, what was predicted and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.progress import SILENT, Monitor
from ruda.session.language import tr
from ruda.session.pages.batch import BatchPage, chosen_page
from ruda.session.wording import count_text, counted, shape_text, share_text

if TYPE_CHECKING:
    from ruda.data import Dataset
    from ruda.nn import LayerSize, LayerTime
    from ruda.session.runner import BatchRun, Evaluation, Prediction

Array = np.ndarray[Any, Any]

MOST_MISTAKES = 200
"""Wrong items that are shown."""


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One layer of the last batch."""

    path: str
    kind: str
    shape: str
    milliseconds: float
    share: float
    """Of the time of all layers, 0 to 1."""
    parameters: int = 0

    @property
    def time(self) -> str:
        """``1.24 ms``."""
        return tr("{milliseconds} ms", milliseconds=f"{self.milliseconds:.2f}")

    @property
    def share_text(self) -> str:
        """``23.1 %``."""
        return f"{100 * self.share:.1f} %"


@dataclass(frozen=True, slots=True)
class RunFigure:
    """The one figure of a run: its sentence, its facts, and the counts behind it."""

    headline: str
    summary: str
    right: int
    wrong: int
    unknown: int
    """Items without a label."""


@dataclass(frozen=True, slots=True)
class ConfusionView:
    """How often each true class (down) was taken for each class (across)."""

    counts: Array
    """i64 (true class, predicted class)."""
    names: tuple[str, ...]
    worst: tuple[str, ...]
    """The most frequent mistakes in words: ``4 taken for 9: 12 times``."""


@dataclass(frozen=True, slots=True)
class RunPage:
    """What the run screen shows."""

    headline: str
    """``98.5 % of 10 000 items are right``."""
    accuracy: float | None
    warning: str
    """Stands above everything else; empty for none."""
    confusion: ConfusionView | None
    layers: tuple[LayerLine, ...]
    timing: str
    predictions: tuple[Prediction, ...]
    batch: RunFigure | None = None
    """Of the batch; None while it was not run."""
    dataset: RunFigure | None = None
    """Of the whole dataset; None while it was not run."""


def run_page(batch: BatchRun | None = None, evaluation: Evaluation | None = None) -> RunPage:
    """The screen after one batch, a whole dataset, or both."""
    layers = () if batch is None else _layer_lines(batch.layers, batch.sizes)
    warnings = [run.warning for run in (batch, evaluation) if run is not None and run.warning]
    return RunPage(
        headline=_headline(batch, evaluation),
        accuracy=None if evaluation is None else evaluation.accuracy,
        warning=warnings[0] if warnings else "",
        confusion=None if evaluation is None else _confusion(evaluation),
        layers=layers,
        timing=_timing(batch, layers),
        predictions=() if batch is None else batch.predictions,
        batch=None if batch is None else _batch_figure(batch, layers),
        dataset=None if evaluation is None else _dataset_figure(evaluation),
    )


def mistakes_page(
    evaluation: Evaluation,
    dataset: Dataset[Any],
    *,
    limit: int = MOST_MISTAKES,
    monitor: Monitor = SILENT,
) -> BatchPage:
    """Tiles of the items that were taken for another class, the first ``limit`` of them."""
    wrong = np.zeros(0, dtype=np.int64)
    if evaluation.labels is not None:
        wrong = np.flatnonzero(evaluation.predicted != evaluation.labels)
    indices = tuple(wrong[:limit].tolist())
    said = {each.index: each for each in evaluation.said(indices)}
    more = (
        tr(", the first {limit} are shown", limit=count_text(limit)) if len(wrong) > limit else ""
    )
    title = f"{counted(len(wrong), 'wrong item')}{more}"
    return chosen_page(dataset, indices, title=title, predictions=said, monitor=monitor)


def _layer_lines(
    layers: Sequence[LayerTime], sizes: Sequence[LayerSize] = ()
) -> tuple[LayerLine, ...]:
    """Time per layer, in the order of the model, with the parameters that ``sizes`` names."""
    total = sum(layer.seconds for layer in layers) or 1.0
    held = {size.path: size.parameters for size in sizes}
    return tuple(
        LayerLine(
            path=layer.path,
            kind=layer.kind,
            shape=shape_text(layer.output_shape),
            milliseconds=1000 * layer.seconds,
            share=layer.seconds / total,
            parameters=held.get(layer.path, 0),
        )
        for layer in layers
    )


def accuracy_text(evaluation: Evaluation) -> str:
    """``98.5 % of 10 000 items are right``, or how many were run where nothing has a label."""
    total = len(evaluation.outputs)
    if evaluation.accuracy is None:
        return tr("{total} run, without labels", total=counted(total, "item"))
    share = share_text(evaluation.correct, total)
    return tr("{share} of {total} are right", share=share, total=counted(total, "item"))


def _headline(batch: BatchRun | None, evaluation: Evaluation | None) -> str:
    if evaluation is not None:
        return accuracy_text(evaluation)
    if batch is None:
        return tr("Nothing was run yet")
    known = [said.correct for said in batch.predictions if said.correct is not None]
    items = counted(len(batch.predictions), "item")
    if not known:
        return tr("{items} run, without labels", items=items)
    return tr(
        "{known} of {items} on this page are right", known=count_text(sum(known)), items=items
    )


def _batch_figure(batch: BatchRun, layers: Sequence[LayerLine]) -> RunFigure:
    known = [said.correct for said in batch.predictions if said.correct is not None]
    unknown = len(batch.predictions) - len(known)
    return _figure(tr("this batch"), sum(known), len(known), unknown, _timing(batch, layers))


def _dataset_figure(evaluation: Evaluation) -> RunFigure:
    total = len(evaluation.outputs)
    known = 0 if evaluation.labels is None else total
    return _figure(tr("the dataset"), evaluation.correct, known, total - known, "")


def _figure(what: str, right: int, known: int, unknown: int, more: str) -> RunFigure:
    if known:
        headline = tr("{right} of {what} is right", right=share_text(right, known), what=what)
        parts = [tr("{right} of {known}", right=count_text(right), known=counted(known, "item"))]
        if right < known:
            parts.append(tr("{count} wrong", count=count_text(known - right)))
    else:
        headline = tr("{unknown} of {what} run", unknown=counted(unknown, "item"), what=what)
        parts = [tr("no labels to compare with")] if unknown else [tr("no items")]
    if known and unknown:
        parts.append(tr("{unknown} without a label", unknown=count_text(unknown)))
    summary = " · ".join([*parts, more] if more else parts)
    return RunFigure(headline, summary, right, known - right, unknown)


def _confusion(evaluation: Evaluation) -> ConfusionView | None:
    counts = evaluation.confusion
    if counts is None:
        return None
    names = evaluation.class_names
    if len(names) != len(counts):
        names = tuple(str(number) for number in range(len(counts)))
    mistakes = counts.copy()
    np.fill_diagonal(mistakes, 0)
    order = np.argsort(-mistakes, axis=None, kind="stable")[:5]
    worst: list[str] = []
    for place in order.tolist():
        true, taken = divmod(place, len(counts))
        times = int(mistakes[true, taken])
        if times:
            worst.append(
                tr(
                    "{label} taken for {guess}: {times}",
                    label=names[true],
                    guess=names[taken],
                    times=counted(times, "time"),
                )
            )
    return ConfusionView(counts, tuple(names), tuple(worst))


def _timing(batch: BatchRun | None, layers: Sequence[LayerLine]) -> str:
    if batch is None or not batch.predictions:
        return ""
    total = sum(line.milliseconds for line in layers)
    items = len(batch.predictions)
    return tr(
        "{total} ms for {items}, {each} ms each",
        total=f"{total:.1f}",
        items=counted(items, "item"),
        each=f"{total / items:.2f}",
    )
