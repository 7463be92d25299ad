"""Text files with checked entries: every refusal names the place and, where it is known, the line.

Recipes and descriptions of models are TOML or JSON of one make: a ``format``, a ``version``, and
entries of which none is unknown.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ruda.errors import DTypeError, RecipeError, RudaError
from ruda.store._sibling import replace_file
from ruda.store.bytefile import ByteFile
from ruda.tensor import DType

FILE_LIMIT = 16 << 20
"""Largest such file that is read; real ones have a few thousand bytes."""

DEEPEST = 200
"""Tables and lists inside each other that are read; more would exhaust the stack later on."""

LONGEST_NAME = 32
"""Names with dots between them that are read, as in ``a.b.c = 1``; each costs more than the one
before."""

LONGEST_WORD = 80
"""Letters of an unknown entry for which a slip of the pen is looked for."""

T = TypeVar("T")
Place = tuple[str | int, ...]
LineOf = Callable[[Place], int | None]
"""Line of the entry at a place, as far as it is known."""
Failure = Callable[[str, int | None], RudaError]
"""Makes the error of a sentence and a line."""


def recipe_failure(sentence: str, line: int | None = None) -> RudaError:
    """RecipeError with the line as its position."""
    return RecipeError(sentence, position=line)


def parsed_toml(text: str, what: str, fail: Failure) -> tuple[Any, LineOf]:
    """The entries of a TOML text, and who knows their lines. ``what`` is ``recipe`` or the like."""
    if _DOTTED.search(_STRINGS.sub("q", text)) is not None:
        raise fail(f"not a {what}: a name of more than {LONGEST_NAME} parts with dots", None)
    try:
        data = tomllib.loads(text)
    except ValueError as error:
        raise fail(f"not a TOML file: {error}", None) from None
    except RecursionError:
        raise fail(f"not a {what}: its entries are nested too deeply", None) from None
    _require_shallow(data, what, fail)
    return data, lambda place: _toml_line(text, place)


def parsed_json(text: str, what: str, fail: Failure) -> tuple[Any, LineOf]:
    """The entries of a JSON text, none of them twice, and who knows their lines."""
    try:
        data = json.loads(text, object_pairs_hook=lambda pairs: _distinct(pairs, fail))
    except json.JSONDecodeError as error:
        raise fail(f"not a JSON file: {error.msg} (line {error.lineno})", None) from None
    except RudaError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise fail(f"not a JSON file: {error}", None) from None
    except RecursionError:
        raise fail(f"not a {what}: its entries are nested too deeply", None) from None
    _require_shallow(data, what, fail)
    return data, lambda place: _json_line(text, place)


def _require_shallow(data: Any, what: str, fail: Failure) -> None:
    """Refuse what later steps, which call themselves for each level, could not follow."""
    level = [data]
    for _ in range(DEEPEST + 1):
        level = [
            member
            for value in level
            if isinstance(value, (dict, list))
            for member in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    raise fail(f"not a {what}: its entries are nested too deeply", None)


def text_of(path: Path, what: str, fail: Failure) -> str:
    """The text of such a file, with line feeds. Raises FileAccessError, and ``fail``."""
    with ByteFile(path) as file:
        if file.size > FILE_LIMIT:
            raise fail(f"{path}: {file.size} bytes; a {what} has at most {FILE_LIMIT}", None)
        raw = file.read_at(0, file.size)
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise fail(f"{path}: not UTF-8 text at byte {error.start}", None) from None


def write_text(path: Path, text: str, fail: Failure) -> None:
    """Write such a file; an old one is replaced in one step. Raises SaveError, and ``fail``."""
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise fail(
            f"{path}: {half!r} is half of a character, which no text file can hold", None
        ) from None
    replace_file(path, content)


def is_json(path: Path, text: str) -> bool:
    """True if a file is JSON, by its suffix or its first character."""
    return path.suffix.lower() == ".json" or text.lstrip().startswith("{")


def _distinct(pairs: list[tuple[str, Any]], fail: Failure) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name, count in Counter(names).items() if count > 1)
        raise fail(f"the entry {double!r} is there twice", None)
    return found


class EntryReader:
    """Checks one document; every refusal names the place and, where it is known, the line."""

    def __init__(self, line_of: LineOf, fail: Failure = recipe_failure) -> None:
        self._line_of = line_of
        self._fail = fail

    def refuse(self, place: Place, fact: str) -> RudaError:
        """The error for an entry: its line and place, and the fact."""
        line = self._line_of(place)
        parts = (f"[{p + 1}]" if isinstance(p, int) else f".{_short(p)}" for p in place)
        name = "".join(parts).lstrip(".")
        where = "" if line is None else f"line {line}: "
        return self._fail(f"{where}{name}: {fact}" if name else f"{where}{fact}", line)

    def head(self, root: Mapping[str, Any], form: str, version: int) -> None:
        """Check ``format`` and ``version``."""
        if root.get("format") != form:
            raise self.refuse(("format",), f"expected {form!r}, found {root.get('format')!r}")
        found = root.get("version")
        if found != version or isinstance(found, bool):
            raise self.refuse(("version",), f"this Ruda reads version {version}, found {found!r}")

    def table(self, value: Any, place: Place, known: Iterable[str]) -> dict[str, Any]:
        """The value as a table of known entries."""
        if not isinstance(value, dict):
            raise self.refuse(place, f"expected a table, found {value!r}")
        names = list(known)
        for key in value:
            if key not in names:
                hint = _nearest_word(key, names)
                raise self.refuse((*place, key), f"unknown entry{hint}; known: {', '.join(names)}")
        return value

    def tables(self, value: Any, place: Place) -> list[Any]:
        """The value as a list, of tables as its members say."""
        if not isinstance(value, list):
            raise self.refuse(place, f"expected a list of tables, found {value!r}")
        return value

    def typed(self, table: Mapping[str, Any], key: str, kind: type[T], place: Place) -> T | None:
        """The entry, of this type; None where it is absent."""
        value = table.get(key)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.refuse((*place, key), f"expected {kind.__name__}, found {value!r}")
        return value

    def needed(self, table: Mapping[str, Any], key: str, place: Place) -> str:
        """The entry as text that has to be there."""
        value = self.typed(table, key, str, place)
        if value is None:
            raise self.refuse(place, f"the entry {key!r} is missing")
        return value

    def texts(self, table: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
        """The entry as a list of texts; empty where it is absent."""
        values = self.typed(table, key, list, place) or []
        for value in values:
            if not isinstance(value, str):
                raise self.refuse((*place, key), f"expected text, found {value!r}")
        return tuple(values)

    def numbers(self, table: Mapping[str, Any], key: str, place: Place) -> tuple[int, ...]:
        """The entry as a list of whole numbers; empty where it is absent."""
        values = self.typed(table, key, list, place) or []
        for value in values:
            if not isinstance(value, int) or isinstance(value, bool):
                raise self.refuse((*place, key), f"expected whole numbers, found {value!r}")
        return tuple(values)

    def number(self, table: Mapping[str, Any], key: str, place: Place) -> int:
        """The entry as a whole number that has to be there."""
        value = self.typed(table, key, int, place)
        if value is None:
            raise self.refuse(place, f"the entry {key!r} is missing")
        return value

    def dtype(
        self,
        table: Mapping[str, Any],
        key: str,
        place: Place,
        parse: Callable[[str], DType] = DType.parse,
    ) -> DType:
        """The entry as the name of an element type, which has to be there."""
        try:
            return parse(self.needed(table, key, place))
        except DTypeError as error:
            raise self.refuse((*place, key), str(error)) from None

    def placed(self, place: Place, make: Callable[[], T]) -> T:
        """What ``make`` returns; an error of a single rule gets its place in the file."""
        try:
            return make()
        except RecipeError as error:
            if error.step is None:
                raise
            step = f"{error.step}: " if error.step in place else ""  # the place names it
            raise self.refuse(place, str(error).removeprefix(step)) from None


def _short(name: str) -> str:
    """A name of a readable length."""
    return name if len(name) <= LONGEST_WORD else f"{name[:LONGEST_WORD]}…"


def _nearest_word(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)`` for a slip of the pen, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1) if len(word) <= LONGEST_WORD else []
    return f" (did you mean {near[0]!r}?)" if near else ""


_STRINGS = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*+(?:"""|\Z)'
    r"|'''(?:[^']|'{1,2}(?!'))*+(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*",
    re.DOTALL,
)
"""Texts and comments of a TOML file, in which dots part nothing; one without an end takes all."""

