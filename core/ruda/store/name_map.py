"""Name maps: where another library keeps every tensor of one family of models.

A map is a table of rows, one for each module or bare tensor: its place in Ruda's model, its place
in the other library's, and what kind of module it is. Layers are told by ``*``. Everything that an
adapter needs is compiled from the table, for both ways.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

LEAVES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "Linear": (("weight", ("weight",)), ("bias", ("bias",))),
    "Matrix": (("weight", ("weight",)),),
    "Conv1D": (("weight", ("weight",)), ("bias", ("bias",))),
    "Conv2d": (("weight", ("weight",)), ("bias", ("bias",))),
    "Embedding": (("weight", ("weight",)),),
    "LayerNorm": (("gamma", ("weight", "gamma")), ("beta", ("bias", "beta"))),
    "RmsNorm": (("gamma", ("weight",)),),
    "BatchNorm": (
        ("gamma", ("weight",)),
        ("beta", ("bias",)),
        ("running_mean", ("running_mean",)),
        ("running_var", ("running_var",)),
    ),
}
"""Kind of module: the last segments of its tensors, and what they may be called elsewhere."""

_DIGITS = re.compile(r"[0-9]+")

_LAYER = "(0|[1-9][0-9]{0,8})"
"""Number of a layer: one spelling for each, so that no two keys are one layer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One module, or one tensor that stands alone (kind ``""``).

    ``elsewhere`` may hold several places, the usual one first; ``{}`` stands for the last segment
    where that is not simply added; a place that ends with ``!`` has none. A ``Matrix`` is a Linear
    without bias, a ``Conv1D`` one whose weight is (in, out) there, too.
    """

    here: str
    elsewhere: str | tuple[str, ...]
    kind: str = ""
    block: int = 0
    blocks: int = 1
    """Which of how many equal blocks of the other library's tensor it is."""
    rotary: str = ""
    """``query`` or ``key``: its columns turn in halves there, in pairs here. ``norm``: those of
    one head do."""
    outside: bool = False
    """True where the prefix of the body does not stand before it."""
    tied_to: str = ""
    """The module here whose weight it is where the file has none."""
    is_stacked: bool = False
    """True where the tensors of all layers are one there, along a first axis of their own."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One tensor: where it is here and there, and what has to be done to it."""

    here: str
    elsewhere: tuple[str, ...]
    row: Row
    leaf: str

    @property
    def axis(self) -> int:
        """The axis along which the other library lays blocks."""
        return 1 if self.row.kind == "Conv1D" else 0

    @property
    def is_turned(self) -> bool:
        """True for a matrix whose axes are swapped."""
        return self.row.kind in ("Linear", "Matrix") and self.leaf == "weight"

    @property
    def containers(self) -> tuple[str, ...]:
        """What is known of the modules that own it here."""
        above = ("",) * self.here.count(".")
        kind = "Linear" if self.row.kind in ("Conv1D", "Matrix") else self.row.kind
        return (*above, f"Struct:{kind}" if kind else "")


Hit = tuple[Sequence[Rule], str]
"""Rules of one key, and the number that stands for ``*`` in their templates; empty for none."""


@dataclass(frozen=True, slots=True)
class Found:
    """A rule, and the numbers of the layers in the key that it was found for."""

    rule: Rule
    numbers: tuple[str, ...]

    @property
    def here(self) -> str:
        """The key in Ruda's model."""
        return _filled(self.rule.here, self.numbers)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The keys in the other library's model, without the prefix of the body."""
        return tuple(_filled(template, self.numbers) for template in self.rule.elsewhere)


