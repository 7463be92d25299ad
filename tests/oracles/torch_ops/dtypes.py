"""Samples of other dtypes than f32: how they cross, and where Ruda differs by its own rules.

Halves are held to what their documents promise: computed in f32 and rounded once. So torch computes
them in f32 as well, from the same values, and only dtype and shape are those of its own halves.
"""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import torch

NAMES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "u8": torch.uint8,
    "bool": torch.bool,
}
HALVES = (torch.float16, torch.bfloat16)


def array_of(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A copy as an array; NumPy has no bf16 of its own, so that crosses as bits."""
    made = tensor.detach().resolve_conj().resolve_neg()
    if made.dtype is torch.bfloat16:
        return made.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16).copy()
    return made.numpy().copy()


def widened(value: Any) -> Any:
    """Halves as f32, at any depth, dtypes that are asked for as well; the rest as it is."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype in HALVES else value
    if isinstance(value, torch.dtype):
        return torch.float32 if value in HALVES else value
    if isinstance(value, dict):
        return {key: widened(one) for key, one in value.items()}
    if type(value) in (tuple, list):
        return type(value)(widened(one) for one in value)
    return value


STEPPED = ("nextafter", "diff")
"""What depends on the steps of the dtype, or is rounded after each of several differences."""


def computed_in_f32(op: Any, sample: Any) -> list[torch.Tensor] | None:
    """torch's results where halves are widened first, or None where that means something else."""
    if op.name in STEPPED:
        return None
    given, args, options = widened((sample.input, sample.args, sample.kwargs))
    try:
        return leaves(op.op(given, *args, **options))
    except (RuntimeError, TypeError, ValueError):
        return None


def leaves(value: Any) -> list[Any]:
    """The tensors and numbers of a result, in order."""
    if isinstance(value, tuple | list):
        return [one for part in value for one in leaves(part)]
    return [value]


def settled(name: str, sample: Any) -> None:
    """Equal values in their order, as Ruda's ``sort`` leaves them: torch does so where asked."""
    if name in ("sort", "argsort"):
        named = dict(zip(("dim", "descending"), sample.args, strict=False))
        sample.args, sample.kwargs = (), named | sample.kwargs | {"stable": True}


PECULIAR = {
    "arange": "torch cuts the ends to integers first",
    "nn.functional.softmin": "torch negates u8, which wraps around",
}
"""What torch does to integers that no document of Ruda's follows, by operation."""


RULES = [
    (r"needs a float dtype|expected a float tensor", "integers become floats only by a cast"),
    (r"bool tensors have no arithmetic", "bool has no arithmetic"),
    (r"do(es)? not fit [uif]\d+|do(es)? not fit bf16", "what does not fit the dtype is refused"),
    (r"are not whole numbers", "parts of integers are refused"),
    (r"is divided by 0", "an integer divided by 0 is refused"),
    (r"to a negative power", "an integer to a negative power is refused"),
    (r"shift by a negative number", "a shift by a negative number is refused"),
    (r"too coarse to solve in", "halves are not solved in"),
    (r"needs an integer( or bool)? dtype", "needs integers"),
    (
        r"a bound of float does not fit|does not take the fill \d+\.\d",
        "a float does not go into integers",
    ),
]
"""Refusals of Ruda's that are documented, by their sentences; torch converts instead."""


def refusal(error: Exception) -> str | None:
    """The rule that an error of Ruda's follows, or None."""
    text = str(error)
    return next((reason for pattern, reason in RULES if re.search(pattern, text)), None)


SUMS = "integers and bool add up and multiply in 64 bits, unsigned ones in u64"
OTHER = {
    **dict.fromkeys(("sum", "prod", "cumsum", "cumprod", "trace"), SUMS),
    **dict.fromkeys(("all", "any"), "torch gives u8 for u8, Ruda bool"),
    "masked_fill": "a bool tensor with an integer is i32",
    **dict.fromkeys(("addmm", "addmv", "addr", "baddbmm"), "integers with a float factor are f32"),
}
"""Results of another dtype than torch's, by rule."""


def other_dtype(name: str, got: Any, wanted: Any) -> str | None:
    """The rule by which a result has another dtype than torch's, or None."""
    return OTHER.get(name) if wanted.kind in "iub" else None
