"""Contract suites and strategies for formats, datasets and loaders."""

from ruda.testing.datasets import DatasetContract, assert_same_item
from ruda.testing.formats import FormatContract, counted_reads
from ruda.testing.loaders import ListBatcher, LoaderContract

__all__ = [
    "DatasetContract",
    "FormatContract",
    "ListBatcher",
    "LoaderContract",
    "assert_same_item",
    "counted_reads",
]