@dataclass(frozen=True)
class NameMap:
    """The table of one family in one library."""

    name: str
    """Name in adapters: ``hf-bert`` in ``hf-bert-to-ruda``."""
    title: str
    """Whose keys they are, for sentences: ``Hugging Face's BERT``."""
    rows: tuple[Row, ...]
    anchors: tuple[str, ...]
    """Keys (layer 0, no prefix) that a file of this family has, all of them, and others lack."""
    prefixes: tuple[str, ...] = ("",)
    """What may stand before the keys of the body; the first is written where nothing is said."""
    note: str = ""
    """What the results depend on and no tensor says, in a sentence."""
    rules: tuple[Rule, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(_compiled(self.rows)))

    @property
    def is_rotary(self) -> bool:
        """True if columns change places, for which the number of heads has to be known."""
        return any(row.rotary in ("query", "key") for row in self.rows)

    @cached_property
    def _here(self) -> _Lookup:
        return _Lookup((rule.here, rule) for rule in self.rules)

    @cached_property
    def _elsewhere(self) -> tuple[_Lookup, _Lookup]:
        """For keys of the body, and for those outside of it."""
        return tuple(  # type: ignore[return-value]
            _Lookup(
                (template, rule)
                for rule in self.rules
                if rule.row.outside is outside
                for template in rule.elsewhere
            )
            for outside in (False, True)
        )

    def find(self, key: str) -> Found | None:
        """The rule for a key of Ruda's model; None where the table says nothing."""
        found = self._here.find(key)
        return found[0] if found else None

    def find_all(self, keys: Iterable[str]) -> list[Hit | None]:
        """``find`` for very many keys."""
        return self._here.find_all(keys)

    def find_all_elsewhere(
        self, keys: Sequence[str], prefix: str | None = None
    ) -> list[Hit | None]:
        """``find_elsewhere`` for very many keys."""
        inside, outside = self._elsewhere
        found = outside.find_all(keys)
        for before in self.prefixes if prefix is None else (prefix,):
            cut = len(before)
            left = [at for at, hit in enumerate(found) if not hit and keys[at].startswith(before)]
            hits = inside.find_all([keys[at][cut:] for at in left])
            for at, hit in zip(left, hits, strict=True):
                found[at] = hit
        return found

    def find_elsewhere(self, key: str, prefix: str | None = None) -> tuple[Found, ...]:
        """The rules for a key of the other library, in the order of its blocks.

        One of the prefixes may stand before it, or only this one.
        """
        inside, outside = self._elsewhere
        found = outside.find(key)
        if found:
            return found
        for before in self.prefixes if prefix is None else (prefix,):
            if key.startswith(before):
                found = inside.find(key[len(before) :])
                if found:
                    return found
        return ()

    def prefix_of(self, keys: Collection[str]) -> str | None:
        """The prefix under which these keys have all anchors; None if none does."""
        for prefix in self.prefixes:
            if all(prefix + anchor in keys for anchor in self.anchors):
                return prefix
        return None


class _Lookup:
    """Templates by their text with all numbers folded: one dictionary access finds a key's.

    Those with one number, or none, also by what stands around it, for very many keys.
    """

    def __init__(self, pairs: Iterator[tuple[str, Rule]]) -> None:
        self._by_fold: dict[str, list[tuple[re.Pattern[str], Rule]]] = {}
        self._whole: dict[str, list[Rule]] = {}
        self._around: dict[str, dict[str, list[Rule]]] = {}
        """By what stands before the number, then by what stands behind it."""
        for template, rule in pairs:
            text = _LAYER.join(re.escape(part) for part in template.split("*"))
            fold = _DIGITS.sub("*", template)
            self._by_fold.setdefault(fold, []).append((re.compile(text), rule))
            before, star, behind = template.partition("*")
            if not star:
                self._whole.setdefault(template, []).append(rule)
                continue
            assert re.fullmatch(r"(\.[^*]*)?", behind), template  # no table has others
            self._around.setdefault(before, {}).setdefault(behind, []).append(rule)
        for table in (self._whole, *self._around.values()):
            for rules in table.values():
                rules.sort(key=lambda rule: rule.row.block)

    def find_all(self, keys: Iterable[str]) -> list[Hit | None]:
        """For every key its rules in the order of their blocks, with the number; None for none."""
        is_number, whole, around = _Numbers(), self._whole.get, tuple(self._around.items())
        found: list[Hit | None] = []
        for key in keys:
            rules = whole(key)
            hit: Hit | None = None if rules is None else (rules, "")
            for before, behind in around if rules is None else ():
                if key.startswith(before):
                    start = len(before)
                    stop = key.find(".", start)
                    number, rest = (key[start:stop], key[stop:]) if stop > 0 else (key[start:], "")
                    rules = behind.get(rest)
                    if rules is not None and is_number[number]:
                        hit = rules, number
                        break
            found.append(hit)
        return found

    def find(self, key: str) -> tuple[Found, ...]:
        """Every rule whose template is this key, in the order of their blocks."""
        found: list[Found] = []
        for pattern, rule in self._by_fold.get(_DIGITS.sub("*", key), ()):
            match = pattern.fullmatch(key)
            if match is not None:
                found.append(Found(rule, match.groups()))
        if len(found) > 1:
            found.sort(key=lambda each: each.rule.row.block)
        return tuple(found)


class _Numbers(dict[str, bool]):
    """Whether texts are numbers of a layer in their one spelling; each is looked at once."""

    def __missing__(self, text: str) -> bool:
        found = self[text] = re.fullmatch(_LAYER, text) is not None
        return found


def _compiled(rows: tuple[Row, ...]) -> Iterator[Rule]:
    for row in rows:
        places = (row.elsewhere,) if isinstance(row.elsewhere, str) else row.elsewhere
        if not row.kind:
            yield Rule(row.here, places, row, "")
            continue
        for leaf, names in LEAVES[row.kind]:
            spelled = tuple(_spelled(place, name) for place in places for name in names)
            yield Rule(f"{row.here}.{leaf}", spelled, row, leaf)


def _spelled(place: str, name: str) -> str:
    if place.endswith("!"):
        return place[:-1]
    return place.replace("{}", name) if "{}" in place else f"{place}.{name}"


def _filled(template: str, numbers: tuple[str, ...]) -> str:
    for number in numbers:
        template = template.replace("*", number, 1)
    return template
