from __future__ import annotations

import pytest

from ruda.errors import RecipeError
from ruda.store import PathFilter

KEYS = ("encoder.0.weight", "encoder.0.bias", "decoder.weight", "head.weight")

FILTERS = [
    pytest.param(PathFilter(), KEYS, id="empty is no filter"),
    pytest.param(PathFilter.all(), KEYS, id="all"),
    pytest.param(PathFilter.of("^encoder"), KEYS[:2], id="regex"),
    pytest.param(PathFilter.of("coder", r"^head\."), KEYS, id="any of several regexes"),
    pytest.param(PathFilter.from_paths(["head.weight"]), KEYS[3:], id="exact key"),
    pytest.param(PathFilter.from_paths(["head"]), (), id="a part of a key is not the key"),
    pytest.param(PathFilter.from_predicate(lambda k, c: k.endswith("bias")), KEYS[1:2], id="pred"),
    pytest.param(
        PathFilter().with_regex("^enc").with_full_path("head.weight"),
        (*KEYS[:2], KEYS[3]),
        id="criteria add up",
    ),
    pytest.param(~PathFilter.of("^encoder"), KEYS[2:], id="not"),
    pytest.param(~PathFilter(), (), id="not nothing"),
    pytest.param(PathFilter.of("^encoder").without("bias"), KEYS[:1], id="without"),
    pytest.param(PathFilter().without("weight"), KEYS[1:2], id="without alone"),
    pytest.param((~PathFilter.of("^encoder")).without("head"), KEYS[2:3], id="not without"),
    pytest.param(PathFilter.of("^enc").without("bias").without("0"), (), id="without twice"),
    pytest.param(PathFilter.of("^enc") | PathFilter.of("^head"), (*KEYS[:2], KEYS[3]), id="or"),
    pytest.param(
        PathFilter.of("^enc").without("bias") | PathFilter.of("^head"),
        (KEYS[0], KEYS[3]),
        id="or of compounds",
    ),
    pytest.param(PathFilter() | PathFilter.of("^head"), KEYS[3:], id="or with nothing"),
    pytest.param(PathFilter.of("^head").match_all(), KEYS, id="match all"),
]


@pytest.mark.parametrize(("chosen", "expected"), FILTERS)
def test_matches(chosen: PathFilter, expected: tuple[str, ...]) -> None:
    assert tuple(key for key in KEYS if chosen.matches(key)) == expected


def test_predicate_gets_the_container_path() -> None:
    chosen = PathFilter.from_predicate(lambda key, containers: containers.endswith("Struct:Linear"))
    assert chosen.matches("a.weight", ("Struct:Model", "Struct:Linear"))
    assert chosen.matches("a.weight", "Struct:Model.Struct:Linear")
    assert not chosen.matches("a.weight", ("Struct:Model", "Struct:Conv2d"))
    assert not chosen.matches("a.weight")


def test_regex_never_sees_containers() -> None:
    assert not PathFilter.of("Linear").matches("a.weight", ("Struct:Linear",))


def test_bad_regex_is_refused_when_the_filter_is_made() -> None:
    with pytest.raises(RecipeError, match=r"the pattern '\[a' is not a regular.*position 0"):
        PathFilter().with_regex("[a")


def test_catastrophic_regex_is_found_wherever_it_stands() -> None:
    nested = (PathFilter.of("a").without("(b+)+$")) | ~PathFilter.of("c")
    with pytest.raises(RecipeError, match=r"select: the pattern '\(b\+\)\+\$' takes too long"):
        nested.guard(["b" * 300 + "!"])


def test_counts() -> None:
    chosen = PathFilter.of("a", "b").with_full_paths(["c"]).with_predicate(lambda k, c: True)
    assert (chosen.criteria_count, chosen.is_empty) == (4, False)
    assert (PathFilter.all().criteria_count, PathFilter().is_empty) == (1, True)
