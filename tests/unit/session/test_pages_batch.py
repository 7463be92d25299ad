import numpy as np
import pytest

from ruda.data import Dataset, InMemDataset
from ruda.errors import ItemError
from ruda.session import BatchChoice, Prediction, batch_page
from ruda.session.items import as_picture, label_text


class Pictures(Dataset):
    """Ten items; number 3 is broken."""

    def __len__(self):
        return 10

    def get(self, index):
        self.check_index(index)
        if index == 3:
            raise ItemError("cut short", index=index, source="pictures")
        return {"image": np.full((4, 4), index, np.uint8), "label": index % 2}

    @property
    def class_names(self):
        return ("even", "odd")

    @property
    def source_id(self):
        return "pictures"


def test_a_page_shows_pictures_with_their_labels():
    page = batch_page(Pictures(), 1, size=4)
    assert [tile.index for tile in page.tiles] == [4, 5, 6, 7]
    assert [tile.label for tile in page.tiles] == ["even", "odd", "even", "odd"]
    assert page.tiles[1].image.tolist() == [[5] * 4] * 4
    assert page.title == "pictures"
    assert page.facts == "10 items · 2 classes"
    assert page.position == "Page 2 of 3 · items 4–7"
    fields = {fact.label: fact.text for fact in page.fields}
    assert fields["image"] == "u8 [4, 4, 4], min 4, max 7, mean 5.5, std 1.118"
    assert fields["label"] == "2 classes of 2 on this page"


def test_a_broken_item_is_a_tile_with_the_reason():
    page = batch_page(Pictures(), 0, size=4)
    assert page.tiles[3].problem == "pictures, item 3: cut short"
    assert page.tiles[3].image is None
    assert page.tiles[2].label == "even"


def test_predictions_stand_beside_the_labels():
    said = {
        4: Prediction(4, 0, "even · 99.0 %", 0.99, True),
        5: Prediction(5, 0, "even", 0.6, False),
    }
    page = batch_page(Pictures(), 1, size=4, predictions=said)
    assert [(t.prediction, t.correct) for t in page.tiles[:3]] == [
        ("even · 99.0 %", True),
        ("even", False),
        ("", None),
    ]


PAGES = [
    pytest.param(-1, 0, id="before the first"),
    pytest.param(99, 2, id="behind the last"),
    pytest.param(2, 2, id="short last page"),
]


@pytest.mark.parametrize(("asked", "shown"), PAGES)
def test_the_nearest_page_is_shown(asked, shown):
    assert batch_page(Pictures(), asked, size=4).page == shown


def test_an_empty_dataset_has_one_empty_page():
    page = batch_page(InMemDataset([]))
    assert (page.tiles, page.pages, page.position, page.fields) == ((), 1, "no items", ())


IMAGES = [
    pytest.param(np.zeros((4, 5), np.uint8), (4, 5), id="grey"),
    pytest.param(np.zeros((1, 4, 5), np.uint8), (4, 5), id="one channel first"),
    pytest.param(np.zeros((4, 5, 1), np.uint8), (4, 5), id="one channel last"),
    pytest.param(np.zeros((3, 4, 5), np.uint8), (4, 5, 3), id="channels first"),
    pytest.param(np.zeros((4, 5, 3), np.uint8), (4, 5, 3), id="channels last"),
    pytest.param(np.zeros((7, 5, 2), np.uint8), None, id="two channels"),
    pytest.param(np.zeros((5,), np.uint8), None, id="one axis"),
    pytest.param(np.zeros((0, 4), np.uint8), None, id="empty"),
    pytest.param("text", None, id="no array"),
]


@pytest.mark.parametrize(("value", "shape"), IMAGES)
def test_pictures_of_items(value, shape):
    found = as_picture(value)
    assert (None if found is None else found.shape) == shape


def test_floats_are_stretched_over_the_greys():
    found = as_picture(np.array([[-1.0, 0.0], [1.0, np.nan]]))
    assert found.tolist() == [[0, 128], [255, 0]]


LABELS = [
    pytest.param(1, ("a", "b"), "b", id="named"),
    pytest.param(np.int64(0), ("a", "b"), "a", id="numpy number"),
    pytest.param(7, ("a", "b"), "7", id="outside the names"),
    pytest.param(7, None, "7", id="no names"),
    pytest.param("cat", None, "cat", id="text"),
    pytest.param(None, ("a",), "", id="none"),
]


@pytest.mark.parametrize(("label", "names", "text"), LABELS)
def test_label_text(label, names, text):
    assert label_text(label, names) == text


def test_pairs_and_plain_items_are_pages_too():
    pairs = InMemDataset([(np.zeros((2, 2), np.uint8), 4), (np.zeros((2, 2), np.uint8), 5)])
    assert [tile.label for tile in batch_page(pairs).tiles] == ["4", "5"]
    plain = batch_page(InMemDataset([1, 2, 3]))
    assert plain.fields[0].text == "1 … 3"
    assert plain.tiles[0].image is None


def test_a_shuffled_page_is_the_batch_of_that_seed():
    page = batch_page(Pictures(), 0, size=4, shuffle=42)
    assert page.indices == BatchChoice(0, 4, 42).indices(Pictures())
    assert page.span == "4 items in the order of seed 42"
    assert sorted(i for k in range(3) for i in BatchChoice(k, 4, 42).indices(Pictures())) == list(
        range(10)
    )


def test_a_tile_in_words():
    said = {4: Prediction(4, 1, "odd · 60.0 %", 0.6, False)}
    page = batch_page(Pictures(), 1, size=4, predictions=said)
    assert page.tiles[0].words == "item 4, label even, predicted odd · 60.0 %, wrong"
    assert page.tiles[1].words == "item 5, label odd"
    broken = batch_page(Pictures(), 0, size=4).tiles[3]
    assert broken.words == "item 3, cannot be read: pictures, item 3: cut short"
