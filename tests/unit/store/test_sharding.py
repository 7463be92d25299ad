"""Sets of files: sizes in words, names, the index file, and that a set is replaced as one."""

import json
import os

import numpy as np
import pytest

from ruda.errors import FileAccessError, SaveError, SettingError
from ruda.store import TensorIndex, TensorSnapshot, open_store, parse_size, plan_save, save, write
from ruda.store._set_journal import finish_interrupted, journal_path, journal_text

SIZES = [
    ("5GB", 5_000_000_000),
    ("5 GiB", 5 << 30),
    ("1.5kB", 1500),
    ("500mb", 500_000_000),
    ("2KiB", 2048),
    (" 7 MiB ", 7 << 20),
    ("1TB", 10**12),
    ("12", 12),
    ("12b", 12),
]


@pytest.mark.parametrize(("text", "expected"), SIZES)
def test_sizes_in_words(text, expected):
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "GB", "5XB", "-1GB", "5 G B", "1e9", "0", "0.1B", "٣GB x"])
def test_what_is_no_size(text):
    with pytest.raises(SettingError, match=r"is no size|less than one byte"):
        parse_size(text)


def index_of(count, elements=10, start=0, **more):
    made = [
        TensorSnapshot.from_array(f"t{n}", np.full(elements, start + n, "<f4"))
        for n in range(count)
    ]
    return TensorIndex.of(made, format="memory", **more)


def values(path):
    with open_store(path) as index:
        return {key: s.read().tolist() for key, s in index.items()}


def names(folder):
    return sorted(os.listdir(folder))


