r"""Regular expressions and replacements of recipes, in Rust's spelling as well as in Python's.

``$`` is the very end of a key, as in Rust, never before a last newline. ``(?<name>…)`` is a named
group. A replacement may say ``$1``, ``${1}``, ``$name``, ``${name}``, ``$$`` or ``\1``,
``\g<name>``, ``\\``; a group that the pattern does not have is refused instead of vanishing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import comb

from ruda.errors import RecipeError

PROBE_SECONDS = 0.05
"""A pattern that needs longer than this on the start of one key is called catastrophic."""

BUDGET_SECONDS = 2.0
"""Time that a pattern may take over all tries for one file."""

TOTAL_SECONDS = 20.0
"""Time that a pattern may take on all keys of one file, as far as the tries tell."""

MAX_PROBED = 256
"""Keys of one file that a pattern with nested repeats is tried on."""

FEW_PROBED = 32
"""Keys of one file that any other pattern is tried on."""

MANY_VARIABLE = 12
"""Parts without fixed length in a row that take exponential time without any nesting."""

MANY_TIMES = 48
"""Least repeats of a group with a choice in it that are refused without a try: from one character
to the next the time may grow by so large a factor that no try can be stopped in time."""

FREE_STEPS = 200_000
"""Ways to match one key, at most, that are not worth a try: about a millisecond."""

LONGEST_PATTERN = 100_000
"""Characters of a pattern: one of a million takes ten seconds to be understood."""

_NOTHING = "\0"
"""A character that no key holds and no sensible pattern fits."""

Template = tuple[str | int, ...]
"""A parsed replacement: literal text and numbers of groups."""

Expander = Callable[[re.Match[str]], str]

_REPEAT = re.compile(r"[*+][?+]?|\{\d*,\d*\}[?+]?|\{\d{2,}\}")
_COUNTED = re.compile(r"\{(\d+)")
_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"[0-9A-Za-z_]+")


def quoted(pattern: str) -> str:
    """The pattern between quotes as a person writes it, its backslashes as they are.

    One with a quote or a character that is not printed is shown as Python spells it.
    """
    return repr(pattern) if "'" in pattern or not pattern.isprintable() else f"'{pattern}'"


@lru_cache(maxsize=512)
def compile_pattern(pattern: str, step: str | None = None) -> re.Pattern[str]:
    """The compiled pattern. Raises RecipeError naming the pattern and the position of the fault."""
    if len(pattern) > LONGEST_PATTERN:
        raise RecipeError(
            f"the pattern {pattern[:80]!r}… has {len(pattern)} characters, and at most "
            f"{LONGEST_PATTERN} are taken; a filter by exact keys has no such limit",
            step=step if step is None or len(step) <= 200 else step[:100] + "…",
        )
    translated = _translate(pattern)
    try:
        return re.compile(translated)
    except re.error as error:
        fault, position = error.msg, error.pos
        try:
            re.compile(pattern)
        except re.error as plain:  # the position in what the user typed, where it can be had
            fault, position = plain.msg, plain.pos
    except OverflowError:
        fault, position = "a repetition number is too large", None
    except RecursionError:
        fault, position = "its groups are nested too deeply", None
    where = "" if position is None else f" at position {position}"
    raise RecipeError(
        f"the pattern {pattern!r} is not a regular expression: {fault}{where}",
        step=step,
        position=position,
    )


def _translate(pattern: str) -> str:
    r"""Rust's ``$``, ``\z`` and ``(?<name>`` as Python spells them; the rest untouched."""
    multiline = re.search(r"\(\?[a-zA-Z]*m", pattern) is not None
    parts: list[str] = []
    in_class = False
    at = 0
    while at < len(pattern):
        here = pattern[at]
        step = 1
        if here == "\\":
            step = 2
            piece = pattern[at : at + 2]
            parts.append(r"\Z" if piece == r"\z" and not in_class else piece)
        elif in_class:
            in_class = here != "]"
            parts.append(here)
        elif here == "[":
            in_class = True
            step = _class_start(pattern, at)
            parts.append(pattern[at : at + step])
        elif here == "$" and not multiline:
            parts.append(r"\Z")
        elif pattern.startswith("(?<", at) and pattern[at + 3 : at + 4] not in ("=", "!"):
            parts.append("(?P<")
            step = 3
        else:
            parts.append(here)
        at += step
    return "".join(parts)


