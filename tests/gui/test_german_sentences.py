"""A German window: what the library says is German, too, and in the report it stays as it was."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from ruda.session import TargetChoice, use_catalogue, use_sentences
from ruda_workbench import operations
from ruda_workbench.application import build_window, let_go, settle
from ruda_workbench.main_window import MainWindow
from ruda_workbench.storage import Storage
from ruda_workbench.widgets.notices import Notice
from ruda_workbench.workspaces.weights import WeightsWorkspace

pytestmark = pytest.mark.gui


@pytest.fixture
def german(qapp: QApplication, tmp_path: Path) -> Iterator[MainWindow]:
    storage = Storage(tmp_path / "config")
    storage.change(language="de")
    made = build_window(qapp, storage, theme="light")
    made.show()
    yield made
    let_go(made)
    use_catalogue({})
    use_sentences(None)


def weights(window: MainWindow) -> WeightsWorkspace:
    found = window.workspace("weights")
    assert isinstance(found, WeightsWorkspace)
    return found


class Runs:
    """What would run a program if a pickle were executed."""

    def __reduce__(self) -> tuple[Callable[..., int], tuple[str]]:
        import os

        return os.system, ("true",)


REFUSED = [
    pytest.param(b"", "die Datei ist leer (0 Bytes)", id="empty"),
    pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "Git-LFS-Zeiger", id="a pointer"),
    pytest.param(b"\x10\x27\0\0\0\0\0\0{}", "der Kopf nennt 10000 Bytes", id="cut short"),
    pytest.param(pickle.dumps(Runs(), 2), "Code ausführen könnte", id="unsafe"),
]


@pytest.mark.parametrize(("content", "words"), REFUSED)
def test_why_a_file_is_refused_is_said_in_german(
    german: MainWindow, tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "odd model.safetensors"
    path.write_bytes(content)
    told: list[Notice] = []
    german.context.noticed.connect(told.append)
    german.open_paths([path])
    settle(german)
    assert words in told[-1].text
    assert str(path) in told[-1].text


def test_reasons_evidence_and_plans_are_german(
    german: MainWindow, make_file: Callable[..., Path]
) -> None:
    path = make_file({"module.fc1.weight": (32, 400), "module.fc1.bias": (32,), "n": (2,)})
    target = TargetChoice.of("digits")
    operations.open_document(german.context, path, target=target, remember=False)
    settle(german)
    screen = weights(german)
    page = screen.diff.page
    assert page is not None
    said = {line.what for line in page.lines}
    assert "nichts in der Quelle; das Ziel behält seinen Anfangswert" in said
    assert "in der Quelle, von niemandem gewollt" in said
    document = german.context.session.active
    assert document is not None
    german.context.session.edit(document.id, "Rule", document.recipe.with_rule(r"^module\.", ""))
    settle(german)
    page = screen.diff.page
    assert page is not None
    assert (
        "Form: die Datei hat [32, 400], das Ziel erwartet [400, 32]; die Achsen sind vertauscht, "
        "wie zwischen PyTorch und Ruda bei Linear"
    ) in {line.what for line in page.lines}


def test_a_report_stays_as_the_library_says_it(german: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "none.safetensors"
    german.open_paths([path])
    settle(german)
    error = german.context.jobs.past[-1].error
    assert error is not None
    assert "hier ist keine Datei" in error.summary
    assert "there is no file here" in error.report
