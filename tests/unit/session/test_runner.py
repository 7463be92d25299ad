import numpy as np
import pytest

from ruda.data import InMemDataset
from ruda.errors import (
    DatasetError,
    DTypeError,
    ItemError,
    LoadError,
    ModelError,
    SettingError,
    ShapeError,
)
from ruda.progress import Cancelled
from ruda.session import (
    BatchChoice,
    TargetChoice,
    evaluate,
    load_model,
    run_batch,
    run_choice,
    run_page,
)
from ruda.session.runner import probabilities
from ruda.store import Recipe, TensorIndex, TensorSnapshot, open_store

RECIPE = Recipe().with_rule(r"^net\.", "").with_adapt("pytorch-to-ruda")


@pytest.fixture
def loaded(pytorch_file, digits_target):
    with open_store(pytorch_file) as index:
        return load_model(digits_target, index, RECIPE)


def items(count, *, labels=True, size=28):
    rng = np.random.default_rng(5)
    pictures = rng.integers(0, 256, (count, size, size), dtype=np.uint8)
    return [
        {"image": picture, **({"label": place % 10} if labels else {})}
        for place, picture in enumerate(pictures)
    ]


def test_a_complete_load_has_no_warning(loaded):
    assert loaded.warning == ""


def test_batches_do_not_change_the_outputs(loaded):
    dataset = InMemDataset(items(23))
    whole = evaluate(loaded, dataset, batch_size=23)
    parts = evaluate(loaded, dataset, batch_size=5)
    np.testing.assert_allclose(parts.outputs, whole.outputs, rtol=1e-5, atol=1e-6)
    assert parts.outputs.shape == (23, 10)
    assert parts.labels.tolist() == [place % 10 for place in range(23)]
    assert parts.accuracy == parts.correct / 23
    assert parts.confusion.sum() == 23
    assert np.trace(parts.confusion) == parts.correct


def test_limit_and_labels(loaded):
    found = evaluate(loaded, InMemDataset(items(9, labels=False)), limit=4)
    assert len(found.outputs) == 4
    assert (found.labels, found.accuracy, found.confusion, found.correct) == (None, None, None, 0)
    assert run_page(evaluation=found).headline == "4 items run, without labels"


def test_nothing_to_run(loaded):
    found = evaluate(loaded, InMemDataset([]))
    assert found.outputs.shape == (0, 10)
    assert found.accuracy is None


def test_one_batch_with_predictions_and_times(loaded):
    run = run_batch(loaded, items(6), range(10, 16))
    assert [said.index for said in run.predictions] == list(range(10, 16))
    best = run.outputs.argmax(axis=1)
    assert [said.label for said in run.predictions] == best.tolist()
    assert [said.correct for said in run.predictions] == (best == np.arange(6)).tolist()
    assert run.predictions[0].text.startswith(f"{best[0]} · ")
    page = run_page(run)
    assert {"conv1", "norm1", "fc2"} <= {line.path for line in page.layers}
    assert sum(line.share for line in page.layers) == pytest.approx(1.0)
    assert page.timing.endswith("ms each")
    assert page.headline.endswith("of 6 items on this page are right")


def test_a_merge_that_made_nan_is_said_above_the_outputs(pytorch_file, digits_target):
    with open_store(pytorch_file) as index:
        whole = index["net.fc2.weight"].read()
        parts = {"net.fc2.weight_v": whole.copy(), "net.fc2.weight_g": np.ones((10, 1), "<f4")}
        parts["net.fc2.weight_v"][3] = 0
        rest = [s for key, s in index.items() if key != "net.fc2.weight"]
        made = [TensorSnapshot.from_array(key, values) for key, values in parts.items()]
        source = TensorIndex.of([*rest, *made], format="pytorch")
        loaded = load_model(digits_target, source, RECIPE.with_merge("weight-norm"))
    expected = f"'net.fc2.weight': {whole.shape[1]} of {whole.size} values became infinite or NaN"
    assert loaded.warning.startswith(expected)
    assert run_page(run_batch(loaded, items(1), [0])).warning == loaded.warning


