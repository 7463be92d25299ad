"""Planes, norms, bytes and copies of tensors, against NumPy on the whole array."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import DTypeError
from ruda.progress import Monitor, Progress
from ruda.session import (
    OTHERS,
    PlaneChoice,
    hex_page,
    norms_view,
    numpy_literal,
    plane_page,
    plane_size,
    plane_window,
    reading_code,
    values_page,
)
from ruda.store import TensorSnapshot
from ruda.store.piecewise import BLOCK_ELEMENTS

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


def made(shape: tuple[int, ...], *, odd: int = 0) -> np.ndarray:
    values = np.random.default_rng(7).standard_normal(shape).astype(np.float32)
    for place in range(min(odd, values.size)):
        values.flat[place * 3 % values.size] = (np.nan, np.inf, -np.inf)[place % 3]
    return values


@given(SHAPES, st.integers(0, 5), st.data())
def test_every_plane_is_what_numpy_takes(
    shape: tuple[int, ...], odd: int, data: st.DataObject
) -> None:
    values = made(shape, odd=odd)
    snapshot = TensorSnapshot.from_array("w", values)
    clean = np.where(np.isfinite(values), values, 0).astype(np.float64)
    for rows, columns in itertools.permutations(range(len(shape)), 2):
        fixed = tuple(data.draw(st.integers(0, size - 1)) for size in shape)
        page = plane_page(snapshot, PlaneChoice(rows, columns, fixed))
        taken = values[
            tuple(slice(None) if a in (rows, columns) else fixed[a] for a in range(len(shape)))
        ]
        expected = taken if rows < columns else taken.T
        np.testing.assert_array_equal(page.plane, expected)
        np.testing.assert_array_equal(page.values.nonfinite, ~np.isfinite(expected))
        for norms, axis in ((page.row_norms, rows), (page.column_norms, columns)):
            others = tuple(a for a in range(len(shape)) if a != axis)
            np.testing.assert_allclose(norms, np.sqrt((clean**2).sum(axis=others)))
        bad = np.argwhere(~np.isfinite(values))
        assert page.nonfinite == len(bad)
        assert page.places == tuple(map(tuple, bad.tolist()))


@pytest.mark.parametrize(
    "shape",
    [(), (5,), (300,), (7, 9), (100, 130), (60, 5, 40), (BLOCK_ELEMENTS + 9,), (3, 700_000)],
    ids=str,
)
def test_the_whole_tensor_looks_as_if_it_were_read_at_once(shape: tuple[int, ...]) -> None:
    values = made(shape, odd=4)
    snapshot = TensorSnapshot.from_array("w", values)
    page, expected = plane_page(snapshot), values_page(values, snapshot.dtype)
    assert page.choice.columns == (1 if len(shape) == 2 else OTHERS)
    np.testing.assert_array_equal(page.values.grid, expected.grid)
    np.testing.assert_array_equal(page.values.nonfinite, expected.nonfinite)
    assert page.values.caption == expected.caption
    if page.plane is not None:
        np.testing.assert_array_equal(page.plane.reshape(shape), values)


def test_a_plane_that_is_too_large_is_not_kept() -> None:
    page = plane_page(TensorSnapshot.from_array("w", np.ones((3, 700_000), np.float32)))
    assert page.plane is None
    np.testing.assert_allclose(page.row_norms, np.sqrt(700_000))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (2, 0, 4)], ids=str)
def test_an_empty_tensor_has_an_empty_plane(shape: tuple[int, ...]) -> None:
    page = plane_page(TensorSnapshot.from_array("w", np.zeros(shape, np.float32)))
    assert (page.values.grid.size, page.values.absmax, page.nonfinite) == (0, 0.0, 0)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (PlaneChoice(0, 0, (0, 0, 0)), "two axes"),
        (PlaneChoice(0, 3, (0, 0, 0)), "two axes"),
        (PlaneChoice(1, OTHERS, (0, 0, 0)), "axis 0"),
    ],
    ids=["the same twice", "no such axis", "others of another"],
)
def test_axes_that_are_none_are_refused(choice: PlaneChoice, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        plane_page(TensorSnapshot.from_array("w", np.zeros((2, 3, 4), np.float32)), choice)


def test_complex_values_have_no_plane() -> None:
    with pytest.raises(DTypeError, match="heat map"):
        plane_page(TensorSnapshot.from_array("w", np.zeros(3, np.complex64)))


def test_bytes_stand_in_lines_with_marks_between_elements() -> None:
    values = np.array([1.0, 2.0, -0.5, np.nan, 3.0], np.float32)
    page = hex_page(TensorSnapshot.from_array("w", values))
    assert page.lines == (
        "0000  00 00 80 3f│00 00 00 40│00 00 00 bf│00 00 c0 7f  1 · 2 · -0.5 · nan",
        "0010  00 00 40 40                                      3",
    )
    assert (page.caption, page.after) == ("Bytes 0 to 20 of 20, 4 an element", None)


@pytest.mark.parametrize(
    ("room", "lines"),
    [
        (
            130,
            (
                "0000  00 00 80 3f│00 00 00 40│00 00 00 bf│00 00 c0 7f│00 00 40 40│00 00 80 bf"
                "                          1 · 2 · -0.5 · nan · 3 · -1",
            ),
        ),
        (
            80,
            (
                "0000  00 00 80 3f│00 00 00 40│00 00 00 bf│00 00 c0 7f  1 · 2 · -0.5 · nan",
                "0010  00 00 40 40│00 00 80 bf                          3 · -1",
            ),
        ),
        (
            50,
            (
                "0000  00 00 80 3f│00 00 00 40  1 · 2",
                "0008  00 00 00 bf│00 00 c0 7f  -0.5 · nan",
                "0010  00 00 40 40│00 00 80 bf  3 · -1",
            ),
        ),
        (
            34,
            (
                "0000  00 00 80 3f│00 00 00 40",
                "      1           2",
                "0008  00 00 00 bf│00 00 c0 7f",
                "      -0.5        nan",
                "0010  00 00 40 40│00 00 80 bf",
                "      3           -1",
            ),
        ),
    ],
    ids=["thirty-two", "sixteen", "eight", "eight, values below"],
)
def test_lines_have_as_many_bytes_as_there_is_room_for(room: int, lines: tuple[str, ...]) -> None:
    values = np.array([1.0, 2.0, -0.5, np.nan, 3.0, -1.0], np.float32)
    page = hex_page(TensorSnapshot.from_array("w", values))
    assert page.lines_within(room) == lines


def test_values_that_are_wider_than_their_bytes_stand_in_a_row_under_them() -> None:
    page = hex_page(TensorSnapshot.from_array("w", np.array([-100, 7, -128], np.int8)))
    assert page.lines_within(30) == ("0000  9c│07│80", "      -100 · 7 · -128")


def test_bytes_come_page_by_page() -> None:
    values = np.arange(5000, dtype=np.int16)
    snapshot = TensorSnapshot.from_array("w", values)
    held, start = "", 0
    while start is not None:
        page = hex_page(snapshot, start)
        assert page.start == start
        held += "".join(line[6:53].replace("│", " ") for line in page.lines)
        start = page.after
    assert bytes.fromhex(held) == values.astype("<i2").tobytes()
    assert hex_page(snapshot, 1024).before == 0
    assert hex_page(snapshot, 10**9).start == (values.nbytes - 1) // 16 * 16


def test_norms_name_channels_that_are_dead_or_large() -> None:
    norms = np.ones(200)
    norms[[3, 17]] = 0
    norms[120] = 50
    view = norms_view(norms, "axis 0")
    assert view.findings == ("all zero: 3 and 17", "over 10 times the median: 120")
    assert view.caption == "axis 0, 200 norms"
    assert len(view.bars) == 64
    assert max(bar.weight for bar in view.bars) == 50
    assert dict(view.facts)["largest"] == "50  [120]"
    assert norms_view(np.zeros(0), "axis 0").bars == ()


COPIED = [
    np.array([1.5, np.nan, -np.inf], np.float32),
    np.array([[1, 2], [3, -4]], np.int64),
    np.array([0.1, 1e-8], np.float64),
    np.array([True, False]),
    np.array(3.0, np.float16),
    np.array([1.0, 0.3], ml_dtypes.bfloat16),
]


@pytest.mark.parametrize("values", COPIED, ids=lambda v: f"{v.dtype}{list(v.shape)}")
def test_a_numpy_literal_gives_the_same_values(values: np.ndarray) -> None:
    page = plane_page(TensorSnapshot.from_array("w", values))
    assert page.plane is not None
    back = eval(numpy_literal(page.plane, values.shape), {"np": np})
    assert back.shape == values.shape
    np.testing.assert_array_equal(back, values.astype(back.dtype))


def test_too_many_values_are_not_copied() -> None:
    with pytest.raises(ValueError, match="10,000 values are too many"):
        numpy_literal(np.zeros(10_001, np.float32), (10_001,))


def test_python_that_reads_a_tensor(tmp_path) -> None:
    code = reading_code(tmp_path / "it's.pt", 'a"b', top_level_key="model")
    compile(code, "copied", "exec")
    assert "top_level_key='model'" in code


WINDOWS = [
    pytest.param((700,), PlaneChoice.of((700,)), id="vector"),
    pytest.param((300, 130), PlaneChoice.of((300, 130)), id="matrix"),
    pytest.param((300, 5, 30), PlaneChoice.of((300, 5, 30)), id="all others across"),
    pytest.param((3, 300, 130), PlaneChoice(1, 2, (2, 0, 0)), id="inner axes"),
    pytest.param((130, 3, 300), PlaneChoice(2, 0, (0, 1, 0)), id="turned"),
    pytest.param((), PlaneChoice.of(()), id="scalar"),
]


@pytest.mark.parametrize(("shape", "choice"), WINDOWS)
def test_windows_lie_beside_each_other_as_the_plane(
    shape: tuple[int, ...], choice: PlaneChoice
) -> None:
    values = made(shape, odd=2)
    snapshot = TensorSnapshot.from_array("w", values)
    plane = plane_page(snapshot, choice).plane
    assert plane is not None
    expected = plane.T if len(shape) < 2 else plane
    assert plane_size(shape, choice) == expected.shape
    found = np.zeros_like(expected)
    for row in range(0, expected.shape[0], 256):
        for column in range(0, expected.shape[1], 64):
            window = plane_window(snapshot, choice, row, column)
            rows, columns = window.values.shape
            found[row : row + rows, column : column + columns] = window.values
            last = (row + rows - 1, column + columns - 1)
            assert window.place(row, column) == window.place(*last) == (row // 256, column // 64)
    np.testing.assert_array_equal(found, expected)


def test_a_window_of_a_tensor_of_several_runs_reads_no_further_than_it_has_to() -> None:
    values = np.arange(3 * BLOCK_ELEMENTS, dtype=np.float32).reshape(3, -1)
    snapshot = TensorSnapshot.from_array("w", values)
    seen: list[int] = []

    class Watch(Monitor):
        def report(self, progress: Progress) -> None:
            seen.append(progress.done)

    window = plane_window(snapshot, PlaneChoice.of(values.shape), 1, 70, monitor=Watch())
    assert (window.row, window.column) == (0, 64)
    np.testing.assert_array_equal(window.values, values[:, 64:128])
    first = plane_window(
        TensorSnapshot.from_array("w", values.reshape(-1)), PlaneChoice.of((values.size,)), 5, 0
    )
    np.testing.assert_array_equal(first.values[:, 0], values.reshape(-1)[:256])
    assert seen[-1] == values.size


def test_a_cell_outside_of_the_plane_is_refused() -> None:
    snapshot = TensorSnapshot.from_array("w", np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError, match=r"a plane of 2 x 3 has no cell \(2, 0\)"):
        plane_window(snapshot, PlaneChoice.of((2, 3)), 2, 0)
