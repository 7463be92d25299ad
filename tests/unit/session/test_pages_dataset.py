import numpy as np
import pytest

from ruda.data import Dataset, InMemDataset, SelectionDataset, write_idx
from ruda.errors import ItemError
from ruda.progress import Cancelled
from ruda.session import OpenDataset, class_page, dataset_page, item_page, read_dataset


class Fruit(Dataset):
    """Seven items of two named classes; number 3 is broken."""

    def __len__(self):
        return 7

    def get(self, index):
        self.check_index(index)
        if index == 3:
            raise ItemError("cut short", index=index, source="fruit")
        image = np.full((4, 5), index, np.uint8)
        return {"image": image, "label": int(index > 4), "note": f"no. {index}"}

    @property
    def class_names(self):
        return ("apple", "pear", "plum")

    @property
    def source_id(self):
        return "fruit"


def test_the_sentence_of_a_dataset(tmp_path):
    folder = tmp_path / "letters"
    folder.mkdir()
    write_idx(folder / "test-images-idx3-ubyte", np.zeros((3, 8, 9), np.uint8))
    write_idx(folder / "test-labels-idx1-ubyte", np.array([0, 1, 1], np.uint8))
    page = dataset_page(read_dataset(folder))
    assert (page.title, page.count) == ("letters test images", "3 items")
    assert page.facts == "8 × 9 pixels, u8 · 2 classes · IDX images and labels (MNIST)"
    assert (page.split, page.splits) == ("test", ())


def test_a_dataset_that_says_nothing_of_itself(tmp_path):
    page = dataset_page(OpenDataset(tmp_path / "made", InMemDataset([1, 2])))
    assert (page.title, page.count, page.facts) == ("made", "2 items", "")


def test_classes_are_counted_and_the_broken_item_is_told():
    page = class_page(Fruit())
    assert [(bar.name, bar.count) for bar in page.bars] == [("apple", 4), ("pear", 2), ("plum", 0)]
    assert page.bars[0].text == "4 items, 66.6 %"
    assert page.headline == "3 classes, 0 to 4 items each"
    assert page.note == "1 item cannot be read"


def test_classes_of_equal_size():
    page = class_page(InMemDataset([{"label": i % 2} for i in range(10)]))
    assert page.headline == "2 classes, 5 items each"
    assert page.note == ""


def test_items_without_labels():
    page = class_page(InMemDataset([{"image": np.zeros((2, 2))}] * 3))
    assert (page.bars, page.headline) == ((), "No labels to count")
    assert page.note == "3 items without a label"


def test_many_classes_end_in_one_bar_for_the_rest():
    page = class_page(InMemDataset([{"label": f"{i:03}"} for i in range(250)]))
    assert len(page.bars) == 200
    assert (page.bars[-1].name, page.bars[-1].count) == ("51 others", 51)


def test_counting_stops_when_asked():
    class Stop:
        def report(self, progress):
            pass

        def check(self):
            raise Cancelled("counting")

    with pytest.raises(Cancelled, match="counting"):
        class_page(Fruit(), monitor=Stop())


def test_facts_of_one_item():
    page = item_page(Fruit(), 5)
    facts = {fact.label: fact.text for fact in page.facts}
    assert facts == {
        "index": "5 of 7",
        "label": "pear",
        "pixels": "4 × 5, u8",
        "min, max": "5, 5",
        "mean, std": "5, 0",
        "zeros": "0 (0 %)",
        "note": "no. 5",
    }
    assert page.title == "Item 5"
    assert page.plane.shape == (4, 5)
    assert (page.scores, page.verdict, page.problem) == ((), "", "")


def test_the_source_of_a_selected_item_is_named():
    page = item_page(SelectionDataset(Fruit(), [6, 2]), 1)
    assert {f.label: f.text for f in page.facts}["from"] == "fruit, item 2"


def test_a_broken_item_is_told():
    page = item_page(Fruit(), 3)
    assert page.problem == "fruit, item 3: cut short"
    assert (page.picture, page.plane, page.facts) == (None, None, ())


PLANES = [
    pytest.param(np.zeros((4, 5, 3), np.uint8), (4, 15), id="colours"),
    pytest.param(np.zeros(6, np.float32), (6, 1), id="one axis"),
    pytest.param(np.array(["a"]), None, id="text"),
    pytest.param(np.zeros((0, 2)), None, id="empty"),
]


@pytest.mark.parametrize(("image", "shape"), PLANES)
def test_the_plane_of_values(image, shape):
    plane = item_page(InMemDataset([{"image": image}]), 0).plane
    assert (None if plane is None else plane.shape) == shape


def test_values_that_are_not_finite_are_counted():
    image = np.array([[np.nan, 1.0], [3.0, np.inf]])
    facts = {f.label: f.text for f in item_page(InMemDataset([{"image": image}]), 0).facts}
    assert (facts["min, max"], facts["NaN, Inf"]) == ("1, 3", "2")
