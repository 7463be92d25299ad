import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.session import Query, QueryProblem, tensor_page, tensor_table
from ruda.session.families import families_of
from ruda.session.pages import tensors
from ruda.store.index import TensorIndex
from ruda.store.snapshot import TensorSnapshot


def snapshot(key, shape=(2, 3), dtype="f4"):
    return TensorSnapshot.from_array(key, np.zeros(shape, dtype))


@pytest.fixture
def table():
    return tensor_table(
        TensorIndex.of(
            [
                snapshot("layers.10.conv1.weight", (8, 1, 3, 3)),
                snapshot("layers.2.conv1.weight", (16, 8, 3, 3)),
                snapshot("layers.2.conv1.bias", (16,)),
                snapshot("head.weight", (4, 16), "f2"),
                snapshot("steps", (), "i8"),
            ],
            format="safetensors",
        )
    )


def keys(page):
    return [row.key for row in page]


def test_families_of_many_keys():
    several = ["a.0.w", "b1", "", "odd\nkey.3", "c.1.2"]
    assert families_of(several) == ["a.*.w", "b*", "", "odd\nkey.*", "c.*.*"]
    assert families_of([]) == []
    assert families_of(["a.1", "a.2"]) == ["a.*", "a.*"]


def test_folding_shows_families_in_the_order_of_the_file(table):
    page = tensor_page(table)
    assert keys(page) == [
        "layers.*.conv*.weight",
        "layers.2.conv1.bias",
        "head.weight",
        "steps",
    ]
    family = page[0]
    assert (family.count, family.shape, family.dtype) == (2, "[8…16, 1…8, 3, 3]", "f32")
    assert family.nbytes == (8 * 9 + 16 * 8 * 9) * 4
    assert family.keys == ("layers.10.conv1.weight", "layers.2.conv1.weight")
    assert (page.shown, page.total) == (5, 5)


def test_an_opened_family_shows_its_members(table):
    page = tensor_page(table, opened=frozenset({"layers.*.conv*.weight"}))
    assert keys(page)[:3] == [
        "layers.*.conv*.weight",
        "layers.10.conv1.weight",
        "layers.2.conv1.weight",
    ]
    assert [row.is_member for row in page] == [False, True, True, False, False, False]


SORTS = [
    pytest.param("file", False, [0, 1, 2, 3, 4], id="file"),
    pytest.param("file", True, [4, 3, 2, 1, 0], id="file descending"),
    pytest.param("key", False, [3, 2, 1, 0, 4], id="key in natural order"),
    pytest.param("bytes", True, [1, 0, 3, 2, 4], id="bytes"),
    pytest.param("shape", False, [4, 2, 3, 0, 1], id="elements"),
    pytest.param("dtype", False, [3, 0, 1, 2, 4], id="dtype keeps the order of the file"),
    pytest.param("dtype", True, [4, 0, 1, 2, 3], id="dtype descending keeps it too"),
]


@pytest.mark.parametrize(("sort", "descending", "order"), SORTS)
def test_sorting(table, sort, descending, order):
    page = tensor_page(table, sort=sort, descending=descending, fold=False)
    assert page.rows.tolist() == order


def test_sorting_families_by_their_sum(table):
    page = tensor_page(table, sort="bytes", descending=True)
    assert keys(page) == ["layers.*.conv*.weight", "head.weight", "layers.2.conv1.bias", "steps"]


QUERIES = [
    pytest.param(Query(""), 5, id="empty finds all"),
    pytest.param(Query("CONV1"), 3, id="substring ignores case"),
    pytest.param(Query("CONV1", case=True), 0, id="substring with case"),
    pytest.param(Query(r"conv\d\.W", regex=True), 2, id="regex ignores case"),
    pytest.param(Query(r"conv\d\.W", regex=True, case=True), 0, id="regex with case"),
    pytest.param(Query("conv1.w", regex=False), 2, id="a dot is a dot"),
    pytest.param(Query("^head|steps$", regex=True), 2, id="anchors are those of the key"),
]


@pytest.mark.parametrize(("query", "shown"), QUERIES)
def test_searching(table, query, shown):
    page = tensor_page(table, query=query)
    assert page.shown == shown
    assert page.problem is None


