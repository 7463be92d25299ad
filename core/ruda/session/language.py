"""The language of the screens: every text that a person reads there goes through ``tr``.

English is the language of the code and of the terminal. A catalogue maps each English text to
another language; a text that it does not have stays English. Sentences of the library are English
wherever they are made, and go through ``say`` (``ruda.session.sentences``) when they are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

LANGUAGES: Mapping[str, str] = MappingProxyType({"en": "English", "de": "Deutsch"})
"""Languages by their code, each named in itself."""

_EMPTY: Mapping[str, str] = MappingProxyType({})
_current: list[Mapping[str, str]] = [_EMPTY]
_code: list[str] = ["en"]


def tr(text: str, /, **values: object) -> str:
    """The text in the language of the screens; ``{name}`` in it is replaced by a value.

    The English text is the key of the catalogue, placeholders and all.
    """
    found = _current[0].get(text, text)
    return found.format(**values) if values else found


def later(text: str, /) -> str:
    """The text itself: marks one in a table that goes through ``tr`` when it is shown."""
    return text


def use_catalogue(catalogue: Mapping[str, str], language: str = "en") -> None:
    """Show texts as this catalogue has them from now on; an empty one means English."""
    _current[0] = MappingProxyType(dict(catalogue))
    _code[0] = language


def language_in_use() -> str:
    """Code of the language of the screens."""
    return _code[0]


def read_catalogue(path: Path) -> Mapping[str, str]:
    """The catalogue in a TOML file: one table ``text`` from English to the other language.

    Raises OSError where it cannot be read, SettingError where it is no catalogue.
    """
    import tomllib  # a window in English needs neither

    from ruda.errors import SettingError

    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{path}: not a catalogue of texts: {error}") from None
    found = table.get("text")
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise SettingError(f"{path}: a catalogue has one table 'text' from text to text")
    return found
