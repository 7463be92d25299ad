"""End or fail a save at every one of its system calls, and look at what is left. Linux, x86-64.

    python kill_steps.py [--case NAME]… [--how NAME]… [--folder F]

``killed`` ends the process before each call that changes files; ``torn`` after half of the bytes
of each write; ``short`` lets each write take half of its bytes; ``twice`` ends the save that
finishes an interrupted set at each call, too; ``errors`` lets each call fail, as a full or broken
disk does; ``watched`` reads the files before each call, while the save stands still. Whatever
happens, what is read is the old file or the new one, whole; after the next save it is that one,
and no temporary file is left. Prints a line of JSON for each; ends with 1 if anything was
otherwise.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from saves import CASES, Case, values
from system_calls import WRITES, Fate, Run, can_trace, run

from ruda.errors import FileAccessError, FileChangedError
from ruda.store import open_store, save
from ruda.store._set_journal import JOURNAL

ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EACCES)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=sorted(CASES), default=[])
    parser.add_argument("--how", action="append", choices=sorted(HOWS), default=[])
    parser.add_argument("--folder", type=Path, help="where files are made (default: temporary)")
    arguments = parser.parse_args(argv)
    if not can_trace():
        print("tracing is not possible here", file=sys.stderr)  # noqa: T201
        return 2
    failed = False
    for name in arguments.case or CASES:
        for how in arguments.how or HOWS:
            with tempfile.TemporaryDirectory(prefix="ruda-steps-", dir=arguments.folder) as place:
                found = Trial(CASES[name], Path(place)).all(HOWS[how])
            print(json.dumps({"case": name, "how": how, **found}), flush=True)  # noqa: T201
            failed |= bool(found["faults"])
    return 1 if failed else 0


class Trial:
    """One case in a folder of its own."""

    def __init__(self, case: Case, place: Path) -> None:
        self.case = case
        self.before = place / "before"
        self.folder = place / "folder"
        self.before.mkdir()
        case.prepare(self.before)
        self.faults: list[str] = []
        self.outcomes: Counter[str] = Counter()

    def all(self, how: Callable[[Trial], None]) -> dict[str, object]:
        """What was seen, counted, and what should not have been."""
        how(self)
        return {**self.outcomes, "faults": self.faults}

    def fresh(self) -> Path:
        """The folder as it is before the save."""
        if self.folder.exists():
            shutil.rmtree(self.folder)
        shutil.copytree(self.before, self.folder)
        return self.folder

    def save(self) -> None:
        """The save that is interrupted."""
        self.case.save(self.folder, 2)

    def steps(self) -> tuple[str, ...]:
        """The system calls of a save that nothing befalls."""
        self.fresh()
        done = run(self.save, self.folder)
        if done.said:
            self.faults.append(f"the save itself fails: {done.said}")
        return done.steps

    def check(self, what: str, *, allowed: tuple[int, ...] = ()) -> int | None:
        """The one generation that is read at every place."""
        with self.named(what):
            found = {self.case.reads(self.folder / place) for place in self.case.places}
            old = 0 if not any(self.before.iterdir()) else 1
            if len(found) != 1 or not found <= set(allowed or (old, 2)):
                raise ValueError(f"read are {sorted(found)}")
            return found.pop()
        return None

    def finish(self, what: str) -> None:
        """Save something else, then the same again; look after each."""
        before = self.check(what)
        if before is None:
            return
        with self.named(f"{what}, and another save"):
            save(values(9, 1), self.folder / "other.npz", overwrite=True)
            (self.folder / "other.npz").unlink()
            self.left_over()
        self.check(f"{what}, and another save", allowed=(before,))
        with self.named(f"{what}, and the same again"):
            self.case.save(self.folder, 3)
            self.left_over()
        self.check(f"{what}, and the same again", allowed=(self.case.last,))

    def left_over(self) -> None:
        """Raise if there is a file that nobody asked for."""
        left = [name for name in os.listdir(self.folder) if name.startswith(".")]
        if left:
            raise ValueError(f"left in the folder: {left}")

    @contextmanager
    def named(self, what: str) -> Iterator[None]:
        """Write down what fails, with what was done."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is, it should not be
            self.faults.append(f"{what}: {type(error).__name__}: {error}")


def killed(trial: Trial) -> None:
    """The process ends before each step."""
    _each(trial, Fate.KILLED, lambda name: True)


def torn(trial: Trial) -> None:
    """The process ends after half of each write."""
    _each(trial, Fate.TORN, lambda name: name in WRITES)


