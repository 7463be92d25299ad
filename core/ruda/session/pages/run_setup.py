"""Before a run: which weights, model and batch, and the one thing that is missing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ruda.session.datasets import BatchChoice, OpenDataset
from ruda.session.document import Document, TargetChoice
from ruda.session.language import later, tr
from ruda.session.pages.dataset import dataset_page
from ruda.session.pages.reasons import banner_text
from ruda.session.steps import steps_text
from ruda.session.wording import count_text, keeping_text
from ruda.store import Status

if TYPE_CHECKING:
    from ruda.store import DiffReport


class Remedy(Enum):
    """What mends a run that cannot start; the value is the text of its button."""

    NOTHING = ""
    WEIGHTS = later("Open weights")
    MODEL = later("Choose a model")
    DATASET = later("Open a dataset")
    DIFF = later("Show the load diff")
    SUGGESTION = later("Take the suggestion")
    AGAIN = later("Go on")


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What a run would take, and whether it can start."""

    weights: str
    """Name of the file; empty while none is open."""
    model: str
    """Name of the architecture; empty while none is chosen."""
    batch: str
    """``batch 3 of 32 of digits test images``; empty without a dataset."""
    facts: str
    problem: str
    """One sentence about what is missing; empty where a run can start."""
    remedy: Remedy
    caution: str = ""
    """What a run that can start should be known for: parameters that keep their initial value."""
    is_waiting: bool = False
    """True while the comparison of weights and model is being made."""

    @property
    def can_run(self) -> bool:
        """True if nothing is missing."""
        return not self.problem and not self.is_waiting


def run_setup(
    document: Document | None,
    choice: TargetChoice | None,
    report: DiffReport | None,
    opened: OpenDataset | None,
    batch: BatchChoice,
    *,
    problem: str = "",
    mended: DiffReport | None = None,
    halted: bool = False,
) -> RunSetup:
    """The state before a run. ``problem`` says why there is no report and never will be.

    ``halted`` is true where somebody stopped the comparison before there was a report. ``mended``
    is the report with the certain suggestions taken, where they let a run start.
    """
    sentence, remedy = _missing(document, choice, report, opened, problem)
    if halted and not sentence and choice is not None:
        sentence = tr("Stopped before it was known whether {title} can run.", title=choice.title)
        remedy = Remedy.AGAIN
    if remedy is Remedy.DIFF and mended is not None and report is not None:
        sentence, remedy = _with_mend(sentence, mended), Remedy.SUGGESTION
    waiting = not sentence and report is None
    left = 0 if report is None else report.counts[Status.MISSING]
    caution = ""
    if report is not None and left and not sentence:
        total = count_text(report.target_tensors)
        caution = tr(
            "{left} of {total} parameters {what}.",
            left=count_text(left),
            total=total,
            what=keeping_text(left),
        )
    return RunSetup(
        weights="" if document is None else document.name,
        model="" if choice is None or choice.is_file else choice.title,
        batch=_batch_text(opened, batch),
        facts=_facts(document, opened, batch),
        problem=sentence,
        remedy=remedy,
        caution=caution,
        is_waiting=waiting,
    )


def _missing(
    document: Document | None,
    choice: TargetChoice | None,
    report: DiffReport | None,
    opened: OpenDataset | None,
    problem: str,
) -> tuple[str, Remedy]:
    if document is None:
        return tr("A run needs weights, and none are open."), Remedy.WEIGHTS
    if choice is None:
        return tr("Say which model {name} is for.", name=document.name), Remedy.MODEL
    if choice.is_file:
        return tr("A weights file cannot be run; choose a model."), Remedy.MODEL
    if problem:
        return _sentence(problem), Remedy.DIFF
    if report is not None:
        refused = report.counts[Status.ERROR] or not report.coverage.tensors
        if refused:
            return _sentence(banner_text(report) or tr("nothing would be loaded")), Remedy.DIFF
    if opened is None:
        return tr("A run needs data, and no dataset is open."), Remedy.DATASET
    if not len(opened.dataset):
        return tr("The dataset has no items."), Remedy.DATASET
    return "", Remedy.NOTHING


def _with_mend(sentence: str, mended: DiffReport) -> str:
    """What is wrong, and what the suggestion would do about it."""
    would = tr(
        "With what is suggested, {applied} of {total} tensors load.",
        applied=count_text(mended.counts[Status.APPLIED]),
        total=count_text(mended.target_tensors),
    )
    return f"{sentence} {would}"


def _batch_text(opened: OpenDataset | None, batch: BatchChoice) -> str:
    if opened is None:
        return ""
    found = batch.within(len(opened.dataset))
    batches = found.batches(len(opened.dataset))
    place = tr(
        "batch {batch} of {batches}",
        batch=count_text(found.number + 1),
        batches=count_text(batches),
    )
    return tr("{place} of {title}", place=place, title=dataset_page(opened).title)


def _facts(document: Document | None, opened: OpenDataset | None, batch: BatchChoice) -> str:
    parts = [] if document is None else [steps_text(document.recipe)]
    if opened is not None:
        parts += [_batch_text(opened, batch), dataset_page(opened).count]
    return " · ".join(parts)


def _sentence(text: str) -> str:
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."
