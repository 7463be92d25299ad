import numpy as np
import pytest

from ruda.data import DataLoader, InMemDataset, StackBatcher, write_idx
from ruda.errors import DatasetError, FileAccessError, SettingError
from ruda.session import BatchChoice, Changes, OpenDataset, Session, is_dataset, read_dataset


def write_split(folder, split, count):
    folder.mkdir(parents=True, exist_ok=True)
    images = np.arange(count * 16, dtype=np.uint8).reshape(count, 4, 4)
    write_idx(folder / f"{split}-images-idx3-ubyte.gz", images)
    write_idx(folder / f"{split}-labels-idx1-ubyte.gz", np.arange(count, dtype=np.uint8) % 3)


def test_a_folder_with_one_part(tmp_path):
    write_split(tmp_path / "letters", "test", 7)
    opened = read_dataset(tmp_path / "letters")
    assert (opened.name, opened.split, opened.splits) == ("letters", "test", ("test",))
    assert opened.kind == "IDX images and labels (MNIST)"
    assert len(opened.dataset) == 7


def test_of_several_parts_the_first_or_the_named_one(tmp_path):
    write_split(tmp_path, "train", 9)
    write_split(tmp_path, "test", 4)
    first = read_dataset(tmp_path)
    assert (first.split, first.splits, len(first.dataset)) == ("test", ("test", "train"), 4)
    assert len(read_dataset(tmp_path, split="train").dataset) == 9
    with pytest.raises(SettingError, match=r"no split 'dev'; it has test, train"):
        read_dataset(tmp_path, split="dev")


def test_one_file_is_named_after_its_folder(tmp_path):
    write_split(tmp_path / "letters", "test", 5)
    opened = read_dataset(tmp_path / "letters" / "test-images-idx3-ubyte.gz")
    assert (opened.name, opened.split) == ("letters", "test")
    assert opened.dataset[4]["label"] == 1


def test_what_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(FileAccessError, match="no such file or folder"):
        read_dataset(tmp_path / "gone")
    with pytest.raises(DatasetError, match="no dataset source recognises this folder"):
        read_dataset(tmp_path)


def test_is_dataset_looks_at_names(tmp_path):
    write_split(tmp_path / "letters", "test", 1)
    assert is_dataset(tmp_path / "letters")
    assert is_dataset(tmp_path / "letters" / "test-images-idx3-ubyte.gz")
    assert not is_dataset(tmp_path)
    assert not is_dataset(tmp_path / "gone")


@pytest.mark.parametrize("shuffle", [pytest.param(None, id="in order"), pytest.param(42, id="42")])
def test_a_batch_is_the_loaders_batch(shuffle):
    dataset = InMemDataset([(np.float32(i), i) for i in range(11)])
    loader = DataLoader(dataset, StackBatcher(), batch_size=4, shuffle=shuffle)
    for number, batch in enumerate(loader):
        choice = BatchChoice(number, 4, shuffle)
        assert list(choice.indices(dataset)) == batch[1].numpy().tolist()


NEAREST = [
    pytest.param(-3, 0, id="before the first"),
    pytest.param(2, 2, id="there is one"),
    pytest.param(99, 2, id="behind the last"),
]


@pytest.mark.parametrize(("asked", "found"), NEAREST)
def test_the_nearest_batch_is_taken(asked, found):
    choice = BatchChoice(asked, 4).within(11)
    assert (choice.number, choice.batches(11)) == (found, 3)


def test_an_empty_dataset_has_one_empty_batch():
    assert BatchChoice(5).within(0).number == 0
    assert BatchChoice().indices(InMemDataset([])) == ()


def test_a_batch_without_items_is_refused():
    with pytest.raises(SettingError, match="at least 1 item, got 0"):
        BatchChoice(size=0)


def test_the_session_tells_of_another_batch(tmp_path):
    session = Session()
    heard = []
    session.subscribe(heard.append)
    session.set_dataset(OpenDataset(tmp_path, InMemDataset(list(range(10)))))
    session.choose_batch(BatchChoice(99, 4, 7))
    assert session.batch == BatchChoice(2, 4, 7)
    session.choose_batch(BatchChoice(2, 4, 7))
    assert heard == [Changes.DATASET, Changes.BATCH]
    session.set_dataset(OpenDataset(tmp_path, InMemDataset([1])))
    assert session.batch == BatchChoice(0, 4, 7), "the order stays, the place does not"
