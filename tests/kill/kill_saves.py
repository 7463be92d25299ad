"""Kill saves at random moments and look at what is left: the old file or the new one, whole.

    python kill_saves.py [--kills N] [--size MEGABYTES] [--kind NAME] [--folder F]

A child process (forked: POSIX only) saves over the same file again and again, with other values
each time; it is killed (SIGKILL) at a random moment. Then the file is opened and every value
compared with what one of the two saves would have written, and after the next save no temporary
file may be left. Prints a line of JSON; ends with 1 if a file was lost.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ruda.store import TensorIndex, TensorSnapshot, edit_metadata, open_store, save
from ruda.store.adapted import cast_to
from ruda.tensor import DType

TENSORS = 8
NAMES = {
    "single": "model.safetensors",
    "set": "model.safetensors",
    "reshaped": "model.safetensors",
    "torch": "model.pt",
    "rudapack": "model.bpk",
    "npz": "model.npz",
    "edit": "model.safetensors",
    "itself": "model.safetensors",
}
"""``reshaped`` is a set of another number of files each time, ``itself`` a cast of the file."""
SETS = ("set", "reshaped")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the kills."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--size", type=float, default=200.0, help="megabytes of the file")
    parser.add_argument("--kind", choices=sorted(NAMES), default="single")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the file is made (default: temporary)")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ruda-kill-", dir=arguments.folder) as folder:
        found = run(
            Path(folder), arguments.kind, arguments.kills, arguments.size, seed=arguments.seed
        )
    print(json.dumps(found))  # noqa: T201 - what it is run for
    return 1 if found["lost"] or found["left"] else 0


def run(folder: Path, kind: str, kills: int, size: float, *, seed: int = 0) -> dict[str, object]:
    """Kill ``kills`` saves of ``size`` megabytes; what was found after each, counted."""
    chance = random.Random(seed)
    place = folder / NAMES[kind]
    times = [_seconds(place, kind, size, number) for number in (11, 12, 0)]
    # The first edit makes the file, the second needs no copy, the last one does.
    span = max(max(times) if kind == "edit" else min(times), 0.02)
    outcomes: Counter[str] = Counter()
    lost: list[str] = []
    interrupted = 0
    now = 0
    for number in range(kills):
        number_before = now
        _kill_one(place, kind, size, after=number_before, delay=chance.uniform(0, 3 * span))
        interrupted += any(name.startswith(".") for name in os.listdir(folder))
        try:
            now = generation(place, kind, size)
            outcomes["old" if now == number_before else "new"] += 1
        except Exception as error:  # noqa: BLE001 - whatever it is, the file is lost
            lost.append(f"kill {number}: {error}")
            write(place, kind, size, now := 0)
        if number % 50 == 49 and sys.stderr.isatty():
            print(f"{number + 1} of {kills}", file=sys.stderr)  # noqa: T201 - it takes minutes
    write(place, kind, size, 1)
    left = sorted(name for name in os.listdir(folder) if name.startswith("."))
    return {
        "kind": kind,
        "kills": kills,
        "megabytes": size,
        "with a temporary file left by the kill": interrupted,
        **outcomes,
        "lost": lost,
        "left": left,
    }


def _seconds(place: Path, kind: str, size: float, number: int) -> float:
    began = time.perf_counter()
    write(place, kind, size, number)
    return time.perf_counter() - began


def _kill_one(place: Path, kind: str, size: float, *, after: int, delay: float) -> None:
    """Fork a child that saves without end, and kill it ``delay`` seconds later."""
    parent = os.getpid()
    process = os.fork()
    if not process:
        try:
            for number in itertools.cycle(range(after + 1, after + 100)):
                if os.getppid() != parent:
                    break  # nobody is left who would end it
                write(place, kind, size, number % 100)
        finally:
            os._exit(1)  # what went wrong in the child shows in the file, or as no progress
    time.sleep(delay)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("the child ended by itself: a save failed that should not")


def write(place: Path, kind: str, size: float, number: int) -> None:
    """Save values that belong to a generation; each tensor is all of one number."""
    if kind == "edit" and place.exists():
        # Now and then more than fits: then the file is copied.
        text = str(number).zfill(10 if number % 10 else 700)
        edit_metadata(place, {"number": text})
        return
    count = max(1, int(size * 1e6) // 4 // TENSORS)
    if kind == "itself" and place.exists():
        with open_store(place) as index:
            dtype = DType.F32 if number % 2 else DType.F64
            cast = [cast_to(snapshot, dtype) for snapshot in index.values()]
            about = {"number": str(number)}
            moved = TensorIndex.of(cast, format="memory", path=place, metadata=about)
            save(moved, place, overwrite=True)
        return
    made = [
        TensorSnapshot.from_array(f"t{n}", np.full(count, 1000 * number + n, np.float32))
        for n in range(TENSORS)
    ]
    shard_size = {"set": count * 4 * 3, "reshaped": count * 4 * (1 + number % 4)}.get(kind)
    index = TensorIndex.of(made, format="memory", metadata={"number": str(number)})
    save(index, place, overwrite=True, shard_size=shard_size)


def generation(place: Path, kind: str, size: float) -> int:
    """Which save wrote the file. Raises if it is not whole, or of two saves."""
    where = place.with_name(place.name + ".index.json") if kind in SETS else place
    count = max(1, int(size * 1e6) // 4 // TENSORS)
    with open_store(where) as index:
        if list(index) != [f"t{n}" for n in range(TENSORS)]:
            raise ValueError(f"the tensors are {list(index)}")
        if sorted({snapshot.nbytes for snapshot in index.values()}) not in (
            [4 * count],
            [8 * count],
        ):
            raise ValueError("the tensors have other sizes")
        number = int(index["t0"].read()[0]) // 1000
        for n, snapshot in enumerate(index.values()):
            values = snapshot.read()
            if values.shape != (count,) or not (values == 1000 * number + n).all():
                raise ValueError(f"{snapshot.key} has values of another save than t0 ({number})")
        return int(index.metadata["number"]) if kind in ("edit", "itself") else number


if __name__ == "__main__":
    raise SystemExit(main())
