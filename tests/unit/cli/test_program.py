"""What every command has in common: exit codes, sentences, streams."""

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import warnings

import pytest

import ruda
from ruda.cli import main
from ruda.cli.terminal import LONGEST_SENTENCE, printable, say_json, shortened, table
from ruda.errors import FileAccessError


def said(capsys):
    streams = capsys.readouterr()
    return streams.out, streams.err


def test_help_lists_the_commands_and_codes(capsys):
    assert main(["--help"]) == 0
    out, err = said(capsys)
    for name in ("inspect", "diff", "suggest", "convert", "run", "models", "formats", "app"):
        assert f"\n  {name} " in out
    assert "Exit codes" in out
    assert err == ""


@pytest.mark.parametrize(
    "name", ["inspect", "diff", "suggest", "convert", "run", "models", "formats", "app"]
)
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
    pytest.param(
        ["convert", "a", "b", "--cast", "x"],
        "floats can be cast to f64, f32, flex32, f16",
        id="dtype",
    ),
    pytest.param(["diff", "a", "digit"], "did you mean 'digits'?", id="architecture"),
    pytest.param(["diff", "a", "digits", "seed"], "expected KEY=VALUE", id="setting"),
    pytest.param(
        ["diff", "a", "digits", "seed=1", "seed=2"], "seed is given twice: 1 and 2", id="twice"
    ),
    pytest.param(["diff", "a", "x" * 300], "no architecture is called 'xxx", id="long target"),
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
    monkeypatch.setattr("ruda.cli.program.close_stdout", lambda: None)
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


def test_a_very_long_key_does_not_push_the_other_rows_apart(capsys):
    table([["k" * 5000, "1"], ["a", "20"]])
    assert said(capsys)[0].splitlines() == [f"  {'k' * 5000}  1", "  a  20"]


SENTENCES = [
    pytest.param("short", "short", id="short"),
    pytest.param(f"the key {'k' * 90_000!r} is", f"the key '{'k' * 119}…{'k' * 59}' is", id="key"),
    pytest.param("a b " * 9000, f"{'a b ' * 425} … {'a b ' * 70}", id="words"),
]


@pytest.mark.parametrize(("text", "shown"), SENTENCES)
def test_a_sentence_has_a_readable_length(text, shown):
    assert shortened(text) == shown
    assert len(shown) <= LONGEST_SENTENCE


STEERING = "a\x7f\x9b31m\u202e\u2028\U000e0001\udcffé\x1b\n"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_json_steers_no_terminal_and_stays_json_in_any_encoding(encoding, monkeypatch):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="backslashreplace")
    monkeypatch.setattr("sys.stdout", stream)
    say_json({STEERING: [1.5, None]})
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert json.loads(text) == {STEERING: [1.5, None]}
    assert {char for char in text if not char.isprintable()} == {"\n"}


def test_json_refuses_what_json_does_not_have():
    with pytest.raises(ValueError, match="not JSON compliant"):
        say_json([float("nan")])


STREAMS = [
    pytest.param("formats >&-", 0, "", id="no stdout"),
    pytest.param("formats 2>&- >/dev/null", 0, "", id="no stderr"),
    pytest.param("inspect absent 2>&-", 2, "", id="refused without stderr"),
    pytest.param(
        "formats >/dev/full",
        2,
        "ruda: the output cannot be written: No space left on device\n",
        id="full stdout",
        marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only"),
    ),
    pytest.param(
        "inspect absent 2>/dev/full",
        2,
        "",
        id="full stderr",
        marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only"),
    ),
]


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(("words", "code", "sentence"), STREAMS)
def test_streams_that_are_closed_or_full(words, code, sentence, tmp_path):
    command = f"{shlex.quote(sys.executable)} -m ruda.cli {words}"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (code, sentence)


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_a_save_is_done_though_nobody_reads_its_report(tmp_path):
    source = tmp_path / "a.safetensors"
    source.write_bytes((2).to_bytes(8, "little") + b"{}")
    words = shlex.join([sys.executable, "-m", "ruda.cli", "convert", str(source)])
    done = subprocess.run(
        f"{words} {shlex.quote(str(tmp_path / 'b.bpk'))} | true",
        shell=True,
        capture_output=True,
        timeout=60,
    )
    assert done.stderr == b""
    assert (tmp_path / "b.bpk").is_file()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
def test_a_full_stderr_in_the_c_locale_keeps_the_exit_code(tmp_path):
    bare = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-m", "ruda.cli", "inspect", "absent"]
        done = subprocess.run(words, stderr=full, env=bare, cwd=tmp_path, timeout=60)
    assert done.returncode == 2
