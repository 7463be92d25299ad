from dataclasses import replace

import pytest

from ruda.errors import RecipeError
from ruda.models import get
from ruda.nn import ModuleSpec
from ruda.progress import Cancelled
from ruda.session import RuleDraft, drafts_of, edit_title, rules_of, rules_page, wanted_keys
from ruda.store import Recipe, RemapRule

KEYS = ["module.bn1.weight", "module.bn2.weight", "module.fc.weight", "head.weight"]


def drafts(*pairs):
    return [RuleDraft(before, after) for before, after in pairs]


def test_hits_and_new_matches_are_counted_rule_by_rule():
    wanted = frozenset({"bn1.gamma", "bn2.gamma", "fc.weight", "head.weight"})
    page = rules_page(
        KEYS, drafts((r"^module\.", ""), (r"(bn\d+)\.weight$", r"\1.gamma")), wanted=wanted
    )
    assert [(line.hits, line.new_matches) for line in page.rules] == [(3, 1), (2, 2)]
    assert page.rules[0].effect == "3 keys, +1 matches"
    assert page.summary == "3 of 4 keys renamed · 4 found by the target"
    assert page.usable
    changes = [(c.before, c.after, c.count, c.in_target) for c in page.changes]
    assert changes == [
        ("module.bn*.weight", "bn*.gamma", 2, True),
        ("module.fc.weight", "fc.weight", 1, True),
        ("head.weight", "head.weight", 1, True),
    ]


def test_a_collision_comes_first_and_names_the_other_key():
    page = rules_page(KEYS, drafts((r"^module\.fc\.", "head.")))
    assert not page.usable
    assert page.collisions == 2
    assert [(c.before, c.problem) for c in page.changes[:2]] == [
        ("module.fc.weight", "collides with head.weight"),
        ("head.weight", "collides with module.fc.weight"),
    ]


PROBLEMS = [
    pytest.param("bn(", "x", True, id="broken pattern"),
    pytest.param("bn", r"\3", True, id="group that is not there"),
    pytest.param("absent", "x", False, id="matches nothing"),
    pytest.param("bn", "bn", False, id="changes nothing"),
]


@pytest.mark.parametrize(("pattern", "replacement", "is_error"), PROBLEMS)
def test_a_rule_with_a_problem_says_so(pattern, replacement, is_error):
    page = rules_page(KEYS, drafts((pattern, replacement)))
    assert page.rules[0].problem
    assert page.rules[0].is_error is is_error
    assert page.usable is not is_error


def test_a_broken_pattern_has_a_position():
    page = rules_page(KEYS, drafts(("bn(", "x")))
    assert page.rules[0].position is not None


def test_a_rule_that_is_off_counts_its_hits_and_does_nothing():
    page = rules_page(KEYS, [RuleDraft("^module.", "", enabled=False)])
    assert page.rules[0].hits == 3
    assert page.summary == "0 of 4 keys renamed"


def test_an_empty_name_is_a_problem():
    page = rules_page(["a"], drafts(("a", "")))
    assert page.changes[0].problem == "the name would be empty"


def test_drafts_and_rules_go_both_ways():
    recipe = Recipe().with_rules([RemapRule("a", "b", enabled=False)])
    assert rules_of(drafts_of(recipe)) == recipe.remap.rules
    with pytest.raises(RecipeError, match=r"^remap '\(' -> '': .*unterminated subpattern"):
        rules_of(drafts(("(", "")))


def test_the_target_also_finds_the_adapters_names():
    spec = ModuleSpec.of(get("digits").build())
    plain = wanted_keys(spec, Recipe())
    adapted = wanted_keys(spec, Recipe().with_adapt("pytorch-to-ruda"))
    assert "norm1.gamma" in plain
    assert adapted - plain == {"norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"}


class Stopped:
    """A monitor that stops the work at its second point."""

    def __init__(self):
        self.checks = 0

    def report(self, progress):
        pass

    def check(self):
        self.checks += 1
        if self.checks > 1:
            raise Cancelled


@pytest.mark.parametrize("pattern", ["^layer", r"(\d+)$"], ids=["prefix", "regex"])
def test_the_effect_on_very_many_keys_can_be_stopped(pattern):
    keys = [f"layer.{number}" for number in range(50_000)]
    monitor = Stopped()
    with pytest.raises(Cancelled, match=r"^$"):
        rules_page(keys, drafts((pattern, "x")), monitor=monitor)
    assert monitor.checks == 2
    assert rules_page(keys, drafts((pattern, "x${0}"))).rules[0].hits == len(keys)


def test_a_rule_that_takes_long_is_marked():
    ticks = iter([0.0, 0.1, 0.1, 9.5])
    drafts = [RuleDraft("^a", "b"), RuleDraft(r"(\w+)+x", "")]
    page = rules_page(["a.w"], drafts, clock=lambda: next(ticks))
    assert page.rules[0].problem == ""
    assert page.rules[1].problem.endswith("slow: 9.4 s for these keys")
    assert not page.rules[1].is_error


A, B, C = (RuleDraft(name, "") for name in "abc")
TITLES = [
    pytest.param((A, B), (B, A), "Order of the rules", id="order"),
    pytest.param((A, B), (B,), "Remove the rule a", id="removed"),
    pytest.param((A,), (A, B), "Rule b", id="added"),
    pytest.param((A, B), (A, C), "Rule c", id="typed"),
    pytest.param((A,), (replace(A, enabled=False),), "Rule a", id="switched"),
    pytest.param((A,), (B, C), "Remap rules", id="several"),
]


@pytest.mark.parametrize(("before", "after", "title"), TITLES)
def test_an_edit_of_rules_has_a_name(before, after, title):
    assert edit_title(before, after) == title
