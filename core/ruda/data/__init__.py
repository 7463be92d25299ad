"""Datasets, transforms, batchers and loaders."""

from ruda.data.batcher import Batcher, StackBatcher
from ruda.data.builder import DataLoaderBuilder
from ruda.data.dataset import Dataset, ItemOrigin, PartialDataset, SelectionDataset
from ruda.data.features import DatasetSummary, Feature, FeatureKind
from ruda.data.iterator import BatchIterator
from ruda.data.loader import DataLoader, split_dataloader
from ruda.data.memory import InMemDataset
from ruda.data.opening import (
    DatasetSource,
    available_sources,
    dataset_splits,
    find_source,
    open_dataset,
)
from ruda.data.plan import EpochPlan
from ruda.data.position import LoaderPosition
from ruda.data.sampler import derive, epoch_order, permutation
from ruda.data.sources.idx import IdxDataset, read_idx, write_idx
from ruda.data.transform import (
    ComposedDataset,
    MapperDataset,
    SamplerDataset,
    ShuffledDataset,
    WindowsDataset,
)

__all__ = [
    "BatchIterator",
    "Batcher",
    "ComposedDataset",
    "DataLoader",
    "DataLoaderBuilder",
    "Dataset",
    "DatasetSource",
    "DatasetSummary",
    "EpochPlan",
    "Feature",
    "FeatureKind",
    "IdxDataset",
    "InMemDataset",
    "ItemOrigin",
    "LoaderPosition",
    "MapperDataset",
    "PartialDataset",
    "SamplerDataset",
    "SelectionDataset",
    "ShuffledDataset",
    "StackBatcher",
    "WindowsDataset",
    "available_sources",
    "dataset_splits",
    "derive",
    "epoch_order",
    "find_source",
    "open_dataset",
    "permutation",
    "read_idx",
    "split_dataloader",
    "write_idx",
]
