"""compare: two files beside each other, by their headers alone or by every value."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace

from ruda._bulk import without_collections
from ruda._freeing import LargeTuple
from ruda.errors import DTypeError, MissingExtraError, SettingError, ShapeError
from ruda.progress import SILENT, Monitor, Progress
from ruda.store.compare_report import CompareReport, CompareRow, Likeness
from ruda.store.converting import convert
from ruda.store.dequantizing import dequantize
from ruda.store.index import TensorIndex
from ruda.store.piecewise import Array, blocks
from ruda.store.recipe import Recipe
from ruda.store.select import PathFilter
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import Deviation, DType, Kind, Tolerance, deviation

_REPORT_EVERY = 8192
"""Tensors between two reports of progress where headers alone are compared."""


def compare(
    left: TensorIndex,
    right: TensorIndex,
    *,
    values: bool = False,
    tolerance: Tolerance | None = None,
    ulp: int = 0,
    any_dtype: bool = False,
    only: PathFilter | None = None,
    recipe_left: Recipe | None = None,
    recipe_right: Recipe | None = None,
    monitor: Monitor = SILENT,
) -> CompareReport:
    """What two sets of tensors share, key by key; headers only unless ``values`` are asked for.

    A recipe on either side brings its keys, layouts and dtypes to the other's. Values are read in
    blocks. A value may differ by less than the tolerance, or by ``ulp`` steps; without either
    only equal ones pass (two NaNs are equal). Another dtype is a change unless ``any_dtype``.
    ``only`` takes the keys that it matches after the recipes; no value of others is read.
    Raises SettingError for tolerances without ``values``, RecipeError for a pattern of ``only``
    that takes too long, and what ``convert`` and reading raise.
    """
    if ulp < 0:
        raise SettingError(f"a distance in steps is not negative, got {ulp}")
    if not values and (tolerance is not None or ulp):
        raise SettingError("a tolerance is for values; have them compared as well")
    views = [
        convert(index, recipe=Recipe() if recipe is None else recipe)
        for index, recipe in ((left, recipe_left), (right, recipe_right))
    ]
    views, left_out = _within(only, views)
    task = _Task(values, tolerance, ulp, any_dtype, monitor, _work(*views) if values else 0)
    # Reading the values may take an hour, and headers a few seconds.
    with nullcontext() if values else without_collections():
        rows = _rows(task, *views)
    names = [index.path.name if index.path else index.format for index in (left, right)]
    notes = [
        f"{side}: {note}"
        for side, view, index in zip(("left", "right"), views, (left, right), strict=True)
        for note in view.notes
        if note not in index.notes
    ]
    if left_out:
        notes.append(f"{left_out} keys are outside of what is compared")
    return CompareReport(rows, names[0], names[1], values, tuple(notes))


def _rows(task: _Task, left: TensorIndex, right: TensorIndex) -> tuple[CompareRow, ...]:
    rows = []
    for key, snapshot in left.items():
        rows.append(task.row(snapshot, right.get(key)))
        if not task.values and not len(rows) % _REPORT_EVERY:
            task.monitor.report(Progress(len(rows), len(left), "tensors"))
    only_right = (snapshot for key, snapshot in right.items() if key not in left)
    rows += [CompareRow(Likeness.RIGHT, right=snapshot) for snapshot in only_right]
    return LargeTuple(rows)


def _within(only: PathFilter | None, views: Sequence[TensorIndex]) -> tuple[list[TensorIndex], int]:
    """Both sides with the keys that are taken, and how many keys of either are not."""
    if only is None or only.takes_all:
        return list(views), 0
    everything = views[0].keys() | views[1].keys()
    only.guard(everything)
    taken = [
        {key: each for key, each in view.items() if only.matches(key, each.containers)}
        for view in views
    ]
    left_out = len(everything) - len(taken[0].keys() | taken[1].keys())
    return [replace(v, snapshots=t) for v, t in zip(views, taken, strict=True)], left_out


def _work(left: TensorIndex, right: TensorIndex) -> int:
    """Number of values that will be compared."""
    pairs = ((snapshot, right.get(key)) for key, snapshot in left.items())
    return sum(a.numel for a, b in pairs if b is not None and a.shape == b.shape)


class _Task:
    """One comparison on its way: what is asked for, and how far it is."""

    def __init__(
        self,
        values: bool,
        tolerance: Tolerance | None,
        ulp: int,
        any_dtype: bool,
        monitor: Monitor,
        total: int,
    ) -> None:
        self.values = values
        self._tolerance = tolerance
        self._ulp = ulp
        self._any_dtype = any_dtype
        self.monitor = monitor
        self._done, self._total = 0, total

    def row(self, left: TensorSnapshot, right: TensorSnapshot | None) -> CompareRow:
        """What one key of the left side finds on the right."""
        self.monitor.check()
        if right is None:
            return CompareRow(Likeness.LEFT, left)
        if left.shape != right.shape:
            shapes = f"shape {list(left.shape)} and {list(right.shape)}"
            return CompareRow(Likeness.CHANGED, left, right, shapes)
        dtypes = _difference_of_dtypes(left, right)
        if not self.values:
            changed = dtypes and not self._any_dtype
            return CompareRow(Likeness.CHANGED if changed else Likeness.SAME, left, right, dtypes)
        return self._by_values(left, right, dtypes)

    def _by_values(self, left: TensorSnapshot, right: TensorSnapshot, dtypes: str) -> CompareRow:
        # Two schemes that are not known to be one are compared by what they say.
        if not dtypes and left.dtype.is_raw and left.scheme == right.scheme:
            same = self._same_bytes(left, right)
            reason = "" if same else f"other bytes ({left.dtype_label} is compared as bytes)"
            return CompareRow(Likeness.SAME if same else Likeness.CHANGED, left, right, reason)
        try:
            found = self._deviation(_in_numbers(left), _in_numbers(right))
        except (DTypeError, MissingExtraError) as error:
            reason = "; ".join([*([dtypes] if dtypes else []), f"values not compared: {error}"])
            return CompareRow(Likeness.CHANGED, left, right, reason)
        said = [dtypes] if dtypes else []
        if found.changed:
            share = f"{found.changed} of {found.numel} values differ"
            said.append(f"{share}, {found.beyond} beyond the tolerance" if self._lenient else share)
        changed = found.beyond or (dtypes and not self._any_dtype)
        status = Likeness.CHANGED if changed else Likeness.SAME
        return CompareRow(status, left, right, "; ".join(said), found)

    @property
    def _lenient(self) -> bool:
        return self._tolerance is not None or self._ulp > 0

    def _deviation(self, left: TensorSnapshot, right: TensorSnapshot) -> Deviation:
        total = Deviation()
        for a, b in self._pairs(left, right):
            total += deviation(
                a, b, (left.dtype, right.dtype), tolerance=self._tolerance, ulp=self._ulp
            )
        return total

    def _same_bytes(self, left: TensorSnapshot, right: TensorSnapshot) -> bool:
        if left.nbytes != right.nbytes:
            return False
        return all(a.tobytes() == b.tobytes() for a, b in self._pairs(left, right))

    def _pairs(self, left: TensorSnapshot, right: TensorSnapshot) -> Iterator[tuple[Array, Array]]:
        for a, b in itertools.zip_longest(blocks(left), blocks(right)):
            self.monitor.check()
            if a is None or b is None or a.size != b.size:
                raise ShapeError(f"{left.key!r}: one side gave fewer values than its header says")
            yield a, b
            self._done = min(self._done + a.size, self._total)
            self.monitor.report(Progress(self._done, self._total, "values"))


def _difference_of_dtypes(left: TensorSnapshot, right: TensorSnapshot) -> str:
    """How the element types differ, by their headers; empty where they do not."""
    if left.dtype is not right.dtype or left.dtype_label != right.dtype_label:
        return f"dtype {left.dtype_label} and {right.dtype_label}"
    if left.dtype is DType.QFLOAT and left.scheme != right.scheme:
        return "two schemes of qfloat"
    return ""


def _in_numbers(snapshot: TensorSnapshot) -> TensorSnapshot:
    """The tensor in a dtype with values: blocks of GGML and quantized tensors in f32."""
    if snapshot.dtype.kind is Kind.QUANTIZED:
        return dequantize(snapshot)
    if snapshot.dtype.is_raw:
        raise DTypeError(f"{snapshot.dtype_label} is stored as raw bits only")
    return snapshot
