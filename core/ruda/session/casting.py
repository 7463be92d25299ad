"""The cast of a recipe out of the few choices that a screen offers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ruda.store import CastPolicy


def cast_policy(
    to: str, *, every: bool, keep: Sequence[str], add: Sequence[str] = ()
) -> CastPolicy | None:
    """The cast of these choices; None for none. Raises RudaError for an unknown kind.

    ``add`` names kinds of module that are halved besides those that stand it.
    """
    from ruda.store import CastPolicy
    from ruda.tensor import DType

    if not to:
        return None
    dtype = DType.parse(to)
    if every or to == "f32":
        return CastPolicy.every(dtype, keep=keep)
    return CastPolicy.half(dtype, keep=keep, add=add)


def casts_every(cast: CastPolicy | None) -> bool:
    """True if a cast takes every float tensor."""
    from ruda.store import CastScope

    return cast is not None and cast.scope is CastScope.ALL
