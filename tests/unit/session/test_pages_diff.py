from pathlib import Path

import pytest

from ruda.models import get
from ruda.session import DiffTable, Document, Query, TargetChoice, diff_page, status_look
from ruda.store import Recipe, Status, TensorIndex, diff

from .conftest import index_of, tensor


def report_of(source, target, recipe=None):
    return diff(source, target, recipe=recipe)


@pytest.fixture
def mixed():
    """One of every status, and a family."""
    source = index_of(
        tensor("h.0.w", (4, 2)),
        tensor("h.1.w", (4, 3)),
        tensor("odd", (2,)),
        tensor("extra", (5,)),
        tensor("left", (1,)),
    )
    target = index_of(
        tensor("h.0.w", (4, 2)),
        tensor("h.1.w", (4, 3)),
        tensor("odd", (3,)),
        tensor("head", (10,)),
        tensor("left", (1,)),
    )
    return report_of(source, target, Recipe().with_skip("left"))


def shown(page):
    return [(line.status.value, line.source, line.target, line.count) for line in page.lines]


def test_the_page_says_it_in_a_sentence(mixed):
    page = diff_page(mixed)
    assert page.headline == "58.8 % of elements would load"
    assert page.summary == (
        "2 of 5 model tensors · 1 keeps its initial value · 1 cannot be applied · 1 left out"
    )
    assert page.banner.level == "error"
    assert not page.is_complete
    assert page.coverage == pytest.approx(20 / 34)
    assert sum(segment.share for segment in page.segments) == pytest.approx(1.0)


def test_every_status_is_a_chip_with_its_count(mixed):
    page = diff_page(mixed, statuses=frozenset({Status.ERROR}))
    assert [(chip.word, chip.count, chip.shown) for chip in page.chips] == [
        ("Applied", 2, False),
        ("Skipped", 1, False),
        ("Missing", 1, False),
        ("Unused", 1, False),
        ("Error", 1, True),
    ]
    assert shown(page) == [("error", "odd", "odd", 1)]
    assert (page.shown, page.total) == (1, 6)


def test_a_line_names_its_rows_without_making_them():
    count = 300
    shapes = [(4, 2 + at % 3) for at in range(count)]
    source = index_of(*(tensor(f"h.{at}.w", shape) for at, shape in enumerate(shapes)))
    report = report_of(source, source, Recipe().with_rule("^h", "g"))
    page = diff_page(DiffTable.of(report).prepared())
    lines = [line for line in page.lines if line.count == count]
    assert len(lines) == 2, "all are missing, and all are unused"
    made = len(report.table._made)
    for line, name in zip(lines, ("h", "g"), strict=True):
        assert list(line.keys) == [f"{name}.{at}.w" for at in range(count)]
        assert (line.keys[1], list(line.keys[1:3])) == (f"{name}.1.w", list(line.keys)[1:3])
        kinds = line.keys.by_kind()
        assert [len(keys) for _, keys in kinds] == [100, 100, 100]
        assert all(row.key == keys[0] for row, keys in kinds)
    assert len(report.table._made) == made
    assert [row.key for row in lines[1].rows] == list(lines[1].keys)


def test_alike_rows_of_a_family_are_one_line(mixed):
    page = diff_page(mixed)
    assert shown(page)[0] == ("applied", "h.*.w", "h.*.w", 2)
    line = page.lines[0]
    assert (line.arrow, line.shape, line.dtype, line.what) == ("→", "[4, 2…3] =", "f32 =", "")
    opened = diff_page(mixed, opened=frozenset({line.name}))
    assert shown(opened)[1:3] == [
        ("applied", "h.0.w", "h.0.w", 1),
        ("applied", "h.1.w", "h.1.w", 1),
    ]
    assert len(diff_page(mixed, folded=False).lines) == 6


def test_problems_say_why(mixed):
    lines = {line.status: line for line in diff_page(mixed).lines}
    assert lines[Status.ERROR].arrow == "≠"
    assert lines[Status.ERROR].shape == "[2] ≠ [3]"
    assert lines[Status.MISSING].shape == "[10]"
    assert "keeps its initial value" in lines[Status.MISSING].what
    assert lines[Status.UNUSED].what == "in the source, wanted by nobody"
    assert lines[Status.SKIPPED].what == "left out by your decision"


