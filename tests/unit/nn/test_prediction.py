"""predict: blocks and threads give the rows of one run; BLAS gets its threads back."""

import numpy as np
import pytest

from ruda import nn
from ruda._kernels import blas, one_blas_thread
from ruda.errors import SettingError, ShapeError
from ruda.progress import Cancelled
from ruda.tensor import Distribution, Tensor

MODEL = nn.Linear(4, 3, seed=1)
X = Tensor.random((23, 4), Distribution.normal(0, 1), seed=2)

SPLITS = [
    pytest.param(5, 1, id="one thread"),
    pytest.param(5, 3, id="three threads"),
    pytest.param(1, 2, id="single rows"),
    pytest.param(100, None, id="one block"),
]


@pytest.mark.parametrize(("batch_size", "threads"), SPLITS)
def test_blocks_join_in_order(batch_size, threads):
    whole = MODEL(X)
    parts = nn.predict(MODEL, X, batch_size=batch_size, threads=threads)
    np.testing.assert_allclose(parts.numpy(), whole.numpy(), rtol=1e-6, atol=1e-6)


class StopAfter:
    def __init__(self, rows):
        self.rows, self.seen = rows, 0

    def report(self, progress):
        self.seen = progress.done
        assert (progress.total, progress.unit) == (23, "rows")

    def check(self):
        if self.seen >= self.rows:
            raise Cancelled("stopped")


def test_reports_and_stops():
    monitor = StopAfter(10)
    with pytest.raises(Cancelled, match="stopped"):
        nn.predict(MODEL, X, batch_size=2, threads=1, monitor=monitor)
    assert 10 <= monitor.seen < 23
    monitor = StopAfter(24)
    nn.predict(MODEL, X, batch_size=2, monitor=monitor)
    assert monitor.seen == 23


REFUSED = [
    pytest.param(X, {"batch_size": 0}, SettingError, "batch_size=0: expected 1", id="batch size"),
    pytest.param(X, {"threads": 0}, SettingError, "threads=0: expected 1", id="threads"),
    pytest.param(Tensor.zeros((0, 4)), {}, ShapeError, r"shape \[0, 4\] has no rows", id="empty"),
    pytest.param(
        Tensor.zeros((3, 5)), {}, ShapeError, r"Linear: expected .*, got \[3, 5\]", id="shape"
    ),
]


@pytest.mark.parametrize(("x", "options", "error", "message"), REFUSED)
def test_refused(x, options, error, message):
    with pytest.raises(error, match=message):
        nn.predict(MODEL, x, **options)


def test_another_blas_is_left_alone(monkeypatch):
    monkeypatch.setattr(blas, "_controls", lambda: None)
    with one_blas_thread():
        assert MODEL(X).shape == (23, 3)
