"""What casts do to the values of a conversion, line by line, from a sample or from all of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ruda.progress import SILENT, Monitor
from ruda.session.language import tr
from ruda.session.sentences import say
from ruda.session.wording import count_text, counted, number_text
from ruda.store import (
    Action,
    CastErrors,
    ConversionRow,
    DTypePolicy,
    Recipe,
    conversion_report,
    fold,
)
from ruda.tensor import CastCounts, DType

if TYPE_CHECKING:
    from ruda.session.document import Document
    from ruda.session.pages.save import SaveLine
    from ruda.session.targets import ResolvedTarget

SAMPLE = 65_536
"""Values of every tensor that an estimate looks at."""


@dataclass(frozen=True, slots=True)
class LossLine:
    """What happens to the values of one key, or of a family."""

    text: str
    status: str
    """Name of the status whose mark and colour it has; empty for none."""


@dataclass(frozen=True, slots=True)
class LossPage:
    """What a check found. ``lines`` are by key or family, and the type that is written."""

    lines: Mapping[tuple[str, str], LossLine]
    sentence: str
    """What a banner says; empty where nothing is lost."""
    level: str
    """``error`` or ``warning``."""
    sampled: bool
    """True if only a sample of some tensor was looked at."""


def loss_page(
    document: Document,
    target: ResolvedTarget | None,
    *,
    sample: int | None = None,
    monitor: Monitor = SILENT,
) -> LossPage:
    """Read what is cast, all of it or ``sample`` values of each tensor, and count what is lost.

    Raises as ``conversion_report``.
    """
    expectation = None if target is None else target.expectation
    report = conversion_report(
        document.index, document.recipe, target=expectation, sample=sample, monitor=monitor
    )
    groups: dict[tuple[str, str], list[ConversionRow]] = {}
    for row in report.rows:
        for key in {row.key, fold(row.key)}:
            groups.setdefault((key, row.after), []).append(row)
    lost = [row for row in report.rows if row.is_cast]
    total = sum((row.counts for row in lost), CastCounts())
    clamped = sum((row.counts for row in lost if row.clamped), CastCounts())
    sentence, level = _sentence(total.overflow - clamped.overflow, clamped.overflow, total)
    remark = _remark(report.rows)
    if remark and level != "error":
        sentence, level = remark, "error"
    return LossPage(
        lines={key: _line(rows) for key, rows in groups.items()},
        sentence=sentence,
        level=level,
        sampled=any(row.sampled for row in report.rows),
    )


def _sentence(overflow: int, clamped: int, total: CastCounts) -> tuple[str, str]:
    if overflow:
        text = tr("{overflow} would overflow to infinity.", overflow=counted(overflow, "value"))
        return text, "error"
    if clamped:
        text = tr("{clamped} would be clamped: they change.", clamped=counted(clamped, "value"))
        return text, "warning"
    if total.underflow:
        under = counted(total.underflow, "value")
        return tr("{underflow} would become zero.", underflow=under), "warning"
    return "", "warning"


def _remark(rows: Iterable[ConversionRow]) -> str:
    """What the first merge that loses values says; empty without one."""
    return next((say(text) for row in rows for text in row.remarks), "")


def _line(rows: list[ConversionRow]) -> LossLine:
    remark = _remark(rows)
    if remark:
        return LossLine(remark, "error")
    refused = next((row.refused for row in rows if row.refused), "")
    if refused:
        return LossLine(say(refused), "skipped")
    cast = [row for row in rows if row.is_cast]
    if not cast:
        return LossLine("", "")
    counts = sum((row.counts for row in cast), CastCounts())
    errors = sum((row.errors for row in cast), CastErrors())
    if counts.overflow:
        clamped = all(row.clamped for row in cast if row.counts.overflow)
        word = tr("clamped {n}") if clamped else tr("overflow {overflow}")
        shown = count_text(counts.overflow)
        text = word.format(n=shown, overflow=shown)
        return LossLine(text, "missing" if clamped else "error")
    worst = number_text(float(f"{errors.max_absolute:.2g}"))
    error = tr("exact") if errors.max_absolute == 0 else f"±{worst}"
    if counts.underflow:
        text = tr("underflow {underflow}", underflow=count_text(counts.underflow))
        return LossLine(f"{text} · {error}", "missing")
    return LossLine(f"{tr('all in range')} · {error}", "applied")


def with_fix(recipe: Recipe, line: SaveLine, fix: str) -> Recipe:
    """The recipe with another element type for the tensors of a line.

    ``fix`` is ``keep``, ``bf16``, ``clamp`` (to what the line is cast to), or nothing to take the
    fix of the line away. A fix counts before those that are there. Raises RecipeError for a type
    that values cannot be clamped to.
    """
    pattern = re.escape(line.key)
    if line.count > 1:
        pattern = pattern.replace(r"\*", r"\d+")
    pattern = f"^{pattern}$"
    others = [policy for policy in recipe.policy if policy.pattern != pattern]
    made = {
        "keep": lambda: DTypePolicy(pattern),
        "bf16": lambda: DTypePolicy(pattern, Action.CAST, DType.BF16),
        "clamp": lambda: DTypePolicy(pattern, Action.CLAMP, DType.parse(line.dtype)),
    }
    fresh = [made[fix]()] if fix else []
    return recipe.with_policy(*fresh, *others)
