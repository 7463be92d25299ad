"""The guide: pages of Markdown under ``resources/guide``, and the search through them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ruda_workbench import assets

_MARKUP = re.compile(r"[`*_#>|]|\]\([^)]*\)|\[|^\s*-\s", re.MULTILINE)
AROUND = 40
"""Letters on either side of what was found."""


@dataclass(frozen=True, slots=True)
class GuidePage:
    """One page: its file's name without number and ending, its title, and its Markdown."""

    name: str
    title: str
    text: str

    @property
    def plain(self) -> str:
        """The words of the page without marks."""
        return " ".join(_MARKUP.sub(" ", self.text).split())


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that a search found, how often, and the first place in its words."""

    page: GuidePage
    count: int
    excerpt: str


@lru_cache(maxsize=4)
def guide_pages(language: str = "en") -> tuple[GuidePage, ...]:
    """Every page in the order of their numbers; in English where a language has no guide."""
    english = assets.resources() / "guide"
    place = english / language if (english / language).is_dir() else english
    return tuple(_read(path) for path in sorted(place.glob("[0-9]*.md")))


def search(pages: tuple[GuidePage, ...], text: str) -> tuple[Hit, ...]:
    """Pages that hold every word, those with the words in their title first, then by number."""
    words = text.lower().split()
    if not words:
        return tuple(Hit(page, 0, "") for page in pages)
    found = []
    for page in pages:
        plain = page.plain
        low = plain.lower()
        if all(word in low for word in words):
            count = sum(low.count(word) for word in words)
            found.append(Hit(page, count, _excerpt(plain, low.index(words[0]), len(words[0]))))
    return tuple(sorted(found, key=lambda hit: (not _in_title(hit.page, words), -hit.count)))


def _in_title(page: GuidePage, words: list[str]) -> bool:
    return any(word in page.title.lower() for word in words)


def _excerpt(plain: str, at: int, length: int) -> str:
    start, end = max(0, at - AROUND), min(len(plain), at + length + AROUND)
    before, after = "…" if start else "", "…" if end < len(plain) else ""
    return f"{before}{plain[start:end].strip()}{after}"


def _read(path: Path) -> GuidePage:
    text = path.read_text("utf-8")
    first = text.splitlines()[0] if text else ""
    title = first.removeprefix("#").strip() or path.stem
    name = re.sub(r"^\d+-", "", path.stem)
    return GuidePage(name, title, text)
