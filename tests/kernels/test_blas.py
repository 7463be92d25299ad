"""How many threads a matrix product takes, and that the number comes back."""

from __future__ import annotations

import os
import subprocess
import sys

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


def run(code: str, **environment: str) -> str:
    """What a fresh interpreter with this one's import path prints."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_number_in_the_environment_bounds_products_from_the_import_on() -> None:
    code = (
        "import ruda._kernels.blas as b; controls = b._controls();"
        "print(1 if controls is None else controls[0]())"
    )
    assert run(code, RUDA_THREADS="1").split() == ["1"]
    assert run(code, RUDA_THREADS="many").split()  # said where the number is needed


FORKS = """
import os, threading
from ruda._kernels import blas, one_blas_thread
numbers = [6]
blas._controls = lambda: (lambda: numbers[0], lambda n: numbers.insert(0, n))

def report():
    with one_blas_thread():
        assert numbers[0] == 1
    print(blas._running, numbers[0], flush=True)

def fork(inside):
    if not (child := os.fork()):
        inside()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param("fork(report)", "0 6", id="with nothing inside"),
        pytest.param(
            "with one_blas_thread(): fork(report)", "1 1", id="by a thread that is inside"
        ),
        pytest.param(
            "leave, entered = threading.Event(), threading.Event()\n"
            "def stay():\n"
            "    with one_blas_thread(): entered.set(); leave.wait()\n"
            "other = threading.Thread(target=stay); other.start(); entered.wait()\n"
            "fork(report); leave.set(); other.join(); report()",
            "0 6 0 6",
            id="while another thread is inside",
        ),
        pytest.param(
            "held, leave = threading.Event(), threading.Event()\n"
            "def hold():\n"
            "    with blas._lock: held.set(); leave.wait()\n"
            "other = threading.Thread(target=hold); other.start(); held.wait()\n"
            "fork(report); leave.set(); other.join()",
            "0 6",
            id="while another thread holds the lock",
        ),
    ],
)
def test_a_forked_child_neither_waits_nor_keeps_to_one_thread(code: str, printed: str) -> None:
    assert run(FORKS + code).split() == printed.split()
