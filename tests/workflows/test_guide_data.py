"""The data program of RUDA's guide, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from ruda.data import Batcher, DataLoaderBuilder, InMemDataset
from ruda.tensor import DType, HostDevice, Tensor


class PairBatcher(Batcher[list[float], Tensor]):
    """Items of two numbers become one tensor (batch, 2)."""

    def batch(self, items: Sequence[list[float]], device: HostDevice) -> Tensor:
        return Tensor.from_data(list(items), device=device, dtype=DType.F32)


def test_pairs_come_in_batches_of_two_two_and_one() -> None:
    device = HostDevice()
    dataset = InMemDataset([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]])
    loader = (
        DataLoaderBuilder(PairBatcher())
        .batch_size(2)
        .shuffle(42)
        .num_workers(0)
        .set_device(device)
        .build(dataset)
    )

    rows = 0
    sizes = []
    seen = []
    for batch in loader:
        count, width = batch.dims()
        assert width == 2
        assert batch.device == device
        rows += count
        sizes.append(count)
        seen += batch.tolist()

    assert sizes == [2, 2, 1]
    assert rows == loader.num_items() == 5
    assert sorted(seen) == list(dataset)
    assert seen != list(dataset)
