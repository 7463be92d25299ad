"""Every variant of every kernel beside NumPy, ml_dtypes, torch and a plain copy, as ratios.

    python bench_kernels.py [--only NAME] [--sizes 4K,1M,16M] [--seconds S] [--json FILE]

All contenders of a line take turns in one process, and the fastest turn of each counts, so that
another program's load meets all alike. Ours go through the gate, into a given ``out``, in one
thread unless the column says otherwise; torch in one thread too. Above 1, ours is faster.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from ruda import _kernels
from ruda._kernels import float8, layout, narrowing, order, statistics, variants

try:
    import torch
except ImportError:
    torch = None

Work = Callable[[], object]
SIZES = {"4K": 1 << 12, "1M": 1 << 20, "16M": 1 << 24}
SHORTEST = 2e-4
"""Seconds that one turn lasts at least; fast work is repeated within it."""
LONGEST = 5.0
"""Who takes longer on the first turn has only that one."""
ROUNDS = 5
"""Turns that everybody else has at least."""


@dataclass(frozen=True)
class Case:
    """One line: what is measured, how many bytes it moves, who takes part, and that it is right."""

    name: str
    moved: int
    ours: Work
    peers: dict[str, Work] = field(default_factory=dict)
    check: Callable[[], None] = lambda: None


def serve(modules: dict[str, ModuleType], threads: int) -> None:
    """Put one variant behind the gate."""
    float8._float8 = modules["float8"]
    narrowing._half = modules["half"]
    statistics._moments = modules["moments"]
    statistics._histogram = modules["histogram"]
    layout._transpose = modules["transpose"]
    order._shuffle = modules["shuffle"]
    _kernels.set_thread_count(threads)


def tensor(array: NDArray[Any]) -> Any:
    """The torch tensor over the same memory."""
    if array.dtype == narrowing.BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def torch_peer(work: Callable[..., object], *arrays: NDArray[Any]) -> dict[str, Work]:
    """The work on the arrays as tensors, where torch is installed."""
    if torch is None:
        return {}
    tensors = [tensor(array) for array in arrays]
    return {"torch": lambda: work(*tensors)}


def torch_copy(target: Any, source: Any) -> None:
    target.copy_(source)


def numbers(n: int) -> NDArray[np.float32]:
    return (np.random.default_rng(0).standard_normal(n) * 0.05).astype(np.float32)


def narrow_f16(n: int) -> Case:
    values, out, theirs = numbers(n), np.empty(n, np.float16), np.empty(n, np.float16)
    return Case(
        "f32 → f16",
        6 * n,
        lambda: _kernels.narrow_f16(values, out),
        {
            "numpy": lambda: np.copyto(theirs, values, casting="unsafe"),
            **torch_peer(torch_copy, theirs, values),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def bit_trick(values: NDArray[np.float32], out: NDArray[np.uint16]) -> None:
    """bfloat16 as NumPy users write it: rounded to nearest even, without care for NaN."""
    bits = values.view(np.uint32)
    out[...] = (bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) >> 16


def narrow_bf16(n: int) -> Case:
    values = numbers(n)
    out, theirs = np.empty(n, ml_dtypes.bfloat16), np.empty(n, ml_dtypes.bfloat16)
    return Case(
        "f32 → bf16",
        6 * n,
        lambda: _kernels.narrow_bf16(values, out),
        {
            "numpy": lambda: bit_trick(values, theirs.view(np.uint16)),
            "ml_dtypes": lambda: np.copyto(theirs, values, casting="unsafe"),
            **torch_peer(torch_copy, theirs, values),
        },
        lambda: np.testing.assert_array_equal(out.view(np.uint16), theirs.view(np.uint16)),
    )


def widen_f16(n: int) -> Case:
    halves, out, theirs = numbers(n).astype(np.float16), np.empty(n, "f4"), np.empty(n, "f4")
    return Case(
        "f16 → f32",
        6 * n,
        lambda: _kernels.widen_f16(halves, out),
        {
            "numpy": lambda: np.copyto(theirs, halves),
            **torch_peer(torch_copy, theirs, halves),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def widen_bf16(n: int) -> Case:
    halves = numbers(n).astype(ml_dtypes.bfloat16)
    out, theirs = np.empty(n, "f4"), np.empty(n, "f4")
    words, wide = halves.view(np.uint16), theirs.view(np.uint32)
    return Case(
        "bf16 → f32",
        6 * n,
        lambda: _kernels.widen_bf16(halves, out),
        {
            "numpy": lambda: np.left_shift(words, 16, out=wide, dtype=np.uint32),
            "ml_dtypes": lambda: np.copyto(theirs, halves),
            **torch_peer(torch_copy, theirs, halves),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def narrow_float8(n: int, kind: Any, narrow: Callable[..., object], name: str) -> Case:
    values = numbers(n)
    out, theirs = np.empty(n, kind), np.empty(n, kind)
    return Case(
        f"f32 → {name}",
        5 * n,
        lambda: narrow(values, out),
        {
            # NumPy has no such float; its conversion is the loop that ml_dtypes registers.
            "numpy": lambda: np.copyto(theirs, values, casting="unsafe"),
            **torch_float8(name, values),
        },
        lambda: np.testing.assert_array_equal(out.view(np.uint8), theirs.view(np.uint8)),
    )


def widen_float8(n: int, kind: Any, widen: Callable[..., object], name: str) -> Case:
    codes = numbers(n).astype(kind)
    out, theirs = np.empty(n, "f4"), np.empty(n, "f4")
    table = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    return Case(
        f"{name} → f32",
        5 * n,
        lambda: widen(codes, out),
        {
            "numpy": lambda: np.take(table, codes.view(np.uint8), out=theirs),
            "ml_dtypes": lambda: np.copyto(theirs, codes),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def torch_float8(name: str, values: NDArray[Any]) -> dict[str, Work]:
    """torch's conversion of the values, where it is installed; it makes a new tensor."""
    if torch is None:
        return {}
    kind = torch.float8_e4m3fn if "4m3" in name else torch.float8_e5m2
    given = tensor(values)
    return {"torch": lambda: given.to(kind)}


