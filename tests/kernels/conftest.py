"""Runs a test once per variant that this processor and installation have."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from ruda._kernels import available_variants, variants


@pytest.fixture(params=available_variants())
def variant(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the variant that serves behind the gate for this test."""
    modules = variants.load(request.param)
    for (gate, attribute), subject in variants.holders().items():
        monkeypatch.setattr(sys.modules[gate], attribute, modules[subject])
    return str(request.param)


def _misaligned(array: NDArray) -> NDArray:
    view = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def _read_only(array: NDArray) -> NDArray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


LAYOUTS: dict[str, Callable[[NDArray], NDArray]] = {
    "foreign byte order": lambda a: a.astype(a.dtype.newbyteorder("S")),
    "misaligned": _misaligned,
    "read-only": _read_only,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "negative stride": lambda a: a[::-1].copy()[::-1],
    "column-major": np.asfortranarray,
}


@pytest.fixture(params=LAYOUTS)
def lay(request: pytest.FixtureRequest) -> Callable[[NDArray], NDArray]:
    """Gives an array with the same items in another layout."""
    return LAYOUTS[request.param]


@pytest.fixture(params=["foreign byte order", "misaligned", "read-only", "strided"])
def bad_out(request: pytest.FixtureRequest) -> tuple[Callable[[NDArray], NDArray], str]:
    """Gives an array that no kernel may write, and what the gate says of it."""
    words = {
        "foreign byte order": "in foreign byte order; expected native",
        "misaligned": "pass an aligned array",
        "read-only": "is read-only",
        "strided": "expected a C-contiguous array",
    }
    return LAYOUTS[request.param], words[request.param]
