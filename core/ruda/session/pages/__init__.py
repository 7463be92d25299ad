"""Pages: what each screen shows, made by pure functions and frozen.

A panel asks for a page and paints it; whatever needs an ``if`` about tensors is decided here.
"""

from ruda.session.pages.query import Query, QueryProblem
from ruda.session.pages.tensors import (
    SortKey,
    TensorPage,
    TensorRow,
    TensorTable,
    tensor_page,
    tensor_table,
)

__all__ = [
    "Query",
    "QueryProblem",
    "SortKey",
    "TensorPage",
    "TensorRow",
    "TensorTable",
    "tensor_page",
    "tensor_table",
]
