"""How many threads a matrix product takes, and that the number comes back."""

from __future__ import annotations

import numpy as np
import pytest

from ruda._kernels import blas, one_blas_thread


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Threads of a library that takes 6 at first; the newest number is in front."""
    numbers = [6]
    controls = (lambda: numbers[0], lambda n: numbers.insert(0, n))
    monkeypatch.setattr(blas, "_controls", lambda: controls)
    monkeypatch.setattr(blas, "_at_first", None)
    return numbers


def test_threads_come_back(count: list[int]) -> None:
    with one_blas_thread():
        with one_blas_thread():
            assert count[0] == 1
        assert count[0] == 1
    assert count[0] == 6
    with pytest.raises(ValueError, match="inside"), one_blas_thread():
        raise ValueError("inside")
    assert count[0] == 6


@pytest.mark.parametrize(("most", "expected"), [(1, 1), (4, 4), (6, 6), (20, 6), (None, 6)])
def test_a_bound_is_kept_until_it_is_taken_back(
    count: list[int], most: int | None, expected: int
) -> None:
    blas.bound_blas(most)
    assert count[0] == expected
    with one_blas_thread():
        assert count[0] == 1
    assert count[0] == expected
    blas.bound_blas(None)
    assert count[0] == 6


def test_a_bound_set_while_a_model_runs_holds_afterwards(count: list[int]) -> None:
    with one_blas_thread():
        blas.bound_blas(2)
        assert count[0] == 1
    assert count[0] == 2


def test_the_library_of_numpy_listens() -> None:
    controls = blas._controls()
    if controls is None:
        assert "openblas" not in str(np.show_config(mode="dicts")["Build Dependencies"]["blas"])
        return
    read = controls[0]
    before = read()
    blas.bound_blas(1)
    assert read() == 1
    blas.bound_blas(None)
    assert read() == before
