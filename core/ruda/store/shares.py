"""Shares as text, in one spelling everywhere."""

from __future__ import annotations


def share_text(part: int, whole: int) -> str:
    """``96.1 %``, cut and not rounded: 100 only when all, 0 only when none, of nothing 100.

    So 99.97 of 100 is ``99.9 %``, and one of a million is ``0.1 %``: no tensor vanishes.
    """
    if whole == 0 or part == whole:
        return "100 %"
    if part == 0:
        return "0 %"
    tenths = min(max(1000 * part // whole, 1), 999)
    return f"{tenths // 10}.{tenths % 10} %"
