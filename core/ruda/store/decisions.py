"""Decisions: what is done to one tensor, by its key, as data and as a short text.

The text is what the terminal and the window take and show: ``skip``, ``keep``, ``cast bf16``,
``clamp f16``, ``transpose 1,0``, ``slice 0 0:32000``, ``pad 0 0:2 0.0``, ``reshape 10,1,3``,
``take other.safetensors head.weight``.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ruda.errors import DTypeError, RecipeError
from ruda.store.castable import cast_target
from ruda.tensor import DType

STEP = "decide"
"""Name of this part of a recipe in messages."""


class Action(Enum):
    """What is decided for one tensor."""

    SKIP = "skip"
    """Leave it out: the target keeps its value, a converted file lacks it."""
    KEEP = "keep"
    """Keep its element type, whatever the cast of the recipe says."""
    CAST = "cast"
    """Another element type than the cast of the recipe says."""
    CLAMP = "clamp"
    """As ``CAST``, and values that do not fit become the largest that do."""
    TRANSPOSE = "transpose"
    """Its axes in another order."""
    SLICE = "slice"
    """A run of indices of one axis; the others are left out."""
    PAD = "pad"
    """More indices along one axis, filled with a value that is stated."""
    RESHAPE = "reshape"
    """The same elements in the same order under another shape."""
    TAKE = "take"
    """The tensor of another file in its place."""


@dataclass(frozen=True, slots=True)
class Transpose:
    """Axis ``axes[i]`` of the tensor becomes axis ``i``, as in ``numpy.transpose``.

    Raises RecipeError unless ``axes`` is a permutation of 0, 1, ….
    """

    axes: tuple[int, ...]

    def __post_init__(self) -> None:
        if sorted(self.axes) != list(range(len(self.axes))) or len(self.axes) < 2:
            raise RecipeError(
                f"transpose needs every axis once, as in 1,0; got {_listed(self.axes)!r}", step=STEP
            )

    @property
    def action(self) -> Action:
        """``TRANSPOSE``."""
        return Action.TRANSPOSE

    @property
    def text(self) -> str:
        """``transpose 1,0``."""
        return f"transpose {_listed(self.axes)}"

    def reverse(self) -> Transpose:
        """The order that takes this one back."""
        return Transpose(tuple(self.axes.index(at) for at in range(len(self.axes))))


@dataclass(frozen=True, slots=True)
class Slice:
    """Indices ``start`` to ``stop`` (not included) of one axis, counted from 0.

    Raises RecipeError for negative numbers and for a slice that takes nothing.
    """

    axis: int
    start: int
    stop: int

    def __post_init__(self) -> None:
        if self.axis < 0 or not 0 <= self.start < self.stop:
            raise RecipeError(
                f"slice needs an axis and START:STOP, STOP beyond START; got {self.text}",
                step=STEP,
            )

    @property
    def action(self) -> Action:
        """``SLICE``."""
        return Action.SLICE

    @property
    def text(self) -> str:
        """``slice 0 0:32000``."""
        return f"slice {self.axis} {self.start}:{self.stop}"


@dataclass(frozen=True, slots=True)
class Pad:
    """``before`` and ``after`` further indices along one axis, every element of them ``value``.

    Raises RecipeError for negative numbers, for no index at all, for NaN or an infinity, and for
    a number beyond f64.
    """

    axis: int
    before: int
    after: int
    value: int | float

    def __post_init__(self) -> None:
        if self.axis < 0 or min(self.before, self.after) < 0 or not self.before + self.after:
            raise RecipeError(
                f"pad needs an axis and BEFORE:AFTER, of which one is more than 0; got {self.text}",
                step=STEP,
            )
        if (problem := _problem_of(self.value)) is not None:
            raise RecipeError(f"pad fills with a finite value, not with {problem}", step=STEP)

    @property
    def action(self) -> Action:
        """``PAD``."""
        return Action.PAD

    @property
    def text(self) -> str:
        """``pad 0 0:2 0.5``."""
        return f"pad {self.axis} {self.before}:{self.after} {self.value!r}"


@dataclass(frozen=True, slots=True)
class Reshape:
    """The elements in row-major order under another shape, of as many elements.

    Raises RecipeError for negative sizes.
    """

    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if any(size < 0 for size in self.shape):
            raise RecipeError(
                f"reshape needs sizes from 0, as in 10,1,3; got {_listed(self.shape)!r}", step=STEP
            )

    @property
    def action(self) -> Action:
        """``RESHAPE``."""
        return Action.RESHAPE

    @property
    def text(self) -> str:
        """``reshape 10,1,3``; a scalar is ``reshape []``."""
        return f"reshape {_listed(self.shape) or '[]'}"


@dataclass(frozen=True, slots=True)
class Take:
    """The tensor ``key`` of another file on this machine.

    A relative ``file`` counts from the working folder; in a recipe file, from the folder of that.
    Raises RecipeError for an address: a recipe that was sent to somebody must not call a server.
    """

    file: str
    key: str

    def __post_init__(self) -> None:
        if not self.file or not self.key:
            raise RecipeError("take needs a file and the key of a tensor in it", step=STEP)
        if "://" in self.file:
            raise RecipeError(
                f"take needs a file on this machine, not an address: {self.file}",
                step=STEP,
            )

    @property
    def action(self) -> Action:
        """``TAKE``."""
        return Action.TAKE

    @property
    def text(self) -> str:
        """``take other.safetensors head.weight``, quoted as a shell wants it."""
        return f"take {shlex.join((self.file, self.key))}"


Change = Transpose | Slice | Pad | Reshape | Take
"""What is done to the shape of a tensor, or what takes its place."""

_CHANGES = (Action.TRANSPOSE, Action.SLICE, Action.PAD, Action.RESHAPE, Action.TAKE)
_CASTS = (Action.CAST, Action.CLAMP)
_TYPES = (Action.KEEP, *_CASTS)
_NO_REVERSE = {
    Action.SKIP: "what is left out is in no file to bring back",
    Action.KEEP: "an element type that is kept needs none",
    Action.CAST: "a cast forgets what it rounded",
    Action.CLAMP: "a clamp forgets the values that did not fit",
    Action.SLICE: "a slice forgets what it cut off",
    Action.PAD: "nothing tells how long the axis was before",
    Action.RESHAPE: "nothing tells the shape before",
    Action.TAKE: "the tensor that was replaced is in no file to bring back",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with one tensor, by its key in the target (or in the file, if none takes it).

    Raises RecipeError unless ``to`` is a float for ``CAST`` and ``CLAMP``, and absent elsewhere,
    and ``change`` is that of the action, and absent where there is none.
    """

    key: str
    action: Action = Action.SKIP
    to: DType | None = None
    change: Change | None = None

    def __post_init__(self) -> None:
        casts = self.action in _CASTS
        if casts and (self.to is None or not self.to.is_float):
            raise RecipeError(f"{self.action.value} needs a float to cast to", step=STEP)
        if not casts and self.to is not None:
            raise RecipeError(f"{self.action.value} casts to nothing", step=STEP)
        if self.action in _CHANGES:
            if self.change is None or self.change.action is not self.action:
                raise RecipeError(f"{self.action.value} needs to be told how", step=STEP)
        elif self.change is not None:
            raise RecipeError(f"{self.action.value} changes no shape", step=STEP)

    @classmethod
    def of(cls, key: str, change: Change) -> Decision:
        """The decision to change a tensor in this way."""
        return cls(key, change.action, change=change)

    @classmethod
    def parse(cls, key: str, text: str) -> Decision:
        """The decision of a short text, as above. Raises RecipeError saying what was expected."""
        try:
            word, *rest = shlex.split(text)
        except ValueError:
            word, rest = "", []
        action = next((each for each in Action if each.value == word), None)
        if action is None or (given := _PARSERS.get(action)) is None or len(rest) != given[0]:
            known = "; ".join(_FORMS)
            raise RecipeError(f"{key!r}: {text!r} is no decision; write {known}", step=STEP)
        return given[1](key, action, rest)

    @property
    def text(self) -> str:
        """The decision in a line, without the key; ``parse`` reads it."""
        if self.change is not None:
            return self.change.text
        return self.action.value if self.to is None else f"{self.action.value} {self.to}"

    @property
    def is_shape(self) -> bool:
        """True if it changes the shape or the order of the elements."""
        return self.action in _CHANGES and self.action is not Action.TAKE

    def reverse(self) -> Decision:
        """The decision that takes this one back. Raises RecipeError, with the why, if none does."""
        if isinstance(self.change, Transpose):
            return Decision.of(self.key, self.change.reverse())
        raise RecipeError(
            f"{self.text!r} of {self.key!r} has no reverse: {_NO_REVERSE[self.action]}", step=STEP
        )


