"""SuggestReport: steps that would let more tensors load, each with its evidence and verdict."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ruda.store.recipe import Recipe
from ruda.store.remap import RemapRule


class SuggestKind(Enum):
    """What a suggested step changes."""

    PREFIX = "prefix"
    """Leading segments, or the segment of a wrapper, taken away or put before keys."""
    FAMILY = "family"
    """Keys that differ in numbers only, renamed together."""
    ENUM = "enum"
    """The name of an enum's variant put into keys."""
    INDEX = "index"
    """Gaps in numbers closed."""
    ADAPTER = "adapter"
    """Names and layouts of another framework."""
    LAYOUT = "layout"
    """Axes that are swapped and that no adapter turns: told, not repaired."""


class Verdict(Enum):
    """How sure a suggestion is."""

    CERTAIN = "certain"
    """Names and shapes leave no other choice."""
    LIKELY = "likely"
    """The best choice by a clear margin."""
    AMBIGUOUS = "ambiguous"
    """Something else fits as well: for a person to decide."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One step. It changes nothing by itself."""

    kind: SuggestKind
    verdict: Verdict
    matches: int
    """Number of further target tensors that find a source that they can take, with a cast where
    only the element type differs; the steps before it are taken."""
    evidence: str
    """One sentence that says why."""
    rule: RemapRule | None = None
    adapter: str | None = None
    alternatives: tuple[str, ...] = ()
    """What else would fit: prefixes, or pairs ``source -> target`` of families."""

    @property
    def title(self) -> str:
        """The step as options of ``ruda`` that a shell takes as they are, in one line.

        Of what no step can do, its name.
        """
        if self.rule is not None:
            return shlex.join(["--remap", self.rule.pattern, self.rule.replacement])
        if self.adapter is not None:
            return shlex.join(["--adapt", self.adapter])
        return "--contiguous" if self.kind is SuggestKind.INDEX else "swapped axes"

    def on(self, recipe: Recipe) -> Recipe:
        """The recipe with this step added."""
        if self.rule is not None:
            return recipe.with_rules((*recipe.remap.rules, self.rule))
        if self.adapter is not None:
            return recipe.with_adapt(*recipe.adapt, self.adapter)
        if self.kind is SuggestKind.INDEX:
            return recipe.with_remap(replace(recipe.remap, contiguous=True))
        return recipe

    def as_data(self) -> dict[str, Any]:
        """The suggestion as plain values, for JSON."""
        rule = self.rule
        return {
            "kind": self.kind.value,
            "verdict": self.verdict.value,
            "matches": self.matches,
            "rule": None if rule is None else {"from": rule.pattern, "to": rule.replacement},
            "adapter": self.adapter,
            "evidence": self.evidence,
            "alternatives": list(self.alternatives),
        }


@dataclass(frozen=True, slots=True)
class SuggestReport:
    """All suggestions for a source and a target, in the order in which they would be taken."""

    suggestions: tuple[Suggestion, ...]
    recipe: Recipe
    """The recipe that was there before."""
    matched_before: int
    matched_after: int
    """Target tensors that would load once all certain and likely steps are taken."""
    target_tensors: int
    source_name: str = "source"
    target_name: str = "target"
    refused: tuple[str, ...] = ()
    """Sentences on target tensors that have a source then, and would not load all the same."""

    def __str__(self) -> str:
        """What is suggested, with its evidence: one line each, alternatives below."""
        lines = [
            f"{self.source_name} onto {self.target_name}: {self.matched_before} of "
            f"{self.target_tensors} tensors would load, {self.matched_after} with the steps below"
        ]
        lines += [f"  {sentence}" for sentence in self.refused]
        for step in self.suggestions:
            lines.append(f"  {step.verdict.value:<9} +{step.matches:<5} {step.title}")
            lines.append(f"{'':<19}{step.evidence}")
            lines += [f"{'':<19}or {other}" for other in step.alternatives]
        if not self.suggestions:
            lines.append("  no step is suggested")
        return "\n".join(lines)

    def of(self, *verdicts: Verdict) -> tuple[Suggestion, ...]:
        """The suggestions with these verdicts."""
        return tuple(step for step in self.suggestions if step.verdict in verdicts)

    def to_recipe(self, *, likely: bool = False) -> Recipe:
        """The recipe with the certain steps added, and the likely ones where asked for.

        What is ambiguous is never taken.
        """
        taken = (Verdict.CERTAIN, Verdict.LIKELY) if likely else (Verdict.CERTAIN,)
        recipe = self.recipe
        for step in self.of(*taken):
            recipe = step.on(recipe)
        return recipe

    def as_data(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        return {
            "source": self.source_name,
            "target": self.target_name,
            "target_tensors": self.target_tensors,
            "matched_before": self.matched_before,
            "matched_after": self.matched_after,
            "refused": list(self.refused),
            "suggestions": [step.as_data() for step in self.suggestions],
        }
