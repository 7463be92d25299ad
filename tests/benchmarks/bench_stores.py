"""Opening, reading and saving beside safetensors and cp, in one run, as ratios.

    python bench_stores.py [--size MEGABYTES] [--tensors N] [--repeat N] [--json FILE]

Every measurement runs in a fresh process, the sides in turn, ``--repeat`` times; the fastest
counts. A ratio above 1 means that Ruda is faster. Memory is what the work added at its peak.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

TINY_TENSORS = 100_000


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.work is not None:
        name, *paths = arguments.work
        print(json.dumps(_measured(WORK[name], [Path(p) for p in paths])))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="ruda-bench-", dir=arguments.folder))
    try:
        rows = _run(folder, arguments.size << 20, arguments.tensors, arguments.repeat)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _print_table(rows)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"bench": "stores", "rows": rows}, indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=256, help="megabytes of the large file")
    parser.add_argument("--tensors", type=int, default=16, help="tensors in the large file")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the fastest counts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--folder", type=Path, help="where the files are made (default: temporary)")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    return parser


def _run(folder: Path, size: int, tensors: int, repeat: int) -> list[dict[str, Any]]:
    large, many = folder / "large.safetensors", folder / "many.safetensors"
    _make(large, tensors, size // 4 // tensors)
    _make(many, TINY_TENSORS, 4)
    packed = folder / "large.bpk"
    _child("save_ruda", large, packed)
    out = folder / "out.safetensors"
    plans = [
        ("save, against cp", ("save_ruda", large, out), ("cp", large, out)),
        ("save, against cp and sync", ("save_ruda", large, out), ("cp_sync", large, out)),
        ("save, against safetensors", ("save_ruda", large, out), ("save_official", large, out)),
        ("save and verify, against cp", ("save_verify", large, out), ("cp", large, out)),
        ("to Rudapack, against cp", ("save_ruda", large, folder / "o.bpk"), ("cp", packed, out)),
        ("save as f16, against cp", ("save_half", large, out), ("cp", large, out)),
        ("open 100,000 tensors", ("open_ruda", many), ("open_official", many)),
        ("read all tensors", ("read_ruda", large), ("read_official", large)),
    ]  # fmt: skip
    return [_compare(name, ours, theirs, repeat) for name, ours, theirs in plans]


def _make(path: Path, tensors: int, elements: int) -> None:
    import numpy as np

    from ruda.store import TensorIndex, TensorSnapshot, save

    values = np.random.default_rng(0).standard_normal(elements, dtype=np.float32)
    made = [TensorSnapshot.from_array(f"layer.{n}.weight", values) for n in range(tensors)]
    save(TensorIndex.of(made, format="memory"), path)


def _compare(name: str, ours: Any, theirs: Any, repeat: int) -> dict[str, Any]:
    results: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for _ in range(repeat):
        for side, work in (("ours", ours), ("theirs", theirs)):
            os.sync()  # nobody pays for the writes of the one before
            results[side].append(_child(*work))
    seconds = {side: min(r["seconds"] for r in found) for side, found in results.items()}
    peak = {side: min(r["peak_mb"] for r in found) for side, found in results.items()}
    return {
        "name": name,
        "ruda_s": seconds["ours"],
        "peer_s": seconds["theirs"],
        "speed_ratio": seconds["theirs"] / seconds["ours"],
        "ruda_peak_mb": peak["ours"],
        "peer_peak_mb": peak["theirs"],
        "peer": theirs[0],
    }


def _child(name: str, *paths: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--work", name, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _measured(work: Callable[..., Callable[[], object]], paths: list[Path]) -> dict[str, float]:
    """Seconds of the work without its imports, and how much memory it added at its peak."""
    if len(paths) == 2:
        paths[1].unlink(missing_ok=True)
    run = work(*paths)
    before = _resident(peak=False)
    _forget_peak()
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak_mb": _resident(peak=True) - before}


def _resident(*, peak: bool) -> float:
    """Megabytes in memory now, or at most since ``_forget_peak``; 0 where Linux is not there."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    (line,) = [x for x in status.splitlines() if x.startswith("VmHWM" if peak else "VmRSS")]
    return int(line.split()[1]) / 1024


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _save_ruda(source: Path, out: Path, *, verify: bool = False) -> Callable[[], object]:
    from ruda.store import open_store, save

    def run() -> None:
        with open_store(source) as index:
            save(index, out, verify=verify)

    return run


def _save_half(source: Path, out: Path) -> Callable[[], object]:
    from ruda.store import CastPolicy, Recipe, convert, open_store, save
    from ruda.tensor import DType

    def run() -> None:
        with open_store(source) as index:
            save(convert(index, recipe=Recipe(cast=CastPolicy.every(DType.F16))), out)

    return run


def _save_official(source: Path, out: Path) -> Callable[[], object]:
    from safetensors.numpy import load_file, save_file

    return lambda: save_file(load_file(source), out)


def _cp(source: Path, out: Path) -> Callable[[], object]:
    return lambda: subprocess.run(["cp", source, out], check=True)


def _cp_sync(source: Path, out: Path) -> Callable[[], object]:
    def run() -> None:
        subprocess.run(["cp", source, out], check=True)
        with open(out, "rb+") as file:
            os.fsync(file.fileno())

    return run


def _open_ruda(source: Path) -> Callable[[], object]:
    from ruda.store import open_store

    def run() -> int:
        with open_store(source) as index:
            return sum(s.nbytes for s in index.values())

    return run


def _open_official(source: Path) -> Callable[[], object]:
    from safetensors import safe_open

    def run() -> int:
        with safe_open(source, "np") as file:
            return sum(len(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118

    return run


def _read_ruda(source: Path) -> Callable[[], object]:
    from ruda.store import open_store

    def run() -> None:
        with open_store(source) as index:
            for snapshot in index.values():
                snapshot.read().max()

    return run


def _read_official(source: Path) -> Callable[[], object]:
    from safetensors import safe_open

    def run() -> None:
        with safe_open(source, "np") as file:
            for key in file.keys():  # noqa: SIM118
                file.get_tensor(key).max()

    return run


WORK: dict[str, Callable[..., Callable[[], object]]] = {
    "cp": _cp,
    "cp_sync": _cp_sync,
    "open_official": _open_official,
    "open_ruda": _open_ruda,
    "read_official": _read_official,
    "read_ruda": _read_ruda,
    "save_half": _save_half,
    "save_official": _save_official,
    "save_ruda": _save_ruda,
    "save_verify": lambda source, out: _save_ruda(source, out, verify=True),
}


def _print_table(rows: list[dict[str, Any]]) -> None:
    print(f"{'':38}{'ruda s':>9}{'peer s':>9}{'× peer':>8}{'ruda MB':>9}{'peer MB':>9}")
    for row in rows:
        print(
            f"{row['name']:38}{row['ruda_s']:9.3f}{row['peer_s']:9.3f}{row['speed_ratio']:8.2f}"
            f"{row['ruda_peak_mb']:9.1f}{row['peer_peak_mb']:9.1f}"
        )


if __name__ == "__main__":
    raise SystemExit(main())
