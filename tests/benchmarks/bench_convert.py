"""Converting f32 to bf16 safetensors and to f16 Rudapack, beside a torch script and cp.

    python bench_convert.py [--size MEGABYTES] [--tensors N] [--quick] [--repeat N] [--json FILE]

The script loads with safetensors, casts with torch and saves with safetensors; it has no Rudapack,
so it writes safetensors there, too. ``cp`` copies the source (twice the bytes that a conversion
writes) or a file of the size of the result, and both it and the script are followed by an fsync,
because Ruda syncs what it writes. Every measurement runs in a fresh process after the same work on
a tiny file, so that imports do not count; the sides take turns; the fastest counts. A ratio above 1
means that Ruda is faster. Memory is what the work added at its peak, the most of all rounds, in
largest tensors as well: Ruda should need at most two. That of ``cp``, a process of its own, is not
counted.
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

GOALS = {"cp of the source": 0.75, "torch and safetensors": 1.0}
MOST_TENSORS = 2.0

Work = Callable[[Path, Path], object]


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.work is not None:
        name, source, out = arguments.work
        print(json.dumps(_measured(name, Path(source), Path(out))))
        return 0
    size = 64 if arguments.quick else arguments.size
    folder = Path(tempfile.mkdtemp(prefix="ruda-bench-", dir=arguments.folder))
    try:
        rows = _run(folder, size << 20, arguments.tensors, arguments.repeat)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _print_table(rows)
    if arguments.json is not None:
        figures = {"bench": "convert", "megabytes": size, "goals": GOALS, "rows": rows}
        figures["most_tensors"] = MOST_TENSORS
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=2048, help="megabytes of f32")
    parser.add_argument("--tensors", type=int, default=32, help="tensors in the file")
    parser.add_argument("--quick", action="store_true", help="a small file: to see that it runs")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the fastest counts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--folder", type=Path, help="where the files are made (default: temporary)")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    return parser


def _run(folder: Path, size: int, tensors: int, repeat: int) -> list[dict[str, Any]]:
    source, result = folder / "source.safetensors", folder / "result.safetensors"
    each = size // 4 // tensors
    _make(source, tensors, each)
    _make(folder / "tiny.safetensors", 2, 256)
    _ruda_bf16(source, result)
    os.sync()
    rows = []
    for name, ours, suffix, script in (
        ("f32 to bf16 .safetensors", "ruda_bf16", "safetensors", "torch_bf16"),
        ("f32 to f16 .bpk", "ruda_f16", "bpk", "torch_f16"),
    ):
        sides = {
            ours: (source, folder / f"ours.{suffix}"),
            script: (source, folder / "theirs.safetensors"),
            "cp_source": (source, folder / "copy"),
            "cp_result": (result, folder / "copy"),
        }
        best = _best(sides, repeat)
        peers = {
            "torch and safetensors": script,
            "cp of the source": "cp_source",
            "cp of the result's size": "cp_result",
        }
        for peer, side in peers.items():
            rows.append(_row(name, peer, best[ours], best[side], each * 4))
            print(_line(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _best(sides: dict[str, tuple[Path, Path]], repeat: int) -> dict[str, dict[str, float]]:
    """Fastest run and largest peak of every side; who begins changes with each round."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for turn in range(repeat):
        for name in sorted(sides, reverse=bool(turn % 2)):
            os.sync()  # nobody pays for the writes of the one before
            found[name].append(_child(name, *sides[name]))
    return {
        name: {
            "seconds": min(run["seconds"] for run in runs),
            "peak_mb": max(run["peak_mb"] for run in runs),
        }
        for name, runs in found.items()
    }


def _row(
    name: str, peer: str, ours: dict[str, float], theirs: dict[str, float], largest: int
) -> dict[str, Any]:
    return {
        "name": name,
        "peer": peer,
        "ruda_s": ours["seconds"],
        "peer_s": theirs["seconds"],
        "speed_ratio": theirs["seconds"] / ours["seconds"],
        "ruda_peak_mb": ours["peak_mb"],
        "peer_peak_mb": theirs["peak_mb"],
        "ruda_peak_tensors": ours["peak_mb"] * (1 << 20) / largest,
    }


def _make(path: Path, tensors: int, elements: int) -> None:
    import numpy as np

    from ruda.store import TensorIndex, TensorSnapshot, save

    columns = 256
    values = np.random.default_rng(0).standard_normal(
        (elements // columns, columns), dtype=np.float32
    )
    made = [TensorSnapshot.from_array(f"layer.{n}.weight", values) for n in range(tensors)]
    save(TensorIndex.of(made, format="memory"), path)


def _child(name: str, source: Path, out: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--work", name, str(source), str(out)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _measured(name: str, source: Path, out: Path) -> dict[str, float]:
    """Seconds of the work without its imports, and how much memory it added at its peak."""
    out.unlink(missing_ok=True)
    _warm_up(name, source.with_name("tiny.safetensors"), out)
    before = _resident(peak=False)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    start = time.perf_counter()
    WORK[name](source, out)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak_mb": _resident(peak=True) - before}


def _warm_up(name: str, tiny: Path, out: Path) -> None:
    """The same work on a tiny file, so that nobody pays for imports."""
    if tiny.exists():
        WORK[name](tiny, out)
        out.unlink()


def _resident(*, peak: bool) -> float:
    """Megabytes in memory now, or at most so far; 0 where Linux is not there."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    (line,) = [x for x in status.splitlines() if x.startswith("VmHWM" if peak else "VmRSS")]
    return int(line.split()[1]) / 1024


def _ruda(source: Path, out: Path, label: str) -> None:
    from ruda.store import CastPolicy, Recipe, convert, open_store, save
    from ruda.tensor import DType

    recipe = Recipe(cast=CastPolicy.every(DType.parse(label)))
    with open_store(source) as index:
        save(convert(index, recipe=recipe), out)


def _ruda_bf16(source: Path, out: Path) -> None:
    _ruda(source, out, "bf16")


def _ruda_f16(source: Path, out: Path) -> None:
    _ruda(source, out, "f16")


def _torch(source: Path, out: Path, label: str) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    dtype = getattr(torch, label)
    save_file({key: value.to(dtype) for key, value in load_file(source).items()}, out)
    _sync(out)


def _cp(source: Path, out: Path) -> None:
    subprocess.run(["cp", source, out], check=True)
    _sync(out)


def _sync(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


WORK: dict[str, Work] = {
    "cp_result": _cp,
    "cp_source": _cp,
    "ruda_bf16": _ruda_bf16,
    "ruda_f16": _ruda_f16,
    "torch_bf16": lambda source, out: _torch(source, out, "bfloat16"),
    "torch_f16": lambda source, out: _torch(source, out, "float16"),
}


def _print_table(rows: list[dict[str, Any]]) -> None:
    head = f"{'ruda s':>9}{'peer s':>9}{'× peer':>8}{'goal':>6}{'ruda MB':>9}{'tensors':>9}"
    print(f"{'':52}{head}{'peer MB':>9}")
    for row in rows:
        print(_line(row))


def _line(row: dict[str, Any]) -> str:
    goal = GOALS.get(row["peer"])
    return (
        f"{row['name'] + ', ' + row['peer']:<52}{row['ruda_s']:>9.3f}{row['peer_s']:>9.3f}"
        f"{row['speed_ratio']:>8.2f}{'' if goal is None else goal:>6}{row['ruda_peak_mb']:>9.1f}"
        f"{row['ruda_peak_tensors']:>9.2f}{row['peer_peak_mb']:>9.1f}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
