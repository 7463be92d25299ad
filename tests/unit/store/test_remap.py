from __future__ import annotations

import pytest

from ruda.errors import KeyCollisionError, RecipeError
from ruda.store import KeyRemapper, RemapRule, compact_indices

RENAMES = [
    pytest.param([], "a.b", "a.b", id="no rules"),
    pytest.param([(r"^module\.", "")], "module.a", "a", id="strip"),
    pytest.param([(r"^", "model.")], "a", "model.a", id="add"),
    pytest.param([(r"o", "0")], "foo.boo", "f00.b00", id="every match"),
    pytest.param([(r"conv\.(.*)", "$1")], "conv.0.w", "0.w", id="Rust's group"),
    pytest.param([(r"a", "b"), (r"b", "c")], "a.b", "c.c", id="rules go on from one another"),
    pytest.param([(r"(\w+)\.weight$", r"\1.gamma")], "n.weight", "n.gamma", id="Python's group"),
    pytest.param([(r"x", "y")], "a", "a", id="no match"),
]


@pytest.mark.parametrize(("rules", "key", "expected"), RENAMES)
def test_rename(rules: list[tuple[str, str]], key: str, expected: str) -> None:
    assert KeyRemapper.from_patterns(rules).rename(key) == expected


def test_a_rule_that_is_off_does_nothing_and_is_kept() -> None:
    remapper = KeyRemapper((RemapRule("a", "b", enabled=False), RemapRule("c", "d")))
    assert remapper.rename("ac") == "ad"
    assert remapper.trace("ac") == ("ac", "ac", "ad")
    assert remapper.to_regex_pairs() == (("c", "d"),)


@pytest.mark.parametrize(
    ("pattern", "text", "message"),
    [
        pytest.param("(", "", r"remap '\(' -> '': the pattern '\(' is not a regular", id="pattern"),
        pytest.param("a", "$1", r"remap 'a' -> '\$1': the replacement '\$1' cannot", id="group"),
    ],
)
def test_bad_rule_is_refused_when_made(pattern: str, text: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        KeyRemapper.of((pattern, text))


def test_collision_names_both_keys_and_the_rule() -> None:
    remapper = KeyRemapper.of(("^x", "y"), (r"^(a|b)\.", "c."))
    with pytest.raises(KeyCollisionError, match=r"'a.w' and 'b.w' would both become 'c.w' by") as e:
        remapper.remap(["a.w", "b.w"])
    assert e.value.sources == ("a.w", "b.w")
    assert e.value.step == r"remap '^(a|b)\\.' -> 'c.'"


def test_collision_with_a_key_that_is_there_already() -> None:
    plan = KeyRemapper.of(("^fc", "head")).plan(["head.w", "fc.w", "z"])
    assert [c.sources for c in plan.collisions] == [("head.w", "fc.w")]
    assert [change.after for change in plan.changes] == ["head.w", "head.w", "z"]


COMPACTIONS = [
    pytest.param(["fc.0.w", "fc.2.w", "fc.4.w"], ["fc.0.w", "fc.1.w", "fc.2.w"], id="gaps"),
    pytest.param(["a.1", "b.5"], ["a.0", "b.0"], id="per prefix"),
    pytest.param(
        ["f.0.c.0", "f.0.c.2", "f.2.c.4"],
        ["f.0.c.0", "f.0.c.1", "f.1.c.0"],
        id="inner numbers go by the original outer one",
    ),
    pytest.param(["l.02", "l.+1"], ["l.1", "l.0"], id="leading zeros and a plus are numbers"),
    pytest.param(["conv2.w", "a"], ["conv2.w", "a"], id="a number in a word is none"),
    pytest.param([], [], id="nothing"),
]


@pytest.mark.parametrize(("keys", "expected"), COMPACTIONS)
def test_compact_indices(keys: list[str], expected: list[str]) -> None:
    assert compact_indices(keys) == expected


def test_a_number_of_thousands_of_digits_is_no_index() -> None:
    keys = ["a." + "9" * 5000 + ".w", "a.7.w"]
    assert compact_indices(keys) == [keys[0], "a.0.w"]


def test_compaction_is_off_unless_asked_for_and_keeps_prefixes() -> None:
    keys = ["layers.5.w", "fc.3.w"]
    assert [c.after for c in KeyRemapper().remap(keys)] == keys
    remapper = KeyRemapper().map_indices_contiguous(keep="^layers$")
    assert [c.after for c in remapper.remap(keys)] == ["layers.5.w", "fc.0.w"]


def test_compaction_collision_names_its_step() -> None:
    remapper = KeyRemapper().map_indices_contiguous()
    with pytest.raises(KeyCollisionError, match=r"become 'a\.0' by index compaction"):
        remapper.remap(["a.1", "a.01"])


REVERSES = [
    pytest.param(r"^module\.", "", "^", "module.", id="strip a prefix"),
    pytest.param("^", "model.", r"^model\.", "", id="add a prefix"),
    pytest.param(r"l\.(\d+)\.wq", "m.$1.q", r"m\.(\d+)\.q", "l.${1}.wq", id="a group"),
    pytest.param(r"^(\w+)-(\d+)$", "${2}_$1", r"^(\d+)_(\w+)$", "${2}-${1}", id="swapped groups"),
    pytest.param(r"\.a$", ".b", r"\.b$", ".a", id="an end"),
]


@pytest.mark.parametrize(("pattern", "text", "back", "template"), REVERSES)
def test_reverse(pattern: str, text: str, back: str, template: str) -> None:
    rule = RemapRule(pattern, text).reverse()
    assert rule is not None
    assert (rule.pattern, rule.replacement) == (back, template)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param(r"^(module\.|_orig\.)+", "", id="repeated group"),
        pytest.param(r"a.b", "c", id="any letter"),
        pytest.param(r"(a)(b)", "$1", id="a group is lost"),
        pytest.param(r"\d+", "x", id="a class"),
        pytest.param("a", "", id="nothing left to find"),
        pytest.param("ab*", "c", id="quantifier"),
    ],
)
def test_no_reverse(pattern: str, text: str) -> None:
    assert RemapRule(pattern, text).reverse() is None
    with pytest.raises(RecipeError, match="this rule has no reverse"):
        KeyRemapper.of((pattern, text)).reverse()


