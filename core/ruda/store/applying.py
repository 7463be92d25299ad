"""apply: load a source into a module, all of it or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ruda.errors import LoadError, RudaError
from ruda.nn import Module, Param
from ruda.progress import SILENT, Monitor, track
from ruda.store.adapted import read_with_counts
from ruda.store.apply_result import ApplyResult
from ruda.store.diff_report import DiffReport
from ruda.store.diff_rows import Cause, DiffRow, Status
from ruda.store.diffing import diff
from ruda.store.index import TensorIndex
from ruda.store.moving import remarks_in
from ruda.store.recipe import Recipe
from ruda.tensor import CastCounts


class _Staged(NamedTuple):
    """Values that were read and wait for all the others."""

    row: DiffRow
    values: np.ndarray[Any, Any]


def apply(
    source: TensorIndex,
    module: Module,
    *,
    recipe: Recipe | None = None,
    allow_partial: bool = False,
    validate: bool = True,
    monitor: Monitor = SILENT,
) -> ApplyResult:
    """Load the source into the module under the recipe; ids of parameters in the file are kept.

    Everything is read before anything changes. Raises LoadError, with the whole ApplyResult and
    the module untouched, for errors (unless ``validate`` is off) and for missing tensors (unless
    ``allow_partial`` is on); Cancelled when the monitor says so, with the module untouched too.
    """
    report = diff(source, module, recipe=recipe, monitor=monitor)
    early = ApplyResult(report)
    _refuse(early, source, allow_partial=allow_partial, validate=validate)
    params = {entry.key: entry.param for entry in module.walk()}
    report, staged, counts = _stage(report, monitor)
    report, staged = _without_conflicts(report, staged, params)
    result = ApplyResult(report, counts, _remarks(staged))
    _refuse(result, source, allow_partial=allow_partial, validate=validate)
    for item in staged:
        adapted = item.row.adapted
        if adapted is not None:
            params[item.row.key].assign(item.values, adapted.dtype, param_id=adapted.param_id)
    return result


def _without_conflicts(
    report: DiffReport, staged: list[_Staged], params: Mapping[str, Param]
) -> tuple[DiffReport, list[_Staged]]:
    """Of tied parameters only the first is assigned; one with other values is an error row.

    The model has one place for both, and the last to be assigned would win in silence.
    """
    first: dict[int, _Staged] = {}
    odd: dict[str, str] = {}
    kept: list[_Staged] = []
    for item in staged:
        other = first.setdefault(id(params[item.row.key]), item)
        if other is item:
            kept.append(item)
        elif not np.array_equal(_bits(item.values), _bits(other.values)):
            odd[item.row.key] = (
                f"the model has one parameter for {other.row.key!r} and {item.row.key!r}, and the "
                "source has different values for them"
            )
    if not odd:
        return report, kept
    rows = [
        replace(row, status=Status.ERROR, cause=Cause.LOAD, detail=odd[row.key])
        if row.status is Status.APPLIED and row.key in odd
        else row
        for row in report.rows
    ]
    return replace(report, rows=tuple(rows)), kept


def _bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of contiguous values: NaN equals itself."""
    return values.reshape(-1).view(np.uint8)


def _stage(
    report: DiffReport, monitor: Monitor
) -> tuple[DiffReport, list[_Staged], CastCounts | None]:
    """Read every applied row; one that cannot be read becomes an error row."""
    staged: list[_Staged] = []
    rows: list[DiffRow] = []
    total: CastCounts | None = None
    for row in track(report.rows, monitor, "tensors", len(report.rows)):
        if row.status is Status.APPLIED and row.adapted is not None:
            try:
                values, counts = read_with_counts(row.adapted)
                values = _owned(values)
            except (RudaError, OSError, MemoryError) as error:
                fact = str(error) or type(error).__name__
                rows.append(replace(row, status=Status.ERROR, cause=Cause.LOAD, detail=fact))
                continue
            if counts is not None:
                total = counts if total is None else total + counts
            staged.append(_Staged(row, values))
        rows.append(row)
    return replace(report, rows=tuple(rows)), staged, total


def _remarks(staged: list[_Staged]) -> tuple[str, ...]:
    """What computing the staged values found, once each."""
    made = (item.row.adapted for item in staged if item.row.adapted is not None)
    return tuple(dict.fromkeys(text for each in made for text in remarks_in(each.source)))


def _owned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The values in memory of their own, so that assigning them later cannot run out of it."""
    if values.base is None and values.flags.c_contiguous and values.dtype.isnative:
        return values
    return np.array(values, values.dtype.newbyteorder("="), order="C")


def _refuse(
    result: ApplyResult, source: TensorIndex, *, allow_partial: bool, validate: bool
) -> None:
    """Raise LoadError if the options forbid what the result says."""
    if validate and result.errors:
        count = len(result.errors)
        more = f" (and {count - 1} more)" if count > 1 else ""
        raise LoadError(
            f"nothing was loaded: {result.errors[0]}{more}{_remedy(result)}",
            result=result,
            path=source.path,
        )
    if not allow_partial and result.missing:
        count = len(result.missing)
        row = min(result.report.of(Status.MISSING), key=lambda row: row.key)
        near = f", did you mean {row.nearest[0].key!r}?" if row.nearest else ""
        hints = result.report.hints
        step = f"; {hints[0].action} would match {hints[0].matches}" if hints else ""
        raise LoadError(
            f"nothing was loaded: {count} of {result.report.target_tensors} tensors are missing in "
            f"the source, {row.key!r} first{near}{step}; allow_partial=True loads the rest",
            result=result,
            path=source.path,
        )


def _remedy(result: ApplyResult) -> str:
    """What would help against the errors, where that is known."""
    dtypes = [row for row in result.report.of(Status.ERROR) if row.cause is Cause.DTYPE]
    if dtypes:
        wanted = dtypes[0].target_dtype
        return f"; a cast to {wanted} in the recipe (--cast {wanted}) lets such tensors load"
    if result.report.hints:
        hint = result.report.hints[0]
        return f"; {hint.action} would match {hint.matches}"
    return ""
