"""The facts behind the errors of a load diff, as sentences."""

from __future__ import annotations

from ruda.errors import AdapterError, DecisionError
from ruda.nn import ParamSpec
from ruda.store.diff_rows import Cause
from ruda.store.remap import Collision
from ruda.store.snapshot import TensorSnapshot
from ruda.tensor import DType


def collision_fact(clash: Collision) -> str:
    """The sentence about several sources that would become one."""
    named = " and ".join(repr(source) for source in clash.sources)
    return f"{named} would both become {clash.key!r} by {clash.step}"


def shape_fact(found: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The sentence about two shapes that differ: which axis, or that the axes are swapped."""
    both = f"the file has {list(found)}, the target expects {list(expected)}"
    if 0 in found and 0 not in expected:
        return f"shape: {both}; the file holds an empty placeholder (a partitioned save?)"
    if len(found) != len(expected):
        return f"shape: {both}; {len(found)} axes against {len(expected)}"
    if found == expected[::-1]:
        return f"shape: {both}; the axes are swapped, as between PyTorch and Ruda for Linear"
    axes = [at for at, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    where = ", ".join(f"axis {at}: {found[at]} against {expected[at]}" for at in axes)
    return f"shape: {both}; {where}"


def dtype_cause(snapshot: TensorSnapshot, adapted: TensorSnapshot, expected: DType) -> Cause | None:
    """Why two dtypes do not fit; None where the recipe casts, or both are f32 in the file."""
    if {adapted.dtype, expected} == {DType.F32, DType.FLEX32}:
        return None
    if any(step.startswith(("cast", "clamp")) for step in adapted.trail[len(snapshot.trail) :]):
        return None  # a cast that was asked for is what the target gets
    both = adapted.dtype, expected
    if all(dtype.is_float for dtype in both) or all(dtype.is_integer for dtype in both):
        return Cause.DTYPE
    return Cause.KIND if adapted.dtype.kind is not expected.kind else Cause.DTYPE


def dtype_fact(cause: Cause, adapted: TensorSnapshot, param: ParamSpec) -> str:
    """The sentence about two dtypes, or schemes of one, that do not fit."""
    found, expected = adapted.dtype, param.dtype
    wanted = getattr(param.scheme, "label", expected)
    both = f"the file has {adapted.dtype_label}, the target expects {wanted}"
    if cause is Cause.KIND:
        unpack = f"; a cast to {expected} dequantises it" if found is DType.GGML else ""
        return f"kind: {both}; {found.kind.value} is not {expected.kind.value}{unpack}"
    if adapted.dtype_label == str(wanted):
        return f"dtype: {both} of another scheme"
    remedy = f"; cast it to {expected}" if expected.is_float else ""
    return f"dtype: {both}{remedy}"


def cause_of(error: AdapterError) -> Cause:
    """Why a row that an adapter, or a decision, refuses is an error."""
    return Cause.DECISION if isinstance(error, DecisionError) else Cause.ADAPTER
