"""Which variant serves, and how it says so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ruda._kernels import (
    available_variants,
    describe,
    layout,
    narrowing,
    ranking,
    variant,
    variants,
    workspace,
)
from ruda.errors import SettingError


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter with this one's import path."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )


def test_the_active_variant_is_available_and_described() -> None:
    assert variant() in available_variants()
    assert f"({variant()})" in describe()
    assert describe().endswith(".")


def test_the_twins_are_always_there() -> None:
    assert available_variants()[-1] == "numpy"


@pytest.mark.parametrize("name", available_variants())
def test_the_environment_forces_a_variant(name: str) -> None:
    code = "import ruda._kernels as k; print(k.variant(), k.describe())"
    done = run(code, RUDA_KERNELS=name)
    assert done.stdout.startswith(f"{name} Kernels: "), done.stderr
    assert "forced by RUDA_KERNELS." in done.stdout


def test_an_unknown_variant_is_an_error() -> None:
    done = run("import ruda._kernels", RUDA_KERNELS="v5")
    assert done.returncode == 1
    assert (
        "RUDA_KERNELS=v5 names no variant of the kernels; expected v4, v3, base or numpy"
        in done.stderr
    )


def test_without_a_wish_the_fastest_serves() -> None:
    done = run("import ruda._kernels as k; print(k.variant())", RUDA_KERNELS="")
    assert done.stdout.strip() == available_variants()[0], done.stderr


def test_a_build_that_cannot_be_loaded_is_passed_over_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    twins = variants.load("numpy")

    def load(name: str) -> dict[str, ModuleType]:
        if name == "v4":
            raise ImportError("undefined symbol")
        return twins

    monkeypatch.setattr(variants, "load", load)
    assert variants.load_first(["v4", "v3", "numpy"]) == (
        "v3",
        twins,
        "v4 cannot be loaded: undefined symbol",
    )


def test_a_variant_beyond_the_processor_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "cpu_features", dict)
    with pytest.raises(SettingError, match=r"RUDA_KERNELS=v4 .*which this processor cannot run"):
        variants.choose("v4")


def test_a_variant_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "absent", lambda name: list(variants.SUBJECTS))
    with pytest.raises(SettingError, match=r"RUDA_KERNELS=base .*not in this installation; avail"):
        variants.choose("base")


LEVELS = [
    pytest.param({}, ["base"], id="NumPy does not tell"),
    pytest.param({"AVX2": True, "FMA3": True, "F16C": True}, ["base", "v3"], id="features of v3"),
    pytest.param({"AVX2": True, "FMA3": True}, ["base"], id="not all features of v3"),
    pytest.param({"X86_V3": True, "X86_V4": False}, ["base", "v3"], id="levels"),
    pytest.param({"X86_V3": True, "X86_V4": True}, ["base", "v3", "v4"], id="all levels"),
]


@pytest.mark.parametrize(("features", "expected"), LEVELS)
def test_what_a_processor_can_run(features: dict[str, bool], expected: list[str]) -> None:
    assert sorted(v for v in variants.COMPILED if variants.supported(v, features)) == expected


@pytest.mark.parametrize("name", available_variants())
def test_importing_leaves_subnormals_alone(name: str) -> None:
    code = (
        "import numpy as np, ruda._kernels;"
        "half = np.float32(1e-40) * np.float32(0.5);"
        "print(half > 0, np.float64(1e-310) * 0.5 > 0)"
    )
    assert run(code, RUDA_KERNELS=name).stdout.split() == ["True", "True"]


def test_every_variant_has_every_kernel() -> None:
    twins = variants.load("numpy")
    for name in available_variants()[:-1]:
        for subject, module in variants.load(name).items():
            kernels = [k for k in vars(module) if not k.startswith("_")]
            assert kernels, f"{subject}_{name} exports nothing"
            for kernel in kernels:
                assert callable(getattr(twins[subject], kernel, None)), f"{kernel} has no twin"


def test_the_build_the_folder_and_the_choice_list_the_same_kernels() -> None:
    native = Path(__file__).parents[2] / "native"
    build = (native / "meson.build").read_text()
    listed = re.search(r"^kernels = \[(.*?)\]", build, re.DOTALL | re.MULTILINE)
    assert listed
    assert sorted(re.findall(r"'(\w+)'", listed[1])) == sorted(variants.SUBJECTS)
    imported = re.findall(r"files\('kernels/(\w+)\.py'\)", build)
    files = {path.stem for path in (native / "kernels").glob("*.py")}
    assert files - {"__init__"} == {*variants.SUBJECTS, *imported}


def test_every_module_that_was_chosen_can_be_replaced() -> None:
    """A gate that keeps its kernels elsewhere would be tested with one variant only."""
    gates = Path(variants.__file__).parent
    asked = {
        (f"ruda._kernels.{path.stem}", name, subject)
        for path in gates.glob("[a-z]*.py")
        for name, subject in re.findall(
            r'^(\w+) = kernel\("(\w+)"\)', path.read_text(), re.MULTILINE
        )
    }
    calls = sum(
        len(re.findall(r'\bkernel\("[a-z]', path.read_text())) for path in gates.glob("[a-z]*.py")
    )
    found = {(gate, name, subject) for (gate, name), subject in variants.holders().items()}
    assert found == asked
    assert {subject for _, _, subject in found} == set(variants.SUBJECTS)
    assert calls == len(asked)


def test_a_build_that_lacks_one_kernel_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "SUBJECTS", (*variants.SUBJECTS, "newest"))
    monkeypatch.setattr(variants, "_FORCED", None)
    monkeypatch.setattr(variants, "_ACTIVE", "numpy")
    for name in available_variants()[:-1]:
        with pytest.raises(SettingError, match="as a whole, newest being absent; available here"):
            variants.choose(name)
        assert "newest being absent" in describe()


@pytest.mark.parametrize(
    ("file", "name", "known"),
    [
        ("half", "BLOCK", narrowing._BLOCK),
        ("float8", "BLOCK", narrowing._BLOCK),
        ("largest", "BLOCK", ranking._BLOCK),
        ("transpose", "TILE", layout._TILE),
        ("cells", "BLOCK", workspace.GATES[1]),
        ("difference", "BLOCK", workspace.DISTANCES),
        ("activation", "BLOCK", workspace.LINES[1]),
        ("rows", "BLOCK", workspace.LINES[1]),
    ],
)
def test_the_gate_gives_as_much_room_as_the_kernel_takes(file: str, name: str, known: int) -> None:
    """A kernel writes past the end of scratch that is too small, without a word."""
    text = (Path(__file__).parents[2] / "native" / "kernels" / f"{file}.py").read_text()
    found = re.search(rf"^{name} = (\d+)\b", text, re.MULTILINE)
    assert found
    assert int(found[1]) == known