def _class_start(pattern: str, at: int) -> int:
    """Length of ``[``, ``[^``, ``[]`` or ``[^]``: a bracket there does not close the class."""
    length = 2 if pattern[at + 1 : at + 2] == "^" else 1
    return length + 1 if pattern[at + length : at + length + 1] == "]" else length


def parse_replacement(text: str, pattern: re.Pattern[str], step: str | None = None) -> Template:
    """Literal parts and group numbers of a replacement.

    Raises RecipeError with the position for a group that the pattern does not have.
    """
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        if text[at] in "$\\":
            part, length = _reference(text, at, pattern, step)
        else:
            part, length = text[at], 1
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        else:
            parts.append(part)
        at += length
    return tuple(parts)


def _reference(
    text: str, at: int, pattern: re.Pattern[str], step: str | None
) -> tuple[str | int, int]:
    """The group or literal that begins at ``$`` or a backslash, and how long it is spelled."""
    mark, rest = text[at], text[at + 1 :]
    if rest[:1] == mark:
        return mark, 2
    if mark == "$":
        if rest[:1] == "{":
            name, closed, _ = rest[1:].partition("}")
            if not closed:
                raise _bad(text, at, "'${' is not closed", step)
            return _group(name, text, at, pattern, step), len(name) + 3
        found = _NAME.match(rest)
        if found is None:
            return "$", 1
        return _group(found[0], text, at, pattern, step), len(found[0]) + 1
    if rest[:2] == "g<" and ">" in rest:
        name = rest[2 : rest.index(">")]
        return _group(name, text, at, pattern, step), len(name) + 4
    digits = re.match(r"[0-9]{1,2}", rest)
    if digits is None:
        raise _bad(text, at, r"a backslash must be followed by a group; write \\ for itself", step)
    return _group(digits[0], text, at, pattern, step), len(digits[0]) + 1


def _group(name: str, text: str, at: int, pattern: re.Pattern[str], step: str | None) -> int:
    """Number of a group, given by number or name."""
    if name.isascii() and name.isdigit() and int(name) <= pattern.groups:
        return int(name)
    if name in pattern.groupindex:
        return pattern.groupindex[name]
    hint = ""
    digits = re.match(r"[0-9]+", name)
    if digits is not None and digits[0] != name and text[at] == "$":
        rest = name[len(digits[0]) :]
        hint = f"; to put {rest!r} behind group {digits[0]}, write ${{{digits[0]}}}{rest}"
    raise _bad(text, at, f"the pattern has no group {name!r}{hint}", step)


def _bad(text: str, at: int, fact: str, step: str | None) -> RecipeError:
    return RecipeError(
        f"the replacement {text!r} cannot be used: {fact} (position {at})", step=step, position=at
    )


def expander(template: Template) -> Expander:
    """What a replacement makes of a match; a group that took no part is empty."""
    if len(template) == 0:
        return lambda match: ""
    if len(template) == 1 and isinstance(template[0], str):
        literal = template[0]
        return lambda match: literal
    return lambda match: "".join(
        part if isinstance(part, str) else (match[part] or "") for part in template
    )


def canonical(template: Template) -> str:
    """One spelling for a parsed replacement: ``${1}`` and ``$$``."""
    return "".join(
        part.replace("$", "$$").replace("\\", "\\\\") if isinstance(part, str) else f"${{{part}}}"
        for part in template
    )


def replace_all(pattern: re.Pattern[str], expand: Expander, text: str) -> str:
    """Every match replaced. As in Rust, none is empty right behind another: ``.*`` matches once."""
    found = pattern.search(text)
    if found is None:
        return text
    parts: list[str] = []
    copied, last = 0, -1
    while found is not None:
        if found.start() == found.end() == last:
            found = pattern.search(text, last + 1) if last < len(text) else None
            continue
        parts += (text[copied : found.start()], expand(found))
        copied = last = found.end()
        found = pattern.search(text, copied)
    return "".join((*parts, text[copied:]))