def test_the_search_looks_at_both_sides(digits):
    renamed = report_of(digits, digits, None)
    assert diff_page(renamed, query=Query("conv1")).shown == 2
    page = diff_page(renamed, query=Query("conv(", regex=True))
    assert page.problem.position == 4
    assert page.shown == page.total


def test_next_and_previous_problem(mixed):
    page = diff_page(mixed, folded=False)
    places = [
        i
        for i, line in enumerate(page.lines)
        if line.status in (Status.ERROR, Status.MISSING, Status.UNUSED)
    ]
    assert page.next_problem(-1) == places[0]
    assert page.next_problem(places[0]) == places[1]
    assert page.next_problem(places[-1]) is None
    assert page.next_problem(places[1], -1) == places[0]
    assert page.next_problem(places[0], -1) is None


def test_a_transposition_is_drawn_and_a_square_one_is_doubted(pytorch_file):
    from ruda.store import open_store

    model = get("digits").build()
    recipe = Recipe().with_rule(r"^net\.", "").with_adapt("pytorch-to-ruda")
    with open_store(pytorch_file) as index:
        page = diff_page(report_of(index, model, recipe))
    lines = {line.target: line for line in page.lines}
    line = lines["fc*.weight"]
    assert line.arrow == "⇄"
    assert line.shape == "[10…32, 32…400] → [32…400, 10…32]"
    assert line.what == "rename · transpose 1,0"
    assert lines["norm*.gamma"].source == "net.norm*.weight"
    assert page.banner is None
    assert page.is_complete


def test_casts_show_what_the_type_becomes(digits):
    recipe = Recipe().with_cast(__import__("ruda.store").store.CastPolicy.every(_f16()))
    page = diff_page(report_of(digits, get("digits").build(), recipe))
    assert {line.dtype for line in page.lines} == {"f32 → f16"}


def _f16():
    from ruda.tensor import DType

    return DType.F16


def test_a_document_supplies_names_and_facts(mixed):
    index = TensorIndex.of([tensor("a", (2, 3))], format="pytorch")
    document = Document(
        1,
        Path("dir/net.pt"),
        index,
        Recipe().with_rule("a", "b").with_adapt("pytorch-to-ruda"),
        TargetChoice.of("digits"),
        "state_dict",
    )
    page = diff_page(mixed, document=document)
    assert (page.source, page.target) == ("net.pt", "digits")
    assert page.facts == "1 tensor in state_dict · 24 B · recipe has 2 steps"


def test_words_and_shapes_of_the_statuses_differ():
    looks = [status_look(status) for status in Status]
    assert len({look.word for look in looks}) == len({look.glyph for look in looks}) == 5


def test_a_table_serves_every_view(mixed):
    table = DiffTable.of(mixed)
    assert shown(diff_page(table)) == shown(diff_page(mixed))
    page = diff_page(table)
    assert page.lines.has_families
    assert page.lines.statuses == tuple(line.status for line in page.lines)
    assert page.lines[0] is page.lines[0]
    assert page.lines.position_of("h.1.w") == 0
    assert diff_page(table, folded=False).lines.position_of("h.1.w") == 1
    assert page.lines.position_of("extra") == 4
    assert page.lines.position_of("absent") is None
    assert diff_page(table, query=Query("head")).lines.position_of("h.1.w") is None
    assert page.lines[1:3] == [page.lines[1], page.lines[2]]
    flat = diff_page(table, folded=False)
    assert not flat.lines.has_families
    assert [line.is_member for line in flat.lines] == [False] * 6


def test_an_empty_report_is_an_empty_page():
    page = diff_page(report_of(index_of(), index_of()))
    assert (len(page.lines), page.shown, page.total) == (0, 0, 0)
    assert page.next_problem(-1) is None
    assert page.segments == ()


ANCHORS = [
    pytest.param("^head$", 1, id="whole target"),
    pytest.param("^extra$", 1, id="whole source"),
    pytest.param("^h", 3, id="start of either"),
]


@pytest.mark.parametrize(("pattern", "count"), ANCHORS)
def test_anchors_are_those_of_either_key(mixed, pattern, count):
    assert diff_page(mixed, query=Query(pattern, regex=True)).shown == count
