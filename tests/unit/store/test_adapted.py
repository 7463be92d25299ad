from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda.errors import AdapterError, DTypeError, ShapeError
from ruda.nn import ParamId
from ruda.store import read_with_counts
from ruda.store.adapted import cast_to, counts_of, relabelled, transposed
from ruda.store.block_scales import scaled_product
from ruda.store.decisions import Slice
from ruda.store.row_blocks import rows_of
from ruda.store.shaping import changed
from ruda.store.snapshot import ArraySource, Origin, TensorSnapshot
from ruda.tensor import CastCounts, DType

VALUES = np.array([[1.0, 1e6, 1e-9], [-2.0, 1e-5, 0.0]], np.float32)
LOST = CastCounts(numel=6, overflow=1, underflow=1, subnormal=1)


class Streamed:
    """A source that hands out its bytes in pieces that do not end on elements."""

    def __init__(self, array: np.ndarray[Any, Any], piece: int) -> None:
        self.array = array
        self.piece = piece

    def read(self) -> np.ndarray[Any, Any]:
        return self.array

    def stream(self, size: int) -> Iterator[memoryview]:
        data = self.array.tobytes()
        for start in range(0, len(data), self.piece):
            yield memoryview(data[start : start + self.piece])


class CutShort(Streamed):
    """A source whose stream ends too early, without a word."""

    def stream(self, size: int) -> Iterator[memoryview]:
        yield memoryview(self.array.tobytes()[: self.array.nbytes // 2])


SHORT = [
    pytest.param(lambda s: rows_of(s, 1, 2), "gave 0 bytes, expected 16", id="rows"),
    pytest.param(lambda s: changed(s, Slice(0, 1, 3)), "gave 8 bytes, expected 16", id="slice"),
    pytest.param(
        lambda s: scaled_product(s, TensorSnapshot.from_array("s", np.ones((1, 1), "<f4"))),
        "gave 4 values, expected 8",
        id="scaled",
    ),
]


@pytest.mark.parametrize(("make", "message"), SHORT)
def test_a_source_that_ends_early_gives_no_values(make, message: str) -> None:
    whole = TensorSnapshot.from_array("a", np.arange(8, dtype="<f4").reshape(4, 2))
    short = replace(whole, source=CutShort(whole.read(), 1))
    with pytest.raises((ShapeError, DTypeError), match=message):
        make(short).read()


def joined(snapshot: TensorSnapshot, size: int) -> tuple[bytes, CastCounts | None]:
    return b"".join(map(bytes, snapshot.chunks(size))), counts_of(snapshot)


def test_cast_counts_what_it_loses() -> None:
    values, counts = read_with_counts(cast_to(TensorSnapshot.from_array("a", VALUES), DType.F16))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(values, VALUES.astype(np.float16))
    assert counts == LOST


@pytest.mark.parametrize("size", [1, 4, 8, 1 << 20])
@pytest.mark.parametrize("piece", [3, 4, 7, 1000])
def test_pieces_hold_the_same_bytes_and_counts(size: int, piece: int) -> None:
    plain = TensorSnapshot("a", DType.F32, VALUES.shape, VALUES.nbytes, Streamed(VALUES, piece))
    made = cast_to(plain, DType.F16)
    assert joined(made, size) == (made.read().tobytes(), LOST)


def test_pieces_of_a_transposed_cast() -> None:
    made = transposed(cast_to(TensorSnapshot.from_array("a", VALUES), DType.F16))
    data, counts = joined(made, 4)
    assert data == np.ascontiguousarray(made.read()).tobytes()
    assert counts == LOST


def test_pieces_without_a_cast_have_no_counts() -> None:
    plain = TensorSnapshot.from_array("a", VALUES)
    assert joined(plain, 8) == (VALUES.tobytes(), None)
    streamed = TensorSnapshot("a", DType.F32, (2, 3), 24, Streamed(VALUES, 8))
    assert joined(streamed, 8) == (VALUES.tobytes(), None)


def test_empty_and_scalar() -> None:
    empty = cast_to(TensorSnapshot.from_array("a", np.zeros((0, 3), np.float32)), DType.BF16)
    assert joined(empty, 8) == (b"", None)
    assert empty.read().shape == (0, 3)
    scalar = cast_to(TensorSnapshot.from_array("a", np.float32(2.0).reshape(())), DType.F16)
    assert scalar.read().shape == ()
    assert joined(scalar, 8)[0] == np.float16(2.0).tobytes()


def test_nothing_is_read_before_it_is_asked_for() -> None:
    class Never:
        def read(self) -> np.ndarray[Any, Any]:
            raise AssertionError("read too early")

    made = cast_to(transposed(TensorSnapshot("a", DType.F32, (2, 3), 24, Never())), DType.F16)
    assert (made.shape, made.dtype, made.nbytes) == ((3, 2), DType.F16, 12)


def test_transformed_bytes_no_longer_lie_in_the_file() -> None:
    origin = Origin(Path("f"), 8, 24)
    plain = replace(TensorSnapshot.from_array("a", VALUES), origin=origin)
    assert relabelled(plain, "b", ()).origin == origin
    assert transposed(plain).origin == cast_to(plain, DType.F16).origin == Origin(Path("f"))


def test_everything_else_is_carried_over() -> None:
    given = TensorSnapshot(
        "a",
        DType.F32,
        (2, 3),
        24,
        ArraySource(VALUES),
        Origin(Path("f")),
        ("Struct:X",),
        ParamId(7),
        "owner",
        ("step",),
        {"s": 1},
    )
    made = relabelled(given, "b", ("Struct:Y",))
    assert made == replace(given, key="b", containers=("Struct:Y",), trail=("step", "rename"))
    assert {f.name for f in fields(given)} == {
        "key",
        "dtype",
        "shape",
        "nbytes",
        "source",
        "origin",
        "containers",
        "param_id",
        "shared_with",
        "trail",
        "scheme",
    }  # a new field must be carried over by every step, too


@pytest.mark.parametrize(
    ("dtype", "target"), [(DType.I32, DType.F16), (DType.F32, DType.I8), (DType.BOOL, DType.F32)]
)
def test_kinds_are_never_mixed(dtype: DType, target: DType) -> None:
    plain = TensorSnapshot.from_array("a.b", np.zeros(2, dtype.carrier), dtype=dtype)
    with pytest.raises(AdapterError, match=f"'a.b': {dtype} cannot be cast to {target}"):
        cast_to(plain, target)


def test_only_matrices_are_transposed() -> None:
    with pytest.raises(AdapterError, match="only a matrix can be transposed, this has 3 axes"):
        transposed(TensorSnapshot.from_array("a", np.zeros((1, 2, 3))))
