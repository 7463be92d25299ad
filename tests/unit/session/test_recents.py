import pytest

from ruda.session import Recent, add_recent, read_recents, remove_recent


@pytest.fixture
def file(tmp_path):
    return tmp_path / "state" / "recents.json"


def names(recents):
    return [entry.name for entry in recents.entries]


def test_a_missing_list_is_empty(file):
    assert read_recents(file).entries == ()


def test_the_newest_comes_first_and_once(file, tmp_path):
    for name in ("a", "b", "a"):
        add_recent(file, tmp_path / name)
    assert names(read_recents(file)) == ["a", "b"]


def test_the_list_ends_at_its_limit(file, tmp_path):
    for number in range(5):
        add_recent(file, tmp_path / str(number), limit=3)
    assert names(read_recents(file)) == ["4", "3", "2"]


def test_two_windows_do_not_undo_each_other(file, tmp_path):
    read_recents(file)
    add_recent(file, tmp_path / "of the other window")
    assert names(add_recent(file, tmp_path / "mine")) == ["mine", "of the other window"]


def test_kinds_are_told_apart(file, tmp_path):
    add_recent(file, tmp_path / "w")
    add_recent(file, tmp_path / "d", "dataset")
    assert [(e.name, e.kind) for e in read_recents(file).entries] == [
        ("d", "dataset"),
        ("w", "weights"),
    ]


def test_an_entry_can_be_removed(file, tmp_path):
    add_recent(file, tmp_path / "a")
    assert remove_recent(file, str(tmp_path / "a")).entries == ()
    assert read_recents(file).entries == ()


BROKEN = [
    pytest.param(b"{", id="not json"),
    pytest.param(b'{"recents": [{"path": 3}]}', id="other types"),
    pytest.param(b'{"recents": [{"path": "\xff"}]}', id="not utf-8"),
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_list_starts_anew_and_is_kept(file, tmp_path, content):
    file.parent.mkdir()
    file.write_bytes(content)
    found = add_recent(file, tmp_path / "a")
    assert names(found) == ["a"]
    assert "a copy is in recents.broken-1.json" in found.notes[0]
    assert (file.parent / "recents.broken-1.json").read_bytes() == content


def test_whether_it_exists(tmp_path):
    assert Recent(str(tmp_path)).exists
    assert not Recent(str(tmp_path / "gone")).exists
