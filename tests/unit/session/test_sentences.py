"""Sentences of the library said anew: what is known is said, what is not stays as it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import SettingError
from ruda.session.sentences import (
    LONGEST,
    MOST_JOINTS,
    Book,
    say,
    say_steps,
    use_sentences,
)
from ruda.session.templates import pieces_of, places_in

CATALOGUE = {
    "the file is empty": "die Datei ist leer",
    "get it again": "sie neu holen",
    "no such place": "kein solcher Ort",
    "byte {1}: ": "Byte {1}: ",
    "{1} ends at byte {2}": "{1} endet bei Byte {2}",
    "{1} ends at byte {2}, which is odd": "{1} endet beim krummen Byte {2}",
    "the file has {1}, the target expects {2}": "die Datei hat {1}, das Ziel erwartet {2}",
    "shape: {1}; {2}": "Form: {1:words}; {2:words}",
    "axis {1}: {2} against {3}": "Achse {1}: {2} gegen {3}",
    "; cast it to {1}": "; in {1} umwandeln",
    "; did you mean {1}?": "; war {1} gemeint?",
    " (and {1} more)": " (und {1} weitere)",
    "dtype: {1}{2}": "Typ: {1:words}{2:words}",
    "cannot be written: {1}": "nicht zu schreiben: {1}",
    "{1} {2} to no kind of module": "ohne Modulart: {1:words}",
    "{1} tensors": "{1} Tensoren",
    "{1} of {2}": "{1} von {2}",
    "{1} values are missing": "{1} Werte fehlen",
    "{1} and {2} become {3} together": "{3} wird aus {1} und {2}",
    "cast {1}": "umwandeln in {1}",
    "{1} is none; write {2}": "{1} ist keine; möglich: {2:any}",
    "save as {1}": "als {1:words} sichern",
    "{1}, or {2}": "{1:words}, oder {2:words}",
    "{1} or {2}": "{1:words} oder {2:words}",
    "{1} has no {2}": "{1} hat kein {2}",
    "has the shape {1}": "hat die Form {1}",
    "no tag for this; {1}": "kein Zeichen dafür; {1:words}",
    "cast it to {1}": "in {1} umwandeln",
    "they say {{this}} of {1}": "man sagt {{dies}} von {1}",
}
"""English → German, in small."""


@pytest.fixture(autouse=True)
def said_in_german() -> Iterator[None]:
    use_sentences(lambda: CATALOGUE)
    yield
    use_sentences(None)


SAID = [
    pytest.param("the file is empty", "die Datei ist leer", id="no place"),
    pytest.param("'w' ends at byte 7", "'w' endet bei Byte 7", id="values stay"),
    pytest.param(
        "'w' ends at byte 7, which is odd", "'w' endet beim krummen Byte 7", id="the longer one"
    ),
    pytest.param("/a/b.pt: the file is empty", "/a/b.pt: die Datei ist leer", id="a path before"),
    pytest.param(
        "/my files/b: byte 3: 'w' ends at byte 7",
        "/my files/b: Byte 3: 'w' endet bei Byte 7",
        id="a path and a byte before",
    ),
    pytest.param(
        "s3://bucket/a b.pt: the file is empty",
        "s3://bucket/a b.pt: die Datei ist leer",
        id="an address before",
    ),
    pytest.param(
        "the file is empty; get it again", "die Datei ist leer; sie neu holen", id="two sentences"
    ),
    pytest.param(
        "the file is empty; did you mean 'x; y'?",
        "die Datei ist leer; war 'x; y' gemeint?",
        id="a question behind",
    ),
    pytest.param(
        "'w' ends at byte 7 (and 3 more)", "'w' endet bei Byte 7 (und 3 weitere)", id="a rest"
    ),
    pytest.param(
        "'w' ends at byte 7 (and 3 more), which is odd",
        "'w' endet beim krummen Byte 7 (und 3 weitere)",
        id="a rest in a place",
    ),
    pytest.param("the file is empty (model.pt)", "die Datei ist leer (model.pt)", id="a name"),
    pytest.param(
        "cannot be written: no such place", "nicht zu schreiben: kein solcher Ort", id="in a place"
    ),
    pytest.param(
        "dtype: the file has f16, the target expects f32; cast it to f32",
        "Typ: die Datei hat f16, das Ziel erwartet f32; in f32 umwandeln",
        id="places side by side",
    ),
    pytest.param(
        "shape: the file has [2, 3], the target expects [3, 4]; axis 0: 2 against 3, axis 1: 3 "
        "against 4",
        "Form: die Datei hat [2, 3], das Ziel erwartet [3, 4]; Achse 0: 2 gegen 3, Achse 1: 3 "
        "gegen 4",
        id="a list of sentences",
    ),
    pytest.param(
        "3 tensors belong to no kind of module", "ohne Modulart: 3 Tensoren", id="known words win"
    ),
    pytest.param("4 values are missing of 9", "4 Werte fehlen von 9", id="a sentence in a short"),
    pytest.param(
        "'x' is none; write skip; keep; drop",
        "'x' ist keine; möglich: skip; keep; drop",
        id="a list that stays",
    ),
    pytest.param(
        "no tag for this; cast it to f32, or save as one or another",
        "kein Zeichen dafür; in f32 umwandeln, oder als one oder another sichern",
        id="remedies that are joined",
    ),
    pytest.param("'w' has no shape", "'w' hat kein shape", id="a short one about a key"),
    pytest.param("'w' has the shape [2]", "'w' hat die Form [2]", id="a key, and what is said"),
    pytest.param(
        "byte 8: b'[' ends at byte 7, which is odd",
        "Byte 8: b'[' endet beim krummen Byte 7",
        id="bytes are quoted, too",
    ),
    pytest.param("they say {this} of x", "man sagt {dies} von x", id="braces of its own"),
]


@pytest.mark.parametrize(("english", "german"), SAID)
def test_what_is_known_is_said(english: str, german: str) -> None:
    assert say(english) == german


STAYS = [
    pytest.param("nobody knows this one", id="unknown"),
    pytest.param("the file is empty; nobody knows this one", id="known in part"),
    pytest.param("nobody knows this: the file is empty", id="no place before the colon"),
    pytest.param("'a' and 'b' and 'c' become 'd' together", id="two readings"),
    pytest.param("one has no second", id="words like a short template"),
    pytest.param("best of 3", id="a name like a short template"),
    pytest.param("best of 3/model.pt", id="a path like a short template"),
    pytest.param("\ue000 ends at byte 7", id="a character that stands for something here"),
    pytest.param("'w' ends at byte 7" + " " * LONGEST, id="too long"),
    pytest.param("x: " + "the file is empty, " * MOST_JOINTS + "get it again", id="too many parts"),
    pytest.param("", id="empty"),
]


@pytest.mark.parametrize("text", STAYS)
def test_what_is_not_known_stays(text: str) -> None:
    assert say(text) == text


def test_in_english_nothing_is_read() -> None:
    use_sentences(None)
    assert say("the file is empty") == "the file is empty"
    read: list[int] = []

    def load() -> dict[str, str]:
        read.append(1)
        return CATALOGUE

    use_sentences(load)
    assert read == []
    assert say("the file is empty") == "die Datei ist leer"
    assert say("get it again") == "sie neu holen"
    assert read == [1]


def test_steps_are_said_one_by_one() -> None:
    assert say_steps(("rename", "cast f16")) == "rename · umwandeln in f16"


def test_of_two_templates_that_say_as_much_none_counts() -> None:
    book = Book(lambda: {"{1} holds values of": "eins {1}", "{1} holds values no": "x {1}"})
    assert book.said("w holds values of") == "eins w"
    book = Book(lambda: {"{1} holds values{2}": "eins {1}{2}", "{1} holds{2} values": "zwei {1}"})
    assert book.said("w holds values") is None


@given(st.text(max_size=60))
def test_what_is_quoted_stays_as_it_is(key: str) -> None:
    text = f"{key!r} ends at byte 7; get it again"
    said = say(text)
    assert said in (f"{key!r} endet bei Byte 7; sie neu holen", text)
    if not any("\ue000" <= c <= "\uf8ff" for c in key) and len(text) <= LONGEST:
        assert said != text


@given(st.lists(st.sampled_from(["; ", ": ", "a", " of ", "'", "the file is empty", " at 1"])))
def test_what_is_said_is_not_said_again(parts: list[str]) -> None:
    text = "".join(parts)
    assert say(say(text)) == say(text)


FITTING = [
    ("a1b2c", ["a", "b", "c"], ["1", "2"]),
    ("a1b2bc", ["a", "b", "c"], ["1", "2b"]),
    ("abc", ["a", "b", "c"], ["", ""]),
    ("abc", ["abc"], []),
    ("abcd", ["abc"], None),
    ("ab", ["a", "b", "b"], None),
    ("xc", ["a", "c"], None),
    ("aa", ["aa", "a"], None),
]


@pytest.mark.parametrize(("text", "between", "found"), FITTING)
def test_places_are_what_stands_between(
    text: str, between: list[str], found: list[str] | None
) -> None:
    assert places_in(text, between) == found


def test_a_template_is_taken_apart() -> None:
    assert pieces_of("a {1} b {{x}} {2:words}") == (("a ", 1, ""), (" b {x} ", 2, "words"))


@pytest.mark.parametrize("template", ["{1:bold}", "a { b"])
def test_a_template_that_is_none_is_refused(template: str) -> None:
    with pytest.raises(SettingError, match=r"template|a place is"):
        pieces_of(template)
