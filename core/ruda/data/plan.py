"""EpochPlan: which items make which batch, fixed before the first item is read."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import SupportsIndex

from ruda.data.dataset import IndexArray


def batch_count(items: int, batch_size: int, *, drop_last: bool) -> int:
    """Batches that so many items make; the last one may be short unless it is dropped."""
    return items // batch_size if drop_last else -(-items // batch_size)


@dataclass(frozen=True, slots=True, eq=False)
class EpochPlan:
    """The order of one epoch cut into batches: a sequence of index arrays."""

    epoch: int
    order: IndexArray
    """Index of every item, in the order of the epoch; int64 (n,)."""
    batch_size: int
    drop_last: bool = False
    """Leave out a last batch that is not full."""

    def __len__(self) -> int:
        return batch_count(int(self.order.size), self.batch_size, drop_last=self.drop_last)

    def __getitem__(self, number: SupportsIndex) -> IndexArray:
        """Indices of the batch with this number; a view. Raises IndexError outside 0 … len - 1."""
        at = operator.index(number)
        if not 0 <= at < len(self):
            raise IndexError(f"epoch {self.epoch} has {len(self)} batches, there is no batch {at}")
        return self.order[at * self.batch_size : (at + 1) * self.batch_size]

    def __iter__(self) -> Iterator[IndexArray]:
        return (self[number] for number in range(len(self)))

    @property
    def num_items(self) -> int:
        """Items in all batches together."""
        return self.items_before(len(self))

    def items_before(self, number: int) -> int:
        """Items in the batches before this one."""
        return min(number * self.batch_size, int(self.order.size))
