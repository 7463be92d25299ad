"""What the recipe of a document is offered: adapters, name maps that fit, and presets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ruda.session.language import later, tr
from ruda.session.sentences import say
from ruda.store import presets, recognised

if TYPE_CHECKING:
    from ruda.store import Preset, Recipe

SEVERAL = "other"
"""The layout of a recipe whose adapters are no single one with a name."""

PRESET_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "wrappers": later("Strip all wrappers: module., _orig_mod., FSDP"),
        "ddp": later("Strip module. (DataParallel)"),
        "compile": later("Strip _orig_mod. (compile)"),
        "fsdp": later("Strip the segments of FSDP"),
        "lightning": later("Lightning: take state_dict, strip model."),
        "peft": later("PEFT: the names of the base model"),
        "gamma-beta": later("Norms: gamma, beta → weight, bias"),
        "ema": later("EMA: take the averaged weights"),
        "no-counters": later("Leave num_batches_tracked out"),
        "weight-norm": later("Compute the weights of weight_norm"),
        "spectral-norm": later("Compute the weights of spectral_norm"),
        "scales": later("Multiply fp8 and int8 with their scales"),
    }
)
"""Short titles of the library's presets, as a menu has them; one that is new has its own."""

_LAYOUTS = (
    ("", later("As it is")),
    ("pytorch-to-ruda", later("PyTorch → Ruda")),
    ("ruda-to-pytorch", later("Ruda → PyTorch")),
)


@dataclass(frozen=True, slots=True)
class PresetOffer:
    """A preset in a menu."""

    name: str
    title: str
    note: str
    """What it does, and what it does not, where somebody may expect it."""
    preset: Preset


def preset_offers() -> tuple[PresetOffer, ...]:
    """All presets, in the order in which they are shown."""
    return tuple(
        PresetOffer(
            name=preset.name,
            title=tr(PRESET_TITLES.get(preset.name, preset.title)),
            note=". ".join(say(text) for text in (preset.title, preset.note) if text),
            preset=preset,
        )
        for preset in presets()
    )


def layout_of(recipe: Recipe) -> str:
    """Name of the recipe's adapter, nothing for none; ``SEVERAL`` for what no name says."""
    if not recipe.adapt:
        return ""
    first = recipe.adapt[0]
    return first if isinstance(first, str) and len(recipe.adapt) == 1 else SEVERAL


def layout_title(name: str) -> str:
    """An adapter as a person reads it: ``hf-bert-to-ruda`` is ``hf-bert → Ruda``."""
    fixed = dict(_LAYOUTS).get(name)
    if fixed is not None:
        return tr(fixed)
    if name == SEVERAL:
        return tr("Several adapters")
    body, colon, options = name.partition(":")
    source, to, target = body.partition("-to-")
    if not to:
        return name
    words = ("Ruda" if word == "ruda" else word for word in (source, target))
    return " → ".join(words) + colon + options


def layout_offers(recipe: Recipe, keys: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Adapters with their titles, as a picker has them.

    The two for every model, the name maps whose marks ``keys`` bear, and the one that the recipe
    has.
    """
    maps = recognised(keys)
    current = layout_of(recipe)
    names = [name for name, _ in _LAYOUTS] + [*maps]
    if current not in names:
        names.append(current)
    return tuple((name, layout_title(name)) for name in names)
