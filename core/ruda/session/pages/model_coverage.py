"""How much of each registered model a file has, the best first: what a list of models says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import TYPE_CHECKING

from ruda.progress import SILENT, Monitor, track
from ruda.session.document import Document
from ruda.session.language import tr
from ruda.session.pages.model_fits import (
    MOST,
    Laying,
    ModelFit,
    certain_steps,
    layings,
    ready_steps,
)
from ruda.session.wording import count_text, counted, listed
from ruda.store import Recipe, TensorIndex, expected_of

if TYPE_CHECKING:
    from ruda.models import Architecture

LEAST = 0.1
"""Share of a model's tensors that a file has to have; of a model with less, nothing is said."""


@dataclass(frozen=True, slots=True)
class ModelCoverage:
    """How many of the tensors of a model a document has, in name, shape and type."""

    name: str
    found: int
    tensors: int
    steps: tuple[str, ...] = ()
    """Names of the steps that it takes beside the document's recipe."""
    recipe: Recipe | None = None
    """The document's own with those steps; None where it takes none."""

    @property
    def is_complete(self) -> bool:
        """True where nothing is missing."""
        return self.found == self.tensors

    @property
    def text(self) -> str:
        """``fits 16 of 16 tensors``."""
        found, tensors = count_text(self.found), counted(self.tensors, "tensor")
        return tr("fits {found} of {tensors}", found=found, tensors=tensors)

    @property
    def help(self) -> str:
        """The text, with the steps that it takes."""
        if not self.steps:
            return self.text
        return f"{self.text}, " + tr("with {steps}", steps=listed(self.steps))


def model_coverages(
    document: Document, fits: Sequence[ModelFit] = (), *, monitor: Monitor = SILENT
) -> tuple[ModelCoverage, ...]:
    """The registered models of which the document has a tenth or more, the best first.

    ``fits`` are those that are known to be complete. Headers only: shapes are counted first, and
    what could be found by those is compared by name, as it is and with ready-made steps. Raises
    Cancelled.
    """
    from ruda.models import architectures

    index = document.index
    if not 0 < len(index) <= MOST:
        return ()
    found = [_of_fit(fit) for fit in fits]
    complete = {each.name for each in found}
    sizes = Counter(snapshot.numel for snapshot in index.values())
    for architecture in track(architectures(), monitor, "models"):
        if architecture.name not in complete:
            covered = _coverage(architecture, index, sizes, document.recipe, monitor)
            if covered is not None:
                found.append(covered)
    return tuple(sorted(found, key=lambda each: (-each.found / each.tensors, -each.tensors)))


def _of_fit(fit: ModelFit) -> ModelCoverage:
    recipe = fit.recipe if fit.steps else None
    return ModelCoverage(fit.choice.name, fit.tensors, fit.tensors, fit.steps, recipe)


def _coverage(
    architecture: Architecture,
    index: TensorIndex,
    sizes: Counter[int],
    recipe: Recipe,
    monitor: Monitor,
) -> ModelCoverage | None:
    model = architecture.build()
    wanted = Counter(prod(param.shape) for param in expected_of(model).params)
    most = (wanted & sizes).total()
    if most < LEAST * wanted.total():
        return None
    best: Laying | None = None
    tried = chain(ready_steps(recipe), certain_steps(index, model, recipe, monitor))
    for laying in layings(tried, index, model, monitor):
        if best is None or laying.found > best.found:
            best = laying
        if laying.found >= most:
            break  # nothing could find more: sizes are what they are
    if best is None or best.found < LEAST * best.tensors:
        return None
    made = best.recipe if best.steps else None
    return ModelCoverage(architecture.name, best.found, best.tensors, best.steps, made)
