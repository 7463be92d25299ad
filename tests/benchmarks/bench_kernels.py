"""Every variant of every kernel beside its twin, NumPy, ml_dtypes, torch and a plain copy.

    python bench_kernels.py [--only NAME] [--sizes 4K,64K,1M,16M] [--seconds S] [--json FILE]

All contenders of a line take turns in one process, and the fastest turn of each counts, so that
another program's load meets all alike. Ours go through the gate, into a given ``out``, in one
thread unless the column says otherwise; so does the twin, which is what the gate calls where
nothing is compiled. NumPy is what a user would write: views made beforehand, no checks, no counts.
The copy is NumPy's, which runs on one thread, of as many bytes as the kernel reads and writes: half
of them are read, half written. It takes its turns with one thread and, anew, beside those of
several (×). Work is done once before its turn, unless it takes long, so that all find their memory
where they left it.
Where the base build serves, NumPy has no loops for newer processors either: base is measured beside
its twin and NumPy in a process in which NumPy takes none of them.
Ratios above 1 are in our favour; where a compiled kernel loses to its twin, the last lines say so.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Before torch is imported: threads that wait by spinning would be measured in all others' turns.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("KMP_BLOCKTIME", "0")

import kernel_cases_layers as layers
import kernel_cases_shapes as shapes
import kernel_cases_values as values
import numpy as np
from kernel_case import Case, Work, torch

from ruda import _kernels
from ruda._kernels import float8, variants

SIZES = {"4K": 1 << 12, "64K": 1 << 16, "1M": 1 << 20, "16M": 1 << 24}
SHORTEST = 2e-4
"""Seconds that one turn lasts at least; fast work is repeated within it."""
WARM = 5e-3
"""Seconds up to which work is done once, untimed, before its turn."""
SLOW = 0.1
"""Seconds from which a first call is taken as it is."""
LONGEST = 5.0
"""Who takes longer on the first turn has only that one."""
NOISE = 0.95
"""Ratio above which two contenders count as equally fast."""
COPY_BESIDE = "copy beside ×"
ROUNDS = 5
"""Turns that everybody else has at least."""


def serve(modules: dict[str, ModuleType], threads: int) -> None:
    """Put one variant behind the gates."""
    for (gate, attribute), subject in variants.holders().items():
        setattr(sys.modules[gate], attribute, modules[subject])
    if threads != _kernels.thread_count():  # it ends the helping threads
        _kernels.set_thread_count(threads)


CASES: dict[str, Callable[[int], Case]] = {
    "f16": values.narrow_f16,
    "bf16": values.narrow_bf16,
    "from_f16": values.widen_f16,
    "from_bf16": values.widen_bf16,
    "e4m3": lambda n: values.narrow_float8(n, float8.E4M3, _kernels.narrow_e4m3, "e4m3fn"),
    "e5m2": lambda n: values.narrow_float8(n, float8.E5M2, _kernels.narrow_e5m2, "e5m2"),
    "from_e4m3": lambda n: values.widen_float8(n, float8.E4M3, _kernels.widen_e4m3, "e4m3fn"),
    "from_e5m2": lambda n: values.widen_float8(n, float8.E5M2, _kernels.widen_e5m2, "e5m2"),
    "moments": values.moments,
    "moments_f16": lambda n: values.moments(n, "f2"),
    "histogram": values.histogram,
    "transpose": values.transpose,
    "shuffle": values.shuffle,
    "softmax": lambda n: layers.by_rows(n, "softmax", _kernels.softmax, layers.numpy_softmax),
    "layer_norm": lambda n: layers.by_rows(n, "layer norm", _kernels.layer_norm, layers.numpy_norm),
    "rms_norm": lambda n: layers.by_rows(n, "rms norm", _kernels.rms_norm, layers.numpy_rms),
    "int8": layers.quantize_int8,
    "from_int8": layers.dequantize_int8,
    "q4_0": layers.unpack_q4_0,
    "difference": layers.difference,
    "max_pool": layers.max_pool,
    "average_pool": layers.average_pool,
    "depthwise": layers.depthwise,
    "scale_channels": layers.scale_channels,
    "rotate_pairs": layers.rotate_pairs,
    "collate_images": layers.collate_images,
    "gelu": lambda n: layers.activation_case(n, "gelu", _kernels.gelu, layers.numpy_gelu),
    "gelu_tanh": lambda n: layers.activation_case(
        n, "gelu, tanh", _kernels.gelu_tanh, layers.numpy_gelu_tanh
    ),
    "silu": lambda n: layers.activation_case(n, "silu", _kernels.silu, layers.numpy_silu),
    **shapes.CASES,
}


def older_processor(options: argparse.Namespace) -> dict[tuple[str, str], dict[str, Any]]:
    """Lines of the base build beside NumPy without newer processors' loops; none if it serves."""
    if _kernels.available_variants()[0] == "base" or "base" not in _kernels.available_variants():
        return {}
    newer = importlib.import_module("numpy._core._multiarray_umath").__cpu_dispatch__
    env = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(newer)}
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "base.json"
        words = [sys.executable, __file__, "--json", str(found), "--sizes", options.sizes]
        words += ["--seconds", str(options.seconds / 2)]
        words += ["--only", options.only] if options.only else []
        subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL)
        lines = json.loads(found.read_text("utf-8"))["rows"]
    return {(line["kernel"], line["size"]): line for line in lines}


