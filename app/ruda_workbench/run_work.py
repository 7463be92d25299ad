"""The work of a run, as plain functions for jobs: loading, one batch, a whole dataset."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.progress import Monitor
from ruda.session import (
    BatchChoice,
    BatchPage,
    BatchRun,
    Document,
    Evaluation,
    LoadedModel,
    OpenDataset,
    TargetChoice,
    batch_page,
    evaluate,
    load_model,
    mistakes_page,
    run_choice,
)


@dataclass(frozen=True, slots=True)
class Question:
    """What a run is about: weights under their recipe, model, dataset and batch.

    Two are equal if the same file, recipe and dataset objects are meant.
    """

    document: Document
    choice: TargetChoice
    opened: OpenDataset
    batch: BatchChoice

    def same_model(self, other: Question | None) -> bool:
        """True if the other one is about the same weights in the same model."""
        return other is not None and other.document is self.document and other.choice == self.choice

    def same_dataset(self, other: Question | None) -> bool:
        """True if the other one also runs the same model on the same dataset."""
        return other is not None and self.same_model(other) and other.opened is self.opened


@dataclass(frozen=True, slots=True, eq=False)
class BatchAnswer:
    """A batch that was run, and its tiles with what the model said."""

    question: Question
    loaded: LoadedModel
    run: BatchRun
    page: BatchPage


@dataclass(frozen=True, slots=True, eq=False)
class DatasetAnswer:
    """A whole dataset that was run."""

    question: Question
    loaded: LoadedModel
    evaluation: Evaluation
    mistakes: BatchPage
    """The items that were taken for another class."""


def run_one(question: Question, loaded: LoadedModel | None, monitor: Monitor) -> BatchAnswer:
    """Run a batch; ``loaded`` spares the loading where it is of the same model.

    Raises RudaError for weights or items that do not fit.
    """
    model = loaded or _load(question, monitor)
    dataset, batch = question.opened.dataset, question.batch
    run = run_choice(model, dataset, batch, monitor=monitor)
    page = batch_page(
        dataset,
        batch.number,
        size=batch.size,
        shuffle=batch.shuffle,
        predictions={said.index: said for said in run.predictions},
        monitor=monitor,
    )
    return BatchAnswer(question, model, run, page)


def run_all(question: Question, loaded: LoadedModel | None, monitor: Monitor) -> DatasetAnswer:
    """Run every item. Raises as ``run_one``, and ItemError for an item that cannot be read."""
    model = loaded or _load(question, monitor)
    dataset = question.opened.dataset
    found = evaluate(model, dataset, monitor=monitor)
    mistakes = mistakes_page(found, dataset, monitor=monitor)
    return DatasetAnswer(question, model, found, mistakes)


def _load(question: Question, monitor: Monitor) -> LoadedModel:
    document = question.document
    return load_model(
        question.choice, document.index, document.recipe, allow_partial=True, monitor=monitor
    )