def test_a_set_has_the_names_and_the_index_of_hugging_face(tmp_path):
    index = index_of(5, metadata={"format": "pt"})
    result = save(index, tmp_path / "model.safetensors", shard_size=80, verify=True)
    shards = [f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3)]
    assert names(tmp_path) == [*shards, "model.safetensors.index.json"]
    assert [p.name for p in result.parts] == shards
    assert result.nbytes == sum(p.stat().st_size for p in tmp_path.iterdir())
    document = json.loads((tmp_path / "model.safetensors.index.json").read_bytes())
    assert document["metadata"] == {"total_size": 200}
    assert document["weight_map"] == {f"t{n}": shards[n // 2] for n in range(5)}
    expected = {key: s.read().tolist() for key, s in index.items()}
    for path in (tmp_path, result.path, result.parts[1]):
        assert values(path) == expected
    with open_store(tmp_path) as again:
        assert again.metadata == {"format": "pt"}


def test_a_tensor_larger_than_a_shard_has_its_own(tmp_path):
    made = [
        TensorSnapshot.from_array(f"t{n}", np.zeros(size, "u1"))
        for n, size in enumerate((10, 1000, 10, 90, 1))
    ]
    index = TensorIndex.of(made, format="memory")
    plan = plan_save(index, tmp_path / "m.safetensors", shard_size=100)
    assert [sum(e.nbytes for e in p.entries) for p in plan.parts] == [10, 1000, 100, 1]


def test_what_fits_in_one_file_is_one(tmp_path):
    result = save(index_of(2), tmp_path / "m.safetensors.index.json", shard_size=80)
    assert result.path == tmp_path / "m.safetensors"
    assert (result.parts, names(tmp_path)) == ((), ["m.safetensors"])


def test_an_earlier_set_is_named_and_stays(tmp_path):
    save(index_of(6), tmp_path / "m.safetensors", shard_size=40)
    (tmp_path / "n-00001-of-00002.safetensors").write_bytes(b"of another")
    plan = plan_save(index_of(4), tmp_path / "m.safetensors", shard_size=80, overwrite=True)
    stale = [f"m-0000{n}-of-00006.safetensors" for n in range(1, 7)]
    assert [p.name for p in plan.stale] == stale
    assert [p.name for p in write(plan).stale] == stale
    assert set(stale) < set(names(tmp_path))
    assert len(values(tmp_path / "m.safetensors.index.json")) == 4


def test_a_plain_file_names_the_set_beside_it(tmp_path):
    save(index_of(2), tmp_path / "m.safetensors", shard_size=40)
    plan = plan_save(index_of(1), tmp_path / "m.safetensors", shard_size=40)
    assert [p.name for p in plan.stale] == names(tmp_path)


def test_only_safetensors_are_spread(tmp_path):
    with pytest.raises(SaveError, match=r"only safetensors files are written in shards"):
        plan_save(index_of(3), tmp_path / "m.bpk", shard_size=40)
    with pytest.raises(SaveError, match=r"a shard of 0 bytes"):
        plan_save(index_of(3), tmp_path / "m.safetensors", shard_size=0)


def test_a_set_is_not_replaced_unasked(tmp_path):
    save(index_of(3), tmp_path / "m.safetensors", shard_size=40)
    with pytest.raises(SaveError, match=r"exists; pass overwrite=True"):
        save(index_of(3, start=9), tmp_path / "m.safetensors", shard_size=40)
    assert values(tmp_path)["t0"] == [0.0] * 10


def test_a_set_is_saved_over_itself_while_open(tmp_path):
    save(index_of(4), tmp_path / "m.safetensors", shard_size=80)
    with open_store(tmp_path) as index:
        save(index, tmp_path / "m.safetensors", shard_size=80, overwrite=True)
        assert index["t3"].read().tolist() == [3.0] * 10
    assert values(tmp_path)["t3"] == [3.0] * 10


class Interrupted(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("steps", range(1, 4))
def test_an_interrupted_replacement_is_read_and_then_finished(tmp_path, monkeypatch, steps):
    save(index_of(3), tmp_path / "m.safetensors", shard_size=40)
    plan = plan_save(
        index_of(3, start=7), tmp_path / "m.safetensors", shard_size=40, overwrite=True
    )
    left = steps

    def die(source, target):
        nonlocal left
        if not left:
            raise Interrupted
        left -= 1
        os.replace(source, target)

    # What a killed process leaves: nothing is cleaned up.
    monkeypatch.setattr("ruda.store._sibling.Sibling.__exit__", lambda self, *_: self.file.close())
    with pytest.raises(Interrupted, match=r"^$"):
        write(plan, replace=die)
    monkeypatch.undo()
    found = sorted(os.listdir(tmp_path))
    with open_store(tmp_path) as index:
        assert "the new files are read where they lie" in index.notes[0]
    assert values(tmp_path) == {f"t{n}": [7.0 + n] * 10 for n in range(3)}
    assert sorted(os.listdir(tmp_path)) == found, "opening changed the folder"
    save(index_of(1), tmp_path / "other.bpk")
    (tmp_path / "other.bpk").unlink()
    assert values(tmp_path) == {f"t{n}": [7.0 + n] * 10 for n in range(3)}
    assert len(names(tmp_path)) == 4


def test_a_refused_rename_before_the_first_leaves_the_old_set(tmp_path):
    save(index_of(2), tmp_path / "m.safetensors", shard_size=40)
    plan = plan_save(
        index_of(2, start=7), tmp_path / "m.safetensors", shard_size=40, overwrite=True
    )

    def refuse(source, target):
        raise OSError(5, "no")

    with pytest.raises(SaveError, match=r"cannot be put in place: no; the old file is unchanged"):
        write(plan, replace=refuse)
    assert values(tmp_path)["t0"] == [0.0] * 10
    assert len(names(tmp_path)) == 3


def test_a_rename_refused_halfway_is_made_good_later(tmp_path):
    save(index_of(2), tmp_path / "m.safetensors", shard_size=40)
    plan = plan_save(
        index_of(2, start=7), tmp_path / "m.safetensors", shard_size=40, overwrite=True
    )

    def refuse_second(source, target):
        if target.name.startswith("m-00002"):
            raise OSError(5, "no")
        os.replace(source, target)

    with pytest.raises(SaveError, match=r"1 of 3 files of the set are in place, and then m-00002"):
        write(plan, replace=refuse_second)
    assert values(tmp_path)["t0"] == [7.0] * 10
    save(index_of(1), tmp_path / "other.bpk")
    assert values(tmp_path)["t0"] == [7.0] * 10
    assert len(names(tmp_path)) == 4


def test_while_a_set_is_being_replaced_it_is_not_opened(tmp_path, monkeypatch):
    save(index_of(2), tmp_path / "m.safetensors", shard_size=40)
    index = tmp_path / "m.safetensors.index.json"
    journal_path(index).write_bytes(journal_text([], replacing=True))
    monkeypatch.setattr("ruda.store._set_journal.is_abandoned", lambda *_, **__: False)
    with pytest.raises(FileAccessError, match=r"is just being replaced; open it in a moment"):
        open_store(tmp_path)


FOREIGN = [
    pytest.param([["victim.txt", "gone.txt"]], id="no temporary file"),
    pytest.param([[".m.ruda-1-00000000.tmp", "../out"]], id="another folder"),
    pytest.param([[".m.ruda-1-00000000.tmp", ".hidden"]], id="hidden"),
    pytest.param([[".m.ruda-1-00000000.tmp", "victim.txt"]], id="a name it was not made for"),
    pytest.param("text", id="no list"),
]


@pytest.mark.parametrize("renames", FOREIGN)
def test_a_journal_renames_only_what_is_ours(tmp_path, renames):
    (tmp_path / "victim.txt").write_text("safe")
    (tmp_path / ".m.ruda-1-00000000.tmp").write_text("safe")
    journal = tmp_path / ".m.ruda-set-1"
    journal.write_text(json.dumps({"replacing": True, "renames": renames}))
    assert finish_interrupted(tmp_path) == ()
    assert (tmp_path / "victim.txt").read_text() == "safe"
    assert (tmp_path / ".m.ruda-1-00000000.tmp").exists()


def test_a_file_that_appeared_is_not_replaced_by_a_set_that_may_not(tmp_path):
    before, after = tmp_path / ".m.x.ruda-1-00000000.tmp", tmp_path / "m.x"
    before.write_text("new")
    after.write_text("someone's")
    (tmp_path / ".m.ruda-set-1").write_bytes(journal_text([(before, after)], replacing=False))
    finish_interrupted(tmp_path)
    assert after.read_text() == "someone's"
