"""Five stories on a real X server, by mouse and keys from outside, with a picture of each step.

    python stories_xvfb.py FOLDER [STORY…]

Starts Xvfb and the workbench, works them with xdotool, checks the files that result and writes
``STORY-STEP.png`` into FOLDER (ImageMagick's ``import``). Exit code 1 names the story that failed.
The places of clicks are those of a window of 1440 × 900 at 100 %, in English.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ruda.store import TensorIndex, TensorSnapshot, open_store, save

SAMPLE, SUGGESTION, COMPARE, MOON = (790, 474), (1060, 243), (32, 120), (30, 816)
REST = 3.0
"""Seconds after a gesture until its picture is taken."""


def _desk_module() -> Any:
    path = Path(__file__).resolve().parent.parent / "workflows" / "test_window_xvfb.py"
    spec = importlib.util.spec_from_file_location("desk", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DESK = _desk_module()


class Story:
    """One workbench with a folder of its own, and the pictures of its steps."""

    def __init__(self, name: str, pictures: Path) -> None:
        self.name, self.pictures, self.steps = name, pictures, 0
        self.folder = Path(tempfile.mkdtemp(prefix="ruda-story-"))
        os.environ["HOME"] = str(self.folder)  # where what is made of the sample is written
        self.desk = DESK.Desk(self.folder)

    def look(self, what: str) -> None:
        """Take a picture of the whole screen."""
        time.sleep(REST)
        self.steps += 1
        out = self.pictures / f"{self.name}-{self.steps}-{what}.png"
        words = ["import", "-window", "root", str(out)]
        subprocess.run(words, env=self.desk._environment, check=True, timeout=60)

    def wait(self, what: Callable[[], Any], name: str) -> Any:
        return DESK.wait_for(what, name)

    def title(self, start: str) -> None:
        self.wait(lambda: self.desk.title().startswith(start), f"the title {start}")

    def file(self, name: str = "one.safetensors", seed: int = 1) -> Path:
        """A small file of weights."""
        rng = np.random.default_rng(seed)
        shapes = {"module.fc1.weight": (32, 400), "module.fc1.bias": (32,)}
        tensors = [
            TensorSnapshot.from_array(key, rng.standard_normal(shape).astype(np.float32))
            for key, shape in shapes.items()
        ]
        save(TensorIndex.of(tensors, format="safetensors"), self.folder / name)
        return self.folder / name


def to_green_and_saved(story: Story) -> None:
    """The sample, opened and brought to green by clicks, is saved by keys."""
    desk = story.desk
    desk.start()
    story.look("welcome")
    desk.click(*SAMPLE)
    story.title("digits")
    story.look("opened")
    recovery = desk.config / "recovery.json"
    desk.click(*SUGGESTION)
    story.wait(lambda: recovery.exists() and "module" in recovery.read_text("utf-8"), "the rule")
    time.sleep(REST)
    desk.click(*SUGGESTION)
    story.wait(lambda: "pytorch-to-ruda" in recovery.read_text("utf-8"), "the adapter")
    story.look("green")
    desk.keys("ctrl+s")
    story.look("sheet")
    desk.keys("Return")
    found = story.wait(lambda: list(story.folder.glob("*.safetensors")), "the saved file")
    story.look("saved")
    desk.quit()
    with open_store(found[0]) as index:
        assert "conv1.weight" in index
        assert index["fc1.weight"].shape == (400, 32)


def verified_by_keys(story: Story) -> None:
    """A file is saved under the proposed name and read back, by keys alone."""
    path = story.file()
    story.desk.start(path)
    story.title("one")
    story.look("opened")
    story.desk.keys("ctrl+s")
    story.look("sheet")
    story.desk.keys("Return")
    out = path.with_name("one-converted.safetensors")
    story.wait(out.exists, "the new file")
    story.look("saved")
    story.desk.quit()
    assert out.read_bytes() == path.read_bytes()


def dark_by_the_moon(story: Story) -> None:
    """A click on the moon makes the window dark, and the next start is dark."""
    story.desk.start(story.file())
    story.title("one")
    story.desk.click(*MOON)
    story.wait(lambda: story.desk.settings().get("theme") == "dark", "the dark theme")
    story.look("dark")
    story.desk.quit()
    story.desk.start()
    story.look("dark-again")
    story.desk.quit()


def two_compared(story: Story) -> None:
    """Two files are compared by value, after a click on the rail."""
    story.desk.start(story.file(), story.file("two.safetensors", 2))
    story.title("two")
    story.desk.click(*COMPARE)
    story.look("structure")
    story.desk.keys("ctrl+shift+v")
    story.look("values")
    kept = story.desk.quit()
    assert kept["workspace"] == "compare"


def refused(story: Story) -> None:
    """A file that is cut short and a pointer of Git LFS are notices; the good one is open."""
    good = story.file()
    cut = story.folder / "cut.safetensors"
    cut.write_bytes(good.read_bytes()[:-100])
    pointer = story.folder / "pointer.safetensors"
    pointer.write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    )
    story.desk.start(good, cut, pointer)
    story.title("one")
    story.look("notices")
    kept = story.desk.quit()
    assert [each["path"] for each in kept["documents"]] == [str(good)], json.dumps(kept)


STORIES = (to_green_and_saved, verified_by_keys, dark_by_the_moon, two_compared, refused)


def main(arguments: list[str]) -> int:
    if not arguments:
        sys.stdout.write(f"{__doc__}\n")
        return 2
    pictures = Path(arguments[0])
    pictures.mkdir(parents=True, exist_ok=True)
    failed = 0
    for tell in STORIES:
        if arguments[1:] and tell.__name__ not in arguments[1:]:
            continue
        story = Story(tell.__name__, pictures)
        try:
            tell(story)
            sys.stdout.write(f"{tell.__name__}: as told, {story.steps} pictures\n")
        except AssertionError as error:
            story.look("failed")
            sys.stdout.write(f"{tell.__name__}: {error or 'not as told'}\n")
            failed = 1
        finally:
            story.desk.close()
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
