"""What every command has in common: exit codes, sentences, streams."""

import contextlib
import subprocess
import sys
import warnings

import pytest

import ruda
from ruda.cli import main
from ruda.cli.terminal import printable, table
from ruda.errors import FileAccessError


def said(capsys):
    streams = capsys.readouterr()
    return streams.out, streams.err


def test_help_lists_the_commands_and_codes(capsys):
    assert main(["--help"]) == 0
    out, err = said(capsys)
    for name in ("inspect", "diff", "convert", "run", "models", "formats", "app"):
        assert f"\n  {name} " in out
    assert "Exit codes" in out
    assert err == ""


@pytest.mark.parametrize("name", ["inspect", "diff", "convert", "run", "models", "formats", "app"])
def test_every_command_has_help(name, capsys):
    assert main([name, "--help"]) == 0
    assert said(capsys)[0].startswith(f"Usage: ruda {name}")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert said(capsys)[0] == f"ruda, version {ruda.__version__}\n"


USAGE = [
    pytest.param(
        ["inspekt"], "there is no command 'inspekt'; did you mean 'inspect'?", id="command"
    ),
    pytest.param(["inspect"], "Missing argument 'FILE...'", id="argument"),
    pytest.param(["inspect", "--nope", "x"], "No such option '--nope'", id="option"),
    pytest.param(["run", "digits", "--dataset", "x"], "Missing option '--weights'", id="required"),
    pytest.param(
        ["convert", "a", "b", "--half", "f8"], "'f8' is not one of 'f16', 'bf16'", id="choice"
    ),
    pytest.param(["convert", "a", "b", "--metadata", "x"], "expects KEY=VALUE", id="metadata"),
    pytest.param(["convert", "a", "b", "--set", "x=1"], "there is none", id="set without target"),
    pytest.param(
        ["convert", "a", "b", "--half", "f16", "--cast", "f32"],
        "exclude each other",
        id="two casts",
    ),
    pytest.param(["convert", "a", "b", "--remap", "(", ""], "remap '('", id="broken regex"),
    pytest.param(["convert", "a", "b", "--adapt", "x"], "no adapter is called 'x'", id="adapter"),
    pytest.param(["convert", "a", "b", "--cast", "x"], "no dtype is called 'x'", id="dtype"),
    pytest.param(["diff", "a", "digit"], "did you mean 'digits'?", id="architecture"),
    pytest.param(["diff", "a", "digits", "seed"], "expected KEY=VALUE", id="setting"),
    pytest.param(["inspect", "absent"], "absent: ", id="no file"),
    pytest.param(["diff", "absent", "digits", "--recipe", "r.toml"], "r.toml: ", id="no recipe"),
]


@pytest.mark.parametrize(("words", "sentence"), USAGE)
def test_wrong_usage_is_one_sentence_and_code_2(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, err = said(capsys)
    assert out == ""
    assert err.startswith("ruda: ")
    assert err.count("\n") == 1
    assert sentence in err


def test_no_command_shows_the_help_and_is_wrong_usage(capsys):
    assert main([]) == 2
    assert "Commands:" in said(capsys)[1]


@pytest.mark.parametrize(
    "words", [["--debug", "inspect", "absent"], ["inspect", "absent", "--debug"]]
)
def test_debug_adds_the_traceback(words, capsys):
    assert main(words) == 2
    err = said(capsys)[1]
    assert err.startswith("Traceback")
    assert "FileAccessError" in err
    assert err.splitlines()[-1].startswith("ruda: absent: ")


FAILURES = [
    pytest.param(KeyboardInterrupt(), 130, "", id="ctrl-c"),
    pytest.param(FileAccessError("gone", path="x"), 2, "ruda: x: gone\n", id="ruda's own"),
    pytest.param(EOFError("end"), 2, "ruda: a fault of this program: EOFError: end", id="end"),
    pytest.param(PermissionError(13, "denied", "x"), 2, "ruda: x: denied\n", id="system"),
    pytest.param(MemoryError(), 2, "ruda: there is not enough memory", id="memory"),
    pytest.param(ValueError("odd"), 2, "(--debug shows where; please report it)", id="a fault"),
    pytest.param(BrokenPipeError(), 0, "", id="broken pipe"),
]


@pytest.mark.parametrize(("error", "code", "sentence"), FAILURES)
def test_whatever_breaks_is_told_in_a_sentence(error, code, sentence, capsys, monkeypatch):
    def fail(path, **options):
        raise error

    monkeypatch.setattr("ruda.store.open_store", fail)
    monkeypatch.setattr("ruda.cli.program._close_stdout", lambda: None)
    assert main(["inspect", "x"]) == code
    err = said(capsys)[1]
    assert sentence in err
    assert err == "" or err.count("\n") == 1


def test_a_warning_is_one_line(capsys, monkeypatch):
    def fail(path, **options):
        warnings.warn("the format x cannot be loaded", stacklevel=2)
        raise FileAccessError("gone", path=path)

    monkeypatch.setattr("ruda.store.open_store", fail)
    monkeypatch.setattr("ruda.cli.program.warnings.catch_warnings", _default_warnings)
    assert main(["inspect", "x"]) == 2
    assert said(capsys)[1] == "warning: the format x cannot be loaded\nruda: x: gone\n"


@contextlib.contextmanager
def _default_warnings():
    with _CATCH():
        warnings.simplefilter("default")
        yield


_CATCH = warnings.catch_warnings


def test_the_modules_of_the_library_wait_for_a_command():
    code = (
        "import sys; from ruda.cli import main; main(['--help'])\n"
        "print({'numpy', 'rich', 'ruda.store', 'ruda.session'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == "set()\n"


def test_a_reader_that_goes_away_is_no_error():
    code = (
        "import sys; from ruda.cli import main\n"
        "sys.stdout.close(); sys.stdout = open(1, 'w', closefd=False)\n"
        "sys.exit(main(['models']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0
    assert err == b""


def test_python_m_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "ruda.cli", "formats"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "safetensors" in done.stdout


def test_the_app_without_qt_names_the_extra(capsys, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["app", "x.bpk"]) == 2
    assert 'pip install "ruda[app]"' in said(capsys)[1]


def test_the_app_gets_its_words(capsys, monkeypatch):
    class Window:
        @staticmethod
        def main(words):
            assert words == ["a.bpk", "--sample"]
            return 7

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("importlib.import_module", _only("ruda_workbench.__main__", Window))
    assert main(["app", "a.bpk", "--sample"]) == 7


def _only(name, stand_in):
    from importlib import import_module

    return lambda asked: stand_in if asked == name else import_module(asked)


TEXTS = [
    pytest.param("layer.0 · é", "layer.0 · é", id="plain"),
    pytest.param("a\x1b[31mred", "a\\x1b[31mred", id="escape"),
    pytest.param("a\nb", "a\\nb", id="line break"),
    pytest.param("a\u202eb", "a\\u202eb", id="turned text"),
]


@pytest.mark.parametrize(("text", "shown"), TEXTS)
def test_control_characters_of_a_file_do_not_reach_the_terminal(text, shown):
    assert printable(text) == shown


def test_tables_are_aligned(capsys):
    table([["a", "1"], ["long", "20"]], right=(1,))
    table([])
    assert said(capsys)[0] == "  a      1\n  long  20\n"
