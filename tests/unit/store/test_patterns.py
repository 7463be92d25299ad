from __future__ import annotations

import pytest

from ruda.errors import RecipeError
from ruda.store.patterns import (
    _representatives,
    canonical,
    compile_pattern,
    expander,
    guard,
    parse_replacement,
    replace_all,
    shape_of,
)

DIALECT = [
    pytest.param(r"weight$", "a.weight", True, id="dollar at the end"),
    pytest.param(r"weight$", "a.weight\n", False, id="not before a newline"),
    pytest.param(r"[$]", "a$", True, id="dollar in a class is itself"),
    pytest.param(r"[]$]x", "$x", True, id="bracket first in a class"),
    pytest.param(r"a\$", "a$", True, id="escaped dollar"),
    pytest.param(r"(?m)a$", "a\nb", True, id="multiline keeps its meaning"),
    pytest.param(r"(?<n>\d+)", "12", True, id="Rust's named group"),
    pytest.param(r"(?<=a)b", "ab", True, id="look-behind stays"),
    pytest.param(r"a\z", "ba", True, id="Rust's end"),
]


@pytest.mark.parametrize(("pattern", "text", "found"), DIALECT)
def test_dialect(pattern: str, text: str, found: bool) -> None:
    assert (compile_pattern(pattern).search(text) is not None) == found


BAD_PATTERNS = [
    pytest.param("a{99999999999}", "a repetition number is too large", None, id="large number"),
    pytest.param("(" * 9000 + ")" * 9000, "nested too deeply", None, id="deep groups"),
    pytest.param("a(b", r"'a\(b'.*unterminated subpattern at position 1", 1, id="open group"),
    pytest.param("*a", r"'\*a'.*nothing to repeat at position 0", 0, id="nothing to repeat"),
    pytest.param("x$[a", r"'x\$\[a'.*unterminated character set at position 2", 2, id="after a $"),
]


@pytest.mark.parametrize(("pattern", "message", "position"), BAD_PATTERNS)
def test_bad_pattern_names_itself_and_the_place(
    pattern: str, message: str, position: int | None
) -> None:
    with pytest.raises(RecipeError, match=message) as caught:
        compile_pattern(pattern)
    assert caught.value.position == position


REPLACEMENTS = [
    pytest.param(r"(\w+)\.(\w+)", "$2.$1", "b.a", id="$1"),
    pytest.param(r"(\w+)\.(\w+)", "${1}x", "ax", id="braces"),
    pytest.param(r"(?P<one>\w+)\.(\w+)", "$one-${one}", "a-a", id="names"),
    pytest.param(r"(\w+)\.(\w+)", r"\2\1", "ba", id="backslash"),
    pytest.param(r"(?P<one>\w+)\.(\w+)", r"\g<one>\g<2>", "ab", id="Python's names"),
    pytest.param(r"(\w+)\.(\w+)", "$$", "$", id="dollar itself"),
    pytest.param(r"(\w+)\.(\w+)", r"\\", "\\", id="backslash itself"),
    pytest.param(r"(\w+)\.(\w+)", "$.$", "$.$", id="lone dollars are literal"),
    pytest.param(r"(\w+)\.(\w+)", "", "", id="empty"),
    pytest.param(r"(x)?(\w+)\.(\w+)", "[$1]", "[]", id="a group that took no part is empty"),
    pytest.param(r"(\w+)\.(\w+)", "$0!", "a.b!", id="the whole match"),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), REPLACEMENTS)
def test_replacement(pattern: str, text: str, expected: str) -> None:
    regex = compile_pattern(pattern)
    template = parse_replacement(text, regex)
    assert regex.sub(expander(template), "a.b") == expected
    assert parse_replacement(canonical(template), regex) == template


EMPTY = [
    pytest.param(".*", "abc", "x", id="anything once"),
    pytest.param("x*", "abc", "xaxbxcx", id="nothing everywhere"),
    pytest.param("b*", "abbc", "xaxcx", id="none right behind another"),
    pytest.param("$", "abc", "abcx", id="the end"),
    pytest.param("^", "abc", "xabc", id="the start"),
    pytest.param("", "ab", "xaxbx", id="empty pattern"),
    pytest.param("", "", "x", id="empty key"),
    pytest.param(r"\b", "a.b", "xax.xbx", id="word borders"),
    pytest.param("(?<=a)b*", "abba", "axax", id="look-behind"),
    pytest.param("q", "abc", "abc", id="not found"),
]


@pytest.mark.parametrize(("pattern", "text", "expected"), EMPTY)
def test_all_matches_are_replaced_as_rust_does(pattern: str, text: str, expected: str) -> None:
    assert replace_all(compile_pattern(pattern), lambda match: "x", text) == expected


