"""The models that a file is complete for, each with the steps that make it so; none is taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from ruda.errors import RudaError
from ruda.progress import SILENT, Monitor, track
from ruda.session.document import Document, TargetChoice
from ruda.session.language import tr
from ruda.session.sentences import say
from ruda.session.wording import counted, listed
from ruda.store import (
    CastPolicy,
    Recipe,
    Status,
    SuggestKind,
    TensorIndex,
    Verdict,
    convert,
    diff,
    expected_of,
    preset_named,
    suggest,
)
from ruda.tensor import DType

if TYPE_CHECKING:
    from ruda.models import Architecture, Proposal
    from ruda.nn import Module

Tried: TypeAlias = tuple[tuple[str, ...], Recipe]
"""Names of steps and the recipe with them."""
MOST = 20_000
"""Tensors up to which a file is looked at: no registered model has nearly as many."""
_WRAPPERS: tuple[tuple[str, ...], ...] = (("wrappers",), ("lightning", "wrappers"))
"""Presets that are tried, in the order in which they would be added."""
_PYTORCH = "pytorch-to-ruda"


@dataclass(frozen=True, slots=True)
class ModelFit:
    """A model all of whose tensors the document has, under a recipe."""

    choice: TargetChoice
    recipe: Recipe
    """The document's own, and what has to be added."""
    title: str
    tensors: int
    """Number of tensors that the model wants, all of which the document has."""
    facts: str
    """How many tensors, and the steps that are added."""
    doubts: tuple[str, ...]
    """What results depend on and no tensor says, in sentences."""
    steps: tuple[str, ...] = ()
    """Names of the steps that are added to the document's recipe."""


@dataclass(frozen=True, slots=True)
class Laying:
    """What a file has of a model under a recipe, and the steps that were added for it."""

    found: int
    tensors: int
    """Number of tensors that the model wants."""
    steps: tuple[str, ...]
    recipe: Recipe


def model_fits(document: Document, *, monitor: Monitor = SILENT) -> tuple[ModelFit, ...]:
    """Every registered model that could be loaded completely, the largest first. Headers only.

    Settings are read off the shapes where the family allows, and the defaults are tried else: as
    the file is, with ready-made steps, and with those that names and shapes leave no doubt about.
    Raises Cancelled; what cannot be carried out fits nothing.
    """
    from ruda.models import architectures

    index, recipe = document.index, document.recipe
    if not 0 < len(index) <= MOST:
        return ()
    found: dict[str, tuple[int, ModelFit]] = {}
    for proposal in _proposals(document, monitor):
        fit = _of_proposal(proposal, recipe)
        found.setdefault(fit.choice.name, (proposal.tensors, fit))
    for architecture in track(architectures(), monitor, "models"):
        if architecture.name not in found:
            tried = _by_defaults(architecture, index, recipe, monitor)
            if tried is not None:
                found[architecture.name] = tried
    ranked = sorted(found.values(), key=lambda each: -each[0])
    return tuple(fit for _, fit in ranked)


def _proposals(document: Document, monitor: Monitor) -> tuple[Proposal, ...]:
    from ruda.models import config_beside, proposals

    if document.recipe.adapt:
        return ()
    try:
        config = config_beside(document.path)
        view = document.index
        if not document.recipe.is_identity:
            view = convert(view, recipe=document.recipe)
        return proposals(view, config, monitor=monitor)
    except RudaError:
        return ()  # a configuration or a recipe that cannot be used is said where it is shown


def _of_proposal(found: Proposal, recipe: Recipe) -> ModelFit:
    made = recipe if found.adapter is None else recipe.with_adapt(found.adapter)
    if found.cast is not None:
        made = made.with_cast(_to(found.cast))
    defaults = {setting.name: setting.default for setting in found.architecture.settings}
    left = [
        tr(
            "Nothing says {name}: it is taken as {value}, and results depend on it.",
            name=name,
            value=found.settings.get(name, defaults[name]),
        )
        for name in found.left
    ]
    steps = (*filter(None, (found.adapter, found.cast)),)
    return ModelFit(
        choice=TargetChoice.of(found.architecture.name, found.settings),
        recipe=made,
        title=say(found.architecture.title),
        tensors=found.tensors,
        facts=_facts(found.tensors, found.settings, steps),
        doubts=(*left, *map(say, found.doubts)),
        steps=steps,
    )