def with_base(line: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """The line with the ratios of the base build, behind those of the other builds."""
    known = "variants_vs_twin", "variants_vs_numpy"
    merged = {}
    for name in known:
        builds = [(n, r) for n, r in line[name].items() if n in ("v4", "v3")]
        rest = [(n, r) for n, r in line[name].items() if n not in ("v4", "v3")]
        merged[name] = dict([*builds, ("base", base[name]["base"]), *rest])
    return {**line, **merged, "seconds_beside_base": base["seconds"]}


def copy_of(moved: int) -> Work:
    """NumPy's copy that reads half the bytes and writes the other half."""
    source = np.ones(max(1, moved // 2), np.uint8)
    target = np.zeros_like(source)
    return lambda: np.copyto(target, source)


def torch_in(threads: int) -> Work:
    return (lambda: None) if torch is None else (lambda: torch.set_num_threads(threads))


def contenders(case: Case, threads: int) -> dict[str, tuple[Work, Work]]:
    """By name: what readies a turn, untimed, and the turn."""
    found: dict[str, tuple[Work, Work]] = {}
    available = _kernels.available_variants()
    for name in available:
        if name == "base" != available[0]:
            continue  # ``older_processor`` has it
        modules = variants.load(name)
        found[name] = (lambda m=modules: serve(m, 1), case.ours)
    if threads > 1:
        best = variants.load(available[0])
        found[f"{available[0]} ×{threads}"] = (lambda: serve(best, threads), case.ours)
    for name, peer in case.peers.items():
        found["peer " + name] = (torch_in(1), peer)
    if threads > 1 and "torch" in case.peers:
        found[f"peer torch ×{threads}"] = (torch_in(threads), case.peers["torch"])
    found["copy"] = (lambda: None, copy_of(case.moved))
    return found


def turn(work: Work, times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - start) / times


def measure(case: Case, threads: int, seconds: float) -> dict[str, float]:
    """Seconds of the fastest turn of every contender."""
    taking_part = contenders(case, threads)
    copy = taking_part["copy"]
    fastest: dict[str, float] = {}
    # Those with several threads afterwards: what they leave waiting would slow the others down.
    for together in (False, True):
        some = {name: who for name, who in taking_part.items() if ("×" in name) == together}
        if together and some:
            some[COPY_BESIDE] = copy
        if some:
            fastest |= take_turns(some, case, seconds)
    return fastest


def take_turns(
    taking_part: dict[str, tuple[Work, Work]], case: Case, seconds: float
) -> dict[str, float]:
    times: dict[str, int] = {}
    fastest: dict[str, float] = {}
    for name, (ready, work) in taking_part.items():
        ready()
        fastest[name] = turn(work, 1)
        if fastest[name] < SLOW:  # what a first call does once must not pass for the work
            fastest[name] = min(fastest[name], turn(work, 1))
        times[name] = max(1, int(SHORTEST / max(fastest[name], 1e-7)))
    case.check()
    turning = {name: who for name, who in taking_part.items() if fastest[name] < LONGEST}
    rounds, end = 0, time.perf_counter() + seconds
    while rounds < ROUNDS or time.perf_counter() < end:
        for name, (ready, work) in turning.items():
            ready()
            if fastest[name] < WARM:
                work()
            fastest[name] = min(fastest[name], turn(work, times[name]))
        rounds += 1
    return fastest


def row(case: Case, size: str, fastest: dict[str, float]) -> dict[str, Any]:
    """Figures of one line, and their ratios."""
    best = fastest[_kernels.available_variants()[0]]
    ours = [name for name in fastest if not name.startswith(("peer", "copy"))]
    together = [fastest[name] for name in ours if "×" in name]
    return {
        "kernel": case.name,
        "size": size,
        "seconds": fastest,
        "best_gb_per_s": case.moved / best / 1e9,
        "copy_gb_per_s": case.moved / fastest["copy"] / 1e9,
        "together_vs_copy": fastest[COPY_BESIDE] / together[0] if together else None,
        "variants_vs_twin": {name: fastest["numpy"] / fastest[name] for name in ours},
        "variants_vs_numpy": {name: fastest["peer numpy"] / fastest[name] for name in ours},
        "best_vs": {
            name.removeprefix("peer "): spent / best
            for name, spent in fastest.items()
            if name == "copy" or name.startswith("peer")
        },
    }


def print_table(rows: list[dict[str, Any]], threads: int) -> None:
    ours = [name for name in rows[0]["variants_vs_numpy"] if name != "numpy"]
    alone = [name for name in ours if "×" not in name]
    heads = ["kernel", "size", "best µs", "GB/s"]
    heads += [f"{name}/twin" for name in alone] + [f"{name}/numpy" for name in ours]
    heads += ["vs ml_dtypes", "vs torch", f"×{threads} vs torch ×{threads}"]
    heads += ["vs copy", f"×{threads} vs copy"]
    lines = [heads]
    for line in rows:
        seconds, cells = line["seconds"], [line["kernel"], line["size"]]
        cells += [f"{seconds[ours[0]] * 1e6:.1f}", f"{line['best_gb_per_s']:.1f}"]
        cells += [f"{line['variants_vs_twin'][name]:.2f}×" for name in alone]
        cells += [f"{line['variants_vs_numpy'][name]:.2f}×" for name in ours]
        ratios = [line["best_vs"].get(peer) for peer in ("ml_dtypes", "torch")]
        together = seconds.get(f"peer torch ×{threads}")
        ratios += [together / seconds[f"{ours[0]} ×{threads}"] if together else None]
        ratios += [line["best_vs"]["copy"], line["together_vs_copy"]]
        cells += ["–" if ratio is None else f"{ratio:.2f}×" for ratio in ratios]
        lines.append(cells)
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(heads))]
    for cells in lines:
        first = "  ".join(c.ljust(w) for c, w in zip(cells[:2], widths[:2], strict=True))
        rest = "  ".join(c.rjust(w) for c, w in zip(cells[2:], widths[2:], strict=True))
        print(f"{first}  {rest}")


def print_losses(rows: list[dict[str, Any]]) -> None:
    """Which compiled kernels are slower than their twins, by more than measuring is off."""
    lost = [
        f"{line['kernel']}, {line['size']}, {name}: {ratio:.2f}×"
        for line in rows
        for name, ratio in line["variants_vs_twin"].items()
        if name != "numpy" and ratio < NOISE
    ]
    print("slower than its twin: " + ("; ".join(lost) if lost else "none"))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(CASES), help="one kernel")
    parser.add_argument("--sizes", default=",".join(SIZES), help="of: " + " ".join(SIZES))
    parser.add_argument("--seconds", type=float, default=1.5, help="per line of the table")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args(argv)
    sizes = options.sizes.split(",")
    if unknown := [s for s in sizes if s not in SIZES]:
        parser.error(f"no size is called {unknown[0]!r}; there are: {' '.join(SIZES)}")
    threads = _kernels.thread_count()
    print(_kernels.describe())
    print(f"{platform.processor() or platform.machine()}, NumPy {np.__version__}", end="")
    print("" if torch is None else f", torch {torch.__version__}")
    rows: list[dict[str, Any]] = []
    base = older_processor(options)
    for name in [options.only] if options.only else CASES:
        for size in sizes:
            case = CASES[name](SIZES[size])
            line = row(case, size, measure(case, threads, options.seconds))
            beside = base.get((line["kernel"], size))
            rows.append(line if beside is None else with_base(line, beside))
            if options.json is not None:  # a run takes minutes: what is known is kept
                figures = {"bench": "kernels", "threads": threads, "rows": rows}
                text = json.dumps(figures, indent=2, ensure_ascii=False) + "\n"
                options.json.write_text(text, "utf-8")
    print_table(rows, threads)
    print_losses(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