def short(trial: Trial) -> None:
    """Each write takes half of its bytes, and says so."""
    for number, name in enumerate(trial.steps()):
        if name not in WRITES:
            continue
        trial.fresh()
        done = run(trial.save, trial.folder, at=number, fate=Fate.SHORT)
        what = f"half of {name} {number}"
        if done.said and not done.said.startswith("SaveError: "):
            trial.faults.append(f"{what}: {done.said}")
        trial.check(what, allowed=(1,) if done.said else (2,))
        trial.outcomes["steps"] += 1
        trial.finish(what)


def _each(trial: Trial, fate: Fate, chosen: Callable[[str], bool]) -> None:
    for number, name in enumerate(trial.steps()):
        if not chosen(name):
            continue
        trial.fresh()
        done = run(trial.save, trial.folder, at=number, fate=fate)
        what = f"{fate.name.lower()} at {name} {number}"
        if done.ended:
            trial.faults.append(f"{what}: the process ended by itself: {done.said}")
        found = trial.check(what)
        trial.outcomes["steps"] += 1
        trial.outcomes["new" if found == 2 else "old"] += 1
        trial.finish(what)


def twice(trial: Trial) -> None:
    """The save that finishes an interrupted one is itself ended before each step."""
    steps = trial.steps()
    for first in range(len(steps)):
        second = 0
        while True:
            trial.fresh()
            run(trial.save, trial.folder, at=first)
            if not any(JOURNAL.fullmatch(name) for name in os.listdir(trial.folder)):
                break
            before = trial.check(f"killed at {steps[first]} {first}")
            done = run(lambda: trial.case.save(trial.folder, 3), trial.folder, at=second)
            what = f"killed at {steps[first]} {first}, the next one at step {second}"
            if done.ended:
                break
            allowed = tuple({before or 0, 2, trial.case.last})
            trial.check(what, allowed=allowed)
            trial.outcomes["steps"] += 1
            with trial.named(f"{what}, and once more"):
                trial.case.save(trial.folder, 3)
                trial.left_over()
            trial.check(f"{what}, and once more", allowed=(trial.case.last,))
            second += 1


def errors(trial: Trial) -> None:
    """Each step fails, with each error."""
    for number, name in enumerate(trial.steps()):
        for error in ERRORS:
            trial.fresh()
            done = run(trial.save, trial.folder, at=number, fate=error)
            what = f"{errno.errorcode[error]} at {name} {number}"
            _judge(trial, done, what, os.strerror(error))
            trial.finish(what)


def _judge(trial: Trial, done: Run, what: str, why: str) -> None:
    found = trial.check(what)
    trial.outcomes["steps"] += 1
    if not done.said:
        trial.outcomes["went on"] += 1
        if found != 2:
            trial.faults.append(f"{what}: the save says nothing, and the file is the old one")
        return
    trial.outcomes["said"] += 1
    if not done.said.startswith("SaveError: ") or why not in done.said:
        trial.faults.append(f"{what}: it says {done.said!r}")
    if "unchanged" in done.said and found == 2:
        trial.faults.append(f"{what}: it says {done.said!r}, and the file is the new one")


def watched(trial: Trial) -> None:
    """Someone reads before each step, and someone has had the file open since before."""
    trial.fresh()
    first = trial.folder / trial.case.places[0]
    held = open_store(first) if first.exists() and first.suffix != ".toml" else None
    values = {} if held is None else {key: s.read() for key, s in held.items()}

    def look(name: str) -> None:
        what = f"before {name} {trial.outcomes['steps']}"
        trial.outcomes["steps"] += 1
        try:
            if held is not None and any((held[k].read() != v).any() for k, v in values.items()):
                trial.faults.append(f"{what}: what was open has other values")
        except FileChangedError:  # edited in place, and said
            trial.outcomes["asked to open again"] += 1
        with trial.named(what):
            found = set()
            for place in trial.case.places:
                try:
                    found.add(trial.case.reads(trial.folder / place))
                except FileAccessError as error:
                    if "just being replaced" not in str(error):
                        raise
                    trial.outcomes["asked to wait"] += 1
            if len(found) > 1 or not found <= {0, 1, 2}:
                raise ValueError(f"read are {sorted(found)}")

    done = run(trial.save, trial.folder, look=look)
    if done.said:
        trial.faults.append(f"the save itself fails: {done.said}")
    if held is not None:
        held.close()
    trial.check("afterwards", allowed=(2,))


HOWS = {
    "killed": killed,
    "torn": torn,
    "short": short,
    "twice": twice,
    "errors": errors,
    "watched": watched,
}

if __name__ == "__main__":
    raise SystemExit(main())
