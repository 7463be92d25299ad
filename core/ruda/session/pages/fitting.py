"""Decisions that would make one tensor fit: what a row with a wrong shape offers.

None is ever taken by itself: a slice leaves values out, and a pad makes values up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, permutations

from ruda.session.language import tr
from ruda.session.wording import shape_text
from ruda.store import Action, Change, Decision, Pad, Reshape, Slice, Transpose

Shape = tuple[int, ...]
MOST_ORDERS = 3
"""Orders of axes that are offered."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A way to bring a tensor to the shape that is wanted."""

    title: str
    changes: tuple[Change, ...]

    @property
    def kind(self) -> tuple[Action, ...]:
        """What is done in which order, whatever the numbers: alike for tensors of one family."""
        return tuple(change.action for change in self.changes)

    def decisions(self, key: str) -> tuple[Decision, ...]:
        """The decisions about a tensor."""
        return tuple(Decision.of(key, change) for change in self.changes)


def fits(source: Sequence[int], target: Sequence[int]) -> tuple[Fit, ...]:
    """Ways from one shape to another: axes in another order, cut and filled up, or reshaped."""
    have, want = tuple(source), tuple(target)
    if have == want or 0 in (*have, *want):
        return ()
    found = [*_orders(have, want), *_cuts(have, want)]
    if math.prod(have) == math.prod(want) and have != want:
        title = tr("Reshape to {shape}", shape=shape_text(want))
        found.append(Fit(title, (Reshape(want),)))
    return tuple(found)


def _orders(have: Shape, want: Shape) -> list[Fit]:
    if sorted(have) != sorted(want) or len(have) > 6:
        return []
    axes = range(len(have))
    fitting = (p for p in permutations(axes) if tuple(have[axis] for axis in p) == want)
    return [
        Fit(tr("Transpose to {axes}", axes=", ".join(map(str, order))), (Transpose(order),))
        for order in islice(fitting, MOST_ORDERS)
    ]


def _cuts(have: Shape, want: Shape) -> list[Fit]:
    """Every axis cut or filled up at its end; nothing where the number of axes differs."""
    if len(have) != len(want) or sorted(have) == sorted(want):
        return []
    changes: list[Change] = []
    words: list[str] = []
    for axis, (old, new) in enumerate(zip(have, want, strict=True)):
        if new < old:
            changes.append(Slice(axis, 0, new))
            words.append(tr("cut axis {axis} to {size}", axis=axis, size=new))
        elif new > old:
            changes.append(Pad(axis, 0, new - old, 0.0))
            words.append(tr("fill axis {axis} up to {size} with zeros", axis=axis, size=new))
    title = ", ".join(words)
    return [Fit(title[:1].upper() + title[1:], tuple(changes))]
