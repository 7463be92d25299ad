"""The run screen: accuracy, confusion, what was predicted and where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.session.wording import count_text, counted, shape_text, share_text

if TYPE_CHECKING:
    from ruda.nn import LayerTime
    from ruda.session.runner import BatchRun, Evaluation, Prediction

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class LayerLine:
    """One layer of the last batch."""

    path: str
    kind: str
    shape: str
    milliseconds: float
    share: float
    """Of the time of all layers, 0 to 1."""


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


def run_page(batch: BatchRun | None = None, evaluation: Evaluation | None = None) -> RunPage:
    """The screen after one batch, a whole dataset, or both."""
    layers = () if batch is None else layer_lines(batch.layers)
    warnings = [run.warning for run in (batch, evaluation) if run is not None and run.warning]
    return RunPage(
        headline=_headline(batch, evaluation),
        accuracy=None if evaluation is None else evaluation.accuracy,
        warning=warnings[0] if warnings else "",
        confusion=None if evaluation is None else _confusion(evaluation),
        layers=layers,
        timing=_timing(batch, layers),
        predictions=() if batch is None else batch.predictions,
    )


def layer_lines(layers: Sequence[LayerTime]) -> tuple[LayerLine, ...]:
    """Time per layer, in the order of the model."""
    total = sum(layer.seconds for layer in layers) or 1.0
    return tuple(
        LayerLine(
            path=layer.path,
            kind=layer.kind,
            shape=shape_text(layer.output_shape),
            milliseconds=1000 * layer.seconds,
            share=layer.seconds / total,
        )
        for layer in layers
    )


def accuracy_text(evaluation: Evaluation) -> str:
    """``98.5 % of 10 000 items are right``, or how many were run where nothing has a label."""
    total = len(evaluation.outputs)
    if evaluation.accuracy is None:
        return f"{counted(total, 'item')} run, without labels"
    share = share_text(evaluation.correct, total)
    return f"{share} of {counted(total, 'item')} are right"


def _headline(batch: BatchRun | None, evaluation: Evaluation | None) -> str:
    if evaluation is not None:
        return accuracy_text(evaluation)
    if batch is None:
        return "Nothing was run yet"
    known = [said.correct for said in batch.predictions if said.correct is not None]
    items = counted(len(batch.predictions), "item")
    if not known:
        return f"{items} run, without labels"
    return f"{count_text(sum(known))} of {items} on this page are right"


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
            worst.append(f"{names[true]} taken for {names[taken]}: {counted(times, 'time')}")
    return ConfusionView(counts, tuple(names), tuple(worst))


def _timing(batch: BatchRun | None, layers: Sequence[LayerLine]) -> str:
    if batch is None or not batch.predictions:
        return ""
    total = sum(line.milliseconds for line in layers)
    items = len(batch.predictions)
    return f"{total:.1f} ms for {counted(items, 'item')}, {total / items:.2f} ms each"
