"""Sentences of the library in the language of the screens: matched, taken apart, said anew.

The library speaks English: errors, reasons, evidence, notes. A screen shows them through ``say``.
A catalogue has the template of every sentence, ``{1} ends at byte {2}``, and its other language;
the values in the places stay as they are. A text that is no template is put together of some:
a place before a colon, a remedy behind a semicolon, a sentence in the place of another. What is
known only in part, or in two ways that differ, stays English: never a wrong sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from ruda.session.templates import JOINTS, Template, places_in

LEAST = 8
"""Letters that a template has, to be matched with a whole text or with any place of another.

One with fewer counts where a sentence stands in a place of it, or where words are asked for.
"""
LONGEST = 4096
"""Letters of the longest text that is taken apart; a longer one stays as it is."""
MOST_JOINTS = 40
"""Places in a text at which it could be taken apart; one with more stays as it is."""

_HEAD = re.compile(r"(?:[^:]|:(?! ))+: ")
_PLACE = re.compile(
    r"(?:remap )?\S+(?: -> \S+)?|(?:[/'\"]|[A-Za-z]:[\\/]|\w+://).*|.*\.\w{1,12}",
    re.DOTALL | re.ASCII,
)
"""What may stand before a colon as it is: a word, a rule, two keys, a path, an address."""
_WORD = re.compile("[A-Za-z]+")
_QUOTED = re.compile(r"""(?<![\w'"])b?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")(?!\w)""")
"""A key or a text as ``repr`` writes it; the apostrophe of a word is none."""
_MASK = 0xE000
"""The first of the characters, of no script, that stand for what is quoted."""
_MASKS = 6400
_MASKED = re.compile("[\ue000-\uf8ff]")


def say(text: str) -> str:
    """A sentence of the library in the language of the screens; English where it is not known.

    Line by line. Quick for what was said before; what is new is matched with the templates once.
    """
    if not _book[0].is_open:
        return text
    return "\n".join(map(_said, text.split("\n")))


def say_steps(steps: Iterable[str]) -> str:
    """The steps of a trail, such as ``rename · cast f16``, in the language of the screens."""
    return say_words(" · ".join(steps))


def say_words(text: str) -> str:
    """A few words, such as ``cast f16``, in the language of the screens."""
    return (_book[0].said(text, words=True) or text) if _book[0].is_open else text


def use_sentences(load: Callable[[], Mapping[str, str]] | None) -> None:
    """Say sentences as this catalogue has them; it is loaded when the first one is said.

    None means English. ``load`` raises nothing: it is called while a screen is drawn.
    """
    _book[0] = Book(load)
    _said.cache_clear()


@lru_cache(maxsize=8192)
def _said(text: str) -> str:
    return _book[0].said(text) or text


class _Found(NamedTuple):
    letters: int
    fewest: int
    said: str


class Book:
    """A catalogue of sentences, ready to be matched with."""

    def __init__(self, load: Callable[[], Mapping[str, str]] | None) -> None:
        self._load = load
        self._known: dict[tuple[str, int], str | None] = {}

    @property
    def is_open(self) -> bool:
        """False for English, which needs no catalogue."""
        return self._load is not None

    @cached_property
    def plain(self) -> Mapping[str, str]:
        """Sentences without a place."""
        return {text: other for text, other in self._catalogue.items() if "{" not in text}

    @cached_property
    def _catalogue(self) -> Mapping[str, str]:
        return {} if self._load is None else dict(self._load())

    @cached_property
    def _templates(self) -> Mapping[str, list[Template]]:
        """Sentences with places, by a word that a text of theirs has; those without by ``""``."""
        found: dict[str, list[Template]] = {"": []}
        for english, other in self._catalogue.items():
            if "{" in english:
                template = Template(english, other)
                found.setdefault(template.word, []).append(template)
        return found

    @cached_property
    def _quotes(self) -> tuple[list[str], ...]:
        """What sentences themselves quote, taken apart."""
        found = (quote for text in self._catalogue for quote in _QUOTED.findall(text))
        return tuple(Template(quote, "").texts for quote in dict.fromkeys(found))

    def said(self, text: str, *, words: bool = False) -> str | None:
        """A text in the other language; None if any part is not known. What is quoted stays."""
        if _MASKED.search(text):
            return None
        quoted: list[str] = []

        def mask(found: re.Match[str]) -> str:
            own = any(places_in(found[0], quote) is not None for quote in self._quotes)
            if own or len(quoted) == _MASKS:
                return found[0]
            quoted.append(found[0])
            return chr(_MASK + len(quoted) - 1)

        bare = text if text in self.plain else _QUOTED.sub(mask, text)
        said = self.words(bare) if words else self.whole(bare)
        return said and _MASKED.sub(lambda found: quoted[ord(found[0]) - _MASK], said)

    def whole(self, text: str, least: int = LEAST) -> str | None:
        """A text in the other language; None if any part of it is not known."""
        if text in self.plain:
            return self.plain[text]
        if len(text) > LONGEST or sum(map(text.count, (": ", *JOINTS))) > MOST_JOINTS:
            return None
        if len(self._known) > LONGEST:
            self._known.clear()
        if (text, least) not in self._known:
            self._known[text, least] = None  # what it is made of is shorter than itself
            self._known[text, least] = (
                self._matched(text, least, opens=True)
                or self._behind_a_place(text, least)
                or self._matched(text, least, opens=False)
                or self._of_a_key(text, least)
                or self._two(text, least)
            )
        return self._known[text, least]

    def words(self, text: str) -> str | None:
        """A few words in the other language: templates with hardly a letter count as well."""
        if " · " in text:
            return " · ".join(self.words(part) or part for part in text.split(" · "))
        return self.whole(text, least=1)

    def value(self, text: str, kind: str) -> tuple[str, bool] | None:
        """What stands in a place, and whether it was known: said anew as words or a sentence.

        None for a value with another sentence behind it, which is not the place's.
        """
        if kind == "any":
            return text, False
        said = self.words(text) if kind else self.whole(text) if " " in text else None
        if said is not None:
            return said, True
        for joint in JOINTS:
            at = text.rfind(joint)
            rest = None if at < 0 else self._rest(text[at:], joint, LEAST)
            if rest is not None:
                before = self.value(text[:at], kind)
                return None if before is None else (before[0] + rest, False)
        return None if "; " in text or ", or " in text else (text, False)

    def _matched(self, text: str, least: int, *, opens: bool) -> str | None:
        """By the template that says most; ``opens`` are those that begin with a word of theirs."""
        found = list(self._candidates(text, least, opens))
        if not found:
            return None
        best = max(found)
        same = {each.said for each in found if each[:2] == best[:2]}
        return best.said if len(same) == 1 else None

    def _candidates(self, text: str, least: int, opens: bool) -> Iterator[_Found]:
        for word in ("", *dict.fromkeys(_WORD.findall(text))):
            for template in self._templates.get(word, ()):
                if template.opens is opens and template.fits(text):
                    said = template.said(text, self.value)
                    enough = template.letters >= LEAST or template.joins
                    if said is not None and (enough or self._suits(template, text, least)):
                        yield _Found(template.letters, -len(template.numbers), said)

    def _suits(self, template: Template, text: str, least: int) -> bool:
        """True for a text of a short template, of which many a name could be.

        A sentence or a quoted key has to stand in a place, where not words are asked for, and
        nothing of several words that are not known.
        """
        values = template.values(text) or []
        known = [self.whole(value, least) is not None for value in values]
        others = [value for value, is_known in zip(values, known, strict=True) if not is_known]
        if any(" " in value for value in others):
            return any(known) and template.letters > 3
        return template.letters >= least or any(known) or any(map(_MASKED.fullmatch, others))

    def _behind_a_place(self, text: str, least: int) -> str | None:
        head = _HEAD.match(text)
        if head is None:
            return None
        place = self._place(head.group())
        rest = None if place is None else self.whole(text[head.end() :], least)
        return None if rest is None else f"{place}{rest}"

    def _of_a_key(self, text: str, least: int) -> str | None:
        """A quoted key, and what is said of it: a sentence that begins with a verb."""
        if not _MASKED.match(text) or text[1:2] != " ":
            return None
        rest = self.plain.get(text[2:]) or self._matched(text[2:], least, opens=True)
        return None if rest is None else text[:2] + rest

    def _place(self, head: str) -> str | None:
        """What stands before a sentence, if it is a place: ``byte 12: ``, a path, a key."""
        for template in self._templates.get(head.split(" ")[0].strip(":"), ()):
            if template.opens and template.texts[-1] == ": ":
                return template.said(head, self.value)
        return head if _PLACE.fullmatch(head[:-2]) else None

    def _two(self, text: str, least: int) -> str | None:
        """A sentence and what was put behind it, both of which are known."""
        for joint in JOINTS:
            at = text.rfind(joint)
            while at > 0:
                first = self.whole(text[:at], least)
                rest = None if first is None else self._rest(text[at:], joint, least)
                if rest is not None:
                    return f"{first}{rest}"
                at = text.rfind(joint, 0, at)
        return None

    def _rest(self, text: str, joint: str, least: int) -> str | None:
        """What was put behind a sentence: known as it is, or a sentence of its own, or a name."""
        said = self.whole(text, least)
        if said is not None:
            return said
        if joint in ("; ", ", "):
            said = self.whole(text[len(joint) :], least)
            return None if said is None else joint + said
        return text if joint == " (" and text.endswith(")") and " " not in text[1:] else None


_book: list[Book] = [Book(None)]
