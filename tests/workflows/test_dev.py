"""dev.py on its own: what it says and decides, without installing anything."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def dev(project: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("ruda_dev_script", project / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_root_the_missing_packages_are_one_line_to_run(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUDA_NO_APT", "1")
    wanted = r"Qt needs system packages; run: sudo apt-get install -y .* libegl1 libgl1$"
    with pytest.raises(dev.Stop, match=wanted):
        dev.apt_install(["libegl1", "libgl1"], "Qt")


def test_a_library_that_ldd_does_not_find_is_named(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fake_run(words: list[object], **_: object) -> subprocess.CompletedProcess[str]:
        if words[0] == "ldd":
            lines = "\tlibEGL.so.1 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"
            return subprocess.CompletedProcess([], 0, lines, "")
        return subprocess.CompletedProcess([], 0, f"{tmp_path}\n", "")

    (tmp_path / "QtCore.abi3.so").touch()
    monkeypatch.setattr(dev.subprocess, "run", fake_run)
    assert dev.missing_libraries(with_display=False) == ["libEGL.so.1"]
    assert dev.DEBIAN["libEGL.so.1"] == "libegl1"


def test_no_compiler_is_noticed(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    assert dev.compiler() is None


def test_the_fingerprint_follows_how_the_kernels_are_built(dev: ModuleType) -> None:
    assert dev.fingerprint("enabled") == dev.fingerprint("enabled")
    assert dev.fingerprint("enabled") != dev.fingerprint("disabled")


def test_changed_kernels_are_compiled_once_and_nothing_is_installed_anew(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "native" / "kernels").mkdir(parents=True)
    kernel = tmp_path / "native" / "kernels" / "half.py"
    (tmp_path / "native" / "meson.build").touch()
    ran: list[object] = []
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "VENV", tmp_path)
    monkeypatch.setattr(dev, "KERNELS_STAMP", tmp_path / "ruda-kernels.stamp")
    monkeypatch.setattr(dev, "fingerprint", lambda native: "fits")
    monkeypatch.setattr(dev, "run", lambda words: ran.append(words[1:]))
    monkeypatch.setenv("RUDA_NATIVE", "enabled")
    monkeypatch.setattr(dev, "venv_python", lambda: tmp_path / "ruda-test.stamp")
    (tmp_path / "ruda-test.stamp").write_text("fits")
    one_import = ["-c", "import ruda._kernels"]
    for source, expected in [("a = 1", 1), ("a = 1", 1), ("a = 2", 2), ("a = 2", 2)]:
        kernel.write_text(source)
        dev.setup("test")
        assert ran == [one_import] * expected
    kernel.write_text("a = 3")
    monkeypatch.setenv("RUDA_NATIVE", "disabled")
    dev.setup("test")
    assert ran == [one_import] * 2


COMMANDS = [
    pytest.param(["nonsense"], 2, "no command 'nonsense'", id="unknown command"),
    pytest.param([], 2, "", id="nothing: the help"),
    pytest.param(["--help"], 0, "", id="help"),
    pytest.param(["bench", "nonsense"], 2, "no benchmark is called 'nonsense'", id="bench"),
    pytest.param(["fuzz"], 2, "fuzz needs the NAME of a reader", id="fuzz without a name"),
    pytest.param(["changes", "--check"], 0, "", id="change notes are well named"),
]


@pytest.mark.parametrize(("words", "code", "said"), COMMANDS)
def test_commands(project: Path, words: list[str], code: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, project / "dev.py", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, said in done.stderr) == (code, True)


def test_a_badly_named_change_note_is_reported(project: Path, tmp_path: Path) -> None:
    (tmp_path / "packaging" / "changes").mkdir(parents=True)
    script = tmp_path / "packaging" / "changes.py"
    script.write_text((project / "packaging" / "changes.py").read_text("utf-8"), "utf-8")
    (tmp_path / "packaging" / "changes" / "7.improved.md").write_text("x")
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "7.improved.md: expected <issue>.<added|changed|fixed|removed>[.<n>].md" in done.stderr
