"""Rules as schemas and out of pairs of keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import RecipeError
from ruda.session import RuleDraft, rule_from_keys, rules_of, rules_page, schema_draft, schema_of

CASES = [
    pytest.param("layers.{n}.wq", "h.{n}.q", r"^layers\.([^.]+)\.wq$", "h.${1}.q", id="one field"),
    pytest.param(
        "a.{x}.{y}", "{y}.{x}$", r"^a\.([^.]+)\.([^.]+)$", "${2}.${1}$$", id="turned, a dollar"
    ),
    pytest.param("fc.weight", "", r"^fc\.weight$", "", id="no field"),
    pytest.param("bn{i}.b", "n{i}.b", r"^bn([^.]+)\.b$", "n${1}.b", id="part of a segment"),
]


@pytest.mark.parametrize(("before", "after", "pattern", "replacement"), CASES)
def test_schemas_are_rules(before: str, after: str, pattern: str, replacement: str) -> None:
    draft = schema_draft(before, after)
    assert draft == RuleDraft(pattern, replacement)
    shown = schema_of(draft)
    assert shown is not None
    assert schema_draft(*shown) == draft


BAD = [
    pytest.param("a.{}", "", "no field: a field has a name", id="no name"),
    pytest.param("a.{x}.{x}", "", "stands there twice", id="twice"),
    pytest.param("a.{x", "", "no partner", id="open"),
    pytest.param("a.{x}", "{y}", r"no field of the left side; it has {x}", id="unknown"),
    pytest.param("", "b", "empty", id="empty"),
]


@pytest.mark.parametrize(("before", "after", "problem"), BAD)
def test_schemas_that_are_none_say_why(before: str, after: str, problem: str) -> None:
    draft = schema_draft(before, after)
    assert problem in draft.problem
    with pytest.raises(RecipeError, match=problem):
        rules_of([draft])
    page = rules_page(["a.b"], [draft])
    assert (page.usable, page.rules[0].is_error) == (False, True)
    assert [change.changed for change in page.changes] == [False]


@pytest.mark.parametrize("pattern", [r"^module\.", r"(a|b)$", r"^a.b$", r"^a\.(\d+)$", r"^[ab]$"])
def test_other_regexes_are_no_schemas(pattern: str) -> None:
    assert schema_of(RuleDraft(pattern, "x")) is None


SEGMENTS = st.lists(st.sampled_from(["a", "b_1", "w-2", "$", "0", "{f}"]), min_size=1, max_size=4)


@given(SEGMENTS)
def test_a_schema_of_distinct_fields_comes_back(segments: list[str]) -> None:
    named = [f"{{f{i}}}" if s == "{f}" else s for i, s in enumerate(segments)]
    draft = schema_draft(".".join(named), ".".join(reversed(named)))
    assert draft.problem == ""
    shown = schema_of(draft)
    assert shown is not None
    assert schema_draft(*shown) == draft


@pytest.mark.parametrize(
    ("source", "target", "keys", "renamed"),
    [
        ("h.0.w", "layers.0.q", ["h.0.w", "h.11.w", "x"], ["layers.0.q", "layers.11.q", "x"]),
        ("h.1.w2", "l.1.w3", ["h.5.w2", "h.5.w9"], ["l.5.w3", "l.5.w3"]),
        ("a$b", "", ["a$b"], ["a$b"]),
    ],
    ids=["a family", "another number", "to be edited"],
)
def test_a_pair_of_keys_renames_its_family(
    source: str, target: str, keys: list[str], renamed: list[str]
) -> None:
    (rule,) = rules_of([rule_from_keys(source, target)])
    assert rule.rename_all(keys) == renamed