_DOTTED = re.compile(rf"(?<![\w-])(?:[\w-]+[ \t]*\.[ \t]*){{{LONGEST_NAME}}}")
_COLON = re.compile(r"\s*:")
_HEADER = re.compile(r"^\s*(\[\[?)\s*([\w.\"'-]+)\s*\]\]?")
_ENTRY = re.compile(r"^\s*[\"']?([\w-]+)[\"']?\s*(?:\.|=)")
_LIST = re.compile(r"=\s*\[\s*(?:#.*)?$")
_MEMBER = re.compile(r"^\s*\{")


def _toml_line(text: str, place: Place) -> int | None:
    """Line of the entry at ``place``, of the closest table around it, or None."""
    seen: dict[str, int] = {}
    here: Place = ()
    listed: Place = ()  # a list whose tables have lines of their own
    member = -1
    best, depth = None, 0
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        entry = None if header else _ENTRY.match(line)
        if header:
            name = header[2].strip("\"'")
            if header[1] == "[[":
                seen[name] = seen.get(name, -1) + 1
                here = (name, seen[name])
            else:
                here = tuple(name.split("."))
                if here[0] in seen:  # a table of the last entry of a list of tables
                    here = (here[0], seen[here[0]], *here[1:])
            found, listed = here, ()
        elif entry:
            found = (*here, entry[1])
            listed, member = (found if _LIST.search(line) else ()), -1
        elif listed and _MEMBER.match(line):
            member += 1
            found = (*listed, member)
        else:
            continue
        if len(found) > depth and place[: len(found)] == found:
            best, depth = number, len(found)
    return best


def _json_line(text: str, place: Place) -> int | None:
    """Line of the last name in ``place``, if it occurs once as an entry; else None."""
    name = next((part for part in reversed(place) if isinstance(part, str)), None)
    if name is None:
        return None
    spelled = f'"{name}"'
    places: list[int] = []
    at = text.find(spelled)
    while at >= 0 and len(places) < 2:
        if _COLON.match(text, at + len(spelled)):
            places.append(at)
        at = text.find(spelled, at + 1)
    return text.count("\n", 0, places[0]) + 1 if len(places) == 1 else None