def shape_of(pattern: str, step: str | None = None) -> tuple[bool, int]:
    """Whether a repeated group holds a repeat or a choice; how many parts leave a choice.

    Such a group may take exponential time.

    Raises RecipeError for such a group that is repeated very many times.
    """
    opened: list[bool] = []  # per open group: does it hold a repeat or a choice?
    nested = False
    variable = 0
    at = 0
    in_class = False
    while at < len(pattern):
        here = pattern[at]
        if here == "\\":
            at += 2
            continue
        repeat = None if in_class else _REPEAT.match(pattern, at)
        if in_class:
            in_class = here != "]"
        elif here == "[":
            in_class = True
            at += _class_start(pattern, at)
            continue
        elif here == "(":
            opened.append(False)
            if pattern.startswith("(?", at):
                at += 1  # this mark makes nothing optional
        elif here == "|":
            variable += 1
            opened = [True] * len(opened)
        elif here == ")" and opened:
            held = opened.pop()
            follows = _REPEAT.match(pattern, at + 1) if held else None
            nested = nested or follows is not None
            if follows is not None and _times(follows[0]) > MANY_TIMES:
                raise RecipeError(
                    f"the pattern {pattern!r} takes too long: it repeats a group that holds a "
                    f"choice {_times(follows[0])} times, which lets it try exponentially many ways",
                    step=step,
                    position=at + 1,
                )
        elif repeat is not None:
            variable += 1
            opened = [True] * len(opened)
            at = repeat.end() - 1
        elif here == "?":
            variable += 1
            opened = [True] * len(opened)
        at += 1
    return nested, variable


def _times(repeat: str) -> int:
    """The least number of times that a repeat asks for: 200 for ``{200}`` and ``{200,}``."""
    counted = _COUNTED.match(repeat)
    return 0 if counted is None else int(counted[1])


def guard(pattern: str, keys: Iterable[str], step: str | None = None) -> None:
    """Try a pattern on growing starts of the keys, so that it cannot hang on a whole one.

    Each start is tried as it is and with characters behind it that fit nothing: most time goes
    where a long run of fitting characters ends in one that does not fit. Of keys that differ in
    numbers only, the longest is tried. Free where keys are short and the pattern is plain.
    Raises RecipeError when one try, all tries together, or all keys would take too long.
    """
    nested, variable = shape_of(pattern, step)
    keys = list(keys)
    longest = max(map(len, keys), default=0)
    if not nested and comb(longest + variable, variable + 1) <= FREE_STEPS:
        return
    search = compile_pattern(pattern, step).search
    probed = _representatives(keys)[: MAX_PROBED if nested else FEW_PROBED]
    behind = _NOTHING + "\n" * _least_width(pattern)
    every = nested or variable > MANY_VARIABLE
    spent = whole = 0.0
    for key in probed:
        took = 0.0
        for end in _ends(len(key), every=every):
            for probe in (key[:end] + behind, key[:end]):
                before = time.thread_time()  # not the wall clock: a busy machine proves nothing
                search(probe)
                took = time.thread_time() - before
                spent += took
                if took > PROBE_SECONDS or spent > BUDGET_SECONDS:
                    raise _too_slow(pattern, key, step, nested=nested)
        whole += took
        if whole / len(probed) * len(keys) > TOTAL_SECONDS:
            raise _too_slow(pattern, key, step, nested=nested)


def _least_width(pattern: str) -> int:
    """At least as many characters as a match needs: on less, a pattern fails without a try."""
    counted = sum(int(digits[:4]) for digits in _COUNTED.findall(pattern))
    return min(len(pattern) + counted, 256)


def _ends(length: int, *, every: bool) -> Iterator[int]:
    """Lengths of the starts that are tried, up to the whole; exponential time needs every one."""
    end = min(1 if every else 4, length)
    while end < length:
        yield end
        end += 1 if every else 1 + end // 8
    yield length


def _too_slow(pattern: str, key: str, step: str | None, *, nested: bool) -> RecipeError:
    why = (
        "a repeat inside a repeated group lets it try exponentially many ways"
        if nested
        else "its repeats can share out the same characters in too many ways; anchor it with ^"
    )
    shown = repr(key) if len(key) <= 200 else f"{key[:80]!r}… ({len(key)} characters)"
    return RecipeError(
        f"the pattern {pattern!r} takes too long on the key {shown}: {why}", step=step
    )


def _representatives(keys: Iterable[str]) -> list[str]:
    """The longest key of every family, the longest families first."""
    longest: dict[str, str] = {}
    for key in keys:
        family = _NUMBER.sub("*", key)
        if len(key) > len(longest.get(family, "")):
            longest[family] = key
    return sorted(longest.values(), key=len, reverse=True)
