"""Handwriting of sorts: digits drawn from strokes, every one different. NumPy only.

A digit is a few strokes, each a row of points in a unit box (x to the right, y down), drawn as
straight lines or as a smooth curve through the points. A drawing chooses one of the digit's ways
to be written, moves every point a little, turns, slants, stretches and shifts the whole, draws it
with a pen of some width into 28 × 28 pixels, and leaves uneven ink and now and then a speck.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SIZE = 28
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stroke:
    """One movement of the pen; ``smooth`` curves go through the points, ``closed`` ones return."""

    points: tuple[tuple[float, float], ...]
    smooth: bool = False
    closed: bool = False


def line(points: str) -> Stroke:
    """Straight lines from point to point, given as ``x,y`` in hundredths of the box."""
    return Stroke(_points(points))


def curve(points: str) -> Stroke:
    """A smooth curve through the points."""
    return Stroke(_points(points), smooth=True)


def loop(points: str) -> Stroke:
    """A smooth curve through the points and back to the first."""
    return Stroke(_points(points), smooth=True, closed=True)


def _points(text: str) -> tuple[tuple[float, float], ...]:
    pairs = (pair.split(",") for pair in text.split())
    return tuple((int(x) / 100, int(y) / 100) for x, y in pairs)


_LOWER_3 = curve("40,47 74,54 87,78 52,100 12,88")
_BELLY_5 = curve("20,46 55,36 87,62 60,97 12,90")
_RING_9 = loop("80,22 62,47 28,46 17,24 42,2 72,5")

# Every digit in the ways that people write it.
WAYS: tuple[tuple[tuple[Stroke, ...], ...], ...] = (
    (
        (loop("50,0 16,22 12,70 45,100 84,76 86,25"),),
        (loop("60,0 20,15 5,60 40,100 80,85 95,35"),),
        (curve("60,3 20,15 12,65 45,100 86,70 75,10 45,0"),),
    ),
    (
        (line("50,0 50,100"),),
        (line("28,24 55,0 55,100"),),
        (line("28,22 52,0 52,100"), line("25,100 80,100")),
    ),
    (
        (
            curve("15,25 32,3 70,4 83,30 55,65 12,100"),
            line("12,100 90,98"),
        ),
        (curve("15,20 45,0 80,22 60,62 22,95 10,85 28,78 60,96 92,90"),),
    ),
    (
        (curve("15,12 50,0 80,20 66,41 40,47"), _LOWER_3),
        (line("15,3 80,3 40,43"), _LOWER_3),
    ),
    (
        (line("25,0 12,58 90,58"), line("68,25 64,100")),
        (line("70,100 70,0 8,66 95,66"),),
        (curve("20,0 14,40 40,52 82,42"), line("84,0 76,100")),
    ),
    (
        (line("85,2 25,2 20,46"), _BELLY_5),
        (curve("88,0 55,4 28,3"), line("28,3 20,46"), _BELLY_5),
    ),
    (
        (curve("75,3 36,25 15,65 34,97 70,95 85,72 60,52 32,60 18,76"),),
        (line("55,0 18,62"), loop("50,48 18,65 25,95 60,100 85,75 75,53")),
    ),
    (
        (line("10,5 88,5 40,100"),),
        (line("10,5 88,5 42,100"), line("32,52 80,50")),
        (line("8,20 12,3"), curve("12,3 88,5 60,50 45,100")),
    ),
    (
        (loop("52,46 20,26 46,0 80,20 48,47 15,76 50,100 86,76"),),
        (loop("50,0 22,12 25,38 50,46 77,36 78,10"), loop("50,46 18,60 16,88 50,100 85,88 83,60")),
    ),
    (
        (_RING_9, line("82,16 72,100")),
        (_RING_9, curve("82,18 80,70 55,100 22,90")),
    ),
)


def draw_digit(digit: int, generator: np.random.Generator) -> npt.NDArray[np.uint8]:
    """One drawing of a digit, (28, 28); ink is bright on black."""
    ways = WAYS[digit]
    way = ways[generator.integers(len(ways))]
    place = _placement(generator)
    paths = [_path(stroke, generator) @ place[:, :2].T + place[:, 2] for stroke in way]
    width = generator.uniform(1.0, 3.6)
    ink = _ink(np.concatenate([_segments(path) for path in paths]), width)
    ink *= generator.uniform(0.55, 1.0)
    ink *= 1.0 - 0.6 * _blotches(generator)
    if generator.random() < 0.25:
        _speck(ink, generator)
    noise = generator.normal(0.0, 0.04, ink.shape) * (ink > 0.05)
    levels = np.clip(ink + noise, 0.0, 1.0) * 255
    return (np.round(levels / 8) * 8).clip(0, 255).astype(np.uint8)


def draw_digits(count: int, seed: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Images (count, 28, 28) and labels (count,); the same for the same seed."""
    generator = np.random.Generator(np.random.PCG64(seed))
    labels = generator.permutation(np.arange(count) % 10).astype(np.uint8)
    images = np.stack([draw_digit(int(label), generator) for label in labels])
    return images, labels


