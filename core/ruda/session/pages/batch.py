"""The data screen: one page of items as pictures with labels, and what their fields hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.progress import SILENT, Monitor
from ruda.session.datasets import BatchChoice
from ruda.session.items import as_picture, dtype_text, label_text, read_items, split_item
from ruda.session.language import tr
from ruda.session.pages.inspector import Fact
from ruda.session.wording import count_text, counted, number_text, shape_text

if TYPE_CHECKING:
    from ruda.data import Dataset
    from ruda.session.runner import Prediction

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Tile:
    """One item: its picture, its label, and what a model said of it."""

    index: int
    image: Array | None
    """u8, (height, width) grey or (height, width, 3 or 4); None where the item has no picture."""
    label: str
    prediction: str = ""
    correct: bool | None = None
    """None while nothing was predicted or nothing is known."""
    problem: str = ""
    """Why the item could not be read; the others are shown all the same."""

    @property
    def verdict(self) -> str:
        """``right`` or ``wrong``; empty while nothing is known."""
        return "" if self.correct is None else tr("right") if self.correct else tr("wrong")

    @property
    def words(self) -> str:
        """The whole tile in words, for screen readers."""
        if self.problem:
            return tr(
                "item {index}, cannot be read: {problem}", index=self.index, problem=self.problem
            )
        label = tr(", label {label}", label=self.label) if self.label else ""
        said = tr(", predicted {prediction}", prediction=self.prediction) if self.prediction else ""
        verdict = f", {self.verdict}" if self.verdict else ""
        return tr(
            "item {index}{label}{said}{verdict}",
            index=self.index,
            label=label,
            said=said,
            verdict=verdict,
        )


@dataclass(frozen=True, slots=True)
class BatchPage:
    """One page of a dataset."""

    title: str
    facts: str
    tiles: tuple[Tile, ...]
    fields: tuple[Fact, ...]
    page: int
    """From 0."""
    pages: int
    position: str
    """``Page 3 of 313 · items 64–95``."""
    indices: tuple[int, ...]
    span: str = ""
    """``items 64–95``, or how many items in the order of which seed."""


def batch_page(
    dataset: Dataset[Any],
    page: int = 0,
    *,
    size: int = 32,
    shuffle: int | None = None,
    title: str = "",
    predictions: Mapping[int, Prediction] | None = None,
    monitor: Monitor = SILENT,
) -> BatchPage:
    """Read one page of a dataset; a page outside is the nearest there is.

    A page is the loader's batch of the same number, size and ``shuffle`` seed. An item that
    cannot be read becomes a tile with the reason. ``predictions`` are by item index.
    """
    total = len(dataset)
    choice = BatchChoice(page, size, shuffle).within(total)
    page, pages = choice.number, choice.batches(total)
    indices = choice.indices(dataset)
    tiles, fields = _read(dataset, indices, predictions or {}, monitor)
    names = dataset.class_names
    classes = "" if names is None else f" · {counted(len(names), 'class', 'classes')}"
    return BatchPage(
        title=title or dataset.source_id,
        facts=f"{counted(total, 'item')}{classes}",
        tiles=tiles,
        fields=fields,
        page=page,
        pages=pages,
        position=_position(page, pages, indices, shuffle),
        indices=indices,
        span=_span(indices, shuffle),
    )


def chosen_page(
    dataset: Dataset[Any],
    indices: Sequence[int],
    *,
    title: str,
    predictions: Mapping[int, Prediction] | None = None,
    monitor: Monitor = SILENT,
) -> BatchPage:
    """A page of these items, as ``batch_page``."""
    tiles, fields = _read(dataset, indices, predictions or {}, monitor)
    span = counted(len(indices), "item")
    return BatchPage(
        title=title,
        facts="",
        tiles=tiles,
        fields=fields,
        page=0,
        pages=1,
        position=span,
        indices=tuple(indices),
        span=span,
    )


def _read(
    dataset: Dataset[Any],
    indices: Sequence[int],
    said: Mapping[int, Prediction],
    monitor: Monitor,
) -> tuple[tuple[Tile, ...], tuple[Fact, ...]]:
    """A tile for each of these items, and what the fields of those hold that can be read."""
    items, problems = read_items(dataset, indices, monitor)
    names = dataset.class_names
    tiles = tuple(_tile(i, items.get(i), problems.get(i, ""), names, said.get(i)) for i in indices)
    return tiles, _fields([items[i] for i in indices if i in items], names)


def _tile(
    index: int,
    item: Any,
    problem: str,
    names: Sequence[str] | None,
    said: Prediction | None,
) -> Tile:
    image, label = split_item(item)
    return Tile(
        index=index,
        image=as_picture(image),
        label=label_text(label, names),
        prediction="" if said is None else said.text,
        correct=None if said is None else said.correct,
        problem=problem,
    )


def _fields(items: Sequence[Any], names: Sequence[str] | None) -> tuple[Fact, ...]:
    if not items:
        return ()
    columns: dict[str, list[Any]] = {}
    for item in items:
        for field, value in (item if isinstance(item, Mapping) else {"item": item}).items():
            columns.setdefault(field, []).append(value)
    return tuple(
        Fact(field, _field_text(values, names if field == "label" else None))
        for field, values in columns.items()
    )


def _field_text(values: Sequence[Any], names: Sequence[str] | None) -> str:
    if all(isinstance(value, np.ndarray) for value in values):
        return _arrays_text(values)
    if all(isinstance(value, int | np.integer) for value in values):
        if names is not None:
            return tr(
                "{values} of {names} on this page",
                values=counted(len(set(values)), "class", "classes"),
                names=len(names),
            )
        return f"{min(values)} … {max(values)}"
    return counted(len(values), type(values[0]).__name__)


def _arrays_text(arrays: Sequence[Array]) -> str:
    shapes = {array.shape for array in arrays}
    dtype = dtype_text(arrays[0].dtype)
    if len(shapes) != 1:
        return tr("{dtype}, {shapes} different shapes", dtype=dtype, shapes=count_text(len(shapes)))
    whole = np.stack(arrays)
    text = f"{dtype} {shape_text(whole.shape)}"
    if whole.size and whole.dtype.kind in "uif":
        wide = whole.astype(np.float64)
        spread = tr(
            "min {min}, max {max}", min=number_text(wide.min()), max=number_text(wide.max())
        )
        text += tr(
            ", {spread}, mean {mean}, std {std}",
            spread=spread,
            mean=number_text(wide.mean()),
            std=number_text(wide.std()),
        )
    return text


def _position(page: int, pages: int, indices: Sequence[int], shuffle: int | None) -> str:
    if not indices:
        return tr("no items")
    return tr(
        "Page {page} of {pages} · {indices}",
        page=count_text(page + 1),
        pages=count_text(pages),
        indices=_span(indices, shuffle),
    )


def _span(indices: Sequence[int], shuffle: int | None) -> str:
    if not indices:
        return tr("no items")
    if shuffle is not None:
        return tr(
            "{indices} in the order of seed {shuffle}",
            indices=counted(len(indices), "item"),
            shuffle=shuffle,
        )
    return tr("items {first}–{last}", first=count_text(indices[0]), last=count_text(indices[-1]))
