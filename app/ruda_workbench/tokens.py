"""Design tokens: every colour, size and space of the workbench, in one place.

Colours come in four sets of the same names. Text on any surface keeps a contrast of at least 4.5:1,
in high contrast 7:1, except ``faint``, which is for what may be missed. The five status colours
stay apart under normal, protan, deutan and tritan sight; shape and word carry the meaning all the
same.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Scheme(Enum):
    """The colour sets: light and dark, each in normal and in high contrast."""

    LIGHT = "light"
    DARK = "dark"
    HIGH_LIGHT = "high-light"
    HIGH_DARK = "high-dark"

    @property
    def is_dark(self) -> bool:
        """True for light text on dark ground."""
        return self in (Scheme.DARK, Scheme.HIGH_DARK)

    @property
    def is_high(self) -> bool:
        """True for high contrast."""
        return self in (Scheme.HIGH_LIGHT, Scheme.HIGH_DARK)

    @classmethod
    def of(cls, *, dark: bool, high: bool) -> Scheme:
        """The set of these two wishes."""
        if high:
            return cls.HIGH_DARK if dark else cls.HIGH_LIGHT
        return cls.DARK if dark else cls.LIGHT


class Colours(NamedTuple):
    """One colour set; each value is ``#rrggbb``."""

    window: str
    panel: str
    raised: str
    sunken: str
    field: str
    hairline: str
    control_line: str
    text: str
    dim: str
    faint: str
    accent: str
    on_accent: str
    accent_hover: str
    tint: str
    selection: str
    hover: str
    applied: str
    skipped: str
    missing: str
    unused: str
    error: str
    on_error: str
    negative: str
    """Values below zero at full strength; zero is ``diverging_zero``."""
    positive: str
    diverging_zero: str

    def items(self) -> tuple[tuple[str, str], ...]:
        """Every (name, colour) in the order of declaration."""
        return tuple(zip(self._fields, self, strict=True))


LIGHT = Colours(
    window="#f6f7f9",
    panel="#ffffff",
    raised="#ffffff",
    sunken="#f6f7f9",
    field="#ffffff",
    hairline="#e3e6eb",
    control_line="#d5d9e0",
    text="#171a1f",
    dim="#5d6673",
    faint="#8b94a1",
    accent="#1f5fd6",
    on_accent="#ffffff",
    accent_hover="#1a52ba",
    tint="#e8effc",
    selection="#eef3fd",
    hover="#f3f5f8",
    applied="#074580",
    skipped="#6b6b6b",
    missing="#9f5900",
    unused="#7f22bc",
    error="#a7002b",
    on_error="#ffffff",
    negative="#1f6fe5",
    positive="#f07d1a",
    diverging_zero="#ffffff",
)

DARK = Colours(
    window="#15181d",
    panel="#1b1f26",
    raised="#222731",
    sunken="#15181d",
    field="#15181d",
    hairline="#2c323d",
    control_line="#363d4a",
    text="#e7eaf0",
    dim="#a3acba",
    faint="#737d8c",
    accent="#6fa3ff",
    on_accent="#10131a",
    accent_hover="#8bb5ff",
    tint="#22304c",
    selection="#212b3d",
    hover="#20252d",
    applied="#b1d5fe",
    skipped="#a0a0a0",
    missing="#fce19f",
    unused="#cd7ee9",
    error="#ff6d67",
    on_error="#15181d",
    negative="#4a8dff",
    positive="#ff9440",
    diverging_zero="#1b1f26",
)

HIGH_LIGHT = Colours(
    window="#ffffff",
    panel="#ffffff",
    raised="#ffffff",
    sunken="#ffffff",
    field="#ffffff",
    hairline="#767676",
    control_line="#1f1f1f",
    text="#000000",
    dim="#2b2b2b",
    faint="#595959",
    accent="#003a9e",
    on_accent="#ffffff",
    accent_hover="#002b75",
    tint="#e3edff",
    selection="#dbe8ff",
    hover="#f0f0f0",
    applied="#002047",
    skipped="#484848",
    missing="#6c3f00",
    unused="#67008f",
    error="#5f0012",
    on_error="#ffffff",
    negative="#0050c8",
    positive="#c05a00",
    diverging_zero="#ffffff",
)

HIGH_DARK = Colours(
    window="#000000",
    panel="#000000",
    raised="#0d0d0d",
    sunken="#000000",
    field="#000000",
    hairline="#7a7a7a",
    control_line="#e0e0e0",
    text="#ffffff",
    dim="#e2e2e2",
    faint="#b4b4b4",
    accent="#8cc8ff",
    on_accent="#000000",
    accent_hover="#b5dcff",
    tint="#0a2540",
    selection="#0b2c49",
    hover="#1c1c1c",
    applied="#c0e1fd",
    skipped="#b9b9b9",
    missing="#fffcbe",
    unused="#e79bff",
    error="#ff9c87",
    on_error="#000000",
    negative="#6fa8ff",
    positive="#ffb066",
    diverging_zero="#000000",
)

COLOURS = {
    Scheme.LIGHT: LIGHT,
    Scheme.DARK: DARK,
    Scheme.HIGH_LIGHT: HIGH_LIGHT,
    Scheme.HIGH_DARK: HIGH_DARK,
}

STATUS_NAMES = ("applied", "skipped", "missing", "unused", "error")


class Type:
    """Type scale in pixels, as the system's UI font; weights emphasise, sizes do not."""

    DISPLAY = 22
    TITLE = 17
    TEXT = 13
    MONO = 12
    CAPTION = 11


class Space:
    """Spacing in steps of four pixels."""

    XS = 4
    S = 8
    M = 12
    L = 16
    XL = 24


class Radius:
    """Corner radii in pixels."""

    TAG = 4
    CONTROL = 6
    CARD = 8


class Size:
    """Fixed sizes in pixels."""

    ROW = 34
    ROW_COMPACT = 28
    HEADER = 28
    CONTROL = 30
    TOP_BAR = 44
    RAIL = 64
    STATUS_LINE = 28
    INSPECTOR = 312
    ICON = 18
    HIT = 24
    """Smallest target that a pointer has to reach."""


def mix(first: str, second: str, share: float) -> str:
    """The colour ``share`` of the way from ``first`` to ``second``, 0.0 to 1.0."""
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
