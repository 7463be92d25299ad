"""Texts of the screens: English unless a catalogue says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ruda.errors import SettingError
from ruda.session import counted, read_catalogue, tr, use_catalogue


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    use_catalogue({})


def test_without_a_catalogue_the_text_is_english() -> None:
    assert tr("Open") == "Open"
    assert tr("{count} of {total}", count=1, total=2) == "1 of 2"


def test_a_catalogue_translates_and_moves_placeholders() -> None:
    use_catalogue({"{count} of {total}": "von {total} sind es {count}"})
    assert tr("{count} of {total}", count=1, total=2) == "von 2 sind es 1"
    assert tr("Open") == "Open"


def test_braces_of_a_text_without_values_stay() -> None:
    assert tr("layers.{n}") == "layers.{n}"


def test_counted_things_have_both_numbers() -> None:
    use_catalogue({"tensor": "Tensor", "tensors": "Tensoren"})
    assert [counted(n, "tensor") for n in (0, 1, 2)] == ["0 Tensoren", "1 Tensor", "2 Tensoren"]


BROKEN = [
    pytest.param(b"[text\n", "not a catalogue of texts", id="no TOML"),
    pytest.param(b"\xff", "not a catalogue of texts", id="no UTF-8"),
    pytest.param(b"a = 1\n", "one table 'text'", id="no table"),
    pytest.param(b"[text]\nOpen = 3\n", "one table 'text'", id="no text"),
]


@pytest.mark.parametrize(("content", "sentence"), BROKEN)
def test_a_broken_catalogue_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "de.toml"
    path.write_bytes(content)
    with pytest.raises(SettingError, match=sentence):
        read_catalogue(path)


def test_a_catalogue_is_read(tmp_path: Path) -> None:
    path = tmp_path / "de.toml"
    path.write_text('[text]\n"Open…" = "Öffnen …"\n', "utf-8")
    assert read_catalogue(path) == {"Open…": "Öffnen …"}
