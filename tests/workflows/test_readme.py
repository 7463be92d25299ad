"""What the README shows is run: every line of its command-line and library sections."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from ruda.cli import main
from ruda.store import Recipe, read_arch, read_recipe

NOT_ZERO = {"ruda diff resources/samples/digits.safetensors digits": 1}


@pytest.fixture
def checkout(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that has the sample files where the README says they are."""
    samples = tmp_path / "resources" / "samples"
    shutil.copytree(project / "resources" / "samples", samples)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def readme(project: Path) -> str:
    return (project / "README.md").read_text("utf-8")


def test_the_command_lines_do_what_is_said(
    project: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.findall(r"^    (ruda .*)$", readme(project), re.MULTILINE)
    assert len(lines) >= 8
    said = {}
    for line in lines:
        if line.startswith("ruda app"):
            continue  # opens the window; the workflows in tests/gui drive it
        assert main(shlex.split(line)[1:]) == NOT_ZERO.get(line, 0), line
        said[line.split()[1]] = capsys.readouterr().out
    assert "100 % of elements would load" in said["diff"]
    assert "98.9 %" in said["run"]


def test_the_library_lines_run(
    project: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(r"```python\n(.*?)```", readme(project), re.DOTALL)
    assert found is not None
    exec(compile(found[1], "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[-1]) >= 0.9
    assert (checkout / "digits-native.bpk").stat().st_size > 0


def _indented(text: str, first: str) -> str:
    """The indented block that begins with this line, without its indent."""
    found = re.search(rf"^    {re.escape(first)}\n(?:    .*\n|\n)+", text, re.MULTILINE)
    assert found is not None
    return re.sub(r"^    ", "", found[0], flags=re.MULTILINE)


def test_the_files_that_are_written_by_hand_are_read(project: Path, tmp_path: Path) -> None:
    recipe, arch = tmp_path / "recipe.toml", tmp_path / "arch.toml"
    recipe.write_text(_indented(readme(project), 'format = "ruda-recipe"'), "utf-8")
    arch.write_text(_indented(readme(project), 'format = "ruda-arch"'), "utf-8")
    made = read_recipe(recipe)
    empty = Recipe()
    parts = ("merge", "remap", "adapt", "decide", "policy", "select", "cast")
    assert [part for part in parts if getattr(made, part) == getattr(empty, part)] == []
    assert made.remap.contiguous
    assert len(made.decide) == 4
    assert len(list(read_arch(arch))) == 24
