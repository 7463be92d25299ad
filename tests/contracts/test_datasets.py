"""Every built-in dataset keeps the dataset contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ruda.data import (
    ComposedDataset,
    Dataset,
    Feature,
    FeatureKind,
    IdxDataset,
    InMemDataset,
    MapperDataset,
    PartialDataset,
    SamplerDataset,
    SelectionDataset,
    ShuffledDataset,
    WindowsDataset,
    write_idx,
)
from ruda.tensor import DType
from ruda.testing import DatasetContract


def rows() -> InMemDataset[dict[str, Any]]:
    features = {
        "x": Feature(FeatureKind.ARRAY, DType.F32, (2,)),
        "y": Feature(FeatureKind.LABEL, DType.I32, ()),
    }
    items = [{"x": np.array([i, -i], np.float32), "y": i % 3} for i in range(9)]
    return InMemDataset(items, features=features, class_names="abc", source_id="rows")


def double(item: dict[str, Any]) -> dict[str, Any]:
    return {"x": item["x"] * 2, "y": item["y"]}


class Squares(Dataset[int]):
    """The smallest dataset of one's own: a length and a get."""

    def __len__(self) -> int:
        return 5

    def get(self, index: int) -> int:
        return self.check_index(index) ** 2


class TestInMemDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return rows()


class TestInMemDatasetCopying(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return InMemDataset(rows(), copy=True)


class TestOwnDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return Squares()


class TestIdxDataset(DatasetContract):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        images = np.arange(5 * 3 * 4, dtype=np.uint8).reshape(5, 3, 4)
        write_idx(tmp_path / "train-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / "train-labels-idx1-ubyte", np.array([1, 0, 2, 2, 1], np.uint8))

    def make_dataset(self) -> Dataset[Any]:
        return IdxDataset.open(self.folder)


class TestMapperDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return MapperDataset(rows(), double, features=rows().features)


class TestPartialDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return PartialDataset(rows(), 2, 7)


class TestSelectionDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return SelectionDataset(rows(), [8, 0, 0, 3])


class TestComposedDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        empty: InMemDataset[Any] = InMemDataset([])
        return ComposedDataset([rows(), empty, PartialDataset(rows(), 0, 2), empty])


class TestShuffledDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return ShuffledDataset(rows(), 42)


class TestSamplerDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return SamplerDataset(rows(), 42, ratio=1.5)


class TestSamplerDatasetWithoutReplacement(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return SamplerDataset(rows(), 42, size=20, replacement=False)


class TestWindowsDataset(DatasetContract):
    def make_dataset(self) -> Dataset[Any]:
        return WindowsDataset(rows(), 3, stride=2)
