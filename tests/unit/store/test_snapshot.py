"""TensorSnapshot: a source that gives other values than the snapshot says is found out."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from ruda.errors import DTypeError, RudaError, ShapeError
from ruda.store import TensorIndex, TensorSnapshot, save
from ruda.tensor import DType


@dataclass(frozen=True)
class Given:
    array: np.ndarray[Any, Any]

    def read(self) -> np.ndarray[Any, Any]:
        return self.array


def told(array: np.ndarray[Any, Any], dtype: DType = DType.F32) -> TensorSnapshot:
    return TensorSnapshot("w", dtype, (2, 2), dtype.nbytes(4), Given(array))


LIES = [
    pytest.param(np.ones((2, 2), "<i4"), DTypeError, "gave NumPy's <i4", id="other type"),
    pytest.param(np.ones((2, 2), ">f4"), DTypeError, "gave NumPy's >f4", id="other byte order"),
    pytest.param(np.ones((2, 2), "<f8"), DTypeError, "gave NumPy's <f8", id="wider"),
    pytest.param(np.ones((4,), "<f4"), ShapeError, r"gave the shape \(4,\)", id="flat"),
    pytest.param(np.ones((2, 1), "<f4"), ShapeError, r"gave the shape \(2, 1\)", id="short"),
]


@pytest.mark.parametrize(("array", "error", "message"), LIES)
def test_other_values_than_promised_are_refused(array, error, message):
    with pytest.raises(error, match=f"^'w': its source {message}"):
        told(array).read()


@pytest.mark.parametrize(("array", "error", "message"), LIES[:3])
def test_bytes_of_another_type_are_never_written(array, error, message, tmp_path):
    path = tmp_path / "a.bpk"
    with pytest.raises(error, match=f"'w': its source {message}"):
        save(TensorIndex.of([told(array)], format="memory"), path)
    with pytest.raises(RudaError, match="its source"):
        told(array).sha256()
    assert list(tmp_path.iterdir()) == []


def test_raw_bytes_have_one_axis():
    snapshot = told(np.arange(2, dtype=np.uint8), DType.F4_E2M1)
    assert snapshot.read().shape == (2,)
    assert b"".join(map(bytes, snapshot.chunks(1))) == b"\0\1"


@dataclass(frozen=True)
class Streamed(Given):
    """Gives its bytes in pieces, whatever the snapshot says."""

    def stream(self, size: int) -> Iterator[memoryview]:
        flat = self.array.reshape(-1).view(np.uint8)
        for start in range(0, flat.size, size):
            yield flat[start : start + size].data


COUNTS = [
    pytest.param(np.ones(3, "<f4"), 12, id="short"),
    pytest.param(np.ones(5, "<f4"), 20, id="long"),
    pytest.param(np.ones(0, "<f4"), 0, id="nothing"),
]


@pytest.mark.parametrize(("array", "given"), COUNTS)
@pytest.mark.parametrize("source", [Given, Streamed], ids=["read", "streamed"])
def test_bytes_of_another_number_are_never_hashed_or_written(source, array, given, tmp_path):
    lying = TensorSnapshot("w", DType.F32, (2, 2), 16, source(array))
    with pytest.raises(ShapeError, match=f"^'w': its source gave {given} bytes, expected 16$"):
        lying.sha256()
    with pytest.raises(RudaError, match=f"gave {given} bytes|expected 16"):
        save(TensorIndex.of([lying], format="memory"), tmp_path / "a.bpk")
    assert list(tmp_path.iterdir()) == []
    whole = TensorSnapshot("w", DType.F32, (2, 2), 16, source(np.ones((2, 2), "<f4")))
    assert b"".join(bytes(piece) for piece in whole.chunks(3)) == np.ones(4, "<f4").tobytes()
