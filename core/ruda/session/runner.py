"""Running a model: weights into an architecture, one batch or a whole dataset through it.

A parameter that the file did not fill keeps its initial value; a load with such parameters is
refused unless it is asked for, and then every result says so. A model stands in this process
(``LoadedModel``, what a command runs) or in another one (``RemoteModel``, what the window runs).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ruda.errors import DatasetError, LoadError, ModelError, SettingError, ShapeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.session.datasets import BatchChoice
from ruda.session.items import label_text, read_items, split_item
from ruda.session.sentences import say
from ruda.session.wording import counted, keeping_text, listed, shape_text
from ruda.store import Status

if TYPE_CHECKING:
    from ruda.data import Dataset
    from ruda.models import Architecture
    from ruda.nn import LayerSize, LayerTime, Module
    from ruda.session.document import TargetChoice
    from ruda.store import ApplyResult, Recipe, TensorIndex

Array = np.ndarray[Any, Any]


class Runnable(Protocol):
    """A model with weights in it, wherever it stands."""

    @property
    def architecture(self) -> Architecture:
        """What it is, and what it takes."""

    @property
    def warning(self) -> str:
        """Said above every output; empty when every parameter was filled with numbers."""

    @property
    def sizes(self) -> tuple[LayerSize, ...]:
        """Parameters of every layer."""

    def outputs(self, images: Array, monitor: Monitor = SILENT) -> Array:
        """f32 (item, class) for stacked pictures of items, (item, height, width[, channel]).

        Raises ShapeError and DTypeError for pictures that the model does not take.
        """

    def timed(
        self, images: Array, monitor: Monitor = SILENT
    ) -> tuple[Array, tuple[LayerTime, ...]]:
        """The same, and the time of every layer. Raises as ``outputs``."""


def initial_values_text(left: Sequence[str]) -> str:
    """The warning about parameters that keep their initial value; empty for none."""
    if not left:
        return ""
    return f"{counted(len(left), 'parameter')} {keeping_text(len(left))}: {listed(left)}"


def caution_text(left: Sequence[str], remarks: Sequence[str]) -> str:
    """What is said above outputs: parameters without values, and what computing them found."""
    return "; ".join(filter(None, (initial_values_text(left), *map(say, remarks))))


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model with the weights of a file in it, and what of the file went where."""

    architecture: Architecture
    model: Module
    result: ApplyResult

    @property
    def left(self) -> tuple[str, ...]:
        """Parameters that keep their initial value."""
        rows = self.result.report.of(Status.MISSING, Status.SKIPPED, Status.ERROR)
        return tuple(row.key for row in rows if row.target is not None)

    @property
    def warning(self) -> str:
        """Said above every output; empty when every parameter was filled with numbers."""
        return caution_text(self.left, self.result.remarks)

    @property
    def sizes(self) -> tuple[LayerSize, ...]:
        """Parameters of every layer."""
        from ruda.nn import layer_sizes

        return layer_sizes(self.model)

    def outputs(self, images: Array, monitor: Monitor = SILENT) -> Array:
        """f32 (item, class) for stacked pictures of items, as ``Runnable`` says."""
        monitor.check()
        inputs = self.architecture.input.prepare(images)
        return _outputs(self.model(inputs).numpy(), len(images))

    def timed(
        self, images: Array, monitor: Monitor = SILENT
    ) -> tuple[Array, tuple[LayerTime, ...]]:
        """The same, and the time of every layer.

        It is run twice, and every layer's time is the shorter one, so that what is made at a
        model's first call counts for no layer.
        """
        from ruda.nn import profile

        inputs = self.architecture.input.prepare(images)
        _, first = profile(self.model, inputs)
        monitor.check()
        output, second = profile(self.model, inputs)
        layers = [min(pair, key=attrgetter("seconds")) for pair in zip(first, second, strict=True)]
        return _outputs(output.numpy(), len(images)), tuple(layers)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a model said of one item."""

    index: int
    label: int
    text: str
    """Name of the class and its probability: ``7 · 99.8 %``."""
    probability: float
    correct: bool | None
    """None for an item without a label."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchRun:
    """One batch through a model."""

    outputs: Array
    """f32 (item, class), as the model gives them: logits or log-probabilities."""
    predictions: tuple[Prediction, ...]
    layers: tuple[LayerTime, ...]
    warning: str
    sizes: tuple[LayerSize, ...] = ()
    """Parameters of every layer."""
    class_names: tuple[str, ...] = ()
    kind: str = "logits"
    """What the outputs are: ``logits`` or ``log_probs``."""

    def shares(self, index: int) -> tuple[float, ...]:
        """Probability of every class for the item with this index; empty if it was not run."""
        for row, said in enumerate(self.predictions):
            if said.index == index:
                return _row_shares(self.outputs[row], self.kind)
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A dataset through a model."""

    outputs: Array
    """f32 (item, class)."""
    labels: Array | None
    """i64 (item,); None where the dataset has none."""
    class_names: tuple[str, ...]
    warning: str
    kind: str = "logits"
    """What the outputs are: ``logits`` or ``log_probs``."""

    def shares(self, index: int) -> tuple[float, ...]:
        """Probability of every class for an item; empty if it was not run."""
        if not 0 <= index < len(self.outputs):
            return ()
        return _row_shares(self.outputs[index], self.kind)

    def said(self, indices: Sequence[int]) -> tuple[Prediction, ...]:
        """What the model said of these items."""
        rows = np.array(indices, dtype=np.int64)
        labels = [None] * len(rows) if self.labels is None else self.labels[rows].tolist()
        return _predictions(self.outputs[rows], labels, indices, self.class_names, self.kind)

    @property
    def predicted(self) -> Array:
        """i64 (item,): the class of the largest output."""
        found: Array = self.outputs.argmax(axis=1).astype(np.int64)
        return found

    @property
    def correct(self) -> int:
        """Items whose class was found; 0 without labels."""
        return 0 if self.labels is None else int((self.predicted == self.labels).sum())

    @property
    def accuracy(self) -> float | None:
        """Share of the items whose class was found; None without labels or items."""
        if self.labels is None or not len(self.labels):
            return None
        return self.correct / len(self.labels)

    @property
    def confusion(self) -> Array | None:
        """i64 (true class, predicted class); None without labels."""
        if self.labels is None:
            return None
        classes = self.outputs.shape[1]
        cells = self.labels * classes + self.predicted
        counts = np.bincount(cells, minlength=classes * classes)
        return counts.reshape(classes, classes)


def load_model(
    choice: TargetChoice,
    index: TensorIndex,
    recipe: Recipe,
    *,
    allow_partial: bool = False,
    monitor: Monitor = SILENT,
) -> LoadedModel:
    """Build the architecture of a choice and apply a file's weights to it.

    Raises LoadError when something cannot be applied, or when a parameter would keep its initial
    value and ``allow_partial`` is False; SettingError for a choice that is a file.
    """
    from ruda.models import get
    from ruda.store import apply

    if choice.is_file:
        raise SettingError(f"{choice.name}: a weights file cannot be run; name an architecture")
    architecture = get(choice.name)
    model = architecture.build(**dict(choice.settings))
    result = apply(index, model, recipe=recipe, allow_partial=allow_partial, monitor=monitor)
    loaded = LoadedModel(architecture, model, result)
    left = initial_values_text(loaded.left)
    if left and not allow_partial:
        raise LoadError(
            f"{left}; a run with them would mean little", result=result, path=index.path
        )
    return loaded


def stacked(architecture: Architecture, images: Sequence[Any]) -> Array:
    """Pictures of items as one array, (item, height, width[, channel]); a copy.

    Raises ShapeError for pictures of several sizes, ModelError for items without a picture.
    """
    for image in images:
        if not isinstance(image, np.ndarray):
            found = "nothing" if image is None else type(image).__name__
            raise ModelError(f"{architecture.name} takes pictures, an item holds {found}")
    shapes = {image.shape for image in images}
    if len(shapes) > 1:
        sizes = listed(sorted(shape_text(shape) for shape in shapes))
        raise ShapeError(f"the pictures of one batch have different shapes: {sizes}")
    return np.stack(images)


def run_batch(
    loaded: Runnable,
    items: Sequence[Any],
    indices: Sequence[int],
    *,
    class_names: Sequence[str] | None = None,
    monitor: Monitor = SILENT,
) -> BatchRun:
    """Run items through a model, timing every layer. ``indices`` are theirs in the dataset.

    Raises ShapeError, DTypeError and ModelError for inputs that do not fit.
    """
    monitor.check()
    pairs = [split_item(item) for item in items]
    images = stacked(loaded.architecture, [image for image, _ in pairs])
    outputs, layers = loaded.timed(images, monitor)
    names = class_names or loaded.architecture.input.classes
    labels = [label for _, label in pairs]
    return BatchRun(
        outputs=outputs,
        predictions=_predictions(outputs, labels, indices, names, loaded.architecture.output),
        layers=layers,
        warning=loaded.warning,
        sizes=loaded.sizes,
        class_names=tuple(names),
        kind=loaded.architecture.output,
    )


def run_choice(
    loaded: Runnable,
    dataset: Dataset[Any],
    choice: BatchChoice,
    *,
    monitor: Monitor = SILENT,
) -> BatchRun:
    """Run one batch of a dataset; items that cannot be read are left out.

    Raises DatasetError where no item of it can be read, and as ``run_batch``.
    """
    indices = choice.indices(dataset)
    items, problems = read_items(dataset, indices, monitor)
    if not items:
        reason = next(iter(problems.values()), "it has no items")
        raise DatasetError(f"no item of this batch can be read: {reason}")
    found = [index for index in indices if index in items]
    return run_batch(
        loaded,
        [items[index] for index in found],
        found,
        class_names=dataset.class_names,
        monitor=monitor,
    )


def evaluate(
    loaded: Runnable,
    dataset: Dataset[Any],
    *,
    batch_size: int = 256,
    limit: int | None = None,
    monitor: Monitor = SILENT,
) -> Evaluation:
    """Run a dataset (its first ``limit`` items) through a model, with a stop point per batch.

    Raises ItemError for an item that cannot be read, ShapeError and ModelError as ``run_batch``,
    SettingError for a batch size below 1 or a negative limit.
    """
    if batch_size < 1 or (limit is not None and limit < 0):
        raise SettingError("batch size must be at least 1 and limit not negative")
    total = len(dataset) if limit is None else min(limit, len(dataset))
    outputs: list[Array] = []
    labels: list[Any] = []
    for start in range(0, total, batch_size):
        monitor.check()
        items = dataset.get_many(range(start, min(total, start + batch_size)))
        pairs = [split_item(item) for item in items]
        images = stacked(loaded.architecture, [image for image, _ in pairs])
        outputs.append(loaded.outputs(images, monitor))
        labels.extend(label for _, label in pairs)
        monitor.report(Progress(start + len(items), total, "items"))
    classes = loaded.architecture.input.classes
    names = dataset.class_names or classes
    width = len(classes)
    return Evaluation(
        outputs=np.concatenate(outputs) if outputs else np.zeros((0, width), np.float32),
        labels=_labels(labels, width),
        class_names=tuple(names),
        warning=loaded.warning,
        kind=loaded.architecture.output,
    )


def probabilities(outputs: Array, kind: str) -> Array:
    """f64 (item, class) from logits or log-probabilities, row by row."""
    wide = outputs.astype(np.float64)
    if kind != "log_probs":
        wide = wide - wide.max(axis=1, keepdims=True)
    grown = np.exp(wide)
    shares: Array = grown / grown.sum(axis=1, keepdims=True)
    return shares


def _row_shares(outputs: Array, kind: str) -> tuple[float, ...]:
    return tuple(probabilities(outputs[None], kind)[0].tolist())


def _predictions(
    outputs: Array, labels: Sequence[Any], indices: Sequence[int], names: Sequence[str], kind: str
) -> tuple[Prediction, ...]:
    shares = probabilities(outputs, kind)
    found: list[Prediction] = []
    for row, (index, label) in enumerate(zip(indices, labels, strict=True)):
        best = int(outputs[row].argmax())
        share = float(shares[row, best])
        found.append(
            Prediction(
                index=index,
                label=best,
                text=f"{label_text(best, names)} · {100 * share:.1f} %",
                probability=share,
                correct=None if label is None else best == label,
            )
        )
    return tuple(found)


def _outputs(array: Array, items: int) -> Array:
    if array.ndim != 2 or array.shape[0] != items:
        raise ModelError(
            f"the model gave {shape_text(array.shape)} for {items} items; expected one row each"
        )
    return array.astype(np.float32, copy=False)


def _labels(labels: Sequence[Any], classes: int) -> Array | None:
    if any(label is None for label in labels):
        return None
    found = np.array(labels, dtype=np.int64)
    outside = found[(found < 0) | (found >= classes)]
    if outside.size:
        raise ModelError(f"a label is {int(outside[0])}, but the model has {classes} classes")
    return found
