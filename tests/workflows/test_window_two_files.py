"""Stories of two documents: what is typed, shown or offered belongs to the one it was made for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from ruda.session import Document, RuleDraft, TargetChoice
from ruda_workbench import operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.panels.rules import RulesCard, merged
from ruda_workbench.panels.suggest_preview import SuggestPreviewWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import WRAPPED

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]


@pytest.fixture
def two(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> tuple[Document, Document]:
    """Two files laid onto a model; the first is in front."""
    digits = TargetChoice.of("digits")
    for name in ("a.safetensors", "b.safetensors"):
        shapes = {**WRAPPED, f"only.{name[0]}": (3,)}
        operations.open_document(window.context, make_file(shapes, name=name), target=digits)
        settled()
    first, second = window.context.session.documents
    window.context.session.activate(first.id)
    settled()
    weights.diff.rules.set_open(on=True)
    return first, second


def patterns(window: MainWindow, document: Document) -> list[str]:
    recipe = window.context.session.document(document.id).recipe
    return [rule.pattern for rule in recipe.remap.rules]


def card_of(weights: WeightsWorkspace) -> RulesCard:
    return weights.diff.rules


def test_an_empty_rule_stays_while_the_file_is_laid_anew(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    two: tuple[Document, Document],
) -> None:
    rules = card_of(weights)
    rules.add_rule()
    operations.choose_target(window.context, two[0], None)
    settled()
    assert [row.pattern.text() for row in rules.rows] == [""]


def test_typing_goes_on_after_what_was_typed_became_an_edit(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    two: tuple[Document, Document],
    qtbot: QtBot,
) -> None:
    rules = card_of(weights)
    rules.add_rule()
    field = rules.rows[0].pattern
    qtbot.keyClicks(field, "^be")
    rules.commit()
    qtbot.keyClicks(field, "ta(")
    settled()
    assert patterns(window, two[0]) == ["^be"]
    assert (field.text(), field.cursorPosition()) == ("^beta(", 6)
    qtbot.keyClicks(field, "x)")
    rules.commit()
    settled()
    assert patterns(window, two[0]) == ["^beta(x)"]


def test_what_is_typed_becomes_an_edit_of_its_own_document(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    two: tuple[Document, Document],
    qtbot: QtBot,
) -> None:
    first, second = two
    rules = card_of(weights)
    rules.add_rule()
    qtbot.keyClicks(rules.rows[0].pattern, "^only")
    window.context.session.activate(second.id)
    settled()
    assert (patterns(window, first), patterns(window, second)) == (["^only"], [])
    assert rules.rows == ()


def test_a_rule_that_cannot_be_used_yet_waits_for_its_document(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    two: tuple[Document, Document],
    qtbot: QtBot,
) -> None:
    first, second = two
    rules = card_of(weights)
    rules.add_draft(RuleDraft(r"^module\.", ""))
    rules.add_rule()
    qtbot.keyClicks(rules.rows[1].pattern, "^on(")
    window.context.session.activate(second.id)
    settled()
    assert (patterns(window, first), patterns(window, second)) == ([r"^module\."], [])
    assert rules.rows == ()
    window.context.session.activate(first.id)
    settled()
    assert [row.pattern.text() for row in rules.rows] == [r"^module\.", "^on("]


A, B, C, D = (RuleDraft(letter, "") for letter in "abcd")
EMPTY = RuleDraft("", "")


@pytest.mark.parametrize(
    ("drawn", "fields", "now", "found"),
    [
        ((A,), (A, EMPTY), (A, B), (A, B, EMPTY)),
        ((A,), (C,), (A, B), (C, B)),
        ((A,), (A, C), (A, B), (A, B, C)),
        ((A,), (C,), (), ()),
        ((A, B), (A, C), (D, B), (D, C)),
        ((A, B), (A,), (A, B, C), (A, B, C)),
        ((A,), (EMPTY, A), (A, B), (A, B)),
    ],
    ids=["empty", "typed in", "typed behind", "taken back", "each its own", "fewer", "empty first"],
)
def test_a_recipe_from_elsewhere_leaves_what_is_typed(
    drawn: tuple[RuleDraft, ...],
    fields: tuple[RuleDraft, ...],
    now: tuple[RuleDraft, ...],
    found: tuple[RuleDraft, ...],
) -> None:
    assert merged(drawn, fields, now) == found


def test_the_conversion_shows_nothing_of_another_document(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    two: tuple[Document, Document],
) -> None:
    first, second = two
    for each in (second, first):
        window.context.session.activate(each.id)
        weights.show_view("convert")
        weights.convert.choose("f16")
        settled()
    keys = [line.key for line in weights.convert.model.lines]
    weights.convert.table.select_row(keys.index("only.a"))
    before = window.context.session.document(second.id).recipe
    window.context.session.activate(second.id)  # and no answer has come yet
    assert weights.convert.model.lines == ()
    assert weights.convert.summary == ""
    weights.convert.fixes["keep"].click()
    assert window.context.session.document(second.id).recipe == before
    assert weights.inspector().shown_key == ""
    settled()
    assert "only.b" in [line.key for line in weights.convert.model.lines]


def test_a_preview_goes_with_its_document(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    two: tuple[Document, Document],
) -> None:
    first, second = two
    rules = card_of(weights)
    rules.offers.preview_asked.emit(rules.suggestions[0])
    settled()
    preview = window.findChild(SuggestPreviewWindow)
    assert preview is not None
    assert preview.add.isEnabled()
    window.context.session.activate(second.id)
    assert not preview.isVisible()
    preview.taken.emit(rules.suggestions[0] if rules.suggestions else None)
    settled()
    assert (patterns(window, first), patterns(window, second)) == ([], [])