def test_reverse_of_several_rules_goes_backwards() -> None:
    remapper = KeyRemapper.of((r"^module\.", ""), (r"^fc\.", "head."))
    assert remapper.reverse().rename(remapper.rename("module.fc.w")) == "module.fc.w"


def test_compaction_has_no_reverse() -> None:
    with pytest.raises(RecipeError, match="forgets the old numbers"):
        KeyRemapper(contiguous=True).reverse()


def test_rules_cannot_follow_compaction() -> None:
    with pytest.raises(RecipeError, match="rules cannot follow index compaction"):
        KeyRemapper(contiguous=True).then(KeyRemapper.of(("a", "b")))


def test_catastrophic_rule_is_named() -> None:
    with pytest.raises(RecipeError, match=r"remap '\(a\+\)\+\$' -> '': .* takes too long"):
        KeyRemapper.of(("(a+)+$", "")).plan(["a" * 300 + "!"])


def test_canonical_spelling() -> None:
    assert RemapRule(r"(?<n>a)(b)", r"$n\2$$").canonical.replacement == "${1}${2}$$"


@pytest.mark.parametrize("pattern", [r"^module\.", r"^", r"^a", r"^\$x", r"^(a)", r"^a$", r"a"])
@pytest.mark.parametrize("replacement", ["", "b.", "$$", "x${1}"])
@pytest.mark.parametrize("repeat", [1, 2])
def test_many_keys_are_renamed_as_one(pattern, replacement, repeat):
    if "${1}" in replacement and "(" not in pattern:
        replacement = "x"
    rule = RemapRule(pattern, replacement)
    keys = ["module.module.w", "amodule.", "", "a", "aa", "$x$x", "\nmodule.", "module"] * repeat
    assert rule.rename_all(keys) == [rule.rename(key) for key in keys]
