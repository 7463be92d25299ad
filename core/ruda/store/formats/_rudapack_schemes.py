"""What a quantized dtype of Rudapack says: values, packing, scales, and the bytes that these take.

Schemes are those of Burn's QuantScheme in the two spellings that files have: ``level`` and
``param`` (Burn 0.19 to 0.22 and RUDA), or ``tensor`` and ``block`` (Burn since August 2026). A
field or a word that neither spelling has is refused, because it may change what values mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ruda.errors import DTypeError

MAX_BLOCK_AXES = 5
_BITS = {"Q8F": 8, "Q8S": 8, "E4M3": 8, "E5M2": 8, "Q4F": 4, "Q4S": 4, "E2M1": 4, "Q2F": 2,
         "Q2S": 2}  # fmt: skip
INTEGERS = frozenset({"Q8F", "Q8S", "Q4F", "Q4S", "Q2F", "Q2S"})
SCALE_BYTES = {"F32": 4, "F16": 2, "BF16": 2, "UE8M0": 1, "UE4M3": 1}
_OLD = {"value", "param", "store", "level", "mode"}
_NEW = {"value", "store", "mode", "tensor", "block"}
NATIVE, NATIVE_PAIRS, WORDS = "Native", "PackedNative", "PackedU32"


@dataclass(frozen=True, slots=True)
class BurnScheme:
    """One scheme, checked: every field is a word that Ruda knows the meaning of."""

    value: str
    """Kind of the numbers: ``Q8S``, ``Q4F``, ``E2M1`` …"""
    store: str
    packed_axis: int
    """The axis that numbers of one byte or word follow each other on, counted from the last."""
    scale: str
    """Kind of the scales: ``F32`` …"""
    block: tuple[int, ...] | None
    """Sizes of a block along the last axes, or None for one scale for the whole tensor."""
    has_global: bool
    """True if all scales of blocks are multiplied with one f32, which comes last."""
    is_new: bool
    """True for the newer spelling, whose rows end on whole words."""

    @property
    def label(self) -> str:
        """Name for a person: ``qfloat q8s``."""
        return f"qfloat {self.value.lower()}"

    @property
    def bits(self) -> int:
        """Bits of one number."""
        return _BITS[self.value]

    @property
    def per_unit(self) -> int:
        """Numbers that share a byte or a word."""
        if self.store == NATIVE:
            return 1
        return (32 if self.store == WORDS else 8) // self.bits

    @property
    def unit_bytes(self) -> int:
        """Bytes of what is stored in one piece: a byte, or a word."""
        return 4 if self.store == WORDS else 1


@dataclass(frozen=True, slots=True)
class BurnLayout:
    """Where numbers and scales lie in the bytes of one tensor."""

    scheme: BurnScheme
    shape: tuple[int, ...]
    nbytes: int
    by_lines: bool
    """True if every line along the packed axis ends on a whole unit."""
    units: int
    """Bytes or words with numbers, from the start."""
    grid: tuple[int, ...]
    """Number of blocks along each axis; ``(1,)`` for one scale."""

    @property
    def scales_at(self) -> int:
        """Where the scales begin: they end the bytes, whatever padding is before them."""
        return self.nbytes - _scale_bytes(self) - (4 if self.scheme.has_global else 0)


def scheme_of(spelled: Mapping[str, Any]) -> BurnScheme:
    """The scheme that a descriptor spells. Raises DTypeError naming what Ruda does not know."""
    fields = set(spelled)
    is_new = "param" not in fields and "level" not in fields
    unknown = sorted(fields - (_NEW if is_new else _OLD))
    if unknown:
        raise _refused(spelled, f"it has the field {unknown[0]!r}, whose meaning is not known")
    if spelled.get("mode") != "Symmetric":
        raise _refused(spelled, f"the mode {spelled.get('mode')!r} is not known")
    value = _word(spelled, "value", _BITS)
    store, axis = _store(spelled)
    scale, block, has_global = _levels(spelled) if is_new else _level(spelled)
    if store == NATIVE_PAIRS and (value != "E2M1" or axis):
        raise _refused(spelled, "only fp4 along the last axis is packed natively")
    if store == WORDS and value not in INTEGERS:
        raise _refused(spelled, "floats packed into words are not read, only integers are")
    if store == NATIVE and _BITS[value] < 8 and (value == "E2M1" or not is_new):
        raise _refused(spelled, "no writer stores numbers below 8 bits one by one")
    if axis and not is_new:
        raise _refused(spelled, "numbers packed along an axis before the last have no known order")
    return BurnScheme(value, store, axis, scale, block, has_global, is_new)


def layout_of(scheme: BurnScheme, shape: tuple[int, ...], nbytes: int) -> BurnLayout:
    """Where everything lies. Raises DTypeError if the bytes are not as many as that takes.

    Numbers come first, scales last; up to three bytes that bring the numbers to whole words may
    lie between. Old files pack without regard to rows, new ones begin a word with every line.
    """
    if scheme.packed_axis >= max(len(shape), 1):
        raise _refused(
            scheme.label, f"there is no axis {scheme.packed_axis} before the last of {list(shape)}"
        )
    lines, rest = _lines(scheme, shape)
    if rest and lines > 1 and scheme.store == NATIVE_PAIRS and not scheme.is_new:
        raise _refused(scheme.label, "rows of an odd number of fp4 have no known order")
    by_lines = scheme.is_new and scheme.store != NATIVE
    count = math.prod(shape)
    along = shape[len(shape) - 1 - scheme.packed_axis] if shape else 1
    units = lines * -(-along // scheme.per_unit) if by_lines else -(-count // scheme.per_unit)
    layout = BurnLayout(scheme, shape, nbytes, by_lines, units, _grid(scheme, shape))
    numbers = units * scheme.unit_bytes
    padding = layout.scales_at - numbers
    if padding and padding != -numbers % 4:
        raise DTypeError(
            f"{scheme.label} values of shape {list(shape)} take {nbytes - padding} bytes, but the "
            f"tensor has {nbytes}"
        )
    as_f32 = padding + _scale_bytes(layout) == 4 * math.prod(layout.grid)
    if padding and as_f32 and scheme.scale != "F32" and not scheme.is_new:
        raise DTypeError(
            f"the bytes of {scheme.label} values of shape {list(shape)} fit scales of "
            f"{scheme.scale.lower()} and of f32; they are not dequantised on a guess"
        )
    if scheme.block is not None:
        _refuse_two_orders(layout, scheme.block)
    return layout


def _refuse_two_orders(layout: BurnLayout, block: tuple[int, ...]) -> None:
    """Raise DTypeError where versions of Burn that write alike mean other scales.

    A block is a rectangle, but until late in August 2026 the host backends, and the search for
    ranges of all, took a run of as many values in row-major order. Since then scales lie in the
    order of numbers packed along an outer axis; before, they lay row-major. No field tells.
    """
    scheme, shape, grid = layout.scheme, layout.shape, layout.grid
    count, size = math.prod(shape), math.prod(block)
    if not shape or not count:
        return
    numbers = layout.units * scheme.unit_bytes
    fewer = (math.prod(grid) - count // size) * SCALE_BYTES[scheme.scale]
    as_runs = count % size == 0 and layout.scales_at - numbers + fewer in (0, -numbers % 4)
    if as_runs and not _is_run(block, shape):
        raise _refused(
            scheme.label,
            f"blocks of {list(block)} in the shape {list(shape)} are rectangles to some versions "
            f"of Burn, and runs of {size} values to others",
        )
    first = len(grid) - 1 - scheme.packed_axis
    if grid[first] == grid[-1] == 1:
        return
    if sum(blocks > 1 for blocks in grid[first:]) > 1:
        raise _refused(
            scheme.label,
            "scales of blocks have two orders where numbers are packed along an axis before the "
            "last",
        )


def _is_run(block: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """True if every block is values that follow each other: all axes after its first are whole."""
    sizes = (1,) * (len(shape) - len(block)) + block
    first = next((axis for axis, size in enumerate(sizes) if size > 1), len(sizes))
    is_whole = sizes[first + 1 :] == shape[first + 1 :]
    return is_whole and all(extent % size == 0 for extent, size in zip(shape, sizes, strict=True))


def _scale_bytes(layout: BurnLayout) -> int:
    return math.prod(layout.grid) * SCALE_BYTES[layout.scheme.scale]


def _lines(scheme: BurnScheme, shape: tuple[int, ...]) -> tuple[int, int]:
    """Number of lines along the packed axis, and what the last unit of each has too few of."""
    if not shape:
        return 1, 1 % scheme.per_unit
    place = len(shape) - 1 - scheme.packed_axis
    others = math.prod(size for axis, size in enumerate(shape) if axis != place)
    return others, shape[place] % scheme.per_unit


def _grid(scheme: BurnScheme, shape: tuple[int, ...]) -> tuple[int, ...]:
    if scheme.block is None or not shape:
        return (1,)
    if len(scheme.block) > len(shape):
        raise _refused(
            scheme.label, f"blocks of {len(scheme.block)} axes do not fit the shape {list(shape)}"
        )
    sizes = (1,) * (len(shape) - len(scheme.block)) + scheme.block
    return tuple(-(-size // block) for size, block in zip(shape, sizes, strict=True))


def _store(spelled: Mapping[str, Any]) -> tuple[str, int]:
    """How numbers are stored, and along which axis from the last they are packed."""
    store = spelled.get("store")
    if store == NATIVE:
        return NATIVE, 0
    if store == "U32":  # Burn 0.19
        return WORDS, 0
    if isinstance(store, dict) and len(store) == 1:
        ((name, axis),) = store.items()
        if name in (NATIVE_PAIRS, WORDS) and type(axis) is int and axis >= 0:
            return name, axis
    raise _refused(spelled, f"the store {store!r} is not known")


def _level(spelled: Mapping[str, Any]) -> tuple[str, tuple[int, ...] | None, bool]:
    """Scales as files before August 2026 spell them."""
    scale, level = _word(spelled, "param", SCALE_BYTES), spelled.get("level")
    if level == "Tensor":
        return scale, None, False
    if isinstance(level, dict) and set(level) == {"Block"}:
        return scale, _block(spelled, level["Block"]), False
    raise _refused(spelled, f"the level {level!r} is not known")


def _levels(spelled: Mapping[str, Any]) -> tuple[str, tuple[int, ...] | None, bool]:
    """Scales as files since August 2026 spell them: of the tensor, of blocks, or of both."""
    tensor, block = spelled.get("tensor"), spelled.get("block")
    if block is None:
        return _word(spelled, "tensor", SCALE_BYTES), None, False
    if not isinstance(block, dict) or set(block) != {"size", "dtype"}:
        raise _refused(spelled, f"the blocks {block!r} are not known")
    if tensor not in (None, "F32"):
        raise _refused(spelled, f"a scale of {tensor} over the scales of blocks is not known")
    return (
        _word(block, "dtype", SCALE_BYTES),
        _block(spelled, block["size"]),
        tensor is not None,
    )


def _block(spelled: Mapping[str, Any], size: Any) -> tuple[int, ...]:
    storage, count = (size.get("storage"), size.get("len")) if isinstance(size, dict) else (0, 0)
    if (
        isinstance(storage, list)
        and len(storage) == MAX_BLOCK_AXES
        and all(type(n) is int and 0 < n < 256 for n in storage)
        and type(count) is int
        and 0 <= count <= MAX_BLOCK_AXES
    ):
        return tuple(storage[:count])
    raise _refused(spelled, f"the block size {size!r} is not known")


def _word(spelled: Mapping[str, Any], name: str, known: Mapping[str, int]) -> str:
    found = spelled.get(name)
    if isinstance(found, str) and found in known:
        return found
    raise _refused(spelled, f"the {name} {found!r} is not known")


def _refused(scheme: Mapping[str, Any] | str, why: str) -> DTypeError:
    shown = scheme if isinstance(scheme, str) else f"qfloat values of the scheme {_shown(scheme)}"
    return DTypeError(f"{shown} cannot be dequantised: {why}"[:400])


def _shown(spelled: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in spelled.items())[:200]
