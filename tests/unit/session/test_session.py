import itertools
from pathlib import Path

import pytest

from ruda.errors import RudaError
from ruda.session import Changes, OpenDataset, TargetChoice
from ruda.store import Recipe, TensorIndex


def index_of(name="a.bpk", closed=None, path=None):
    closers = () if closed is None else (lambda: closed.append(name),)
    return TensorIndex.of([], format="rudapack", closers=closers, path=path)


def opened(session, name="a.bpk", closed=None, document_id=None, **more):
    return session.open(Path(name), index_of(name, closed), document_id=document_id, **more)


@pytest.fixture
def heard(session):
    changes: list[Changes] = []
    session.subscribe(changes.append)
    return changes


def test_opening_brings_to_the_front_and_tells(session, heard):
    document = opened(session)
    assert session.active is document
    assert session.documents == (document,)
    assert document.recipe == Recipe()
    assert heard == [Changes.DOCUMENTS | Changes.ACTIVE | Changes.RECIPE | Changes.TARGET]


@pytest.mark.parametrize("done", list(itertools.permutations("abc")), ids="".join)
def test_files_stand_in_the_order_they_were_asked_for(session, done):
    """Whichever is read first, the one asked for last is in front in the end."""
    reserved = {name: session.reserve() for name in "abc"}
    for name in done:
        opened(session, name, document_id=reserved[name])
    assert [document.name for document in session.documents] == ["a", "b", "c"]
    assert session.active.name == "c"


def test_a_late_file_comes_before_one_that_was_asked_for_earlier(session):
    early, late = opened(session, "early"), session.reserve()
    session.activate(early.id)
    assert session.active is early
    assert opened(session, "late", document_id=late) is session.active


def test_closing_releases_the_file_and_shows_the_neighbour(session, heard):
    closed: list[str] = []
    first, second, third = (opened(session, name, closed) for name in ("a", "b", "c"))
    session.activate(second.id)
    session.close(second.id)
    assert session.active is third
    session.close(third.id)
    assert session.active is first
    session.close(first.id)
    assert session.active is None
    assert closed == ["b", "c", "a"]
    with pytest.raises(RudaError, match="document 1 is not open"):
        session.document(first.id)


def test_closing_one_that_is_not_in_front_changes_no_front(session, heard):
    first, second = opened(session, "a"), opened(session, "b")
    heard.clear()
    session.close(first.id)
    assert heard == [Changes.DOCUMENTS]
    assert session.active is second


def test_an_edit_can_be_undone_and_redone(session, heard):
    document = opened(session)
    recipe = Recipe().with_rule("^a", "b")
    heard.clear()
    edited = session.edit(document.id, "Add rule", recipe)
    assert edited.recipe is recipe
    assert session.history(document.id).undo_title == "Add rule"
    assert session.dirty == (edited,)
    assert session.undo(document.id).recipe == Recipe()
    assert session.dirty == ()
    assert session.redo(document.id).recipe is recipe
    assert heard == [Changes.RECIPE | Changes.SAVED] * 3


def test_a_target_is_an_edit_too(session, heard):
    document = opened(session)
    heard.clear()
    session.retarget(document.id, TargetChoice.of("digits"))
    assert session.active.target.title == "digits"
    session.undo(document.id)
    assert session.active.target is None
    assert heard == [Changes.TARGET | Changes.SAVED] * 2
    assert session.history(document.id).redo_title == "Target digits"


def test_nothing_to_undo_tells_nothing(session, heard):
    document = opened(session)
    heard.clear()
    assert session.undo(document.id) is document
    assert heard == []


def test_saving_marks_clean(session, heard):
    document = opened(session)
    session.edit(document.id, "Add rule", Recipe().with_rule("a", "b"))
    heard.clear()
    session.mark_saved(document.id)
    assert session.dirty == ()
    assert heard == [Changes.SAVED]


def test_a_document_can_come_back_unsaved(session):
    document = opened(session, dirty=True)
    assert session.dirty == (document,)
    assert session.history(document.id).undo_title is None


def test_what_is_edited_during_a_save_is_not_saved(session):
    document = opened(session)
    begun = session.edit(document.id, "One", Recipe().with_rule("a", "b"))
    session.edit(document.id, "Two", begun.recipe.with_rule("c", "d"))
    session.mark_saved(document.id, begun)
    assert [each.id for each in session.dirty] == [document.id]
    session.undo(document.id)
    assert session.dirty == ()


@pytest.mark.parametrize("way", ["close", "reopen", "end"])
def test_a_file_that_work_reads_is_released_when_the_work_is_over(session, way):
    closed: list[str] = []
    document = opened(session, "held", closed)
    ends = [session.hold(document), session.hold(document)]
    if way == "reopen":
        session.reopen(document.id, index_of("new", closed))
    else:
        session.close(document.id)
    assert closed == []
    if way == "end":
        session.close_files()
        assert closed == ["held"], "nobody may hold up the end"
    ends[0]()
    ends[0]()
    assert closed == (["held"] if way == "end" else [])
    ends[1]()
    assert closed == ["held"]


def test_a_file_that_was_held_stays_with_its_document(session):
    closed: list[str] = []
    document = opened(session, "held", closed)
    session.hold(document)()
    assert closed == []
    session.close(document.id)
    assert closed == ["held"]


def test_all_that_is_open_of_a_file_is_found(session, tmp_path):
    path, other = tmp_path / "a.bpk", tmp_path / "b.bpk"
    for each in (path, other):
        each.write_bytes(b"x")
    whole, part, twice, far = (index_of(path=p) for p in (path, path, path, other))
    first = session.open(path, whole)
    session.take_part(first.id, part, "model")
    second = session.open(path, twice)
    session.open(other, far)
    assert [id(i) for i in session.files_at(path)] == [id(i) for i in (whole, part, twice)]
    end = session.hold(second)
    session.close(second.id)
    assert any(index is twice for index in session.files_at(path))
    end()
    assert all(index is not twice for index in session.files_at(path))
    assert session.files_at(tmp_path / "none") == ()


def test_a_file_that_was_saved_over_is_taken_in_as_it_is_now(session, heard):
    closed: list[str] = []
    document = opened(session, "old", closed)
    saved = session.edit(document.id, "One", Recipe().with_rule("a", "b"))
    session.edit(document.id, "Two", saved.recipe.with_rule("c", "d"))
    heard.clear()
    now = session.saved_over(saved, index_of("new", closed), ("part",))
    assert (now.id, now.recipe, now.parts) == (saved.id, Recipe().with_rule("c", "d"), ("part",))
    assert closed == ["old"]
    assert session.dirty == (now,)
    assert session.undo(document.id).recipe.is_identity
    assert session.dirty == ()
    assert heard[0] & Changes.PART


def test_activating_twice_tells_once(session, heard):
    first, _second = opened(session, "a"), opened(session, "b")
    heard.clear()
    session.activate(first.id)
    session.activate(first.id)
    assert heard == [Changes.ACTIVE]


def test_subscribers_hear_only_what_they_asked_for(session):
    heard: list[Changes] = []
    stop = session.subscribe(heard.append, Changes.DATASET)
    opened(session)
    assert heard == []
    session.set_dataset(None)
    assert heard == [Changes.DATASET]
    stop()
    session.set_dataset(OpenDataset(Path("x"), None))
    assert heard == [Changes.DATASET]
    assert session.dataset.path == Path("x")
