"""Stories of choosing a target: what a file is complete for, descriptions, and the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QAbstractButton, QFileDialog

from ruda.errors import RecipeError, SettingError, UnknownArchitectureError
from ruda.models import get
from ruda.nn import ModuleSpec
from ruda.session import TargetChoice
from ruda.store import Recipe, write_arch, write_recipe
from ruda_workbench import operations
from ruda_workbench.__main__ import main, opening, parser
from ruda_workbench.main_window import MainWindow
from ruda_workbench.workspaces.weights import WeightsWorkspace

from .digits import counts

pytestmark = pytest.mark.gui

Settled = Callable[[], None]
MakeFile = Callable[..., Path]

DIGITS = {entry.key: tuple(entry.shape) for entry in ModuleSpec.of(get("digits").build())}


def test_a_file_is_complete_for_a_model_and_one_click_lays_it_there(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file({f"module.{key}": shape for key, shape in DIGITS.items()})])
    settled()
    weights.show_view("diff")
    settled()
    assert [fit.choice.name for fit in weights.chooser.fits] == ["digits"]
    row = weights.chooser.findChild(QAbstractButton, "chooser.fit.digits")
    assert row is not None
    assert "All of its 16 tensors are there · with wrappers" in row.accessibleName()
    assert weights.watch.document.recipe.is_identity, "nothing is taken by itself"
    row.click()
    settled()
    assert counts(weights) == {"applied": 16}
    assert "Steps for digits: wrappers" in [each.title for each in window.notices.notices]
    window.book.run("edit.undo")
    settled()
    assert weights.watch.document.recipe.is_identity
    assert weights.diff.coverage.headline == "0 % of elements would load"
    window.book.run("edit.undo")
    settled()
    assert weights.watch.document.target is None


@pytest.mark.parametrize("place", ["menu", "list"])
def test_choosing_a_model_shows_what_was_said_of_it(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    place: str,
) -> None:
    window.open_paths([make_file({f"module.{key}": shape for key, shape in DIGITS.items()})])
    settled()
    weights.show_view("diff")
    settled()
    if place == "menu":
        menu = weights.title.target.menu()
        entry = next(each for each in menu.actions() if each.data() == "digits")
        assert entry.text().endswith("fits 16 of 16 tensors")
        entry.trigger()
    else:
        row = weights.chooser.findChild(QAbstractButton, "chooser.digits")
        assert row is not None
        row.click()
    settled()
    assert counts(weights) == {"applied": 16}
    history = window.context.session.history(weights.watch.document.id)
    assert [step.title for step in history.steps][1:] == [
        "Target digits",
        "Steps for digits: wrappers",
    ]
    (notice,) = window.notices.notices
    assert notice.title == "Steps for digits: wrappers"
    dict(notice.buttons)["Undo"]()
    settled()
    assert weights.diff.coverage.headline == "0 % of elements would load"
    weights.title.target.menu().aboutToShow.emit()
    settled()
    weights.choose_target("digits")
    settled()
    assert counts(weights) == {"applied": 16}, "the target was there already"


def test_undo_of_a_notice_says_why_it_does_nothing(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file({f"module.{key}": shape for key, shape in DIGITS.items()})])
    settled()
    weights.show_view("diff")
    settled()
    weights.choose_target("digits")
    settled()
    undo = dict(window.notices.notices[-1].buttons)["Undo"]
    context, made = window.context, weights.watch.document
    assert made is not None
    context.session.edit(made.id, "Leave out", made.recipe.with_skip("fc2.bias"))
    undo()
    told = window.notices.notices[-1]
    assert told.title == "The steps were not undone"
    assert told.text == "Other edits came after them, the last is “Leave out”. Undo them first."
    context.session.undo(made.id)
    window.open_paths([make_file({"other": (2,)}, "other.safetensors")])
    settled()
    undo()
    assert context.session.active is not None
    assert context.session.active.id == made.id, "what is undone is shown"
    assert context.session.active.recipe.is_identity
    undo()
    assert window.notices.notices[-1].text == "They are undone already."
    operations.close_document(context, made.id)
    undo()
    assert window.notices.notices[-1].text == "made.safetensors was closed."
    settled()


def test_offered_steps_say_why_they_are_not_taken(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    shapes = {f"module.{key}": shape for key, shape in DIGITS.items() if key != "fc2.bias"}
    window.open_paths([make_file(shapes)])
    settled()
    weights.show_view("diff")
    settled()
    weights.choose_target("digits")
    settled()
    take = dict(window.notices.notices[-1].buttons)["Take these steps"]
    document = weights.watch.document
    assert document is not None
    edited = document.recipe.with_skip("module.fc1.bias")
    window.context.session.edit(document.id, "Leave out", edited)
    take()
    told = window.notices.notices[-1]
    assert told.title == "The steps were not taken"
    assert told.text == "Its recipe has been edited since. Choose the target anew."
    operations.close_document(window.context, document.id)
    take()
    closed = "made.safetensors was closed. Open it and choose the target anew."
    assert window.notices.notices[-1].text == closed
    settled()


def test_steps_for_a_part_of_a_model_are_offered_and_not_taken(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    shapes = {f"module.{key}": shape for key, shape in DIGITS.items() if key != "fc2.bias"}
    window.open_paths([make_file(shapes)])
    settled()
    weights.show_view("diff")
    settled()
    weights.choose_target("digits")
    settled()
    assert weights.watch.document.recipe.is_identity
    (notice,) = window.notices.notices
    assert notice.text == "fits 15 of 16 tensors, with wrappers"
    dict(notice.buttons)["Take these steps"]()
    settled()
    assert counts(weights) == {"applied": 15, "missing": 1}


def test_a_file_that_no_model_is_complete_for_says_so(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, make_file: MakeFile
) -> None:
    window.open_paths([make_file({"conv1.weight": (8, 1, 3, 3), "conv1.bias": (8,)})])
    settled()
    weights.show_view("diff")
    settled()
    assert weights.chooser.fits == ()
    assert weights.chooser._note.text().startswith("No model finds all it wants")


@pytest.mark.cases
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("resnet20_cifar10/resnet20-12fca82f.th", "resnet20"),
        ("burn_import_mnist/mnist.pt", "import-mnist"),
        ("burn_mnist_bpk/model.bpk", "burn-mnist"),
        ("mtcnn/rnet.pt", "mtcnn-rnet"),
        ("crepe_tiny/tiny.pth", "crepe-tiny"),
        ("digit_recognizer_cnn/handwriting_model.pth", "digit-recognizer"),
    ],
)
def test_real_checkpoints_are_complete_for_their_models(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    cases: Path,
    file: str,
    name: str,
) -> None:
    window.open_paths([cases / "models" / file])
    settled()
    weights.show_view("diff")
    settled()
    assert [fit.choice.name for fit in weights.chooser.fits] == [name]
    weights.take_fit(weights.chooser.fits[0])
    settled()
    assert weights.diff.coverage.headline == "100 % of elements would load"
    history = window.context.session.history(weights.watch.document.id)
    assert history.position == (1 if weights.watch.document.recipe.is_identity else 2)


@pytest.mark.cases
def test_what_nothing_says_is_told_when_a_model_is_taken(
    window: MainWindow, weights: WeightsWorkspace, settled: Settled, cases: Path
) -> None:
    window.open_paths([cases / "models" / "stories260k_llama" / "stories260K.bin"])
    settled()
    weights.show_view("diff")
    settled()
    (fit,) = weights.chooser.fits
    assert (fit.choice.name, fit.recipe.adapt) == ("llama", ("llama2c-to-ruda",))
    weights.take_fit(fit)
    settled()
    notice = window.notices.notices[-1]
    assert notice.title == "Results of llama depend on more"
    assert "Nothing says theta" in notice.text
    assert "heads" not in notice.text  # the table of angles tells how wide a head is


def test_a_description_of_a_model_is_a_target(
    window: MainWindow,
    weights: WeightsWorkspace,
    settled: Settled,
    make_file: MakeFile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arch = tmp_path / "arch.toml"
    write_arch(ModuleSpec.of(get("digits").build()), arch)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, **__: (str(arch), ""))
    window.open_paths([make_file(DIGITS)])
    settled()
    weights.show_view("diff")
    row = weights.chooser.findChild(QAbstractButton, "chooser.file.file")
    assert row is not None
    row.click()
    settled()
    assert weights.watch.document.target == TargetChoice.of(str(arch), is_file=True)
    assert counts(weights) == {"applied": 16}


def test_the_command_opens_files_with_a_target_and_a_recipe(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    write_recipe(Recipe().with_rule("^module\\.", ""), path)
    words = ["a.pt", "--target", "llama", "--set", "layers=2", "--recipe", str(path)]
    target, recipe = opening(parser().parse_args(words))
    assert target == TargetChoice.of("llama", {"layers": 2})
    assert recipe is not None
    assert [rule.pattern for rule in recipe.remap.rules] == ["^module\\."]
    assert opening(parser().parse_args(["a.pt"])) == (None, None)


@pytest.mark.parametrize(
    ("words", "error", "sentence"),
    [
        (["a.pt", "--target", "dgits"], UnknownArchitectureError, "dgits"),
        (["a.pt", "--set", "layers=2"], SettingError, "--set needs a --target"),
        (["--target", "digits"], SettingError, "need a FILE"),
        (["a.pt", "--target", "llama", "--set", "layers=x"], SettingError, "whole number"),
    ],
    ids=["no such model", "setting of nothing", "no file", "no number"],
)
def test_words_that_do_not_go_together_are_refused(
    words: list[str], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        opening(parser().parse_args(words))


def test_a_recipe_that_is_none_ends_the_command_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    bad = tmp_path / "recipe.toml"
    bad.write_text("remap = 3")
    with pytest.raises(RecipeError, match=r"expected .ruda-recipe."):
        opening(parser().parse_args(["a.pt", "--recipe", str(bad)]))
    assert main(["a.pt", "--recipe", str(bad)]) == 2
    assert capsys.readouterr().err.startswith("ruda-workbench: ")
