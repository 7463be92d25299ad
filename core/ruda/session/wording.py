"""How figures read: sizes, counts, shapes and shares, alike in every screen and the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ruda.session.language import tr
from ruda.store import share_text

__all__ = [
    "count_text",
    "counted",
    "keeping_text",
    "listed",
    "number_text",
    "shape_text",
    "shapes_text",
    "share_text",
    "size_text",
]

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size_text(nbytes: int) -> str:
    """Bytes in decimal units with three figures: ``640 B``, ``1.08 MB``, ``44.7 MB``."""
    if nbytes < 1000:
        return f"{nbytes} B"
    value = float(nbytes)
    for unit in _UNITS:
        if value < 999.5 or unit == _UNITS[-1]:
            break
        value /= 1000
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{digits}f} {unit}"


def count_text(count: int) -> str:
    """A whole number with its thousands apart: ``272 474``."""
    return f"{count:,}".replace(",", " ")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 tensor``, ``98 tensors``."""
    return f"{count_text(count)} {tr(noun if count == 1 else plural or noun + 's')}"


def shape_text(shape: Sequence[int]) -> str:
    """``[64, 3, 7, 7]``; a scalar is ``[]``."""
    return "[" + ", ".join(str(size) for size in shape) + "]"


def shapes_text(shapes: Iterable[Sequence[int]]) -> str:
    """One text for several shapes: ``[16…64, 16…64, 3, 3]``; ``various`` where ranks differ."""
    distinct = {tuple(shape) for shape in shapes}
    if not distinct:
        return ""
    if len({len(shape) for shape in distinct}) != 1:
        return tr("various")
    axes = [(min(axis), max(axis)) for axis in zip(*distinct, strict=True)]
    return "[" + ", ".join(str(low) if low == high else f"{low}…{high}" for low, high in axes) + "]"


def keeping_text(count: int) -> str:
    """What tensors do that nothing was found for: ``keeps its initial value``, or of several."""
    return tr("keeps its initial value") if count == 1 else tr("keep their initial values")


def number_text(value: float) -> str:
    """A value with four significant figures: ``-0.8214``, ``1.2e-04``, ``nan``."""
    return f"{value:.4g}"


def listed(words: Sequence[str], limit: int = 5) -> str:
    """``a, b and c``; beyond ``limit`` the rest is counted: ``a, b and 7 more``."""
    if len(words) > limit:
        return tr(
            "{words} and {count} more",
            words=", ".join(words[: limit - 1]),
            count=len(words) - limit + 1,
        )
    if len(words) < 2:
        return "".join(words)
    return tr("{words} and {last}", words=", ".join(words[:-1]), last=words[-1])
