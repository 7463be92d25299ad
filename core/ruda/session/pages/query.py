"""Query: what a search field asks for, and finding it in many keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ruda.errors import RecipeError
from ruda.progress import SILENT, Monitor
from ruda.session.pages.folding import Vector
from ruda.session.sentences import say
from ruda.store import PathFilter

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


class Found(NamedTuple):
    """Positions of the keys that a query finds, ascending; all where the query has a problem."""

    positions: Vector
    problem: QueryProblem | None


def find(keys: Sequence[str], query: Query, *, monitor: Monitor = SILENT) -> Found:
    """Search many keys, with stop points. An empty query finds all of them.

    A pattern that is no regular expression, or would take exponential time, is a problem.
    """
    problem = _problem(keys, query)
    if not query.text or problem is not None:
        return Found(np.arange(len(keys), dtype=np.int64), problem)
    test = _test(query)
    found: list[int] = []
    for start in range(0, len(keys), _BLOCK):
        monitor.check()
        block = keys[start : start + _BLOCK]
        found.extend(i for i, key in enumerate(block, start) if test(key))
    return Found(np.array(found, dtype=np.int64), None)


def _problem(keys: Sequence[str], query: Query) -> QueryProblem | None:
    if not query.regex:
        return None
    try:
        re.compile(query.text)
    except re.error as error:
        return QueryProblem(say(error.msg), error.pos)
    flags = "" if query.case or query.text.startswith("(?") else "(?i)"
    try:
        # What runs away may do so in one case of its letters only.
        PathFilter.of(flags + query.text).guard(keys)
    except RecipeError as error:
        shown = str(error).partition(": ")[2].replace(repr(flags + query.text), repr(query.text))
        return QueryProblem(say(shown), error.position)
    return None


def _test(query: Query) -> Callable[[str], object]:
    if query.regex:
        return re.compile(query.text, 0 if query.case else re.IGNORECASE).search
    if query.case:
        return lambda key: query.text in key
    wanted = query.text.lower()
    return lambda key: wanted in key.lower()
