"""The cast that a few choices mean."""

from __future__ import annotations

import pytest

from ruda.errors import RudaError
from ruda.session import cast_policy, casts_every
from ruda.store import CastPolicy
from ruda.tensor import DType


def test_choices_are_a_cast() -> None:
    assert cast_policy("", every=True, keep=("Linear",)) is None
    assert cast_policy("f16", every=False, keep=()) == CastPolicy.half(DType.F16)
    assert cast_policy("f16", every=True, keep=()) == CastPolicy.every(DType.F16)
    added = cast_policy("bf16", every=False, keep=("Linear",), add=("BatchNorm",))
    assert added == CastPolicy.half(DType.BF16, keep=("Linear",), add=("BatchNorm",))


def test_widening_takes_every_float() -> None:
    assert cast_policy("f32", every=False, keep=()) == CastPolicy.every(DType.F32)


def test_a_cast_says_whether_it_takes_every_float() -> None:
    assert [casts_every(cast_policy(to, every=to == "f16", keep=())) for to in ("f16", "bf16")] == [
        True,
        False,
    ]
    assert not casts_every(None)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(RudaError, match="Liner"):
        cast_policy("f16", every=False, keep=("Liner",))
