"""Progress bars: on a terminal only, and only for long work."""

import io

import pytest

from ruda.cli import terminal
from ruda.progress import SILENT, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_there_is_no_bar_in_a_pipe(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with terminal.monitor("Work") as watch:
        assert watch is SILENT


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (60.0, False)])
def test_a_bar_waits_for_work_to_be_long(monkeypatch, patience, shown):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("ruda.cli.terminal.PATIENCE", patience)
    with terminal.monitor("Converting") as watch:
        watch.check()
        watch.report(Progress(1, 4, "tensors"))
        watch.report(Progress(4, 4, "tensors"))
    assert ("Converting" in stream.getvalue()) is shown
