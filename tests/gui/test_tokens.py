"""Colours: contrast of every text on every ground, and statuses that nobody mixes up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ruda_workbench.assets import icon_source, resources
from ruda_workbench.style_sheet import style_sheet
from ruda_workbench.tokens import COLOURS, STATUS_NAMES, Scheme, mix

LEAST_CONTRAST = 4.5
HIGH_CONTRAST = 7.0
LEAST_LINE = 3.0
"""Contrast of the lines that bound controls in high contrast."""
LEAST_DISTANCE = 20.0
GROUNDS = ("window", "panel", "raised", "sunken", "field", "selection", "hover")
INKS = ("text", "dim", "accent", *STATUS_NAMES)
PAIRS = [
    *itertools.product(INKS, GROUNDS),
    *((ink, "tint") for ink in ("text", "dim", "accent", *STATUS_NAMES)),
    ("on_accent", "accent"),
    ("on_accent", "accent_hover"),
    ("on_error", "error"),
]

# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(c)) for c in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    xyz = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("scheme", list(Scheme), ids=lambda s: s.value)
@pytest.mark.parametrize(("ink", "ground"), PAIRS, ids=lambda name: name)
def test_text_has_contrast(scheme: Scheme, ink: str, ground: str) -> None:
    colours = COLOURS[scheme]
    found = contrast(getattr(colours, ink), getattr(colours, ground))
    least = HIGH_CONTRAST if scheme.is_high else LEAST_CONTRAST
    assert found >= least, f"{ink} on {ground}: {found:.2f}"


@pytest.mark.parametrize("scheme", [s for s in Scheme if s.is_high], ids=lambda s: s.value)
@pytest.mark.parametrize("line", ["hairline", "control_line"])
@pytest.mark.parametrize("ground", ["window", "panel", "raised"])
def test_lines_are_seen_in_high_contrast(scheme: Scheme, line: str, ground: str) -> None:
    colours = COLOURS[scheme]
    assert contrast(getattr(colours, line), getattr(colours, ground)) >= LEAST_LINE


@pytest.mark.parametrize("scheme", list(Scheme), ids=lambda s: s.value)
@pytest.mark.parametrize("sight", list(SIGHTS))
def test_statuses_are_far_apart(scheme: Scheme, sight: str) -> None:
    seen = {n: lab(SIGHTS[sight] @ linear(getattr(COLOURS[scheme], n))) for n in STATUS_NAMES}
    near = {
        f"{one}/{other}": round(float(np.linalg.norm(seen[one] - seen[other])), 1)
        for one, other in itertools.combinations(STATUS_NAMES, 2)
    }
    assert {pair: d for pair, d in near.items() if d < LEAST_DISTANCE} == {}


@pytest.mark.parametrize("scheme", list(Scheme), ids=lambda s: s.value)
def test_the_style_sheet_is_filled(scheme: Scheme) -> None:
    sheet = style_sheet(COLOURS[scheme])
    assert "$" not in sheet
    assert sheet.count("{") == sheet.count("}")


def test_every_icon_draws_in_the_current_colour() -> None:
    names = sorted(p.stem for p in (resources() / "icons").glob("*.svg"))
    assert len(names) > 30
    fixed = [name for name in names if "currentColor" not in icon_source(name)]
    assert fixed == ["logo"]


def test_mix_goes_from_one_colour_to_the_other() -> None:
    assert [mix("#000000", "#ffffff", s) for s in (0.0, 0.5, 1.0)] == [
        "#000000",
        "#808080",
        "#ffffff",
    ]
