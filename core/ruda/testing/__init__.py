"""Contract suites and strategies for formats, datasets and loaders."""

from ruda.testing.datasets import DatasetContract, assert_same_item
from ruda.testing.loaders import ListBatcher, LoaderContract

__all__ = [
    "DatasetContract",
    "ListBatcher",
    "LoaderContract",
    "assert_same_item",
]