def require_compatible(decisions: Iterable[Decision]) -> None:
    """Raise RecipeError where two decisions about one tensor exclude each other.

    Changes of the shape are done in their order and may be several; there is one file to take a
    tensor from, one element type for it, and nothing besides leaving it out.
    """
    seen: dict[str, dict[str, Decision]] = {}
    for decision in decisions:
        others = seen.setdefault(decision.key, {})
        part = _part(decision.action)
        if decision.action is Action.SKIP or "skip" in others:
            other = next(iter(others.values()), None)
        else:
            other = None if part == "shape" else others.get(part)
        if other is not None:
            raise RecipeError(
                f"two decisions for {decision.key!r}: {other.text} and {decision.text}",
                step=STEP,
            )
        others.setdefault(part, decision)


def _part(action: Action) -> str:
    """What of a tensor an action is about: there is one decision for each, but for the shape."""
    if action in (Action.SKIP, Action.TAKE):
        return str(action.value)
    return "type" if action in _TYPES else "shape"


_FORMS = (
    "skip",
    "keep",
    "cast DTYPE",
    "clamp DTYPE",
    "transpose 1,0",
    "slice AXIS START:STOP",
    "pad AXIS BEFORE:AFTER VALUE",
    "reshape 10,1,3",
    "take FILE KEY",
)


