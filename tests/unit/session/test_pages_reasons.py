"""Reasons and banners: the library's own in English, said anew in another language."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ruda.session import (
    banner_text,
    diff_page,
    difference_text,
    reason_text,
    use_catalogue,
    use_sentences,
)
from ruda.store import Recipe, TensorIndex, TensorSnapshot, compare, diff

GERMAN = {
    "{errors} of {total} cannot be applied, and {missing} keep their initial value": (
        "{errors}/{total} gehen nicht, {missing} bleiben"
    ),
}
SENTENCES = {
    "shape: {1}; {2} axes against {3}": "Form: {1}; {2} Achsen gegen {3}",
    "shape: {1}; {2}": "Form: {1}; {2:words}",
    "axis {1}: {2} against {3}": "Achse {1}: {2} gegen {3}",
    "dtype: {1}{2}": "Typ: {1}{2}",
    "the file has {1}, the target expects {2}": "{1} statt {2}",
    "; cast it to {1}": "; in {1} umwandeln",
    "in the source, wanted by nobody": "von niemandem gewollt",
    "{1} of {2} values differ": "{1} von {2} verschieden",
    "{1}, {2} beyond the tolerance": "{1}, {2} jenseits",
    "shape {1} and {2}": "Form {1} und {2}",
    "dtype {1} and {2}": "Typ {1} und {2}",
}


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    use_catalogue({})
    use_sentences(None)


def index(**tensors: np.ndarray) -> TensorIndex:
    made = [TensorSnapshot.from_array(key, value) for key, value in tensors.items()]
    return TensorIndex.of(made, format="safetensors")


def ones(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.ones(shape, dtype)


SOURCES = [
    pytest.param(index(a=ones(2), b=ones(3)), id="complete"),
    pytest.param(index(a=ones(2)), id="missing"),
    pytest.param(index(a=ones(5), b=ones(3)), id="error"),
    pytest.param(index(a=ones(5), x=ones(1)), id="error and missing"),
    pytest.param(index(**{"m.a": ones(2), "m.b": ones(3)}), id="nothing, with a hint"),
    pytest.param(index(x=ones(9)), id="nothing"),
    pytest.param(index(a=ones(2, dtype="f8"), b=ones(3, dtype="i4")), id="types"),
]
TARGET = index(a=ones(2), b=ones(3))


@pytest.mark.parametrize("source", SOURCES)
def test_english_is_what_the_library_says(source: TensorIndex) -> None:
    report = diff(source, TARGET, recipe=Recipe())
    assert banner_text(report) == report.banner
    assert [reason_text(row) for row in report.rows] == [row.reason for row in report.rows]


def test_another_language_says_the_facts() -> None:
    target = index(a=ones(2), b=ones(3), c=ones(4))
    report = diff(index(a=ones(5), c=ones(4), x=ones(1)), target)
    use_catalogue(GERMAN)
    use_sentences(lambda: SENTENCES)
    assert banner_text(report) == "1/3 gehen nicht, 1 bleiben"
    reasons = {row.key: reason_text(row) for row in report.rows}
    assert reasons["a"] == "Form: [5] statt [2]; Achse 0: 5 gegen 2"
    assert reasons["x"] == "von niemandem gewollt"
    typed = diff(index(a=ones(2, dtype="f8"), b=ones(3)), TARGET)
    assert reason_text(typed.rows[0]) == "Typ: f64 statt f32; in f32 umwandeln"


def differences() -> dict[str, str]:
    left = index(a=ones(2), b=ones(3), c=ones(2), same=ones(1))
    right = index(a=ones(2) * 2, b=ones(4), c=ones(2, dtype="f8") * 3, same=ones(1))
    report = compare(left, right, values=True, ulp=1)
    return {row.key: difference_text(row) for row in report.rows}


def test_differences_are_told_in_both_languages() -> None:
    assert differences() == {
        "a": "2 of 2 values differ, 2 beyond the tolerance",
        "b": "shape [3] and [4]",
        "c": "dtype f32 and f64; 2 of 2 values differ, 2 beyond the tolerance",
        "same": "",
    }
    use_catalogue(GERMAN)
    use_sentences(lambda: SENTENCES)
    assert differences() == {
        "a": "2 von 2 verschieden, 2 jenseits",
        "b": "Form [3] und [4]",
        "c": "Typ f32 und f64; 2 von 2 verschieden, 2 jenseits",
        "same": "",
    }


def test_nothing_is_said_before_a_line_is_shown() -> None:
    """A million rows cost what their painted lines cost."""
    read: list[int] = []

    def load() -> dict[str, str]:
        read.append(1)
        return SENTENCES

    use_sentences(load)
    report = diff(index(x=ones(1), y=ones(2)), TARGET)
    page = diff_page(report)
    assert len(page.lines) == 4
    assert read == []
    assert "von niemandem gewollt" in {line.what for line in page.lines}
    assert read == [1]