def test_a_file_that_fills_too_little_is_refused(pytorch_file, digits_target):
    recipe = RECIPE.with_skip("fc2.bias")
    with open_store(pytorch_file) as index:
        with pytest.raises(LoadError, match=r"1 parameter keeps its initial value: fc2\.bias"):
            load_model(digits_target, index, recipe)
        part = load_model(digits_target, index, recipe, allow_partial=True)
    assert part.warning == "1 parameter keeps its initial value: fc2.bias"
    run = run_batch(part, items(1), [0])
    assert run_page(run).warning == part.warning


def test_a_file_that_does_not_fit_is_refused(pytorch_file, digits_target):
    with open_store(pytorch_file) as index, pytest.raises(LoadError, match="nothing was loaded"):
        load_model(digits_target, index, Recipe())


def test_a_file_as_target_cannot_be_run(pytorch_file):
    choice = TargetChoice.of(str(pytorch_file), is_file=True)
    with open_store(pytorch_file) as index, pytest.raises(SettingError, match="cannot be run"):
        load_model(choice, index, Recipe())


BAD_ITEMS = [
    pytest.param(items(1, size=27), ShapeError, r"28 × 28 pixels", id="other size"),
    pytest.param(items(1) + items(1, size=27), ShapeError, "different shapes", id="sizes differ"),
    pytest.param([{"image": np.zeros((28, 28), "f4")}], DTypeError, "u8 pixels", id="floats"),
    pytest.param([{"label": 3}], ModelError, "takes pictures, an item holds nothing", id="none"),
    pytest.param(["x"], ModelError, "an item holds str", id="text"),
    pytest.param(
        [{**items(1)[0], "label": 10}],
        ModelError,
        "a label is 10, but the model has 10",
        id="label",
    ),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD_ITEMS)
def test_items_that_do_not_fit_are_told(loaded, bad, error, message):
    with pytest.raises(error, match=message):
        evaluate(loaded, InMemDataset(bad))


def test_evaluation_stops_between_batches(loaded):
    class Stop:
        def __init__(self):
            self.reports = []

        def report(self, progress):
            self.reports.append(progress)

        def check(self):
            if self.reports:
                raise Cancelled

    monitor = Stop()
    with pytest.raises(Cancelled, match=r"^$"):
        evaluate(loaded, InMemDataset(items(6)), batch_size=2, monitor=monitor)
    assert [report.done for report in monitor.reports] == [2]


def test_settings_of_an_evaluation_are_checked(loaded):
    with pytest.raises(SettingError, match="batch size must be at least 1"):
        evaluate(loaded, InMemDataset([]), batch_size=0)


KINDS = [pytest.param("logits", id="logits"), pytest.param("log_probs", id="log-probabilities")]


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_sum_to_one(kind):
    outputs = np.log(np.array([[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]], "f4"))
    np.testing.assert_allclose(probabilities(outputs, kind), np.exp(outputs), rtol=1e-5)


def test_large_logits_do_not_overflow():
    assert probabilities(np.array([[1e4, 0.0]], "f4"), "logits").tolist() == [[1.0, 0.0]]


def test_the_run_page_before_anything_ran():
    page = run_page()
    assert (page.headline, page.layers, page.timing) == ("Nothing was run yet", (), "")


def test_the_worst_mistakes_are_named(loaded):
    found = evaluate(loaded, InMemDataset(items(40)))
    page = run_page(evaluation=found)
    first = page.confusion.worst[0]
    assert " taken for " in first
    assert page.confusion.counts.shape == (10, 10)


class Torn(InMemDataset):
    """Every third item cannot be read."""

    def get(self, index):
        if index % 3 == 0:
            raise ItemError("cut short", index=index, source="torn")
        return super().get(index)

    def get_many(self, indices):
        return [self.get(int(index)) for index in indices]


def test_a_batch_is_run_without_its_broken_items(loaded):
    run = run_choice(loaded, Torn(items(9)), BatchChoice(1, 4))
    assert [said.index for said in run.predictions] == [4, 5, 7]


def test_a_batch_of_broken_items_is_refused(loaded):
    with pytest.raises(DatasetError, match="no item of this batch can be read: torn, item 3: cut"):
        run_choice(loaded, Torn(items(9)), BatchChoice(3, 1))
