"""What a refused save says one can do works: for every dtype and every format."""

import numpy as np
import pytest

from ruda.store import TensorIndex, TensorSnapshot, plan_save
from ruda.store.layout import dtype_remedy
from ruda.store.snapshot import ArraySource
from ruda.tensor import DType, Kind

SUFFIXES = {"safetensors": "safetensors", "Rudapack": "bpk", "PyTorch": "pt", "NumPy": "npz"}
SCHEME = {"value": "Q8S", "param": "F32", "store": "Native", "level": "Tensor", "mode": "Symmetric"}


def index_of(dtype):
    """One tensor of a dtype, its numbers all zero."""
    scheme = SCHEME if dtype is DType.QFLOAT else None
    nbytes = 12 if dtype.kind is Kind.QUANTIZED else dtype.nbytes(8)
    count = nbytes // dtype.carrier.itemsize
    source = ArraySource(np.zeros(count, dtype.carrier))
    return TensorIndex.of([TensorSnapshot("t", dtype, (8,), nbytes, source, scheme=scheme)],
                          format="memory")  # fmt: skip


def refusals(dtype, suffix, tmp_path):
    plan = plan_save(index_of(dtype), tmp_path / f"m.{suffix}")
    said = [problem.message for problem in plan.problems if problem.blocking]
    return [text for text in said if not text.startswith("an archive without arrays")]


@pytest.mark.parametrize("suffix", SUFFIXES.values())
@pytest.mark.parametrize("dtype", DType, ids=str)
def test_a_format_that_is_named_holds_the_dtype(dtype, suffix, tmp_path):
    for said in refusals(dtype, suffix, tmp_path):
        assert said.endswith(f"; {dtype_remedy(dtype)}")
        for name, other in SUFFIXES.items():
            if name in dtype_remedy(dtype):
                assert refusals(dtype, other, tmp_path) == []


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_every_dtype_has_a_way(dtype):
    assert dtype_remedy(dtype) != "leave the tensor out"
