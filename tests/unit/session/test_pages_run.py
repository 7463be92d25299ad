from pathlib import Path

import numpy as np
import pytest

from ruda.data import InMemDataset
from ruda.models import get
from ruda.session import (
    BatchChoice,
    Evaluation,
    OpenDataset,
    Remedy,
    TargetChoice,
    item_page,
    load_model,
    mistakes_page,
    run_batch,
    run_page,
    run_setup,
)
from ruda.store import Recipe, diff, open_store

RECIPE = Recipe().with_rule(r"^net\.", "").with_adapt("pytorch-to-ruda")


@pytest.fixture
def document(session, pytorch_file, digits_target):
    return session.open(pytorch_file, open_store(pytorch_file), recipe=RECIPE, target=digits_target)


def report_of(document):
    return diff(document.index, get("digits").build(), recipe=document.recipe)


def pictures(count=40):
    rng = np.random.default_rng(2)
    images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
    return InMemDataset([{"image": image, "label": i % 10} for i, image in enumerate(images)])


def opened(count=40):
    return OpenDataset(Path("made"), pictures(count))


def setup_of(document, opened, *, choice=None, report=None, problem=""):
    return run_setup(document, choice, report, opened, BatchChoice(1, 16), problem=problem)


def test_a_run_that_can_start(document, digits_target):
    setup = setup_of(document, opened(), choice=digits_target, report=report_of(document))
    assert (setup.can_run, setup.problem, setup.caution) == (True, "", "")
    assert (setup.weights, setup.model) == ("digits.safetensors", "digits")
    assert setup.batch == "batch 2 of 3 of made"
    assert setup.facts == "recipe has 2 steps · batch 2 of 3 of made · 40 items"


def test_a_comparison_that_is_being_made_is_waited_for(document, digits_target):
    setup = setup_of(document, opened(), choice=digits_target)
    assert (setup.can_run, setup.is_waiting, setup.problem) == (False, True, "")


def test_what_is_missing_is_one_sentence_with_its_remedy(document, digits_target):
    data, report = opened(), report_of(document)
    file = TargetChoice.of("other.bpk", is_file=True)
    empty = OpenDataset(Path("none"), InMemDataset([]))
    asked = [
        (setup_of(None, data), "none are open", Remedy.WEIGHTS),
        (setup_of(document, data), "which model digits.safetensors is for", Remedy.MODEL),
        (setup_of(document, data, choice=file), "cannot be run", Remedy.MODEL),
        (setup_of(document, None, choice=digits_target, report=report), "open", Remedy.DATASET),
        (setup_of(document, empty, choice=digits_target, report=report), "no it", Remedy.DATASET),
        (setup_of(document, data, choice=digits_target, problem="bad"), "Bad.", Remedy.DIFF),
    ]
    for setup, words, remedy in asked:
        assert words in setup.problem
        assert (setup.remedy, setup.can_run) == (remedy, False)


def test_a_load_with_errors_is_not_run(document, digits_target):
    plain = document.with_recipe(Recipe().with_rule(r"^net\.", ""))
    setup = setup_of(plain, opened(), choice=digits_target, report=report_of(plain))
    assert "cannot be applied" in setup.problem
    assert setup.remedy is Remedy.DIFF


def test_a_load_of_nothing_is_not_run(document, digits_target):
    plain = document.with_recipe(Recipe())
    setup = setup_of(plain, opened(), choice=digits_target, report=report_of(plain))
    assert setup.problem.startswith("Nothing would be loaded: 0 of 16")
    assert setup.problem.endswith(".")


def test_parameters_that_keep_their_initial_value_are_a_caution(document, digits_target):
    part = document.with_recipe(RECIPE.with_rule(r"^fc2\.bias$", "odd"))
    setup = setup_of(part, opened(), choice=digits_target, report=report_of(part))
    assert setup.can_run
    assert setup.caution == "1 of 16 parameters keeps its initial value."


@pytest.fixture
def batch(document, digits_target):
    loaded = load_model(digits_target, document.index, document.recipe)
    dataset = pictures(8)
    return run_batch(loaded, dataset.get_many(range(8)), range(8))


def test_the_figure_of_a_batch(batch):
    figure = run_page(batch).batch
    right = sum(said.correct for said in batch.predictions)
    assert (figure.right, figure.wrong, figure.unknown) == (right, 8 - right, 0)
    assert figure.headline.endswith("of this batch is right")
    assert figure.summary.startswith(f"{right} of 8 items · {8 - right} wrong · ")
    assert figure.summary.endswith("ms each")


def test_layers_know_their_parameters_and_times(batch):
    lines = {line.path: line for line in run_page(batch).layers}
    assert lines["conv1"].parameters == 80
    assert lines["fc2"].parameters == 330
    assert lines["conv1"].time.endswith(" ms")
    assert sum(line.share for line in lines.values()) <= 1.0001


def test_an_item_shows_what_the_model_said(batch):
    page = item_page(pictures(8), 3, run=batch)
    shares = [score.share for score in page.scores]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)
    assert [s.name for s in page.scores if s.is_label] == ["3"]
    said = batch.predictions[3]
    assert page.scores[0].name == str(said.label)
    assert page.verdict == ("right" if said.correct else "wrong")


def test_an_item_that_was_not_run_has_no_scores(batch):
    assert item_page(pictures(20), 12, run=batch).scores == ()


def test_the_figure_of_a_dataset():
    outputs = np.eye(3, dtype=np.float32)[[0, 1, 2, 2]]
    found = Evaluation(outputs, np.array([0, 1, 2, 1]), ("a", "b", "c"), "")
    page = run_page(evaluation=found)
    assert page.dataset.headline == "75.0 % of the dataset is right"
    assert page.dataset.summary == "3 of 4 items · 1 wrong"
    assert page.confusion.worst == ("b taken for c: 1 time",)


def test_the_figure_without_labels():
    found = Evaluation(np.zeros((5, 3), np.float32), None, ("a", "b", "c"), "")
    figure = run_page(evaluation=found).dataset
    assert figure.headline == "5 items of the dataset run"
    assert figure.summary == "no labels to compare with"


def test_the_wrong_items_of_a_dataset():
    outputs = np.eye(10, dtype=np.float32)[[0, 1, 5, 3, 0]]
    found = Evaluation(outputs, np.arange(5), tuple("0123456789"), "")
    page = mistakes_page(found, pictures(5))
    assert page.title == "2 wrong items"
    assert [(t.index, t.label, t.correct) for t in page.tiles] == [
        (2, "2", False),
        (4, "4", False),
    ]
    assert page.tiles[0].prediction.startswith("5 · ")
    few = mistakes_page(found, pictures(5), limit=1)
    assert (few.title, few.indices) == ("2 wrong items, the first 1 are shown", (2,))
    item = item_page(pictures(5), 4, run=found)
    assert item.said == "Predicted 0, wrong: the label is 4"
    assert item_page(pictures(5), 1, run=found).said == "Predicted 1, right"


def test_nothing_is_wrong_without_labels():
    found = Evaluation(np.zeros((5, 10), np.float32), None, tuple("0123456789"), "")
    assert mistakes_page(found, pictures(5)).tiles == ()
    assert item_page(InMemDataset([{"image": np.zeros((2, 2))}]), 0, run=found).said == (
        "Predicted 0"
    )
