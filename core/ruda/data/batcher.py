"""Batchers: a list of items in, one batch out.

A batcher of your own needs one method. ``StackBatcher`` serves items made of arrays, numbers and
text in dicts and tuples, and never changes a dtype on the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from ruda.errors import BatchError
from ruda.tensor import DType, HostDevice, Tensor

T_contra = TypeVar("T_contra", contravariant=True)
B_co = TypeVar("B_co", covariant=True)

Scalar = bool | int | float


class Batcher(Protocol[T_contra, B_co]):
    """Makes one batch of some items. May be called from several threads at once."""

    def batch(self, items: Sequence[T_contra], device: HostDevice) -> B_co:
        """The batch of these items, in this order; at least one. Raises BatchError."""


class StackBatcher:
    """Stacks items field by field along a new first axis, into tensors on the device.

    dict → dict, tuple → tuple (a named one keeps its type), array or Tensor (…) → Tensor (n, …),
    bool and whole and floating numbers → Tensor (n,) of bool, i64 and f32; a list of numbers is an
    array; text, bytes and None stay a list. Copies. Raises BatchError naming the field and the
    shapes, dtypes or types that differ.
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
    arrays = [_as_array(item, field, at) for at, item in enumerate(items)]
    return Tensor.from_data(_join(arrays, field), device=device)


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


def _as_array(item: Any, field: str, at: int) -> np.ndarray[Any, Any]:
    """One item as an array with a dtype that Ruda has; Python numbers as bool, i64 and f32."""
    if isinstance(item, Tensor):
        return item.numpy()
    if isinstance(item, np.ndarray | np.generic):
        array = np.asarray(item)
    elif isinstance(item, Scalar | list):
        array = _from_numbers(item, field, at)
    else:
        raise BatchError(
            f"{_place(field)}item {at} is a {type(item).__name__}, which does not stack; "
            "write a batcher for it",
            field=field,
        )
    if array.dtype.kind in "OSUMm":
        raise BatchError(
            f"{_place(field)}item {at} has the dtype {array.dtype}, which no tensor has",
            field=field,
        )
    return array


def _from_numbers(item: Any, field: str, at: int) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise BatchError(f"{_place(field)}item {at} is a ragged list", field=field) from error
    if array.dtype == np.float64 and not _holds_numpy(item):
        return array.astype(np.float32)
    return array


def _holds_numpy(item: Any) -> bool:
    """A list of NumPy numbers keeps their dtype; only Python's own float becomes f32."""
    while isinstance(item, list) and item:
        item = item[0]
    return isinstance(item, np.ndarray | np.generic)


def _join(arrays: list[np.ndarray[Any, Any]], field: str) -> np.ndarray[Any, Any]:
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
                f"{_place(field)}item {at} is a {type(item).__name__}, item 0 is {named}",
                field=field,
            )


def _same_type(items: Sequence[Any], field: str) -> None:
    for at, item in enumerate(items):
        if type(item) is not type(items[0]):
            raise BatchError(
                f"{_place(field)}item {at} is a {type(item).__name__}, "
                f"item 0 is a {type(items[0]).__name__}",
                field=field,
            )


def _place(field: str) -> str:
    return f"field {field!r}: " if field else ""


def _inside(field: str, name: str) -> str:
    return f"{field}.{name}" if field and not name.startswith("[") else f"{field}{name}"
