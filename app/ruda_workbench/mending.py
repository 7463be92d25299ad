"""What the certain suggestions would make of weights that a model cannot take as they are."""

from __future__ import annotations

from dataclasses import dataclass

from ruda.progress import Monitor
from ruda.session import Derived, Document
from ruda.store import DiffReport, Recipe, Status
from ruda_workbench.document_watch import MOST_SUGGESTED


@dataclass(frozen=True, slots=True, eq=False)
class Mend:
    """A recipe that lets a run start, and the load diff with it. Nothing is taken by itself."""

    document: Document
    recipe: Recipe
    report: DiffReport


def can_run(report: DiffReport) -> bool:
    """True if tensors load and none of them is refused."""
    return bool(report.coverage.tensors) and not report.counts[Status.ERROR]


def find_mend(document: Document, derived: Derived, monitor: Monitor) -> Mend | None:
    """The certain steps for a document on its target, where a run could start with them.

    Steps that are likely or ambiguous are for a person to look at. Raises as ``Derived.report``.
    """
    if len(document.index) > MOST_SUGGESTED:
        return None
    recipe = derived.suggestions(document, monitor=monitor).to_recipe()
    if recipe == document.recipe:
        return None
    report = derived.report(document.with_recipe(recipe), monitor=monitor)
    return Mend(document, recipe, report) if can_run(report) else None
