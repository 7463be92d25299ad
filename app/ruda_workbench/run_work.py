"""The work of a run, as plain functions for jobs: loading, one batch, a whole dataset.

Items are read here; the model itself stands in another process.
"""

from __future__ import annotations

from dataclasses import dataclass

from ruda.progress import Monitor
from ruda.session import (
    BatchChoice,
    BatchPage,
    BatchRun,
    Document,
    Evaluation,
    ModelProcess,
    OpenDataset,
    RemoteModel,
    RunWeights,
    TargetChoice,
    batch_page,
    evaluate,
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
    run: BatchRun
    page: BatchPage


@dataclass(frozen=True, slots=True, eq=False)
class DatasetAnswer:
    """A whole dataset that was run."""

    question: Question
    evaluation: Evaluation
    mistakes: BatchPage
    """The items that were taken for another class."""


@dataclass(frozen=True, slots=True)
class Runner:
    """Where models run, and how large a header may be that is read there."""

    process: ModelProcess
    header_limit: int

    def run_one(self, question: Question, monitor: Monitor) -> BatchAnswer:
        """Run a batch. Raises RudaError for weights or items that do not fit, WorkError."""
        model = self._load(question, monitor)
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
        return BatchAnswer(question, run, page)

    def run_all(self, question: Question, monitor: Monitor) -> DatasetAnswer:
        """Run every item. Raises as ``run_one``, and ItemError for one that cannot be read."""
        model = self._load(question, monitor)
        dataset = question.opened.dataset
        found = evaluate(model, dataset, monitor=monitor)
        mistakes = mistakes_page(found, dataset, monitor=monitor)
        return DatasetAnswer(question, found, mistakes)

    def _load(self, question: Question, monitor: Monitor) -> RemoteModel:
        weights = RunWeights.of(question.document, question.choice, self.header_limit)
        return self.process.load(weights, monitor)