def numpy_moments(values: NDArray[Any]) -> tuple[Any, ...]:
    return (
        values.min(),
        values.max(),
        values.sum(dtype=np.float64),
        np.square(values, dtype=np.float64).sum(),
        np.count_nonzero(values),
        np.isnan(values).sum(),
        np.isposinf(values).sum(),
        np.isneginf(values).sum(),
    )


def torch_moments(values: Any) -> tuple[Any, ...]:
    return (
        *values.aminmax(),
        values.sum(dtype=torch.float64),
        values.to(torch.float64).square().sum(),
        values.count_nonzero(),
        values.isnan().sum(),
        values.isposinf().sum(),
        values.isneginf().sum(),
    )


def moments(n: int, dtype: str = "f4") -> Case:
    values = numbers(n).astype(dtype)
    return Case(
        f"moments of f{values.itemsize * 8}",
        values.nbytes,
        lambda: _kernels.moments(values),
        {
            "numpy": lambda: numpy_moments(values),
            **torch_peer(torch_moments, values),
        },
    )


def histogram(n: int) -> Case:
    values = numbers(n)
    return Case(
        "histogram, 64 bins",
        values.nbytes,
        lambda: _kernels.histogram(values, -0.25, 0.25, 64),
        {
            "numpy": lambda: np.histogram(values, 64, (-0.25, 0.25)),
            **torch_peer(lambda v: torch.histc(v, 64, -0.25, 0.25), values),
        },
    )


def transpose(n: int) -> Case:
    side = int(n**0.5)
    values, out = numbers(n).reshape(side, side), np.empty((side, side), np.float32)
    theirs = np.empty_like(out)
    return Case(
        "transposed copy, f32",
        2 * values.nbytes,
        lambda: _kernels.transpose(values, out),
        {
            "numpy": lambda: np.copyto(theirs, values.T),
            **torch_peer(lambda t, v: t.copy_(v.t()), theirs, values),
        },
        lambda: np.testing.assert_array_equal(out, theirs),
    )


def shuffle(n: int) -> Case:
    dice = np.random.default_rng(0)
    return Case(
        "shuffled order",
        8 * n,
        lambda: _kernels.shuffle_order(n, 7),
        {"numpy": lambda: dice.permutation(n), **torch_peer(lambda: torch.randperm(n))},
    )


CASES: dict[str, Callable[[int], Case]] = {
    "f16": narrow_f16,
    "bf16": narrow_bf16,
    "from_f16": widen_f16,
    "from_bf16": widen_bf16,
    "e4m3": lambda n: narrow_float8(n, float8.E4M3, _kernels.narrow_e4m3, "e4m3fn"),
    "e5m2": lambda n: narrow_float8(n, float8.E5M2, _kernels.narrow_e5m2, "e5m2"),
    "from_e4m3": lambda n: widen_float8(n, float8.E4M3, _kernels.widen_e4m3, "e4m3fn"),
    "from_e5m2": lambda n: widen_float8(n, float8.E5M2, _kernels.widen_e5m2, "e5m2"),
    "moments": moments,
    "moments_f16": lambda n: moments(n, "f2"),
    "histogram": histogram,
    "transpose": transpose,
    "shuffle": shuffle,
}