def _by_defaults(
    architecture: Architecture, index: TensorIndex, recipe: Recipe, monitor: Monitor
) -> tuple[int, ModelFit] | None:
    model = architecture.build()
    wanted = [prod(param.shape) for param in expected_of(model).params]
    if len(wanted) > len(index):
        return None
    certain: Iterable[Tried] = ()
    if not Counter(wanted) - Counter(snapshot.numel for snapshot in index.values()):
        certain = certain_steps(index, model, recipe, monitor)  # looking for steps takes its time
    for laying in layings(ready_steps(recipe, certain), index, model, monitor):
        if laying.found == laying.tensors:
            fit = ModelFit(
                choice=TargetChoice.of(architecture.name),
                recipe=laying.recipe,
                title=say(architecture.title),
                tensors=laying.found,
                facts=_facts(laying.found, {}, laying.steps),
                doubts=(),
                steps=laying.steps,
            )
            return laying.found, fit
    return None


def layings(
    tried: Iterable[Tried], index: TensorIndex, model: Module, monitor: Monitor
) -> Iterator[Laying]:
    """What a file has of a model with each of some steps; with a cast where only types differ."""
    for words, made in tried:
        monitor.check()
        try:
            report = diff(index, model, recipe=made, monitor=monitor)
        except RudaError:
            continue
        found = report.counts[Status.APPLIED]
        if hint := next((hint for hint in report.hints if hint.kind == "cast"), None):
            words, made = (*words, hint.value), made.with_cast(_to(hint.value))
            found += hint.matches
        yield Laying(found, report.target_tensors, words, made)


def _to(dtype: str) -> CastPolicy:
    return CastPolicy.every(DType.parse(dtype))


def certain_steps(
    index: TensorIndex, model: Module, recipe: Recipe, monitor: Monitor
) -> Iterator[Tried]:
    """The recipe with the steps that names and shapes leave no doubt about."""
    try:
        report = suggest(index, model, recipe=recipe, monitor=monitor)
        made = report.to_recipe()
    except RudaError:
        return
    steps = report.of(Verdict.CERTAIN)
    words = [tr("numbers without gaps") for step in steps if step.kind is SuggestKind.INDEX]
    rules = sum(step.rule is not None for step in steps)
    if rules:
        words.insert(0, counted(rules, "rule"))
    yield (*words, *(step.adapter for step in steps if step.adapter is not None)), made


def ready_steps(recipe: Recipe, certain: Iterable[Tried] = ()) -> Iterator[Tried]:
    """The recipe itself, then with more and more steps, and the names of those."""
    bases: list[tuple[tuple[str, ...], Recipe]] = [((), recipe)]
    for names in _WRAPPERS:
        made = recipe
        try:
            for name in names:
                made = preset_named(name).on(made)
        except RudaError:
            continue
        bases.append((names, made))
    for names, base in bases:
        if names == _WRAPPERS[1]:
            yield from certain  # shorter than all that Lightning's files need
        yield names, base
        if not base.adapt:
            yield (*names, _PYTORCH), base.with_adapt(_PYTORCH)
    yield from certain


def _facts(tensors: int, settings: Mapping[str, int], steps: Sequence[str]) -> str:
    words = [tr("All of its {tensors} are there", tensors=counted(tensors, "tensor"))]
    if settings:
        words.append(", ".join(f"{key}={value}" for key, value in settings.items()))
    if steps:
        words.append(tr("with {steps}", steps=listed(steps)))
    return " · ".join(words)
