"""Query: what a search field asks for, and finding it in many keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ruda.progress import SILENT, Monitor

_BLOCK = 50_000
"""Keys that are searched between two stop points."""


@dataclass(frozen=True, slots=True)
class Query:
    """The text of a search field; ``regex`` and ``case`` are its two toggles."""

    text: str = ""
    regex: bool = False
    case: bool = False


@dataclass(frozen=True, slots=True)
class QueryProblem:
    """A pattern that is no regular expression: what is wrong, and where in the text."""

    message: str
    position: int | None


def query_problem(query: Query) -> QueryProblem | None:
    """What is wrong with a query; None for one that can be asked."""
    if not query.regex:
        return None
    try:
        re.compile(query.text)
    except re.error as error:
        return QueryProblem(error.msg, error.pos)
    return None


def matching(
    keys: Sequence[str], query: Query, *, monitor: Monitor = SILENT
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Positions of the keys that a query finds, ascending; all for an empty or broken query."""
    if not query.text or query_problem(query) is not None:
        return np.arange(len(keys), dtype=np.int64)
    test = _test(query)
    found: list[int] = []
    for start in range(0, len(keys), _BLOCK):
        monitor.check()
        block = keys[start : start + _BLOCK]
        found.extend(i for i, key in enumerate(block, start) if test(key))
    return np.array(found, dtype=np.int64)


def _test(query: Query) -> Callable[[str], object]:
    if query.regex:
        return re.compile(query.text, 0 if query.case else re.IGNORECASE).search
    if query.case:
        return lambda key: query.text in key
    wanted = query.text.lower()
    return lambda key: wanted in key.lower()
