"""Items of a dataset: their picture, their label, and reading many where some are broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import DatasetError, DTypeError
from ruda.progress import SILENT, Monitor, track
from ruda.session.sentences import say
from ruda.tensor import DType

if TYPE_CHECKING:
    from ruda.data import Dataset

Array = np.ndarray[Any, Any]


def split_item(item: Any) -> tuple[Any, Any]:
    """Picture and label of an item: a mapping with those fields, a pair, or a picture alone."""
    if isinstance(item, Mapping):
        return item.get("image"), item.get("label")
    if isinstance(item, tuple) and len(item) == 2:
        return item[0], item[1]
    return item, None


def label_text(label: Any, names: Sequence[str] | None) -> str:
    """Name of a class number where there is one, else the label as it is; empty for None."""
    if label is None:
        return ""
    if names is not None and isinstance(label, int | np.integer) and 0 <= label < len(names):
        return names[int(label)]
    return str(label)


def dtype_text(dtype: np.dtype[Any]) -> str:
    """Label of an array's dtype, or NumPy's own name where Ruda has none for it."""
    try:
        return DType.from_numpy(dtype).label
    except DTypeError:
        return str(dtype)


def as_picture(value: Any) -> Array | None:
    """An item's picture as u8 (h, w) or (h, w, 3 or 4); None for what is no picture.

    Floats are stretched from their smallest value to their largest; channels first are moved last.
    """
    if not isinstance(value, np.ndarray) or not value.size or value.dtype.kind not in "uifb":
        return None
    plane: Array = value
    if plane.ndim == 3 and plane.shape[2] not in (1, 3, 4):
        plane = np.moveaxis(plane, 0, -1)
    if plane.ndim == 3 and plane.shape[2] == 1:
        plane = plane[:, :, 0]
    if plane.ndim != 2 and (plane.ndim != 3 or plane.shape[2] not in (3, 4)):
        return None
    return np.ascontiguousarray(plane if plane.dtype == np.uint8 else _stretched(plane))


def _stretched(plane: Array) -> Array:
    wide = plane.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    scaled = (wide - low) / ((high - low) or 1.0) * 255
    rounded: Array = np.nan_to_num(scaled, nan=0.0, posinf=255.0, neginf=0.0).round()
    return rounded.astype(np.uint8)


def read_items(
    dataset: Dataset[Any], indices: Sequence[int], monitor: Monitor = SILENT
) -> tuple[dict[int, Any], dict[int, str]]:
    """Items by index, and for those that cannot be read the reason by index."""
    monitor.check()
    try:
        return dict(zip(indices, dataset.get_many(indices), strict=True)), {}
    except DatasetError:
        pass  # one of them is broken: read one by one to tell which
    items: dict[int, Any] = {}
    problems: dict[int, str] = {}
    for index in track(indices, monitor, "items", len(indices)):
        try:
            items[index] = dataset[index]
        except DatasetError as error:
            problems[index] = say(str(error))
    return items, problems
