"""What suggested steps would really do: load diffs under them, from headers alone.

The board pairs names and shapes. Whether an adapter takes a tensor, and whether its kind of number
fits, only the load diff knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

from ruda.progress import SILENT, Monitor
from ruda.store.diff_report import DiffReport
from ruda.store.diff_rows import Cause, Status
from ruda.store.diffing import diff
from ruda.store.index import TensorIndex
from ruda.store.recipe import Recipe
from ruda.store.suggest_report import Suggestion, Verdict
from ruda.store.targets import Target

_LATER = frozenset({Cause.DTYPE})
"""Causes that other steps of a recipe mend: a cast is never suggested from names and shapes."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a load under a recipe would fill, of the parameters that a suggestion is about."""

    applied: int
    found: int
    """Those, and those that a cast would let load."""
    refused: tuple[str, ...]
    """One sentence for each cause why a parameter would not take the source that it has."""


@dataclass(frozen=True)
class Trials:
    """Lays a source on a target under one recipe after the other."""

    source: TensorIndex
    target: Target
    wanted: Collection[str] | None = None
    """Keys of the parameters that are counted; None: all."""
    monitor: Monitor = SILENT

    def of(self, recipe: Recipe) -> Trial:
        """What a load under the recipe would do. Raises RecipeError."""
        self.monitor.check()
        report = diff(self.source, self.target, recipe=recipe, monitor=self.monitor)
        table, wanted = report.table, self.wanted
        keys = table.target_keys if wanted is not None else ()
        counts: Counter[Cause] = Counter()
        first: dict[Cause, int] = {}
        for at in table.at((Status.APPLIED, Status.ERROR)):
            if wanted is None or keys[at] in wanted:
                cause = table.known[table.kinds[at]].cause
                counts[cause] += 1
                first.setdefault(cause, at)
        applied = counts[Cause.TAKEN]
        found = applied + sum(counts[cause] for cause in _LATER)
        # Of another shape: that source was never meant.
        refused = [cause for cause in first if cause not in (Cause.TAKEN, Cause.SHAPE)]
        return Trial(
            applied,
            found,
            tuple(_refused(report, first[cause], counts[cause]) for cause in refused),
        )

    def recounted(
        self, steps: tuple[Suggestion, ...], start: Recipe, before: Trial
    ) -> tuple[Suggestion, ...]:
        """The steps with what each lets load, those before it taken.

        What one finds for a later one only is counted with that.
        """
        made: list[Suggestion] = []
        recipe, reached = start, before.found
        for step in steps:
            if step.verdict is Verdict.AMBIGUOUS:
                made.append(step)
                continue
            recipe = step.on(recipe)
            now = max(reached, self.of(recipe).found)
            made.append(replace(step, matches=now - reached))
            reached = now
        return tuple(made)


def _refused(report: DiffReport, at: int, count: int) -> str:
    first = report.rows[at]
    reason = first.reason.removeprefix(f"{first.key!r}: ")
    many = "1 tensor has" if count == 1 else f"{count} tensors have"
    return f"{many} a source and would not load, {first.key!r} first: {reason}"
