"""Headers as numbers: tensors with equal numbers are judged alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import count
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from ruda.nn import ParamSpec
from ruda.store.index import LazySnapshots, TensorIndex
from ruda.tensor import DType, Kind

_PLAIN_LABELS = frozenset(d.label for d in DType if d.kind is not Kind.QUANTIZED)


class Heads(NamedTuple):
    """A number for each tensor, and the numbers of those that have to be looked at one by one."""

    numbers: Sequence[int]
    odd: frozenset[int]
    """Numbers of quantized tensors: what their schemes say is not in the number."""
    total: int
    """How many numbers there are."""


def source_heads(source: TensorIndex) -> Heads:
    """Equal numbers: the same element type, shape and steps before. Makes no snapshot."""
    snapshots = source.snapshots
    if isinstance(snapshots, LazySnapshots):
        facts = map(itemgetter(1, 2), source.facts())
        return _numbered(facts, lambda head: head[0] not in _PLAIN_LABELS)
    heads = map(attrgetter("dtype", "shape", "trail"), snapshots.values())
    return _numbered(heads, lambda head: head[0].kind is Kind.QUANTIZED)


def param_heads(
    params: Sequence[ParamSpec],
    depth: int,
    rules_of: Callable[[Sequence[str]], Sequence[Hashable]] | None = None,
) -> Heads:
    """Equal numbers: the same element type, shape, modules, last ``depth`` segments and rule."""
    if depth > 1:
        ends = [tuple(param.key.rsplit(".", depth)[-depth:]) for param in params]
        heads: Iterable[Any] = zip(map(_FIELDS, params), ends, strict=True)
    else:
        heads = zip(map(_FIELDS, params), [p.key.rpartition(".")[2] for p in params], strict=True)
    if rules_of is not None:
        rules = rules_of([param.key for param in params])
        heads = ((*head, rule) for head, rule in zip(heads, rules, strict=True))
    return _numbered(heads, lambda head: head[0][1].kind is Kind.QUANTIZED)


_FIELDS = itemgetter(*map(ParamSpec._fields.index, ("shape", "dtype", "containers")))


def _numbered(heads: Iterable[Any], is_odd: Callable[[Any], bool]) -> Heads:
    known: defaultdict[Any, int] = defaultdict(count().__next__)
    # One by one, not in one call: of a million heads that would hold up every other thread.
    numbers = [known[head] for head in heads]
    odd = frozenset(number for head, number in known.items() if is_odd(head))
    return Heads(numbers, odd, len(known))
