"""Norms along an axis as bars, and the channels that are dead or far larger than the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.session.language import tr
from ruda.session.wording import count_text, listed, number_text

BARS = 64
LARGE = 10.0
"""Times the median from which a norm is called large."""


@dataclass(frozen=True, slots=True)
class NormBar:
    """One index of an axis, or the largest of a run of them."""

    name: str
    weight: float
    words: str


@dataclass(frozen=True, slots=True)
class NormsView:
    """What is shown of one axis."""

    caption: str
    bars: tuple[NormBar, ...]
    findings: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]


def norms_view(norms: np.ndarray[Any, Any], what: str) -> NormsView:
    """The view of f64 norms, one for each index; ``what`` names the axis."""
    count = len(norms)
    starts = np.arange(min(count, BARS), dtype=np.int64) * count // max(1, min(count, BARS))
    tops = np.maximum.reduceat(norms, starts) if count else norms
    ends = [*starts[1:].tolist(), count]
    bars = tuple(
        NormBar(_run(start, end), float(top), f"{_run(start, end)}: {number_text(float(top))}")
        for start, end, top in zip(starts.tolist(), ends, tops.tolist(), strict=False)
    )
    return NormsView(
        caption=tr("{what}, {count} norms", what=what, count=count_text(count)),
        bars=bars,
        findings=_findings(norms),
        facts=_facts(norms),
    )


def _run(start: int, end: int) -> str:
    return str(start) if end - start == 1 else f"{start}–{end - 1}"


def _facts(norms: np.ndarray[Any, Any]) -> tuple[tuple[str, str], ...]:
    if not len(norms):
        return ()
    least, most = int(norms.argmin()), int(norms.argmax())
    return (
        (tr("least"), f"{number_text(float(norms[least]))}  [{least}]"),
        (tr("median"), number_text(float(np.median(norms)))),
        (tr("largest"), f"{number_text(float(norms[most]))}  [{most}]"),
    )


def _findings(norms: np.ndarray[Any, Any]) -> tuple[str, ...]:
    found: list[str] = []
    dead = np.flatnonzero(norms == 0)
    middle = float(np.median(norms)) if len(norms) else 0.0
    large = np.flatnonzero(norms > LARGE * middle) if middle > 0 else dead[:0]
    for places, text in (
        (dead, tr("all zero: {places}", places=_places(dead))),
        (large, tr("over 10 times the median: {places}", places=_places(large))),
    ):
        if len(places):
            found.append(text)
    return tuple(found)


def _places(places: np.ndarray[Any, Any]) -> str:
    return listed([str(place) for place in places.tolist()])