def test_a_broken_pattern_says_where(table):
    page = tensor_page(table, query=Query("conv(", regex=True))
    assert page.problem == QueryProblem("missing ), unterminated subpattern", 4)
    assert page.shown == 5


RUNAWAY = [
    pytest.param("(a+)+$", "a" * 60 + "b", id="in a long key"),
    pytest.param("(a+)+$", "a" * 40 + "b", id="in a short one"),
    pytest.param("(A+)+$", "a" * 60 + "b", id="in the other case"),
    pytest.param(".*.*.*.*.*=.*=q", "=".join("a" * 200), id="without groups"),
    pytest.param("(?i)(A+)+$", "a" * 60 + "b", id="with flags"),
]


@pytest.mark.parametrize(("pattern", "key"), RUNAWAY)
def test_a_pattern_that_would_run_forever_is_a_problem(pattern, key):
    others = [snapshot(f"{'encoder.' * 9}{at}.{name}.w") for at in range(40) for name in "abc"]
    runaway = tensor_table(TensorIndex.of([*others, snapshot(key)], format="x"))
    page = tensor_page(runaway, query=Query(pattern, regex=True), fold=False)
    assert page.problem.message.startswith(f"the pattern {pattern!r} takes too long on the key")
    assert page.shown == 121


def test_nothing_found_and_nothing_there(table):
    assert keys(tensor_page(table, query=Query("absent"))) == []
    assert keys(tensor_page(table, query=Query("absent"), sort="bytes")) == []
    empty = tensor_table(TensorIndex.of([], format="safetensors"))
    for fold in (True, False):
        assert len(tensor_page(empty, fold=fold, sort="key")) == 0


def test_position_of_a_key(table):
    page = tensor_page(table, sort="key", fold=False)
    assert page.position_of("steps") == 4
    assert page.position_of("absent") is None
    assert tensor_page(table).position_of("layers.2.conv1.weight") is None


def test_an_alias_names_its_owner():
    from dataclasses import replace

    owner = snapshot("embed.weight")
    table = tensor_table(
        TensorIndex.of(
            [owner, replace(owner, key="head.weight", shared_with="embed.weight")], format="x"
        )
    )
    assert [row.note for row in tensor_page(table)] == ["", "shares memory with embed.weight"]


@pytest.mark.parametrize("most", [0, 1 << 28], ids=["by Python", "by NumPy"])
@given(texts=st.lists(st.text("ab\n1é\U0001f600"), max_size=20))
def test_texts_are_sorted_as_python_sorts_them(most, texts):
    raw = [text.encode() for text in texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "_MOST_COLUMN", most)
        patch.setattr(tensors, "_PIECE", 3)
        found = tensors._ordered(raw)
    assert found.tolist() == sorted(range(len(raw)), key=raw.__getitem__)


def test_keys_with_line_breaks_are_ranked_too():
    keys = ["a.10", "a\n.2", "a.9", "b"]
    index = TensorIndex.of([snapshot(key) for key in keys], format="safetensors")
    table = tensor_table(index)
    found = [keys[at] for at in np.argsort(table.key_rank)]
    assert found == ["a\n.2", "a.9", "a.10", "b"]


def test_the_row_of_a_family_says_what_all_of_its_tensors_are(monkeypatch):
    made = TensorIndex.of(
        [snapshot(f"layers.{n}.weight", (n + 1, 4), "f4" if n % 2 else "f2") for n in range(9)],
        format="safetensors",
    )
    shown = [tensor_page(tensor_table(made))[0]]
    monkeypatch.setattr("ruda.session.pages.tensors._MANY_KINDS", 3)  # made beforehand
    shown.append(tensor_page(tensor_table(made))[0])
    for row in shown:
        assert (row.count, row.shape, row.dtype) == (9, "[1…9, 4]", "f16, f32")
        assert (row.numel, row.nbytes) == (
            180,
            sum((n + 1) * 4 * (2 + 2 * (n % 2)) for n in range(9)),
        )
    few = tensor_page(tensor_table(made), query=Query("[13]", regex=True))[0]
    assert (few.count, few.shape, few.dtype) == (2, "[2…4, 4]", "f32")
