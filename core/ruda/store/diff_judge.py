"""Judge: the rows of a load diff one by one, each from the headers of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ruda.errors import AdapterError
from ruda.nn import ParamSpec
from ruda.store.adapt import IdentityAdapter, ModuleAdapter
from ruda.store.adapted import relabelled
from ruda.store.diff_facts import cause_of, collision_fact, dtype_cause, dtype_fact, shape_fact
from ruda.store.diff_rows import Cause, DiffRow, NearestFinder, Status
from ruda.store.harmless import is_harmless
from ruda.store.recipe import Recipe
from ruda.store.regrouping import Parts, adapt, gathered, share_of
from ruda.store.remap import Collision
from ruda.store.snapshot import TensorSnapshot, kind_of
from ruda.tensor import Kind


@dataclass(frozen=True)
class Judge:
    """Knows what a recipe makes of one tensor, and whether the target can take it."""

    recipe: Recipe
    adapter: ModuleAdapter
    sources: Mapping[str, TensorSnapshot]
    """By their keys after the remap rules."""
    collisions: Mapping[str, Collision]
    is_pytorch: bool
    """True if the source was written by PyTorch."""
    finder: NearestFinder | None
    skipped_keys: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "skipped_keys", self.recipe.skipped_keys)

    @property
    def skips(self) -> bool:
        """True if the recipe leaves anything out."""
        return bool(self.skipped_keys) or not self.recipe.select.is_empty

    def skip_cause(self, key: str, containers: tuple[str, ...], also: str = "") -> Cause | None:
        """Why a key is left out: a decision, the filter, or None."""
        if key in self.skipped_keys or also in self.skipped_keys:
            return Cause.DECISION
        select = self.recipe.select
        if not select.is_empty and not select.matches(key, containers):
            return Cause.FILTER
        return None

    def lone_param(self, param: ParamSpec) -> DiffRow:
        """Row of a parameter for which the source has nothing."""
        cause = self.skip_cause(param.key, param.containers)
        if cause is not None:
            return DiffRow(Status.SKIPPED, cause, target=param)
        return DiffRow(Status.MISSING, Cause.NO_SOURCE, target=param, finder=self.finder)

    @property
    def _is_plain(self) -> bool:
        return isinstance(self.adapter, IdentityAdapter)

    def pair(self, param: ParamSpec, snapshot: TensorSnapshot, name: str) -> DiffRow:
        """Row of a parameter and its source; ``name`` is that of the source after the rules."""
        skip = self.skip_cause(param.key, param.containers)
        if skip is not None:
            return DiffRow(Status.SKIPPED, skip, snapshot, snapshot, param)
        clash = self.collisions.get(name)
        if clash is not None:
            return DiffRow(
                Status.ERROR, Cause.COLLISION, snapshot, None, param, collision_fact(clash)
            )
        try:
            adapted = snapshot
            if not self._is_plain or snapshot.key != param.key:
                adapted = self._adapted(snapshot, param)
        except AdapterError as error:
            return DiffRow(Status.ERROR, cause_of(error), snapshot, None, param, str(error))
        return self._judged(param, snapshot, adapted)

    def parted(self, param: ParamSpec, parts: Parts) -> DiffRow:
        """Row of a parameter that is a part of a source, or made of several, or a tied one."""
        sources = [self.sources[piece.key] for piece in parts]
        extra: dict[str, Any] = {
            "others": tuple(sources[1:]),
            "share": max(map(share_of, parts, sources)),
        }
        first = sources[0]
        skip = self.skip_cause(param.key, param.containers)
        if skip is not None:
            return DiffRow(Status.SKIPPED, skip, first, first, param, **extra)
        clashes = (self.collisions.get(piece.key) for piece in parts)
        clash = next((clash for clash in clashes if clash is not None), None)
        if clash is not None:
            fact = collision_fact(clash)
            return DiffRow(Status.ERROR, Cause.COLLISION, first, None, param, fact, **extra)
        try:
            given = gathered(parts, self.sources, param.key, param.containers)
            adapted = adapt(self.adapter, given)
        except AdapterError as error:
            return DiffRow(Status.ERROR, cause_of(error), first, None, param, str(error), **extra)
        if adapted.key != param.key:
            adapted = replace(adapted, key=param.key)
        row = self._judged(param, first, adapted)
        # The larger tensor that it is a part of shows which way round it lies.
        caution = row.caution and extra["share"] == 1 and len(parts) == 1
        return replace(row, caution=caution, **extra)

    def _judged(
        self, param: ParamSpec, snapshot: TensorSnapshot, adapted: TensorSnapshot
    ) -> DiffRow:
        """Row of a parameter and what would be put into it: whether it fits."""
        if adapted.shape != param.shape:
            fact = shape_fact(adapted.shape, param.shape)
            return DiffRow(Status.ERROR, Cause.SHAPE, snapshot, adapted, param, fact)
        if adapted.dtype is not param.dtype:
            cause = dtype_cause(snapshot, adapted, param.dtype)
            if cause is not None:
                fact = dtype_fact(cause, adapted, param)
                return DiffRow(Status.ERROR, cause, snapshot, adapted, param, fact)
        elif adapted.scheme != param.scheme and adapted.dtype.kind is Kind.QUANTIZED:
            fact = dtype_fact(Cause.DTYPE, adapted, param)
            return DiffRow(Status.ERROR, Cause.DTYPE, snapshot, adapted, param, fact)
        shape = param.shape
        is_square = len(shape) == 2 and shape[0] == shape[1]
        caution = is_square and self._is_unproven(snapshot, adapted, param)
        return DiffRow(Status.APPLIED, Cause.TAKEN, snapshot, adapted, param, caution=caution)

    def _adapted(self, snapshot: TensorSnapshot, param: ParamSpec) -> TensorSnapshot:
        """The source under the target's key and containers, as the adapters make it."""
        labelled = relabelled(snapshot, param.key, param.containers)
        adapted = labelled if self._is_plain else self.adapter.adapt(labelled)
        return adapted if adapted.key == param.key else replace(adapted, key=param.key)

    def _is_unproven(
        self, snapshot: TensorSnapshot, adapted: TensorSnapshot, param: ParamSpec
    ) -> bool:
        """True for a square matrix that was turned, or that PyTorch would hold turned."""
        if any(step.startswith("transpose") for step in adapted.trail[len(snapshot.trail) :]):
            return True
        is_linear = kind_of(param.containers) == "Linear" and param.key.endswith("weight")
        return is_linear and self.is_pytorch

    def alone(self, snapshot: TensorSnapshot, name: str, taken_as: str | None = None) -> DiffRow:
        """Row of a source that no target takes; ``name`` is its key after the remap rules.

        ``taken_as`` is another key of the same tensor in the file, under which it is applied.
        """
        adapted = relabelled(snapshot, name, snapshot.containers)
        skip = self.skip_cause(name, snapshot.containers, snapshot.key)
        if skip is not None:
            return DiffRow(Status.SKIPPED, skip, snapshot, adapted)
        clash = self.collisions.get(name)
        if clash is not None:
            fact = collision_fact(clash)
            return DiffRow(Status.UNUSED, Cause.COLLISION, snapshot, snapshot, detail=fact)
        if taken_as is not None:
            fact = f"the same tensor as {taken_as!r}, which is applied: nothing of it is lost"
            return DiffRow(Status.UNUSED, Cause.HARMLESS, snapshot, adapted, detail=fact)
        cause = Cause.HARMLESS if is_harmless(name, snapshot.shape) else Cause.NO_TARGET
        return DiffRow(Status.UNUSED, cause, snapshot, adapted)
