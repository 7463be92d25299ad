import itertools
from pathlib import Path

import pytest

from ruda.errors import RudaError
from ruda.session import Changes, OpenDataset, TargetChoice
from ruda.store import Recipe, TensorIndex


def opened(session, name="a.bpk", closed=None, document_id=None):
    closers = () if closed is None else (lambda: closed.append(name),)
    index = TensorIndex.of([], format="rudapack", closers=closers)
    return session.open(Path(name), index, document_id=document_id)


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
