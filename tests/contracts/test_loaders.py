"""DataLoader keeps the loader contract, made by its constructor and by the builder."""

from __future__ import annotations

from typing import Any

from ruda.data import DataLoader, DataLoaderBuilder, Dataset
from ruda.testing import LoaderContract


class TestDataLoader(LoaderContract):
    def make_loader(
        self, dataset: Dataset[Any], batcher: Any, **settings: Any
    ) -> DataLoader[Any, Any]:
        return DataLoader(dataset, batcher, **settings)


class TestDataLoaderBuilder(LoaderContract):
    def make_loader(
        self, dataset: Dataset[Any], batcher: Any, **settings: Any
    ) -> DataLoader[Any, Any]:
        builder: DataLoaderBuilder[Any, Any] = DataLoaderBuilder(batcher)
        for name in ("batch_size", "shuffle", "num_workers", "prefetch"):
            if settings.get(name) is not None:
                builder = getattr(builder, name)(settings[name])
        return (builder.drop_last() if settings.get("drop_last") else builder).build(dataset)
