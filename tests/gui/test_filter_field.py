"""The filter field says what is wrong with a pattern, and where, on every screen alike."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from ruda.session import QueryProblem
from ruda_workbench.widgets.fields import FilterField

pytestmark = pytest.mark.gui

PROBLEMS = [
    pytest.param(None, "", id="none"),
    pytest.param(
        QueryProblem("nothing to repeat", 3),
        "Not a regular expression: nothing to repeat at position 3",
        id="at a place",
    ),
    pytest.param(
        QueryProblem("too deep", None), "Not a regular expression: too deep", id="nowhere"
    ),
]


@pytest.mark.parametrize(("problem", "sentence"), PROBLEMS)
def test_a_problem_is_shown_and_taken_back(
    qtbot: QtBot, problem: QueryProblem | None, sentence: str
) -> None:
    field = FilterField("some.filter", "Filter keys")
    qtbot.addWidget(field)
    field.show_problem(problem)
    assert field.toolTip() == field.accessibleDescription() == sentence
    field.show_problem(None)
    assert field.toolTip() == field.accessibleDescription() == ""
