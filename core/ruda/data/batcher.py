"""Batchers: a list of items in, one batch out.

A batcher of your own needs one method. ``StackBatcher`` serves items made of arrays, numbers and
text in dicts and tuples, and never changes a dtype on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from ruda.errors import BatchError, DTypeError, ShapeError
from ruda.tensor import DType, HostDevice, Tensor, TensorData

T_contra = TypeVar("T_contra", contravariant=True)
B_co = TypeVar("B_co", covariant=True)

Array = np.ndarray[Any, Any]


class Batcher(Protocol[T_contra, B_co]):
    """Makes one batch of some items. May be called from several threads at once."""

    def batch(self, items: Sequence[T_contra], device: HostDevice) -> B_co:
        """The batch of these items, in this order; at least one. Raises BatchError."""


class StackBatcher:
    """Stacks items field by field along a new first axis, into tensors on the device.

    dict → dict, tuple → tuple (a named one keeps its type), array or Tensor (…) → Tensor (n, …),
    Python numbers → Tensor (n,) of bool, i32 or f32 as in ``Tensor.from_data``; lists of numbers
    likewise (n, …); text, bytes and None stay a list. Copies. Raises BatchError naming the field
    and the shapes, dtypes or types that differ.
    """

    def batch(self, items: Sequence[object], device: HostDevice) -> Any:
        """One batch of the same structure as an item. Raises BatchError if they do not stack."""
        if not items:
            raise BatchError("a batch needs at least one item, got none")
        return _stack(items, "", device)


def _stack(items: Sequence[Any], field: str, device: HostDevice) -> Any:
    first = items[0]
    if isinstance(first, Mapping):
        return _stack_mappings(items, field, device)
    if isinstance(first, tuple):
        return _stack_tuples(items, field, device)
    if first is None or isinstance(first, str | bytes):
        _same_type(items, field)
        return list(items)
    if isinstance(first, bool | int | float) and not isinstance(first, np.generic):
        return _stack_numbers(items, field, device)
    arrays = [_as_array(item, field, at) for at, item in enumerate(items)]
    joined = _join(arrays, field)
    return Tensor.from_data(TensorData(joined, DType.from_numpy(joined.dtype)), device)


def _stack_mappings(items: Sequence[Any], field: str, device: HostDevice) -> dict[Any, Any]:
    _same_kind(items, Mapping, "a mapping", field)
    names = list(items[0])
    for at, item in enumerate(items):
        if set(item) != set(names):
            odd = sorted(str(name) for name in set(item) ^ set(names))
            raise BatchError(
                f"{_place(field)}item {at} has other fields than item 0: {', '.join(odd)}",
                field=odd[0],
            )
    return {
        name: _stack([item[name] for item in items], _inside(field, str(name)), device)
        for name in names
    }


def _stack_tuples(items: Sequence[Any], field: str, device: HostDevice) -> tuple[Any, ...]:
    _same_kind(items, tuple, "a tuple", field)
    first = items[0]
    for at, item in enumerate(items):
        if len(item) != len(first):
            raise BatchError(
                f"{_place(field)}item {at} has {len(item)} parts, item 0 has {len(first)}",
                field=field,
            )
    names = getattr(first, "_fields", None) or [f"[{at}]" for at in range(len(first))]
    parts = [
        _stack([item[at] for item in items], _inside(field, name), device)
        for at, name in enumerate(names)
    ]
    return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)


def _stack_numbers(items: Sequence[Any], field: str, device: HostDevice) -> Tensor:
    """Python numbers of one type; the dtype may not depend on what else is in the batch."""
    _same_type(items, field)
    try:
        return Tensor.from_data(list(items), device)
    except (DTypeError, ShapeError) as error:
        raise BatchError(f"{_place(field)}{error}", field=field) from error


def _as_array(item: Any, field: str, at: int) -> Array:
    """One item as an array of a dtype that Ruda has, in native byte order."""
    if isinstance(item, Tensor):
        return item.numpy()
    try:
        if isinstance(item, np.ndarray | np.generic):
            array = np.asarray(item)
            return array.astype(DType.from_numpy(array.dtype).numpy.newbyteorder("="), copy=False)
        if isinstance(item, list):
            return TensorData.of(item).array
    except (DTypeError, ShapeError) as error:
        raise BatchError(f"{_place(field)}item {at}: {error}", field=field) from error
    raise BatchError(
        f"{_place(field)}item {at} is of type {type(item).__name__}, which does not stack; "
        "write a batcher for it",
        field=field,
    )


def _join(arrays: list[Array], field: str) -> Array:
    first = arrays[0]
    for at, array in enumerate(arrays):
        if array.shape != first.shape:
            raise BatchError(
                f"{_place(field)}item {at} has the shape {array.shape}, item 0 has {first.shape}",
                field=field,
                shapes=(first.shape, array.shape),
            )
        if array.dtype != first.dtype:
            raise BatchError(
                f"{_place(field)}item {at} is {DType.from_numpy(array.dtype)}, "
                f"item 0 is {DType.from_numpy(first.dtype)}",
                field=field,
                shapes=(first.shape, array.shape),
            )
    return np.stack(arrays)


def _same_kind(items: Sequence[Any], kind: type, named: str, field: str) -> None:
    for at, item in enumerate(items):
        if not isinstance(item, kind):
            raise BatchError(
                f"{_place(field)}item {at} is of type {type(item).__name__}, item 0 is {named}",
                field=field,
            )


def _same_type(items: Sequence[Any], field: str) -> None:
    for at, item in enumerate(items):
        if type(item) is not type(items[0]):
            raise BatchError(
                f"{_place(field)}item {at} is of type {type(item).__name__}, "
                f"item 0 of type {type(items[0]).__name__}",
                field=field,
            )


def _place(field: str) -> str:
    return f"field {field!r}: " if field else ""


def _inside(field: str, name: str) -> str:
    return f"{field}.{name}" if field and not name.startswith("[") else f"{field}{name}"