BAD_REPLACEMENTS = [
    pytest.param("$2", "no group '2'", 0, id="unknown number"),
    pytest.param("x$1a", r"no group '1a'; to put 'a' behind group 1, write \$\{1\}a", 1, id="$1a"),
    pytest.param("${name}", "no group 'name'", 0, id="unknown name"),
    pytest.param("${1", r"'\$\{' is not closed", 0, id="open brace"),
    pytest.param(r"a\.b", r"a backslash must be followed by a group", 1, id="escaped dot"),
    pytest.param(r"\g<9>", "no group '9'", 0, id="unknown in Python's spelling"),
]


@pytest.mark.parametrize(("text", "message", "position"), BAD_REPLACEMENTS)
def test_bad_replacement_is_refused_with_its_place(text: str, message: str, position: int) -> None:
    with pytest.raises(RecipeError, match=message) as caught:
        parse_replacement(text, compile_pattern("(a)"))
    assert caught.value.position == position


RISK = [
    pytest.param(r"(a+)+$", True, id="repeat in a repeat"),
    pytest.param(r"(a|aa)*b", True, id="choice in a repeat"),
    pytest.param(r"((x*)y){2,}", True, id="nested deeper"),
    pytest.param(r"^layers\.(\d+)\.w$", False, id="one repeat"),
    pytest.param(r"(a{1,30}){2,30}b", True, id="counted repeats"),
    pytest.param(r"(?:a?){30}b", True, id="options many times over"),
    pytest.param(r"(a+)?b", False, id="optional is bounded"),
    pytest.param(r"[(+)]+x\(a+\)+", False, id="classes and escapes"),
]


@pytest.mark.parametrize(("pattern", "risky"), RISK)
def test_a_pattern_that_may_take_exponential_time_is_told(pattern: str, risky: bool) -> None:
    nested, _ = shape_of(pattern)
    assert nested == risky


def test_catastrophic_pattern_is_stopped() -> None:
    with pytest.raises(RecipeError, match=r"'\(a\+\)\+\$' takes too long on the key 'aaa"):
        guard("(a+)+$", ["a" * 200 + "!"])


SLOW = [
    pytest.param("(a{1,30}){1,30}$", "a" * 200 + "!", "exponentially many", id="counted"),
    pytest.param("(?:a|a)+$", "a" * 200 + "!", "exponentially many", id="choice"),
    pytest.param("a?" * 30 + "a" * 30, "a" * 30, "too many ways; anchor", id="options"),
    pytest.param("(a+)+a{40}b", "a" * 60, "exponentially many", id="long at least"),
    pytest.param(".*x$", "k" * 1_000_000, r"'k+'… \(1000000 characters\)", id="long key"),
    pytest.param(".*.*.*.*.*x$", "k" * 300, "too many ways; anchor", id="many repeats"),
]


@pytest.mark.parametrize(("pattern", "key", "message"), SLOW)
def test_a_pattern_that_would_hang_is_refused(pattern: str, key: str, message: str) -> None:
    with pytest.raises(RecipeError, match=rf"takes too long on the key.*{message}"):
        guard(pattern, [key])


def test_time_on_all_keys_counts() -> None:
    guard(r"k+k+x", ["k" * 160])
    with pytest.raises(RecipeError, match="takes too long on the key 'kkk"):
        guard(r"k+k+x", ["k" * 160] * 100_000)


PLAIN = [
    pytest.param(r"^(.*)\.(\w+)\.(.*)$", id="three groups"),
    pytest.param(r".*\.weight", id="anything before"),
    pytest.param(r"(\d+)\.(\d+)", id="numbers"),
    pytest.param(r"^model\.(?:encoder|decoder)\.layers?\.(\d+)\.(.*?)_?proj", id="usual"),
]


@pytest.mark.parametrize("pattern", PLAIN)
def test_usual_patterns_pass_on_many_keys(pattern: str) -> None:
    names = ("self_attn.q_proj.weight", "mlp.gate_proj.weight", "input_layernorm.weight")
    guard(pattern, [f"model.decoder.layers.{n}.{name}" for n in range(300) for name in names])


def test_of_a_family_the_longest_key_is_tried() -> None:
    keys = [f"a.{n}.weight" for n in range(1000)] + ["b"]
    assert _representatives(keys) == ["a.100.weight", "b"]


def test_risky_but_harmless_pattern_passes() -> None:
    guard(r"^(module\.|_orig_mod\.)+", ["module._orig_mod.a.b", "c"])
