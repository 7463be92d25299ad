"""predict: run a model over many rows in bounded memory."""

from __future__ import annotations

from ruda.errors import SettingError, ShapeError
from ruda.nn.module import Module
from ruda.progress import SILENT, Monitor, track
from ruda.tensor import Tensor


def predict(model: Module, x: Tensor, *, batch_size: int = 64, monitor: Monitor = SILENT) -> Tensor:
    """The model's output for all rows of ``x``, computed ``batch_size`` rows at a time.

    Rows do not influence each other outside training, so the blocks give what one run would give
    up to rounding. Raises ShapeError for a scalar or no rows, Cancelled from the monitor.
    """
    if batch_size < 1:
        raise SettingError(f"batch_size={batch_size}: expected 1 or more")
    if not x.rank or not x.shape[0]:
        raise ShapeError(f"predict: shape {list(x.shape)} has no rows to run the model on")
    starts = range(0, x.shape[0], batch_size)
    blocks = track(starts, monitor, "batches", len(starts))
    return Tensor.cat([model(x[start : start + batch_size]) for start in blocks])
