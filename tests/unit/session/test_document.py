from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.errors import SettingError
from ruda.session import Document, History, TargetChoice
from ruda.session.document import HISTORY_LIMIT
from ruda.store import CastPolicy, PathFilter, Recipe, TensorIndex
from ruda.tensor import DType


def document(number=1):
    index = TensorIndex.of([], format="safetensors")
    return Document(number, Path("a/model.safetensors"), index, Recipe())


def edited(count):
    history = History.begin(document(0))
    for number in range(1, count + 1):
        history = history.push(f"edit {number}", document(number))
    return history


def test_a_fresh_history_has_nothing_to_undo_or_save():
    history = edited(0)
    assert (history.undo_title, history.redo_title, history.is_dirty) == (None, None, False)
    assert history.undo() == history
    assert history.redo() == history


def test_undo_then_redo_is_the_same_document():
    history = edited(3)
    assert history.undo().redo().document is history.document
    assert history.undo().undo_title == "edit 2"
    assert history.undo().redo_title == "edit 3"


def test_an_edit_after_an_undo_drops_what_could_be_redone():
    history = edited(3).undo().undo().push("other", document(9))
    assert [step.title for step in history.steps] == ["Open", "edit 1", "other"]
    assert history.redo_title is None


def test_the_saved_mark_follows_the_position():
    history = edited(2)
    assert history.is_dirty
    saved = history.mark_saved()
    assert not saved.is_dirty
    assert saved.undo().is_dirty
    assert not saved.undo().redo().is_dirty


def test_a_document_that_comes_back_unsaved_is_not_saved():
    history = History.begin(document(), dirty=True)
    assert (history.is_dirty, history.undo_title) == (True, None)
    assert not history.mark_saved().is_dirty


def test_what_was_saved_is_what_it_was_when_the_save_began():
    history = edited(2)
    begun = history.document
    assert not history.mark_saved(begun).is_dirty
    later = history.push("meanwhile", document(9))
    assert later.mark_saved(begun).is_dirty
    assert not later.mark_saved(begun).undo().is_dirty
    back = later.undo().undo().mark_saved(begun)
    assert (back.is_dirty, back.redo().is_dirty) == (True, False)
    assert history.undo().push("other", document(9)).mark_saved(begun).saved is None


STEPS = [
    pytest.param(lambda r: r.with_rule("b", "c"), Recipe().with_rule("b", "c"), id="a rule"),
    pytest.param(lambda r: r.with_cast(None), Recipe(), id="no cast"),
    pytest.param(
        lambda r: r.with_cast(CastPolicy.every(DType.BF16)),
        Recipe(cast=CastPolicy.every(DType.BF16)),
        id="another cast",
    ),
    pytest.param(lambda r: r.with_skip("x"), Recipe().with_skip("x"), id="a decision"),
    pytest.param(
        lambda r: r.with_rules(r.remap.rules[1:]), Recipe().with_rule("m", "n"), id="a rule less"
    ),
    pytest.param(
        lambda r: r.with_select(PathFilter.of("^x")),
        Recipe(select=PathFilter.of("^x")),
        id="a filter",
    ),
]


@pytest.mark.parametrize(("edit", "left"), STEPS)
def test_what_a_save_over_the_file_did_is_no_step_any_more(edit, left):
    source, fresh = document(), document()
    recipe = Recipe(cast=CastPolicy.every(DType.F16)).with_rule("a", "b").with_rule("m", "n")
    recipe = recipe.with_adapt("pytorch-to-ruda").with_skip("y")
    history = History.begin(source).push("all", source.with_recipe(recipe))
    saved = history.document
    target = TargetChoice.of("digits")
    history = history.push("edit", saved.with_recipe(edit(recipe)))
    history = history.push("target", history.document.with_target(target))
    after = history.saved_over(saved, fresh)
    assert [step.title for step in after.steps] == ["Open", "edit", "target"]
    assert after.is_dirty
    assert all(step.document.index is fresh.index for step in after.steps)
    assert after.document.recipe == left
    assert after.document.target == target
    assert after.undo().undo().document.recipe.is_identity
    assert not after.undo().undo().is_dirty


def test_what_was_undone_while_it_was_saved_is_in_the_file():
    history = edited(2)
    after = history.undo().saved_over(history.document, document())
    assert (len(after.steps), after.is_dirty) == (1, False)


def test_two_saves_over_the_file_at_once_leave_nothing_to_save():
    source = document()
    saved = source.with_recipe(Recipe().with_rule("a", "b"))
    once = History.begin(source).push("rule", saved).saved_over(saved, document())
    twice = once.saved_over(saved, document())
    assert (len(twice.steps), twice.is_dirty) == (1, False)
    edited = once.document.with_recipe(Recipe().with_rule("c", "d"))
    later = once.push("more", edited).saved_over(saved, document())
    assert [step.title for step in later.steps] == ["Open", "more"]
    assert (later.document.recipe, later.is_dirty) == (edited.recipe, True)


def test_a_saved_state_that_an_edit_replaced_is_gone():
    history = edited(2).mark_saved().undo().push("other", document(9))
    assert history.is_dirty
    assert history.undo().is_dirty
    assert history.undo().undo().is_dirty


def test_the_oldest_steps_are_forgotten_beyond_the_limit():
    history = edited(HISTORY_LIMIT + 5)
    assert len(history.steps) == HISTORY_LIMIT + 1
    assert history.document.id == HISTORY_LIMIT + 5
    assert history.saved is None
    assert history.go(0).document.id == 5


def test_go_outside_is_refused():
    with pytest.raises(SettingError, match="step 4 is outside a history of 3"):
        edited(2).go(4)


def test_a_document_is_compared_by_identity():
    assert document() != document()
    assert document().name == "model.safetensors"


def test_targets_are_values():
    assert TargetChoice.of("x", {"b": 1, "a": 2}) == TargetChoice.of("x", {"a": 2, "b": 1})
    assert TargetChoice.of("dir/other.bpk", is_file=True).title == "other.bpk"
    with pytest.raises(SettingError, match="takes no settings"):
        TargetChoice.of("other.bpk", {"a": 1}, is_file=True)


STEPS = st.lists(st.sampled_from(["edit", "undo", "redo", "save"]), max_size=30)


@given(STEPS)
def test_a_history_is_a_list_with_a_cursor(steps):
    history = History.begin(document(0))
    states, cursor, saved = [history.document], 0, 0
    for number, step in enumerate(steps, 1):
        if step == "edit":
            made = document(number)
            history = history.push("edit", made)
            saved = saved if saved is not None and saved <= cursor else None
            states = [*states[: cursor + 1], made]
            cursor += 1
        elif step == "undo":
            history, cursor = history.undo(), max(0, cursor - 1)
        elif step == "redo":
            history, cursor = history.redo(), min(len(states) - 1, cursor + 1)
        else:
            history, saved = history.mark_saved(), cursor
        assert history.document is states[cursor]
        assert history.is_dirty == (cursor != saved)
    assert history.undo().document is states[max(0, cursor - 1)]
