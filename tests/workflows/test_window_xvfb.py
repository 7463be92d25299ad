"""Stories on a real X server: keys and clicks that come from outside, as a person's do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ruda.store import open_store

pytestmark = [
    pytest.mark.gui,
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(
        not (shutil.which("Xvfb") and shutil.which("xdotool")), reason="needs Xvfb and xdotool"
    ),
]

PATIENCE = 60.0
"""Seconds that anything may take on a busy machine."""


SCREEN = ("-screen", "0", "1440x900x24", "-nolisten", "tcp")


class Desk:
    """An X server with the workbench on it."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "config"
        read, write = os.pipe()
        self._server = subprocess.Popen(
            # Without -noreset the server starts anew whenever the last client leaves, and answers
            # nobody meanwhile; every call of xdotool is such a client.
            ["Xvfb", "-displayfd", str(write), "-noreset", *SCREEN],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as pipe:
            display = f":{pipe.readline().strip()}"
        self._environment = {**os.environ, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
        self.program: subprocess.Popen[bytes] | None = None
        self._said = folder / "said"
        self._window = ""

    def start(self, *files: Path, words: tuple[str, ...] = ()) -> None:
        """Start the workbench and wait for its window."""
        command = [sys.executable, "-m", "ruda_workbench", "--config", str(self.config), *words]
        with self._said.open("wb") as said:
            self.program = subprocess.Popen(
                [*command, *map(str, files)], env=self._environment, stderr=said
            )
        search = ("search", "--onlyvisible", "--name", "Ruda")
        self._window = self.wait_for(lambda: self._tool(*search), "the window").split()[0]
        self._tool("windowfocus", "--sync", self._window)

    def wait_for(self, what: Callable[[], Any], name: str) -> Any:
        """Ask again and again until the answer is true, or the program is no more."""
        assert self.program is not None
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ended = self.program.poll()
            found = what()
            if found:
                return found
            if ended is not None:
                break
            time.sleep(0.1)
        said = self._said.read_text("utf-8", "replace")[-2000:]
        raise AssertionError(
            f"{name} did not happen in {PATIENCE:.0f} s; the program "
            f"{'runs' if ended is None else f'ended with {ended}'} and said {said!r}"
        )

    def keys(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self._tool("key", "--clearmodifiers", key)
            time.sleep(0.25)

    def type(self, text: str) -> None:
        """Type a text."""
        self._tool("type", "--delay", "30", text)
        time.sleep(0.25)

    def click(self, x: int, y: int) -> None:
        """Click at a place of the window."""
        self._tool("mousemove", "--window", self._window, str(x), str(y))
        self._tool("click", "1")
        time.sleep(0.25)

    def title(self) -> str:
        """Title of the window."""
        return self._tool("getwindowname", self._window).strip()

    def quit(self) -> dict[str, Any]:
        """Press Ctrl+Q; what the session kept."""
        assert self.program is not None
        # Without a window manager nobody gives the focus back when a sheet closes.
        self._tool("windowfocus", self._window)
        self.keys("ctrl+q")
        assert self.program.wait(PATIENCE) == 0
        found: dict[str, Any] = json.loads((self.config / "session.json").read_text("utf-8"))
        return found

    def settings(self) -> dict[str, Any]:
        """What the settings file has."""
        path = self.config / "settings.toml"
        return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}

    def close(self) -> None:
        """End what still runs."""
        for process in (self.program, self._server):
            if process is not None and process.poll() is None:
                process.terminate()
                process.wait(10)

    def _tool(self, *words: str) -> str:
        done = subprocess.run(
            ["xdotool", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


SHAPES = {"module.fc1.bias": (32,), "module.fc2.bias": (10,)}


def test_a_named_file_is_opened_and_comes_back(desk: Desk, make_file: Callable[..., Path]) -> None:
    path = make_file(SHAPES)
    desk.start(path)
    desk.wait_for(lambda: desk.title().startswith("made.safetensors"), "the title")
    kept = desk.quit()
    assert [document["path"] for document in kept["documents"]] == [str(path)]
    desk.start()
    desk.wait_for(
        lambda: desk.title().startswith("made.safetensors"), "the title of the second start"
    )
    desk.quit()


def test_keys_switch_the_theme_and_it_is_kept(desk: Desk) -> None:
    desk.start()
    desk.keys("ctrl+shift+l")
    desk.wait_for(lambda: desk.settings().get("theme") == "dark", "the dark theme")
    desk.keys("ctrl+shift+l")
    desk.wait_for(lambda: desk.settings().get("theme") == "light", "the light theme")
    desk.quit()


def test_the_command_field_opens_the_sample_and_a_row_is_left_out(desk: Desk) -> None:
    desk.start()
    desk.keys("ctrl+k")
    desk.type("open the sample")
    desk.keys("Return")
    desk.wait_for(lambda: "digits" in desk.title(), "the sample")
    time.sleep(1.0)
    desk.keys("F8", "ctrl+End", "space")
    recovery = desk.config / "recovery.json"
    desk.wait_for(
        lambda: recovery.exists() and "skip" in recovery.read_text("utf-8"), "the decision"
    )
    desk.keys("ctrl+z")
    kept = desk.quit()
    assert "skip" not in json.dumps(kept["documents"])


def test_a_file_is_saved_by_keys_alone(desk: Desk, make_file: Callable[..., Path]) -> None:
    path = make_file(SHAPES)
    desk.start(path)
    desk.wait_for(lambda: desk.title().startswith("made.safetensors"), "the title")
    time.sleep(1.0)
    desk.keys("ctrl+s")
    time.sleep(1.0)
    desk.keys("Return")
    out = path.with_name("made-converted.safetensors")
    desk.wait_for(out.exists, "the new file")
    time.sleep(0.5)
    desk.quit()
    with open_store(out) as saved, open_store(path) as source:
        assert list(saved) == list(source)


def test_two_files_are_compared_and_the_rail_is_clicked(
    desk: Desk, make_file: Callable[..., Path]
) -> None:
    first, second = (make_file(SHAPES, f"{name}.safetensors") for name in ("one", "two"))
    desk.start(first, second)
    desk.wait_for(lambda: desk.title().startswith("two"), "both files")
    desk.keys("ctrl+2", "ctrl+shift+v")
    time.sleep(1.0)
    kept = desk.quit()
    assert kept["workspace"] == "compare"
    assert len(kept["documents"]) == 2
    desk.start()
    desk.wait_for(lambda: desk.title().endswith("Ruda"), "the window")
    desk.click(32, 168)  # at once: what was open comes back behind the first picture
    kept = desk.quit()
    assert kept["workspace"] == "data"
    assert len(kept["documents"]) == 2
