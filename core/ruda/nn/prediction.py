"""predict: run a model over many rows in bounded memory, on all threads."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from ruda._kernels import one_blas_thread, thread_count
from ruda.errors import SettingError, ShapeError
from ruda.nn.module import Module
from ruda.progress import SILENT, Monitor, Progress
from ruda.tensor import Tensor


def predict(
    model: Module,
    x: Tensor,
    *,
    batch_size: int = 32,
    threads: int | None = None,
    monitor: Monitor = SILENT,
) -> Tensor:
    """The model's output for all rows of ``x``, computed ``batch_size`` rows at a time.

    Rows do not influence each other outside training, so the blocks give what one run would give
    up to rounding, whatever the number of threads (that of the kernels, unless given). Raises
    ShapeError for a scalar or no rows, Cancelled from the monitor.
    """
    if batch_size < 1:
        raise SettingError(f"batch_size={batch_size}: expected 1 or more")
    if threads is not None and threads < 1:
        raise SettingError(f"threads={threads}: expected 1 or more")
    if not x.rank or not x.shape[0]:
        raise ShapeError(f"predict: shape {list(x.shape)} has no rows to run the model on")
    rows = x.shape[0]
    starts = range(0, rows, batch_size)
    workers = min(len(starts), thread_count() if threads is None else threads)
    outputs: list[Tensor] = []
    waiting: deque[Future[Tensor]] = deque()

    def take() -> None:
        outputs.append(waiting.popleft().result())
        monitor.report(Progress(min(len(outputs) * batch_size, rows), rows, "rows"))

    with one_blas_thread(), ThreadPoolExecutor(workers, "ruda-predict") as pool:
        try:
            for start in starts:
                monitor.check()
                waiting.append(pool.submit(model, x[start : start + batch_size]))
                if len(waiting) > 2 * workers:
                    take()
            while waiting:
                monitor.check()
                take()
        finally:
            pool.shutdown(cancel_futures=True)  # after an error the rest is not wanted
    return Tensor.cat(outputs)
