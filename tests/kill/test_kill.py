"""Saves that are killed leave the old file or the new one; the long run is ``kill_saves.py``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("kill_saves.py")


@pytest.mark.parametrize("kind", ["single", "set", "reshaped", "torch", "npz", "edit", "itself"])
def test_a_killed_save_loses_nothing(kind):
    words = [sys.executable, SCRIPT, "--kind", kind, "--kills", "10", "--size", "3", "--seed", "3"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert (found["lost"], found["left"], done.returncode) == ([], [], 0)
    assert found.get("old", 0) + found.get("new", 0) == 10
