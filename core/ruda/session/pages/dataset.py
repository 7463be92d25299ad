"""The head of the data screen: what the dataset is, and how many items each class has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ruda.progress import SILENT, Monitor, Progress
from ruda.session.datasets import OpenDataset
from ruda.session.items import label_text, read_items, split_item
from ruda.session.language import tr
from ruda.session.sentences import say
from ruda.session.wording import count_text, counted, share_text

if TYPE_CHECKING:
    from ruda.data import Dataset

COUNT_BLOCK = 1024
MOST_CLASSES = 200
"""Bars that are made; the rest is counted together in the last one."""


@dataclass(frozen=True, slots=True)
class DatasetPage:
    """What a dataset is, in a sentence and a line of facts."""

    title: str
    """``mnist test images``."""
    count: str
    """``10 000 items``."""
    facts: str
    path: str
    split: str
    splits: tuple[str, ...]
    """Parts to choose from; empty where there is no choice."""


@dataclass(frozen=True, slots=True)
class ClassBar:
    """One class and its items."""

    name: str
    count: int
    text: str
    """``100 items, 10.0 %``."""


@dataclass(frozen=True, slots=True)
class ClassPage:
    """How many items each class has."""

    bars: tuple[ClassBar, ...]
    headline: str
    """``10 classes, 85 to 126 items each``."""
    note: str
    """Items that could not be read or have no label; empty for none."""


def dataset_page(opened: OpenDataset) -> DatasetPage:
    """Sentence and facts of an open dataset; reads no item."""
    from ruda.data import FeatureKind

    dataset = opened.dataset
    fields = dict(dataset.features)
    is_images = any(feature.kind is FeatureKind.IMAGE for feature in fields.values())
    part = opened.split if opened.split not in (None, "all") else ""
    words = (opened.name or opened.path.name, part or "", tr("images") if is_images else "")
    facts = [
        _picture_text(feature.shape, str(feature.dtype))
        for feature in fields.values()
        if feature.kind is FeatureKind.IMAGE and feature.shape is not None
    ]
    names = dataset.class_names
    if names is not None:
        facts.append(counted(len(names), "class", "classes"))
    elif "label" not in fields and fields:
        facts.append(tr("no labels"))
    if opened.kind:
        facts.append(say(opened.kind))
    return DatasetPage(
        title=" ".join(word for word in words if word),
        count=counted(len(dataset), "item"),
        facts=" · ".join(facts),
        path=str(opened.path),
        split=opened.split or "",
        splits=opened.splits if len(opened.splits) > 1 else (),
    )


def class_page(dataset: Dataset[Any], *, monitor: Monitor = SILENT) -> ClassPage:
    """Count the items of every class; reads every item once, with a stop point per block."""
    counts: Counter[str] = Counter()
    unlabelled = broken = 0
    total = len(dataset)
    names = dataset.class_names
    for start in range(0, total, COUNT_BLOCK):
        monitor.check()
        block = range(start, min(total, start + COUNT_BLOCK))
        items, problems = read_items(dataset, block)
        broken += len(problems)
        labels = [label_text(split_item(item)[1], names) for item in items.values()]
        unlabelled += labels.count("")
        counts.update(label for label in labels if label)
        monitor.report(Progress(block.stop, total, "items"))
    order = list(names) if names is not None else []
    order += sorted(set(counts) - set(order))
    bars = _bars([(name, counts[name]) for name in order], sum(counts.values()))
    notes = []
    if unlabelled:
        notes.append(tr("{unlabelled} without a label", unlabelled=counted(unlabelled, "item")))
    if broken:
        notes.append(tr("{broken} cannot be read", broken=counted(broken, "item")))
    return ClassPage(bars, _headline([counts[name] for name in order]), ", ".join(notes))


def _picture_text(shape: Sequence[int], dtype: str) -> str:
    size = " × ".join(str(side) for side in shape)
    return tr("{size} pixels, {dtype}", size=size, dtype=dtype)


def _bars(pairs: Sequence[tuple[str, int]], total: int) -> tuple[ClassBar, ...]:
    shown = list(pairs)
    if len(shown) > MOST_CLASSES:
        rest = shown[MOST_CLASSES - 1 :]
        shown = shown[: MOST_CLASSES - 1]
        shown.append(
            (tr("{rest} others", rest=count_text(len(rest))), sum(count for _, count in rest))
        )
    return tuple(
        ClassBar(name, count, f"{counted(count, 'item')}, {share_text(count, total)}")
        for name, count in shown
    )


def _headline(counts: Sequence[int]) -> str:
    if not counts:
        return tr("No labels to count")
    least, most = min(counts), max(counts)
    classes = counted(len(counts), "class", "classes")
    if least == most:
        return tr("{classes}, {most} each", classes=classes, most=counted(most, "item"))
    return tr(
        "{classes}, {least} to {most} each",
        classes=classes,
        least=count_text(least),
        most=counted(most, "item"),
    )
