import pytest

from ruda.session import count_text, counted, listed, shapes_text, share_text, size_text

SIZES = [
    pytest.param(0, "0 B", id="nothing"),
    pytest.param(999, "999 B", id="bytes"),
    pytest.param(1000, "1.00 kB", id="first kilobyte"),
    pytest.param(9_996, "10.0 kB", id="rounds to two figures"),
    pytest.param(99_960, "100 kB", id="rounds to three figures"),
    pytest.param(999_600, "1.00 MB", id="rounds to the next unit"),
    pytest.param(44_700_000, "44.7 MB", id="megabytes"),
    pytest.param(3 * 10**18, "3000 PB", id="beyond the units"),
]


@pytest.mark.parametrize(("nbytes", "text"), SIZES)
def test_size_text(nbytes, text):
    assert size_text(nbytes) == text


SHARES = [
    pytest.param(0, 10, "0 %", id="none"),
    pytest.param(10, 10, "100 %", id="all"),
    pytest.param(0, 0, "100 %", id="nothing wanted"),
    pytest.param(1, 1_000_000, "0.1 %", id="never rounds to none"),
    pytest.param(999_999, 1_000_000, "99.9 %", id="never rounds to all"),
    pytest.param(961, 1000, "96.1 %", id="between"),
]


@pytest.mark.parametrize(("part", "whole", "text"), SHARES)
def test_share_text(part, whole, text):
    assert share_text(part, whole) == text


SHAPES = [
    pytest.param([], "", id="none"),
    pytest.param([()], "[]", id="scalar"),
    pytest.param([(2, 3), (2, 3)], "[2, 3]", id="alike"),
    pytest.param([(64, 3), (16, 3)], "[16…64, 3]", id="ranges"),
    pytest.param([(1,), (1, 2)], "various", id="ranks differ"),
]


@pytest.mark.parametrize(("shapes", "text"), SHAPES)
def test_shapes_text(shapes, text):
    assert shapes_text(shapes) == text


LISTS = [
    pytest.param([], "", id="none"),
    pytest.param(["a"], "a", id="one"),
    pytest.param(["a", "b", "c"], "a, b and c", id="three"),
    pytest.param(list("abcdefg"), "a, b, c, d and 3 more", id="many"),
]


@pytest.mark.parametrize(("words", "text"), LISTS)
def test_listed(words, text):
    assert listed(words) == text


def test_counts():
    assert count_text(1234567) == "1 234 567"
    assert [counted(n, "tensor") for n in (0, 1, 2)] == ["0 tensors", "1 tensor", "2 tensors"]
    assert counted(2, "class", "classes") == "2 classes"
