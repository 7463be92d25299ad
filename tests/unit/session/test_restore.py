from pathlib import Path

import pytest

import ruda.store
from ruda.session import (
    Changes,
    CompareOptions,
    CompareSide,
    Comparison,
    OpenDataset,
    RuleDraft,
    SessionCapture,
    SessionState,
    SideView,
    StateMaker,
    TargetChoice,
    capture_session,
    clear_state,
    comparison_of_state,
    read_state,
    recipe_of_state,
    target_of_state,
    with_pending,
    write_state,
)
from ruda.session.restore import ComparisonState, DocumentState, SideState
from ruda.store import Recipe, TensorIndex


def test_a_session_comes_back(session, tmp_path):
    index = TensorIndex.of([], format="rudapack")
    session.open(tmp_path / "a.bpk", index)
    second = session.open(tmp_path / "b.pt", index, top_level_key="state_dict")
    recipe = Recipe().with_rule(r"^module\.", "").with_adapt("pytorch-to-ruda")
    session.edit(second.id, "Rule", recipe)
    session.retarget(second.id, TargetChoice.of("digits", {"seed": 4}))
    third = session.open(tmp_path / "c.bpk", index)
    session.retarget(third.id, TargetChoice.of("other.bpk", is_file=True))
    session.activate(second.id)
    session.set_dataset(OpenDataset(tmp_path / "mnist", None))
    file = tmp_path / "state.json"
    write_state(file, capture_session(session, workspace="run", geometry="AdnQ"))
    state = read_state(file).state
    assert (state.active, state.workspace, state.geometry) == (1, "run", "AdnQ")
    assert state.dataset == str((tmp_path / "mnist").resolve())
    kept = state.documents[1]
    assert kept.path == str((tmp_path / "b.pt").resolve())
    assert kept.top_level_key == "state_dict"
    assert [document.dirty for document in state.documents] == [False, True, True]
    assert target_of_state(state.documents[2]).name == str(Path("other.bpk").resolve())
    assert recipe_of_state(kept) == (recipe, None)
    assert target_of_state(kept) == TargetChoice.of("digits", {"seed": 4})
    assert target_of_state(state.documents[0]) is None


def test_a_comparison_comes_back(session, tmp_path):
    index = TensorIndex.of([], format="rudapack")
    first, second = (session.open(tmp_path / name, index) for name in ("a.bpk", "b.bpk"))
    side = CompareSide(SideView.RECIPE, (RuleDraft("^m", "n"), RuleDraft("x", "y", enabled=False)))
    options = CompareOptions(absolute=1e-3, ulp=2, any_dtype=True, only="w$", right=side)
    session.compare(Comparison(second.id, first.id, options.with_values(on=True)))
    file = tmp_path / "state.json"
    write_state(file, capture_session(session))
    kept = read_state(file).state.comparison
    assert comparison_of_state(kept, {0: 7, 1: 8}) == Comparison(8, 7, options)
    assert comparison_of_state(kept, {1: 8}) == Comparison(8, None, options)


def test_a_document_that_did_not_change_is_not_written_out_again(session, tmp_path, monkeypatch):
    written = []
    real = ruda.store.recipe_to_json

    def counted(recipe):
        written.append(len(recipe.remap.rules))
        return real(recipe)

    monkeypatch.setattr(ruda.store, "recipe_to_json", counted)
    index = TensorIndex.of([], format="rudapack")
    first, second = (session.open(tmp_path / name, index) for name in ("a.bpk", "b.bpk"))
    maker = StateMaker()

    def made():
        found = maker.make(SessionCapture.of(session, workspace="run", geometry="g"))
        assert found == capture_session(session, workspace="run", geometry="g")
        del written[-len(session.documents) :]  # those of the second way
        return found

    made()
    session.edit(second.id, "rule", Recipe().with_rule("a", "b"))
    assert [kept.dirty for kept in made().documents] == [False, True]
    session.mark_saved(second.id)
    assert [kept.dirty for kept in made().documents] == [False, False]
    session.retarget(first.id, TargetChoice.of("digits"))
    made()
    assert written == [0, 0, 1, 0]
    session.close(first.id)
    made()
    session.undo(second.id)
    assert made().documents[0].recipe == real(Recipe())


def test_what_is_not_open_again_yet_stays_in_the_state():
    def kept(*names, **more):
        return SessionState(documents=[DocumentState(name) for name in names], **more)

    old = ComparisonState(SideState(0), SideState(1))
    new = ComparisonState(SideState(0), SideState())
    pending = kept("a", "b", active=1, dataset="d", dataset_split="test", comparison=old)
    now = kept("c", active=0, workspace="run", geometry="g", comparison=new)
    moved = ComparisonState(SideState(2), SideState())
    whole = {"dataset": "d", "dataset_split": "test", "workspace": "run", "geometry": "g"}
    assert with_pending(now, pending) == kept("a", "b", "c", active=2, comparison=moved, **whole)
    empty = kept(workspace="run", geometry="g", dataset="e")
    whole = {**whole, "dataset": "e", "dataset_split": None}
    assert with_pending(empty, pending) == kept("a", "b", active=1, comparison=old, **whole)
    assert with_pending(now, SessionState()) == now


def test_a_closed_document_leaves_the_comparison(session, tmp_path):
    index = TensorIndex.of([], format="rudapack")
    first, second = (session.open(tmp_path / name, index) for name in ("a.bpk", "b.bpk"))
    session.compare(Comparison(first.id, second.id))
    heard = []
    session.subscribe(heard.append, Changes.COMPARISON)
    session.close(first.id)
    assert session.comparison.sides == (None, second.id)
    assert len(heard) == 1


def test_there_may_be_nothing_to_restore(tmp_path):
    assert read_state(tmp_path / "absent.json").state is None
    clear_state(tmp_path / "absent.json")


def test_a_clean_end_removes_the_recovery_file(tmp_path):
    file = tmp_path / "recovery.json"
    write_state(file, SessionState())
    assert read_state(file).state == SessionState()
    clear_state(file)
    assert read_state(file).state is None


def test_a_broken_state_restores_nothing_and_is_kept(tmp_path):
    file = tmp_path / "state.json"
    file.write_text('{"documents": 4}')
    found = read_state(file)
    assert found.state is None
    assert "nothing is restored, a copy is in state.broken-1.json" in found.notes[0]


RECIPES = [
    pytest.param("", None, id="none"),
    pytest.param("{", "the recipe of the last session is not restored", id="broken"),
]


@pytest.mark.parametrize(("text", "note"), RECIPES)
def test_recipes_that_cannot_be_understood_are_told(text, note):
    recipe, said = recipe_of_state(DocumentState("a.bpk", text))
    assert recipe == Recipe()
    assert said is None if note is None else note in said
