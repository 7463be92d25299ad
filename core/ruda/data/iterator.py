"""BatchIterator: one pass over one epoch's plan, on the calling thread or on workers."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import TracebackType
from typing import Any, Generic, TypeVar

from ruda.data.batcher import Batcher
from ruda.data.dataset import Dataset
from ruda.data.plan import EpochPlan
from ruda.data.prefetch import OrderedWorkers
from ruda.errors import BatchError, DatasetError, RudaError
from ruda.progress import Cancelled, Progress
from ruda.tensor import HostDevice

T = TypeVar("T")
B = TypeVar("B")

NAMED_ITEMS = 8
"""How many indices of a batch a message lists."""


@dataclass(frozen=True, slots=True, eq=False)
class BatchMaker(Generic[T, B]):
    """Makes the batch with a number: reads its items, then batches them. Runs in any thread."""

    dataset: Dataset[T]
    batcher: Batcher[T, B]
    device: HostDevice
    plan: EpochPlan

    def __call__(self, number: int) -> B:
        """The batch. Raises ItemError or BatchError that says which batch and which items."""
        return self._batch(number, self._items(number))

    def _items(self, number: int) -> Sequence[T]:
        indices = self.plan[number]
        try:
            items = self.dataset.get_many(indices)
        except RudaError as error:
            error.add_note(f"while making {self._place(number)}")
            raise
        except Cancelled:
            raise
        except Exception as error:
            raise DatasetError(
                f"{self._place(number)}: get_many raised {type(error).__name__}: {error}"
            ) from error
        if len(items) != len(indices):
            raise DatasetError(
                f"{self._place(number)}: get_many was asked for {len(indices)} items "
                f"and returned {len(items)}"
            )
        return items

    def _batch(self, number: int, items: Sequence[T]) -> B:
        try:
            return self.batcher.batch(items, self.device)
        except BatchError as error:
            raise BatchError(
                f"{self._place(number)}: {error}", field=error.field, shapes=error.shapes
            ) from error
        except Cancelled:
            raise
        except Exception as error:
            raise BatchError(f"{self._place(number)}: {type(error).__name__}: {error}") from error

    def _place(self, number: int) -> str:
        """The batch, and its items as their sources count them."""
        indices = self.plan[number].tolist()
        origins = [self.dataset.origin(index) for index in indices[:NAMED_ITEMS]]
        parts = [
            f"{source}, items {', '.join(str(origin.index) for origin in group)}"
            for source, group in groupby(origins, key=lambda origin: origin.source)
        ]
        more = "" if len(indices) <= NAMED_ITEMS else f" and {len(indices) - NAMED_ITEMS} more"
        return f"batch {number} of epoch {self.plan.epoch} ({'; '.join(parts)}{more})"


class BatchIterator(Iterator[B]):
    """The batches of one epoch, in the order of its plan.

    An exception ends it: the batches before were delivered, the failed one counts as not
    delivered, and asking on raises DatasetError instead of ending short in silence. Leaving a
    ``for`` loop early, ``close`` and ``with`` stop and join its workers.
    """

    def __init__(
        self,
        maker: BatchMaker[Any, B],
        *,
        start: int,
        workers: int,
        window: int,
        save: Callable[[int, int], dict[str, Any]],
        delivered: Callable[[int], None],
    ) -> None:
        self._maker = maker
        self._plan = maker.plan
        self._position = start
        self._save = save
        self._delivered = delivered
        self._ended: str | None = None
        self._lock = threading.Lock()
        self._workers: OrderedWorkers[B] | None = None
        if workers and start < len(self._plan):
            self._workers = OrderedWorkers(
                maker, start=start, end=len(self._plan), workers=workers, window=window
            )

    @property
    def epoch(self) -> int:
        """The epoch that this is a pass over."""
        return self._plan.epoch

    @property
    def progress(self) -> Progress:
        """Items delivered, of all items of the epoch; counts those before a restored position."""
        return Progress(self._plan.items_before(self._position), self._plan.num_items, "items")

    def state_dict(self) -> dict[str, Any]:
        """The position after the last delivered batch, for ``DataLoader.load_state_dict``."""
        return self._save(self.epoch, self._position)

    def __iter__(self) -> BatchIterator[B]:
        return self

    def __next__(self) -> B:
        with self._lock:
            self._raise_if_ended(None)
            if self._position >= len(self._plan):
                self._stop()
                raise StopIteration
            try:
                batch = self._take()
            except BaseException as error:
                self._raise_if_ended(error)  # another thread closed it while this one waited
                self._ended = f"this iterator ended with an error at batch {self._position}"
                self._stop()
                raise
            self._position += 1
            self._delivered(self._position)
            return batch

    def __len__(self) -> int:
        """Batches still to come."""
        return len(self._plan) - self._position

    def close(self) -> None:
        """Stop and join the workers. Asking for a further batch raises DatasetError."""
        if self._ended is None and self._position < len(self._plan):
            self._ended = f"this iterator was closed before batch {self._position}"
        self._stop()

    def __enter__(self) -> BatchIterator[B]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not sys.is_finalizing() and getattr(self, "_workers", None) is not None:
            self.close()

    def _take(self) -> B:
        return self._maker(self._position) if self._workers is None else self._workers.take()

    def _raise_if_ended(self, cause: BaseException | None) -> None:
        if self._ended is not None:
            raise DatasetError(self._ended) from cause

    def _stop(self) -> None:
        if self._workers is not None:
            self._workers.close()
