"""A save ended or failed at each of its system calls; ``kill_steps.py`` does it for all cases."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("kill_steps.py")
ALL = ("killed", "torn", "short", "errors", "watched")
QUICK = [
    pytest.param(("m.npz", "over itself, pt", "copied", "edit in place"), ALL, 100, id="files"),
    pytest.param(("set", "set that has no index"), ("killed", "torn", "watched"), 80, id="sets"),
]


@pytest.fixture
def folder(tmp_path):
    """In memory where that is possible: every step is synced to the disk, many times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="ruda-steps-", dir=memory if os.access(memory, os.W_OK) else tmp_path
    ) as place:
        yield Path(place)


@pytest.mark.parametrize(("cases", "hows", "steps"), QUICK)
def test_every_step_of_a_save(folder, cases, hows, steps):
    words = [sys.executable, SCRIPT, "--folder", folder]
    words += [word for case in cases for word in ("--case", case)]
    words += [word for how in hows for word in ("--how", how)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 2 and "not possible here" in done.stderr:
        pytest.skip("only Linux on x86-64 lets a process follow another like this")
    assert done.stderr == ""
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(each["case"], each["how"]) for each in found} == {(c, h) for c in cases for h in hows}
    assert [fault for each in found for fault in each["faults"]] == []
    assert done.returncode == 0
    assert sum(each["steps"] for each in found) >= steps


def test_a_save_that_loses_a_file_is_found_out(folder):
    """The trial itself: with the renames in the wrong order the first kill between them shows."""
    script = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import kill_steps, os
from pathlib import Path
from saves import Case, CASES

def careless(folder, number):
    for name in ("a", "b"):
        (folder / name).write_bytes(b"%d" % number)

def read(place):
    found = {{(place / name).read_bytes() for name in ("a", "b")}}
    if len(found) > 1:
        raise ValueError("half of each")
    return int(found.pop() or 0)

case = Case(lambda folder: careless(folder, 1), careless, (".",), read)
place = Path({str(folder)!r})
print(len(kill_steps.Trial(case, place).all(kill_steps.killed)["faults"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    if "cannot be traced" in done.stderr or "has no attribute 'ptrace'" in done.stderr:
        pytest.skip("only Linux on x86-64 lets a process follow another like this")
    assert done.stderr == ""
    assert int(done.stdout) >= 2
