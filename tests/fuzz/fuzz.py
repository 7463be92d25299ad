"""Fuzz one reader: with atheris (guided by coverage) where it is installed, else by mutation.

    python fuzz.py NAME [--seconds N] [--runs N] [--folder DIR] [--engine atheris|mutation]

The folder keeps the corpus and every input that made a reader fail. The exit code is 0 when none
did. What counts as a failure: any exception but Ruda's own, more than SLOW seconds for an input,
more than MEMORY megabytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import sys
import time
import traceback
from pathlib import Path

SLOW = 20
MEMORY = 2048
PIECES = (b"\x00", b"\xff", b"\xff\xff\xff\x7f", b"\x00" * 8, b"\xff" * 8, b"(", b".", b'"', b"{")


def main() -> int:
    """Run one target and give the exit code."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Fuzz one reader.")
    parser.add_argument("name")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--engine", choices=["atheris", "mutation"])
    options = parser.parse_args()
    engine = options.engine or ("atheris" if _has_atheris() else "mutation")
    if engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["ruda.store"]):
            import targets
    else:
        import targets
    if options.name not in targets.TARGETS:
        print(f"no target is called {options.name!r}; there are: {' '.join(targets.TARGETS)}")
        return 2
    target = targets.TARGETS[options.name]
    corpus = options.folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for seed in target.seeds:
        if not targets.attempt(target, seed):
            print(f"{options.name}: a seed is refused; it should be a good file")
        (corpus / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    run = _guided if engine == "atheris" else _mutated
    return run(targets, target, options, corpus)


def _has_atheris() -> bool:
    try:
        import atheris
    except ImportError:
        return False
    return atheris is not None


def _guided(targets, target, options, corpus) -> int:  # type: ignore[no-untyped-def]
    import atheris

    words = [
        "fuzz",
        str(corpus),
        f"-max_total_time={options.seconds}",
        f"-runs={options.runs}",
        f"-timeout={SLOW}",
        f"-rss_limit_mb={MEMORY}",
        f"-artifact_prefix={options.folder}{os.sep}",
        "-print_final_stats=1",
        "-max_len=65536",
        "-verbosity=1",
    ]
    atheris.Setup(words, lambda raw: targets.attempt(target, raw))
    atheris.Fuzz()
    return 0


def _mutated(targets, target, options, corpus) -> int:  # type: ignore[no-untyped-def]
    """Random changes of the corpus; those that are read are kept as seeds for more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY << 20, MEMORY << 20))
    seeds = [path.read_bytes() for path in sorted(corpus.iterdir())]
    dice = random.Random(len(seeds))
    began = time.monotonic()
    end = began + options.seconds
    done = read = failed = 0
    while time.monotonic() < end and done != options.runs:
        raw = mutate(dice, seeds)
        start = time.monotonic()
        try:
            good = targets.attempt(target, raw)
            if time.monotonic() - start > SLOW:
                raise TimeoutError(f"took more than {SLOW} s")
        except Exception:  # noqa: BLE001 - this is what it is looking for
            failed += 1
            traceback.print_exc()
            path = options.folder / f"crash-{hashlib.sha1(raw).hexdigest()}"
            path.write_bytes(raw)
            print(f"{options.name}: {path}", file=sys.stderr)
            good = False
        if good and len(seeds) < 2000:
            seeds.append(raw)
        read += good
        done += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (
        20 if sys.platform == "darwin" else 10
    )
    print(
        f"{options.name}: {done} inputs, {read} read, {failed} failures, "
        f"{time.monotonic() - began:.0f} s, at most {peak} MB"
    )
    return 1 if failed else 0


def mutate(dice: random.Random, seeds: list[bytes]) -> bytes:
    """One of the seeds after one to four random changes."""
    raw = bytearray(dice.choice(seeds))
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(raw) + 1)
        change = dice.randrange(6)
        if change == 0 and at < len(raw):
            raw[at] ^= 1 << dice.randrange(8)
        elif change == 1 and at < len(raw):
            raw[at] = dice.randrange(256)
        elif change == 2:
            piece = dice.choice(PIECES)
            raw[at : at + len(piece)] = piece
        elif change == 3:
            raw[at:at] = dice.choice(PIECES)
        elif change == 4:
            del raw[at : at + dice.randint(1, 16)]
        else:
            other = dice.choice(seeds)
            start = dice.randrange(len(other) + 1)
            raw[at : at + 16] = other[start : start + dice.randint(0, 32)]
    return bytes(raw)


if __name__ == "__main__":
    sys.exit(main())
