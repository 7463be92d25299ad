r"""Rules written in other ways: as schemas with named fields, and out of a pair of keys.

A schema is a whole key with fields: ``layers.{n}.attn.wq`` is the regex
``^layers\.([^.]+)\.attn\.wq$``. A field stands for one or more characters without a dot.
"""

from __future__ import annotations

import re
from itertools import count

from ruda.errors import RecipeError
from ruda.session.language import tr
from ruda.session.pages.rules import RuleDraft
from ruda.session.sentences import say

_FIELD = re.compile(r"\{([^{}]*)\}")
_GROUP = "([^.]+)"
_NUMBER = re.compile(r"\d+")


def schema_draft(before: str, after: str, *, enabled: bool = True) -> RuleDraft:
    """The rule of two schemas; one that cannot be understood has its ``problem``."""
    try:
        pattern, fields = _pattern_of(before)
        replacement = _replacement_of(after, fields)
    except RecipeError as error:
        return RuleDraft(before, after, enabled, say(str(error)))
    return RuleDraft(pattern, replacement, enabled)


def schema_of(draft: RuleDraft) -> tuple[str, str] | None:
    """The schemas of a rule that could have been written as such; None for any other regex."""
    if not draft.pattern.startswith("^") or not draft.pattern.endswith("$"):
        return None
    names = (f"f{number}" for number in count(1))
    parts = [_literal(part) for part in draft.pattern[1:-1].split(_GROUP)]
    if None in parts:
        return None
    before = "".join(
        part if number == 0 else f"{{{next(names)}}}{part}"
        for number, part in enumerate(part for part in parts if part is not None)
    )
    after = re.sub(r"\$\{(\d+)\}", r"{f\1}", draft.replacement).replace("$$", "$")
    back = schema_draft(before, after, enabled=draft.enabled)
    return (before, after) if back == draft else None


def rule_from_keys(source: str, target: str = "") -> RuleDraft:
    """A rule that renames a key, and all that differ from it in numbers only.

    Numbers of the target that the source has at the same place in the order are taken over.
    """
    groups = _NUMBER.findall(source)
    pattern = "".join(
        r"(\d+)" if number % 2 else re.escape(part)
        for number, part in enumerate(re.split(r"(\d+)", source))
    )
    taken = count(1)
    goal = target or source

    def number_of(found: re.Match[str]) -> str:
        place = next(taken)
        same = place <= len(groups) and groups[place - 1] == found.group()
        return f"${{{place}}}" if same else found.group()

    return RuleDraft(f"^{pattern}$", _NUMBER.sub(number_of, goal.replace("$", "$$")))


def _pattern_of(schema: str) -> tuple[str, dict[str, int]]:
    fields: dict[str, int] = {}
    pattern = ""
    at = 0
    for found in _FIELD.finditer(schema):
        name = found.group(1)
        if not name.isidentifier():
            raise RecipeError(tr("{{{name}}} is no field: a field has a name", name=name))
        if name in fields:
            raise RecipeError(tr("the field {{{name}}} stands there twice", name=name))
        fields[name] = len(fields) + 1
        pattern += re.escape(schema[at : found.start()]) + _GROUP
        at = found.end()
    rest = schema[at:]
    if set("{}") & set(_FIELD.sub("", schema)):
        raise RecipeError(tr("a brace has no partner"))
    if not schema:
        raise RecipeError(tr("the schema is empty"))
    return f"^{pattern}{re.escape(rest)}$", fields


def _replacement_of(schema: str, fields: dict[str, int]) -> str:
    def number_of(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in fields:
            known = ", ".join(f"{{{each}}}" for each in fields) or tr("none")
            raise RecipeError(
                tr(
                    "{{{name}}} is no field of the left side; it has {known}",
                    name=name,
                    known=known,
                )
            )
        return f"${{{fields[name]}}}"

    return _FIELD.sub(number_of, schema.replace("$", "$$"))


def _literal(part: str) -> str | None:
    """The text that an escaped part stands for; None where it is a regex."""
    plain = re.sub(r"\\(.)", r"\1", part)
    return plain if re.escape(plain) == part else None