def _plain(key: str, action: Action, _: list[str]) -> Decision:
    return Decision(key, action)


def _typed(key: str, action: Action, words: list[str]) -> Decision:
    try:
        return Decision(key, action, cast_target(words[0]))
    except DTypeError as error:
        raise RecipeError(f"{key!r}: {error}", step=STEP) from None


def _transpose(key: str, action: Action, words: list[str]) -> Decision:
    made = Transpose(_whole_numbers(key, words[0], ","))
    if list(made.axes) == sorted(made.axes):
        raise RecipeError(
            f"{key!r}: {made.text!r} leaves every axis where it is; say which axis comes first, "
            "second, …: 'transpose 1,0' swaps two",
            step=STEP,
        )
    return Decision.of(key, made)


def _slice(key: str, action: Action, words: list[str]) -> Decision:
    (axis,) = _whole_numbers(key, words[0], ",", 1)
    start, stop = _whole_numbers(key, words[1], ":", 2)
    return Decision.of(key, Slice(axis, start, stop))


def _pad(key: str, action: Action, words: list[str]) -> Decision:
    (axis,) = _whole_numbers(key, words[0], ",", 1)
    before, after = _whole_numbers(key, words[1], ":", 2)
    return Decision.of(key, Pad(axis, before, after, _number(key, words[2])))


def _reshape(key: str, action: Action, words: list[str]) -> Decision:
    text = words[0]
    return Decision.of(key, Reshape(() if text == "[]" else _whole_numbers(key, text, ",")))


def _take(key: str, action: Action, words: list[str]) -> Decision:
    return Decision.of(key, Take(*words))


_PARSERS = {
    Action.SKIP: (0, _plain),
    Action.KEEP: (0, _plain),
    Action.CAST: (1, _typed),
    Action.CLAMP: (1, _typed),
    Action.TRANSPOSE: (1, _transpose),
    Action.SLICE: (2, _slice),
    Action.PAD: (3, _pad),
    Action.RESHAPE: (1, _reshape),
    Action.TAKE: (2, _take),
}


def _whole_numbers(key: str, text: str, sign: str, count: int | None = None) -> tuple[int, ...]:
    parts = text.split(sign)
    if any(not (part.isascii() and part.isdigit()) or len(part) > 18 for part in parts) or (
        count is not None and len(parts) != count
    ):
        wanted = "1,0" if sign == "," else "START:STOP"
        raise RecipeError(f"{key!r}: expected numbers as in {wanted}, got {text!r}", step=STEP)
    return tuple(map(int, parts))


def _number(key: str, text: str) -> int | float:
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise RecipeError(f"{key!r}: expected a number, got {text!r}", step=STEP) from None


def _problem_of(value: float) -> str | None:
    """What is wrong with a number that no element can be; None for one that some can."""
    try:
        return None if math.isfinite(value) else str(value)
    except OverflowError:  # a whole number of hundreds of digits
        return "a number beyond f64"


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))
