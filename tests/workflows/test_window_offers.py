"""Stories of what the window offers by itself: presets, name maps, and suggestions before a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractButton, QMenu

from ruda.session import PRESET_TITLES, TargetChoice, layout_offers
from ruda.store import Recipe, presets
from ruda_workbench import data_operations, operations
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.run import RunWorkspace
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import counts

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]

WRAPPED = {
    "module.conv1.weight": (8, 1, 3, 3),
    "module.conv1.bias": (8,),
    "module.norm1.weight": (8,),
    "module.norm1.bias": (8,),
    "module.norm1.running_mean": (8,),
    "module.norm1.running_var": (8,),
    "module.norm1.num_batches_tracked": (),
    "module.conv2.weight": (16, 8, 3, 3),
    "module.conv2.bias": (16,),
    "module.norm2.weight": (16,),
    "module.norm2.bias": (16,),
    "module.norm2.running_mean": (16,),
    "module.norm2.running_var": (16,),
    "module.norm2.num_batches_tracked": (),
    "module.fc1.weight": (32, 400),
    "module.fc1.bias": (32,),
    "module.fc2.weight": (10, 32),
    "module.fc2.bias": (10,),
}


def menu_of(button: QAbstractButton) -> dict[str, QAction]:
    menu = button.findChild(QMenu)
    assert menu is not None
    return {str(entry.data()): entry for entry in menu.actions()}


def test_every_preset_of_the_library_has_a_title_for_the_menu() -> None:
    assert [*PRESET_TITLES] == [preset.name for preset in presets()]


def test_presets_of_the_library_are_added_as_one_step_each(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    target = TargetChoice.of("digits")
    operations.open_document(window.context, make_file(WRAPPED), target=target)
    settled()
    entries = menu_of(weights.diff.rules.presets)
    assert [*entries] == [preset.name for preset in presets()]
    assert "scaling" in entries["peft"].toolTip()
    entries["ddp"].trigger()
    entries["no-counters"].trigger()
    settled()
    assert counts(weights) == {"applied": 10, "error": 2, "missing": 4, "skipped": 2, "unused": 4}
    history = window.context.session.history(weights.watch.document.id)
    assert [step.title for step in history.steps[1:]] == [
        "Strip module. (DataParallel)",
        "Leave num_batches_tracked out",
    ]
    entries["ddp"].trigger()
    settled()
    assert window.notices.notices[-1].text == "The recipe has these steps already."
    window.book.run("edit.undo")
    window.book.run("edit.undo")
    settled()
    assert weights.watch.document.recipe.is_identity


BERT = {
    "embeddings.word_embeddings.weight": (40, 8),
    "encoder.layer.0.attention.self.query.weight": (8, 8),
    "embeddings.token_type_embeddings.weight": (2, 8),
}


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        (["a", "b"], ["", "pytorch-to-ruda", "ruda-to-pytorch"]),
        ([*BERT], ["", "pytorch-to-ruda", "ruda-to-pytorch", "hf-bert-to-ruda"]),
        (
            [f"bert.{key}" for key in BERT],
            ["", "pytorch-to-ruda", "ruda-to-pytorch", "hf-bert-to-ruda:bert."],
        ),
    ],
    ids=["of nobody", "bert", "bert with a prefix"],
)
def test_name_maps_whose_marks_a_file_bears_are_layouts(keys: list[str], names: list[str]) -> None:
    assert [name for name, _ in layout_offers(Recipe(), keys)] == names


def test_the_adapter_of_the_recipe_is_always_offered() -> None:
    offers = dict(layout_offers(Recipe().with_adapt("ruda-to-hf-bert"), ["a"]))
    assert offers["ruda-to-hf-bert"] == "Ruda → hf-bert"
    several = dict(layout_offers(Recipe().with_adapt("pytorch-to-ruda", "gpt2-to-ruda"), ["a"]))
    assert several["other"] == "Several adapters"


def test_a_run_takes_what_is_certainly_suggested(
    window: MainWindow, settled: Settled, make_file: MakeFile
) -> None:
    run = window.workspace("run")
    assert isinstance(run, RunWorkspace)
    target = TargetChoice.of("digits")
    operations.open_document(window.context, make_file(WRAPPED), target=target)
    data_operations.open_sample(window.context, show=False)
    settled()
    window.book.run("run.batch")
    settled()
    assert run.missing.sentence.startswith("Nothing would be loaded")
    assert run.missing.sentence.endswith("With what is suggested, 16 of 16 tensors load.")
    document = window.context.session.active
    assert document is not None
    assert document.recipe.is_identity
    run.missing.button.click()
    settled()
    document = window.context.session.active
    assert document is not None
    history = window.context.session.history(document.id)
    assert history.undo_title == "What is suggested for digits"
    assert run.watch.setup.can_run
    window.book.run("edit.undo")
    settled()
    assert run.missing.sentence.startswith("Nothing would be loaded")
