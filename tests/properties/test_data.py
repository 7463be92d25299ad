"""Laws of datasets and loaders, for any data and settings."""

from __future__ import annotations

import contextlib
import gzip
import json
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.data import (
    ComposedDataset,
    DataLoader,
    InMemDataset,
    PartialDataset,
    SamplerDataset,
    SelectionDataset,
    WindowsDataset,
    permutation,
    read_idx,
)
from ruda.errors import FormatError
from ruda.testing import ListBatcher

seeds = st.integers(0, (1 << 64) - 1)
epochs = st.integers(0, 5)
lengths = st.integers(0, 40)


@given(length=st.integers(0, 300), seed=seeds, epoch=st.integers(0, 1 << 40))
def test_an_order_is_a_permutation_fixed_by_seed_and_epoch(
    length: int, seed: int, epoch: int
) -> None:
    order = permutation(length, seed, epoch)
    np.testing.assert_array_equal(np.sort(order), np.arange(length))
    np.testing.assert_array_equal(order, permutation(length, seed, epoch))


@given(
    length=lengths,
    batch_size=st.integers(1, 12),
    seed=st.none() | seeds,
    epoch=epochs,
    drop_last=st.booleans(),
    num_workers=st.integers(0, 3),
    prefetch=st.integers(1, 5),
)
def test_batches_joined_are_the_items_in_order(
    length: int,
    batch_size: int,
    seed: int | None,
    epoch: int,
    drop_last: bool,
    num_workers: int,
    prefetch: int,
) -> None:
    loader = DataLoader(
        InMemDataset(range(length)),
        ListBatcher(),
        batch_size=batch_size,
        shuffle=seed,
        drop_last=drop_last,
        num_workers=num_workers,
        prefetch=prefetch,
    )
    loader.set_epoch(epoch)
    batches = list(loader)
    order = list(range(length)) if seed is None else permutation(length, seed, epoch).tolist()
    whole = length - length % batch_size if drop_last else length
    assert [item for batch in batches for item in batch] == order[:whole]
    assert all(len(batch) == batch_size for batch in batches[:-1])
    assert len(batches) == len(loader)


@given(
    length=st.integers(1, 30),
    batch_size=st.integers(1, 7),
    seed=st.none() | seeds,
    steps=st.integers(0, 12),
    before=st.integers(0, 2),
    after=st.integers(0, 2),
)
def test_a_restart_at_any_step_gives_the_same_rest(
    length: int, batch_size: int, seed: int | None, steps: int, before: int, after: int
) -> None:
    def loader(num_workers: int) -> DataLoader[int, list[int]]:
        return DataLoader(
            InMemDataset(range(length)),
            ListBatcher(),
            batch_size=batch_size,
            shuffle=seed,
            num_workers=num_workers,
        )

    def run(source: DataLoader[int, list[int]], count: int) -> list[list[int]]:
        found: list[list[int]] = []
        while len(found) < count:
            for batch in source:
                found.append(batch)
                if len(found) == count:
                    break
        return found

    whole = run(loader(0), steps + 9)
    first = loader(before)
    assert run(first, steps) == whole[:steps]
    second = loader(after)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert run(second, 9) == whole[steps:]


@given(length=lengths, start=st.integers(0, 50), end=st.integers(0, 50))
def test_a_part_is_a_slice(length: int, start: int, end: int) -> None:
    assert (
        list(PartialDataset(InMemDataset(range(length)), start, end))
        == list(range(length))[start:end]
    )


@given(
    length=lengths,
    start=st.none() | st.integers(-50, 50),
    stop=st.none() | st.integers(-50, 50),
    step=st.none() | st.integers(-7, 7).filter(bool),
)
def test_brackets_slice_like_a_list(
    length: int, start: int | None, stop: int | None, step: int | None
) -> None:
    where = slice(start, stop, step)
    assert list(InMemDataset(range(length))[where]) == list(range(length))[where]


@given(length=lengths, parts=st.integers(1, 9), batch_size=st.integers(1, 9), seed=st.booleans())
def test_parts_cover_everything_once_in_order(
    length: int, parts: int, batch_size: int, seed: bool
) -> None:
    dataset = InMemDataset(range(length))
    splits = [
        PartialDataset.split(dataset, parts, balanced=seed),
        PartialDataset.split_chunks(dataset, parts, batch_size),
        SelectionDataset.select_all(dataset).split(parts),
    ]
    for split in splits:
        assert [item for part in split for item in part] == list(range(length))
        assert len(split) <= parts
    assert all(len(part) % batch_size == 0 for part in splits[1][:-1])


@given(counts=st.lists(st.integers(0, 6), max_size=6), data=st.data())
def test_composed_is_a_joined_list(counts: list[int], data: st.DataObject) -> None:
    items = list(range(sum(counts)))
    ends = np.cumsum([0, *counts]).tolist()
    dataset = ComposedDataset([InMemDataset(items[a:b]) for a, b in pairwise(ends)])
    assert list(dataset) == items
    if items:
        asked = data.draw(st.lists(st.sampled_from(items), max_size=20))
        assert dataset.get_many(asked) == asked


@given(length=st.integers(1, 12), size=st.integers(0, 50), seed=seeds, epoch=epochs)
def test_without_replacement_counts_differ_by_at_most_one(
    length: int, size: int, seed: int, epoch: int
) -> None:
    sample = SamplerDataset(
        InMemDataset(range(length)), seed, size=size, replacement=False, epoch=epoch
    )
    counts = np.bincount(list(sample), minlength=length)
    assert counts.sum() == size
    assert counts.max() - counts.min() <= 1


@given(length=lengths, size=st.integers(1, 6), stride=st.integers(1, 4), dilation=st.integers(1, 3))
def test_windows_are_all_that_fit(length: int, size: int, stride: int, dilation: int) -> None:
    windows = WindowsDataset(InMemDataset(range(length)), size, stride=stride, dilation=dilation)
    reach = (size - 1) * dilation
    expected = [
        list(range(start, start + reach + 1, dilation))
        for start in range(0, length - reach, stride)
    ]
    assert list(windows) == expected
    assert len(windows) == len(expected)


@given(data=st.data(), packed=st.booleans())
def test_damaged_idx_files_are_refused_or_read_never_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, packed: bool
) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    code = data.draw(st.sampled_from([0x08, 0x09, 0x0B, 0x0C, 0x0D, 0x0E]))
    size = {0x08: 1, 0x09: 1, 0x0B: 2, 0x0C: 4, 0x0D: 4, 0x0E: 8}[code]
    content = bytes([0, 0, code, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
    content += bytes(int(np.prod(shape)) * size)
    content = gzip.compress(content, mtime=0) if packed else content
    at = data.draw(st.integers(0, len(content) - 1))
    damaged = data.draw(
        st.sampled_from([content, content[:at], content[:at] + b"\xff" + content[at + 1 :]])
    )
    path = tmp_path_factory.mktemp("idx") / "a"
    path.write_bytes(damaged)
    found: np.ndarray | None = None
    with contextlib.suppress(FormatError):
        found = read_idx(path)
    if damaged == content:
        assert found is not None
        assert found.shape == tuple(shape)