def _placement(generator: np.random.Generator) -> FloatArray:
    """Unit box to pixels: 2 × 3, a turn, a slant, a stretch and a shift around the middle."""
    height = generator.uniform(14.0, 21.0)
    width = height * generator.uniform(0.45, 0.95)
    turn, slant = generator.uniform(-0.28, 0.28), generator.uniform(-0.2, 0.4)
    cos, sin = np.cos(turn), np.sin(turn)
    matrix = np.array([[cos, -sin], [sin, cos]]) @ np.array([[1.0, -slant], [0.0, 1.0]])
    matrix = matrix @ np.diag([width, height])
    middle = (SIZE - 1) / 2 + generator.uniform(-2.5, 2.5, 2)
    return np.column_stack([matrix, middle - matrix @ np.array([0.5, 0.5])])


def _path(stroke: Stroke, generator: np.random.Generator) -> FloatArray:
    """The stroke as points close together, (n, 2), each given point moved a little."""
    points = np.array(stroke.points) + generator.normal(0.0, 0.045, (len(stroke.points), 2))
    if stroke.closed:
        points = np.vstack([points, points[:1]])
    if not stroke.smooth:
        return points
    before = points[-2] if stroke.closed else 2 * points[0] - points[1]
    after = points[1] if stroke.closed else 2 * points[-1] - points[-2]
    return _catmull_rom(np.vstack([before, points, after]))


def _catmull_rom(points: FloatArray, steps: int = 6) -> FloatArray:
    """The curve through points[1:-1] whose direction at each point is that of its neighbours."""
    t = np.linspace(0.0, 1.0, steps, endpoint=False)[None, :, None]
    a, b, c, d = (points[i : len(points) - 3 + i, None] for i in range(4))
    pieces = 0.5 * (
        2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3
    )
    return np.vstack([pieces.reshape(-1, 2), points[-2]])


def _segments(path: FloatArray) -> FloatArray:
    return np.concatenate([path[:-1], path[1:]], axis=1)


def _ink(segments: FloatArray, width: float) -> FloatArray:
    """How much of each pixel a pen of this width covers along the segments (n, 4), 0 to 1."""
    ys, xs = np.mgrid[0:SIZE, 0:SIZE]
    pixels = np.stack([xs, ys], axis=-1).reshape(-1, 1, 2).astype(np.float64)
    start, end = segments[:, :2], segments[:, 2:]
    along = end - start
    length2 = np.maximum((along**2).sum(axis=1), 1e-12)
    share = (((pixels - start) * along).sum(axis=2) / length2).clip(0.0, 1.0)
    gap = pixels - (start + share[..., None] * along)
    distance = np.sqrt((gap**2).sum(axis=2)).min(axis=1).reshape(SIZE, SIZE)
    return (width / 2 + 0.5 - distance).clip(0.0, 1.0)


def _blotches(generator: np.random.Generator) -> FloatArray:
    """Smooth unevenness, 0 to 1: a coarse random grid, interpolated."""
    coarse = generator.random((5, 5))
    at = np.linspace(0, 4, SIZE)
    rows = np.stack([np.interp(at, range(5), column) for column in coarse.T], axis=1)
    return np.stack([np.interp(at, range(5), row) for row in rows])


def _speck(ink: FloatArray, generator: np.random.Generator) -> None:
    """A short stray mark somewhere, drawn into the ink."""
    start = generator.uniform(2, SIZE - 3, 2)
    mark = np.concatenate([start, start + generator.uniform(-4, 4, 2)])[None]
    np.maximum(ink, _ink(mark, 1.0) * generator.uniform(0.4, 0.9), out=ink)
