"""What names in a pickle would have done: the words that a refused file is listed with."""

from __future__ import annotations

import pytest

from ruda.session import refused_file_page
from ruda.session.pages.refused import effect_of

EFFECTS = [
    pytest.param("posix.system", "would have run a command of the shell", id="shell"),
    pytest.param("os.execv", "would have started a program", id="a family of functions"),
    pytest.param("subprocess.Popen", "would have started a program", id="a package"),
    pytest.param("builtins.eval", "would have run Python code out of the file", id="eval"),
    pytest.param("builtins.getattr", "would have reached any function of Python", id="getattr"),
    pytest.param("socket.create_connection", "would have reached the network", id="network"),
    pytest.param("io.open", "would have opened files", id="files"),
    pytest.param("iota.open", "would have acted on this computer", id="a longer word"),
    pytest.param("gc.collect", "would have acted on this computer", id="no special word"),
]


@pytest.mark.parametrize(("name", "effect"), EFFECTS)
def test_a_name_is_told_by_what_it_would_have_done(name: str, effect: str) -> None:
    assert effect_of(name) == effect


def test_a_refused_file_was_not_read() -> None:
    page = refused_file_page("free.pt", ["os.system", "gc.collect"])
    assert page.is_grave
    assert [name.word for name in page.names] == ["Would act", "Would act"]
    assert page.facts[0] == ("read", "nothing")