def copy_of(moved: int) -> Work:
    """NumPy's copy that reads half the bytes and writes the other half."""
    source = np.ones(max(1, moved // 2), np.uint8)
    target = np.zeros_like(source)
    return lambda: np.copyto(target, source)


def contenders(case: Case, threads: int) -> dict[str, tuple[Work, Work]]:
    """By name: what readies a turn, untimed, and the turn."""
    found: dict[str, tuple[Work, Work]] = {}
    available = _kernels.available_variants()
    for name in available:
        modules = variants.load(name)
        found[name] = (lambda m=modules: serve(m, 1), case.ours)
    if threads > 1:
        best = variants.load(available[0])
        found[f"{available[0]} ×{threads}"] = (lambda: serve(best, threads), case.ours)
    for name, peer in case.peers.items():
        found["peer " + name] = (lambda: None, peer)
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
    times: dict[str, int] = {}
    fastest: dict[str, float] = {}
    for name, (ready, work) in taking_part.items():
        ready()
        fastest[name] = turn(work, 1)
        times[name] = max(1, int(SHORTEST / max(fastest[name], 1e-7)))
    case.check()
    turning = {name: who for name, who in taking_part.items() if fastest[name] < LONGEST}
    rounds, end = 0, time.perf_counter() + seconds
    while rounds < ROUNDS or time.perf_counter() < end:
        for name, (ready, work) in turning.items():
            ready()
            fastest[name] = min(fastest[name], turn(work, times[name]))
        rounds += 1
    return fastest


def row(case: Case, size: str, fastest: dict[str, float]) -> dict[str, Any]:
    """Figures of one line, and their ratios to the best variant in one thread."""
    best = fastest[_kernels.available_variants()[0]]
    return {
        "kernel": case.name,
        "size": size,
        "seconds": fastest,
        "best_gb_per_s": case.moved / best / 1e9,
        "copy_gb_per_s": case.moved / fastest["copy"] / 1e9,
        "variants_vs_numpy": {
            name: fastest["peer numpy"] / spent
            for name, spent in fastest.items()
            if name != "copy" and not name.startswith("peer")
        },
        "best_vs": {
            name.removeprefix("peer "): spent / best
            for name, spent in fastest.items()
            if name == "copy" or name.startswith("peer")
        },
    }


def print_table(rows: list[dict[str, Any]]) -> None:
    ours = list(rows[0]["variants_vs_numpy"])
    heads = ["kernel", "size", "best µs", "GB/s"]
    heads += [f"{'twins' if name == 'numpy' else name}/numpy" for name in ours]
    heads += ["vs ml_dtypes", "vs torch", "vs copy"]
    lines = [heads]
    for line in rows:
        cells = [line["kernel"], line["size"]]
        cells += [f"{min(line['seconds'][n] for n in ours[:1]) * 1e6:.1f}"]
        cells += [f"{line['best_gb_per_s']:.1f}"]
        cells += [f"{line['variants_vs_numpy'][name]:.2f}×" for name in ours]
        for peer in ("ml_dtypes", "torch", "copy"):
            ratio = line["best_vs"].get(peer)
            cells.append("–" if ratio is None else f"{ratio:.2f}×")
        lines.append(cells)
    widths = [max(len(cells[i]) for cells in lines) for i in range(len(heads))]
    for cells in lines:
        first = "  ".join(c.ljust(w) for c, w in zip(cells[:2], widths[:2], strict=True))
        rest = "  ".join(c.rjust(w) for c, w in zip(cells[2:], widths[2:], strict=True))
        print(f"{first}  {rest}")


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
    print("" if torch is None else f", torch {torch.__version__} in one thread")
    if torch is not None:
        torch.set_num_threads(1)
    rows = []
    for name in [options.only] if options.only else CASES:
        for size in sizes:
            case = CASES[name](SIZES[size])
            rows.append(row(case, size, measure(case, threads, options.seconds)))
    print_table(rows)
    if options.json is not None:
        figures = {"bench": "kernels", "threads": threads, "rows": rows}
        options.json.write_text(json.dumps(figures, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
