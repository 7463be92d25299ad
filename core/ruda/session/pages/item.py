"""One item of a dataset for the inspector: picture, facts, values, and what a model said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ruda.errors import DatasetError
from ruda.progress import SILENT, Monitor
from ruda.session.items import as_picture, dtype_text, label_text, split_item
from ruda.session.language import tr
from ruda.session.pages.inspector import Fact
from ruda.session.sentences import say
from ruda.session.wording import count_text, number_text, share_text

if TYPE_CHECKING:
    from ruda.data import Dataset
    from ruda.session.runner import BatchRun, Evaluation

Array = np.ndarray[Any, Any]

MOST_SCORES = 10
"""Classes that are listed, the most probable ones."""


@dataclass(frozen=True, slots=True)
class Score:
    """Probability of one class."""

    name: str
    share: float
    """0 to 1."""
    text: str
    """``99.8 %``."""
    is_label: bool
    """True for the class that the item has."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemPage:
    """What the inspector shows of one item."""

    index: int
    title: str
    picture: Array | None
    """u8, as ``Tile.image``."""
    plane: Array | None
    """The values as they are, two axes; None where the item has no picture."""
    facts: tuple[Fact, ...]
    scores: tuple[Score, ...]
    """Most probable first; empty while no model was run on the item."""
    verdict: str
    """``right``, ``wrong``, or empty."""
    problem: str
    said: str = ""
    """What the model said: ``Predicted 3, wrong: the label is 8``; empty for nothing."""


def item_page(
    dataset: Dataset[Any],
    index: int,
    *,
    run: BatchRun | Evaluation | None = None,
    monitor: Monitor = SILENT,
) -> ItemPage:
    """Read one item; one that cannot be read becomes ``problem``. Raises IndexError outside."""
    monitor.check()
    title = tr("Item {index}", index=count_text(index))
    try:
        item = dataset[index]
    except DatasetError as error:
        return ItemPage(index, title, None, None, (), (), "", say(str(error)))
    image, label = split_item(item)
    names = dataset.class_names
    facts = [
        Fact(
            tr("index"),
            tr("{index} of {dataset}", index=count_text(index), dataset=count_text(len(dataset))),
        )
    ]
    if label is not None:
        facts.append(Fact(tr("label"), label_text(label, names)))
    if isinstance(image, np.ndarray):
        facts.extend(_pixel_facts(image))
    facts.extend(_other_fields(item))
    origin = dataset.origin(index)
    if origin.index != index:
        facts.append(
            Fact(
                tr("from"),
                tr("{source}, item {index}", source=origin.source, index=count_text(origin.index)),
            )
        )
    scores, verdict = _scores(run, index, label)
    return ItemPage(
        index=index,
        title=title,
        picture=as_picture(image),
        plane=_plane(image),
        facts=tuple(facts),
        scores=scores,
        verdict=verdict,
        problem="",
        said=_said(scores, verdict, label_text(label, names)),
    )


def _pixel_facts(image: Array) -> list[Fact]:
    size = " × ".join(str(side) for side in image.shape)
    facts = [Fact(tr("pixels"), f"{size}, {dtype_text(image.dtype)}")]
    if image.size and image.dtype.kind in "uifb":
        wide = image.astype(np.float64)
        finite = wide[np.isfinite(wide)]
        if finite.size:
            low, high = number_text(finite.min()), number_text(finite.max())
            facts.append(Fact(tr("min, max"), f"{low}, {high}"))
            mean, std = number_text(finite.mean()), number_text(finite.std())
            facts.append(Fact(tr("mean, std"), f"{mean}, {std}"))
        zeros = int(image.size - np.count_nonzero(image))
        share = share_text(zeros, image.size)
        facts.append(Fact(tr("zeros"), f"{count_text(zeros)} ({share})"))
        if finite.size < wide.size:
            facts.append(Fact(tr("NaN, Inf"), count_text(wide.size - finite.size)))
    return facts


def _other_fields(item: Any) -> list[Fact]:
    if not isinstance(item, Mapping):
        return []
    rest = {name: value for name, value in item.items() if name not in ("image", "label")}
    return [Fact(str(name), str(value)[:200]) for name, value in rest.items()]


def _plane(image: Any) -> Array | None:
    if not isinstance(image, np.ndarray) or image.dtype.kind not in "uifb" or not image.size:
        return None
    if image.ndim < 2:
        return image.reshape(-1, 1)
    return image.reshape(image.shape[0], -1)


def _scores(
    run: BatchRun | Evaluation | None, index: int, label: Any
) -> tuple[tuple[Score, ...], str]:
    shares = () if run is None else run.shares(index)
    if run is None or not shares:
        return (), ""
    order = sorted(range(len(shares)), key=lambda place: -shares[place])
    scores = tuple(
        Score(
            name=label_text(place, run.class_names),
            share=shares[place],
            text=f"{100 * shares[place]:.1f} %",
            is_label=label is not None and place == label,
        )
        for place in order[:MOST_SCORES]
    )
    verdict = "" if label is None else tr("right") if order[0] == label else tr("wrong")
    return scores, verdict


def _said(scores: tuple[Score, ...], verdict: str, label: str) -> str:
    if not scores:
        return ""
    text = tr("Predicted {name}", name=scores[0].name)
    if verdict == tr("wrong"):
        return tr("{said}, wrong: the label is {label}", said=text, label=label)
    return f"{text}, {verdict}" if verdict else text
