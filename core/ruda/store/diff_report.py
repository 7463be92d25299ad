"""DiffReport: all rows of a load diff, their totals, and what they say together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from ruda.store.diff_rows import Cause, DiffRow, Status, fold
from ruda.store.row_list import RowList, RowsAt
from ruda.store.shares import share_text


class Coverage(NamedTuple):
    """How much of the target is filled, in tensors (its parameters) and in their elements."""

    tensors: int
    tensors_total: int
    params: int
    """Elements of the tensors that are filled."""
    params_total: int
    """Elements of all tensors of the target."""

    @property
    def share(self) -> float:
        """Share of the elements, 0.0 to 1.0; 1.0 for a target without any."""
        return 1.0 if self.params_total == 0 else self.params / self.params_total


class Hint(NamedTuple):
    """A step that would let more tensors load, found by probing; never taken by itself."""

    kind: str
    """``strip`` or ``add`` (a prefix), ``adapt`` (an adapter) or ``cast`` (floats to a type)."""
    value: str
    matches: int
    """Number of target tensors that would find a source, or fit what they find."""

    @property
    def rule(self) -> tuple[str, str] | None:
        """The remap rule that does it, as (pattern, replacement); None for the others."""
        if self.kind == "strip":
            return "^" + re.escape(self.value), ""
        if self.kind == "add":
            return "^", self.value.replace("$", "$$").replace("\\", "\\\\")
        return None

    @property
    def action(self) -> str:
        """What to do, as the beginning of a sentence."""
        words = {"strip": "stripping", "add": "adding", "adapt": "the adapter", "cast": "a cast to"}
        shown = self.value if self.kind in ("adapt", "cast") else repr(self.value)
        return f"{words[self.kind]} {shown}"


class Family(NamedTuple):
    """Rows whose keys differ in numbers only."""

    name: str
    rows: Sequence[DiffRow]


@dataclass(frozen=True, eq=False)
class DiffReport:
    """What a source would do to a target under a recipe. Nothing was read but headers.

    Rows come in the order of the target, then the sources that no target takes, in file order.
    Each is made when it is looked at; ``table`` tells of all of them without making any.
    """

    rows: Sequence[DiffRow]
    source_tensors: int
    """Tensors of the source once the merges are done: those that rows are about."""
    target_tensors: int
    hints: tuple[Hint, ...] = ()
    notes: tuple[str, ...] = ()
    source_name: str = "source"
    target_name: str = "target"
    merged_tensors: int = 0
    """Further tensors of the file, which merges have computed into others: no row is about them."""

    def __repr__(self) -> str:
        counts = " ".join(f"{status.value}={count}" for status, count in self.counts.items())
        return f"<DiffReport {self.source_name} onto {self.target_name}: {counts}>"

    def __str__(self) -> str:
        """The report as text: coverage, counts, every problem with its reason, the rest folded."""
        cover = self.coverage
        lines = [
            f"{self.source_name} onto {self.target_name}",
            f"{share_text(cover.params, cover.params_total)} of elements would load, "
            f"{cover.tensors} of {cover.tensors_total} tensors",
            "   ".join(f"{status.value} {count}" for status, count in self.counts.items()),
        ]
        if self.merge_sentence is not None:
            lines.append(self.merge_sentence)
        if self.reused:
            key, count = next(iter(self.reused.items()))
            lines.append(
                f"listed apart: {len(self.reused)} of {self.source_tensors} sources are used "
                f"several times, {key!r} first ({count} times)"
            )
        for status in (Status.ERROR, Status.MISSING, Status.UNUSED, Status.SKIPPED, Status.APPLIED):
            lines += _status_lines(status, self._families(self.table.at((status,))))
        return "\n".join(
            [*lines, *(f"note: {note}" for note in self.notes), self.banner or ""]
        ).rstrip()

    @cached_property
    def counts(self) -> Mapping[Status, int]:
        """Number of rows of every status, none left out."""
        return MappingProxyType(self.table.counts())

    @cached_property
    def table(self) -> RowList:
        """Keys and kinds of all rows, as columns."""
        return self.rows if isinstance(self.rows, RowList) else RowList.of(self.rows)

    def of(self, *statuses: Status) -> Sequence[DiffRow]:
        """The rows of these statuses."""
        return RowsAt(self.table, self.table.at(statuses))

    @cached_property
    def coverage(self) -> Coverage:
        """How much of the target the applied rows fill."""
        found = self.table.elements()
        tensors, params = found[Status.APPLIED]
        total = sum(count for count, _ in found.values())
        return Coverage(tensors, total, params, sum(numel for _, numel in found.values()))

    @property
    def is_complete(self) -> bool:
        """True if a load would leave no target tensor unfilled by accident."""
        return not self.counts[Status.ERROR] and not self.counts[Status.MISSING]

    @property
    def is_clean(self) -> bool:
        """True if there is nothing to remark: complete, and unused only what is harmless."""
        return self.is_complete and all(
            row.cause is Cause.HARMLESS for row in self.of(Status.UNUSED)
        )

    @property
    def totals_hold(self) -> bool:
        """True if every tensor of the source and of the target is counted exactly once.

        Uses of a source beyond its first are not counted: ``reused`` lists them apart.
        """
        skipped = self.of(Status.SKIPPED)
        pairs = self.counts[Status.APPLIED] + self.counts[Status.ERROR]
        uses = self._uses.total() - sum(count - 1 for count in self.reused.values())
        # Of another file, by a decision, and not to be had: it counts as a source all the same.
        uses += sum(row.source is None for row in self.of(Status.ERROR))
        alone = {row.source.key for row in self.of(Status.UNUSED) if row.source is not None}
        apart = len(alone) == self.counts[Status.UNUSED] and alone.isdisjoint(self.reused)
        targets = pairs + self.counts[Status.MISSING] + sum(r.target is not None for r in skipped)
        return apart and uses == self.source_tensors and targets == self.target_tensors

    @cached_property
    def _uses(self) -> Counter[str]:
        return self.table.uses()

    @cached_property
    def reused(self) -> Mapping[str, int]:
        """Keys of sources that several rows are about, split or tied, and in how many."""
        return MappingProxyType({key: count for key, count in self._uses.items() if count > 1})

    @property
    def merge_sentence(self) -> str | None:
        """How many tensors of the file have no row because merges took them; None without any."""
        if not self.merged_tensors:
            return None
        total = self.source_tensors + self.merged_tensors
        return (
            f"{total} tensors in the source, {self.merged_tensors} of them merged into others: "
            "they have no rows of their own"
        )

    @property
    def banner(self) -> str | None:
        """The one thing to know first, where there is one; None for a load without worry."""
        counts = self.counts
        total = self.target_tensors
        if total and not counts[Status.APPLIED] and not counts[Status.SKIPPED]:
            text = f"nothing would be loaded: 0 of {total}"
            if self.hints:
                best = self.hints[0]
                text += f"; {best.action} would match {best.matches}"
            return text
        if counts[Status.ERROR]:
            text = f"{counts[Status.ERROR]} of {total} cannot be applied"
            if counts[Status.MISSING]:
                text += f", and {counts[Status.MISSING]} keep their initial value"
        elif counts[Status.MISSING]:
            text = f"{counts[Status.MISSING]} of {total} keep their initial value"
        else:
            return None
        if self.hints:
            text += f"; {self.hints[0].action} would match {self.hints[0].matches} more"
        return text

    def families(self, rows: Iterable[DiffRow] | None = None) -> tuple[Family, ...]:
        """The rows (all, unless given) grouped by key with numbers folded, in order."""
        if rows is None:
            return self._families()
        groups: dict[str, list[DiffRow]] = {}
        for row in rows:
            groups.setdefault(fold(row.key), []).append(row)
        return tuple(Family(name, tuple(members)) for name, members in groups.items())

    def _families(self, places: Sequence[int] | None = None) -> tuple[Family, ...]:
        groups = self.table.families(places)
        return tuple(Family(name, RowsAt(self.table, found)) for name, found in groups.items())

    def as_data(self) -> dict[str, Any]:
        """The report as plain values, for JSON."""
        coverage = self.coverage
        return {
            "schema": "ruda-diff-1",
            "source": self.source_name,
            "target": self.target_name,
            "source_tensors": self.source_tensors,
            "target_tensors": self.target_tensors,
            "merged_tensors": self.merged_tensors,
            "reused": dict(self.reused),
            "counts": {status.value: count for status, count in self.counts.items()},
            "coverage": {**coverage._asdict(), "share": coverage.share},
            "banner": self.banner,
            "hints": [hint._asdict() for hint in self.hints],
            "notes": list(self.notes),
            "rows": [row.as_data() for row in self.rows],
        }


def _status_lines(status: Status, families: tuple[Family, ...]) -> list[str]:
    """One line per family of a status: keys, what was done, and the reason of the first row."""
    lines = []
    for family in families:
        first = family.rows[0]
        name = family.name if len(family.rows) > 1 else first.key
        many = f" ×{len(family.rows)}" if len(family.rows) > 1 else ""
        said = ", ".join(first.trail) if status is Status.APPLIED else first.reason
        near = f"; did you mean {first.nearest[0].key!r}?" if first.nearest else ""
        lines.append(f"  {status.value:<8} {name}{many}" + (f": {said}{near}" if said else near))
    return lines
