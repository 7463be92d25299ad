"""ApplyResult: what a load did, in five lists, and the summary that is printed of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ruda.store.diff_report import DiffReport
from ruda.store.diff_rows import Cause, DiffRow, Status
from ruda.tensor import CastCounts

SHOWN = 10
"""Entries of each list that the summary prints."""


class MissingParam(NamedTuple):
    """A parameter that the source had nothing for, and the modules that own it."""

    key: str
    containers: tuple[str, ...]

    def __str__(self) -> str:
        return self.key


class ApplyIssue(NamedTuple):
    """A tensor that was found and could not be applied."""

    cause: Cause
    key: str
    source_key: str
    expected: str
    found: str
    message: str

    def __str__(self) -> str:
        title = _TITLES[self.cause]
        if self.cause in (Cause.SHAPE, Cause.DTYPE, Cause.KIND):
            return f"{title} for {self.key!r}: expected {self.expected}, found {self.found}"
        return f"{title} for {self.key!r}: {self.message}"


_TITLES = {
    Cause.SHAPE: "Shape mismatch",
    Cause.DTYPE: "DType mismatch",
    Cause.KIND: "DType mismatch",
    Cause.ADAPTER: "Adapter error",
    Cause.DECISION: "Decision error",
    Cause.LOAD: "Load error",
    Cause.COLLISION: "Key collision",
}


@dataclass(frozen=True, eq=False)
class ApplyResult:
    """Five lists that hold every tensor of the source and every parameter of the target once.

    ``str(result)`` is the summary with hints. ``report`` holds the rows behind the lists.
    """

    report: DiffReport
    casts: CastCounts | None = None
    """What the casts of the recipe lost, over all tensors; None where nothing was cast."""
    remarks: tuple[str, ...] = ()
    """What computing values found, in sentences: a merge that made NaN, say."""

    @cached_property
    def applied(self) -> tuple[str, ...]:
        """Target keys that took a tensor, in the order of the target."""
        return tuple(row.key for row in self.report.of(Status.APPLIED))

    @cached_property
    def skipped(self) -> tuple[str, ...]:
        """Keys that a filter or a decision left out, sorted."""
        return tuple(sorted(row.key for row in self.report.of(Status.SKIPPED)))

    @cached_property
    def missing(self) -> tuple[MissingParam, ...]:
        """Target keys without a source, which keep their value, sorted."""
        rows = self.report.of(Status.MISSING)
        return tuple(sorted(MissingParam(row.key, row.containers) for row in rows))

    @cached_property
    def unused(self) -> tuple[str, ...]:
        """Keys in the file that no parameter took, sorted."""
        return tuple(sorted(row.key for row in self.report.of(Status.UNUSED)))

    @cached_property
    def errors(self) -> tuple[ApplyIssue, ...]:
        """Tensors that were found and could not be applied, in the order of the target."""
        return tuple(issue_of(row) for row in self.report.of(Status.ERROR))

    @property
    def is_success(self) -> bool:
        """True without errors; missing and unused tensors do not count."""
        return not self.errors

    def __str__(self) -> str:
        return "\n".join((*self._counts(), *self._missing(), *self._unused(), *self._errors()))

    def _counts(self) -> list[str]:
        words = {
            "applied": len(self.applied),
            "skipped (filtered)": len(self.skipped),
            "missing in source": len(self.missing),
            "unused": len(self.unused),
            "errors": len(self.errors),
        }
        lines = ["Tensor Loading Summary", "─" * 40]
        lines += [f"  {word:<22}{count:>8}" for word, count in words.items()]
        if self.casts is not None:
            lines.append(
                f"  cast: {self.casts.overflow} values became infinite, "
                f"{self.casts.underflow} became zero"
            )
        lines += [f"  {remark}" for remark in self.remarks]
        if self.report.banner is not None:
            lines += ["", self.report.banner]
        return lines

    def _missing(self) -> list[str]:
        rows = sorted(self.report.of(Status.MISSING), key=lambda row: row.key)
        if not rows:
            return []
        lines = ["", f"missing ({len(rows)}): the model keeps its initial values"]
        enums = sum(any(c.startswith("Enum:") for c in row.containers) for row in rows)
        if enums:
            lines.append(
                f"  {enums} of them are inside enums: their keys name the variant, which PyTorch's "
                "keys do not; skip_enum_variants or a remap rule takes it out"
            )
        for row in rows[:SHOWN]:
            near = f"   did you mean {row.nearest[0].key!r}?" if row.nearest else ""
            lines.append(f"  {row.key}{near}")
        lines += _more(len(rows))
        lines.append("  allow_partial=True loads the rest")
        return lines

    def _unused(self) -> list[str]:
        rows = sorted(self.report.of(Status.UNUSED), key=lambda row: row.key)
        if not rows:
            return []
        lines = ["", f"unused ({len(rows)}): in the file, wanted by nobody"]
        for row in rows[:SHOWN]:
            harmless = "   (harmless)" if row.cause is Cause.HARMLESS else ""
            lines.append(f"  {row.key}{harmless}")
        return [*lines, *_more(len(rows))]

    def _errors(self) -> list[str]:
        if not self.errors:
            return []
        lines = ["", f"errors ({len(self.errors)}):"]
        lines += [f"  {issue}" for issue in self.errors[:SHOWN]]
        return [*lines, *_more(len(self.errors))]


def issue_of(row: DiffRow) -> ApplyIssue:
    """The error of a row."""
    is_shape = row.cause is Cause.SHAPE
    expected = row.target_shape if is_shape else row.target_dtype
    found = row.adapted_shape if is_shape else row.adapted_dtype
    return ApplyIssue(
        row.cause,
        row.key,
        row.source_key or "",
        _plain(expected),
        _plain(found),
        row.reason,
    )


def _plain(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else "" if value is None else str(value)


def _more(count: int) -> list[str]:
    return [f"  … and {count - SHOWN} more"] if count > SHOWN else []
