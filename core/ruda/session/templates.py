"""Template: one sentence with places, ``{1} ends at byte {2}``, in English and another language."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from typing import TypeAlias

from ruda.errors import SettingError

Piece: TypeAlias = tuple[str, int, str]
"""Text, the number of the place behind it (0 for none), and what the place holds."""
Value: TypeAlias = Callable[[str, str], tuple[str, bool] | None]
"""Says the value of a place, and whether it was known; None if it can be no value."""

KINDS = ("", "words", "any")
"""What a place holds: a value or a sentence, words, or what stays whatever it is."""
JOINTS = ("; ", " (", ", ", " by ", " at ")
"""How what is put behind a sentence begins."""


def pieces_of(template: str) -> tuple[Piece, ...]:
    """A template taken apart: ``{1}`` is a place with a value or a sentence.

    ``{1:words}`` is one whose words are said anew, ``{1:any}`` one that stays whatever it is.
    Raises SettingError for a template that cannot be understood.
    """
    pieces: list[Piece] = []
    try:
        for text, name, spec, _ in string.Formatter().parse(template):
            if spec not in (None, *KINDS):
                raise SettingError(f"{template!r}: a place is {{1}}, {{1:words}} or {{1:any}}")
            pieces.append((text, int(name) if name is not None else 0, spec or ""))
    except ValueError as error:
        raise SettingError(f"{template!r} is no template of a sentence: {error}") from None
    return tuple(_joined(pieces))


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The same with texts that doubled braces parted put together again."""
    found: list[Piece] = []
    for text, place, kind in pieces:
        before = found.pop()[0] if found and not found[-1][1] else ""
        found.append((before + text, place, kind))
    return found


class Template:
    """One sentence with places, in English and in the other language."""

    def __init__(self, english: str, other: str) -> None:
        pieces = pieces_of(english)
        self.texts = [text for text, _, _ in pieces]
        """What stands before, between and behind the places."""
        if pieces[-1][1]:
            self.texts.append("")
        self.numbers = [place for _, place, _ in pieces if place]
        self.other = pieces_of(other)
        self.anchor = max(self.texts, key=len)
        self.letters = sum(map(str.isalpha, "".join(self.texts)))
        self.word = _word(self.texts)
        """A word that every text of this template has; empty where none is sure."""

    @property
    def opens(self) -> bool:
        """True if it begins with words of its own, not with a place."""
        return bool(self.texts[0])

    @property
    def joins(self) -> bool:
        """True if it is put behind another sentence."""
        return self.texts[0].startswith(JOINTS)

    def fits(self, text: str) -> bool:
        """False for most texts that are not of this template; quick."""
        return self.anchor in text and text.startswith(self.texts[0])

    def values(self, text: str) -> list[str] | None:
        """What stands in the places, each as short as can be; None if the text is another."""
        return places_in(text, self.texts)

    def said(self, text: str, value: Value) -> str | None:
        """The text in the other language; None if it is not of this template, or in two ways.

        Of two ways to read the places, that counts in which more of the text is known.
        """
        short = self.values(text)
        if short is None:
            return None
        made, known = self._filled(short, value)
        long = _backwards(text, self.texts)
        if short == long:
            return made
        other, known_else = self._filled(long, value)
        if known == known_else or made is None or other is None:
            return made if made == other else None
        return made if known > known_else else other

    def _filled(self, found: Sequence[str], value: Value) -> tuple[str | None, int]:
        values = dict(zip(self.numbers, found, strict=True))
        parts: list[str] = []
        count = 0
        for text, place, kind in self.other:
            said = value(values[place], kind) if place else ("", False)
            if said is None:
                return None, 0
            parts += (text, said[0])
            count += len(values[place]) if place and said[1] else 0
        return "".join(parts), count


def places_in(text: str, between: Sequence[str]) -> list[str] | None:
    """What stands between these texts, each place as short as can be; None if they do not fit.

    Without going back, so that no text takes long: what is between may have come from a file.
    """
    first, *middle, last = between if len(between) > 1 else (*between, "")
    if not text.startswith(first) or not text.endswith(last):
        return None
    at, end = len(first), len(text) - len(last)
    found = []
    for each in middle:
        start = text.find(each, at, max(at, end))
        if start < 0:
            return None
        found.append(text[at:start])
        at = start + len(each)
    if at > end:
        return None
    return [*found, text[at:end]] if len(between) > 1 else [] if at == end else None


def _backwards(text: str, between: Sequence[str]) -> list[str]:
    """The places read from the end of a text that fits, the first as long as can be."""
    turned = places_in(text[::-1], [each[::-1] for each in reversed(between)]) or []
    return [place[::-1] for place in reversed(turned)]


def _word(texts: Sequence[str]) -> str:
    """The longest word that no value beside it can become a part of."""
    found = [""]
    for number, text in enumerate(texts):
        for match in re.finditer("[A-Za-z]+", text):
            sure_before = match.start() > 0 or number == 0
            sure_behind = match.end() < len(text) or number == len(texts) - 1
            if sure_before and sure_behind:
                found.append(match.group())
    return max(found, key=len)
