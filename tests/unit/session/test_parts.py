import pytest

from ruda.errors import MissingKeyError
from ruda.session import Changes, open_part, parts_of
from ruda.store import TensorIndex, open_store


@pytest.fixture
def checkpoint(project):
    return project / "resources" / "samples" / "digits-checkpoint.pt"


@pytest.fixture
def heard(session):
    changes: list[Changes] = []
    session.subscribe(changes.append)
    return changes


def made(closed, name):
    return TensorIndex.of([], format="pytorch", closers=(lambda: closed.append(name),))


def test_parts_are_the_dicts_with_tensors(checkpoint):
    with open_store(checkpoint) as index:
        assert parts_of(index) == ("state_dict",)


def test_a_table_of_tensors_has_no_parts(pytorch_file):
    index, parts = open_part(pytorch_file)
    index.close()
    assert parts == ()


def test_a_part_is_what_the_key_opens(checkpoint):
    index, parts = open_part(checkpoint, "state_dict")
    with index, open_store(checkpoint, top_level_key="state_dict") as same:
        assert list(index) == list(same)
        assert "module.fc1.bias" in index
    assert parts == ("state_dict",)


def test_a_part_that_is_not_there_is_refused(checkpoint):
    with pytest.raises(MissingKeyError, match="no top-level key 'ema'"):
        open_part(checkpoint, "ema")


def test_taking_a_part_is_a_step(session, heard, tmp_path):
    closed: list[str] = []
    whole = session.open(tmp_path / "a.pt", made(closed, "whole"), parts=("state_dict",))
    heard.clear()
    part = session.take_part(whole.id, made(closed, "part"), "state_dict")
    assert (part.top_level_key, part.parts) == ("state_dict", ("state_dict",))
    assert session.history(whole.id).undo_title == "Only state_dict"
    assert session.undo(whole.id) is whole
    assert session.redo(whole.id) is part
    assert heard == [Changes.PART | Changes.SAVED] * 3
    assert closed == []


def test_files_are_released_when_no_step_holds_them(session, tmp_path):
    closed: list[str] = []
    whole = session.open(tmp_path / "a.pt", made(closed, "whole"))
    session.take_part(whole.id, made(closed, "part"), "state_dict")
    session.undo(whole.id)
    session.take_part(whole.id, made(closed, "other"), "ema")
    assert closed == ["part"]
    session.close(whole.id)
    assert closed == ["part", "whole", "other"]
