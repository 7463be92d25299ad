"""Opening, reading and saving beside safetensors, torch, numpy and cp, in one run, as ratios.

    python bench_stores.py [--size MEGABYTES] [--quick] [--only WORD …] [--repeat N] [--json FILE]

Every measurement runs in a fresh process; the sides take turns, and who begins changes with each
of the ``--repeat`` rounds; the fastest counts, and beside it stands the ratio of the medians, which
tells how much the machine was in the way. A ratio above 1 means that Ruda is faster. Memory is what
the work added at its peak. Where the name says "with imports", what a program pays that does
nothing else is counted; elsewhere the time begins after the imports.

Files are written where ``--folder`` says, both sides on the same disk. Everything older is on that
disk before the time begins, the removal of the file before included. Ruda syncs what it saves; cp,
torch, NumPy and safetensors do not: only the row "against cp and sync" has both do the same work.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

TINY_TENSORS = 100_000
SPARSE_BYTES = 10 << 30
SPARSE_TENSORS = 1000
TORCH_TENSORS = 300
GOALS = {
    "open and list many tensors": 1.0,
    "open a torch zip, with imports": 5.0,
    "read all tensors": 1.0,
    "save, against cp": 0.75,
}


@dataclass(frozen=True)
class Sizes:
    """How much is read and written."""

    large: int
    torch: int
    tiny: int

    @classmethod
    def chosen(cls, arguments: argparse.Namespace) -> Sizes:
        if arguments.quick:
            return cls(64 << 20, 50 << 20, 10_000)
        return cls(arguments.size << 20, min(500, arguments.size) << 20, TINY_TENSORS)


Plan = tuple[str, tuple[Any, ...], tuple[Any, ...]]


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.work is not None:
        name, *paths = arguments.work
        if name == "make_torch":
            _make_torch(paths[0], int(paths[1]))
            print("{}")
            return 0
        print(json.dumps(_measured(WORK[name], [Path(p) for p in paths])))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="ruda-bench-", dir=arguments.folder))
    sizes = Sizes.chosen(arguments)
    try:
        rows = _run(folder, sizes, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _print_table(rows)
    if arguments.json is not None:
        figures = {"bench": "stores", "sizes": vars(sizes), "goals": GOALS, "rows": rows}
        figures["ruda_from"] = _ruda_from()
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=2048, help="megabytes of the large file")
    parser.add_argument("--quick", action="store_true", help="small files: to see that it runs")
    parser.add_argument("--tensors", type=int, default=32, help="tensors in the large file")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the fastest counts")
    parser.add_argument("--only", nargs="*", default=[], help="rows whose name has such a word")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--folder", type=Path, help="where the files are made (default: temporary)")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    return parser


def _run(folder: Path, sizes: Sizes, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    made = _Files(folder, sizes, arguments.tensors)
    rows = []
    for name, ours, theirs in _plans(made):
        if arguments.only and not any(word in name for word in arguments.only):
            continue
        made.prepare(ours[1], theirs[1])
        rows.append(_compare(name, ours, theirs, arguments.repeat))
        print(_line(rows[-1]), file=sys.stderr, flush=True)
    return rows


class _Files:
    """The files that are measured, made when the first row needs them."""

    def __init__(self, folder: Path, sizes: Sizes, tensors: int) -> None:
        self.folder = folder
        each = sizes.large // 4 // tensors
        self.large = folder / "large.safetensors"
        self.packed = folder / "large.bpk"
        self.archive = folder / "large.npz"
        self.zip = folder / "large.pt"
        self.many = folder / "many.safetensors"
        self.sparse = folder / "sparse.safetensors"
        self.checkpoint = folder / "checkpoint.pt"
        self._makers: dict[Path, Callable[[], object]] = {
            self.large: lambda: _make(self.large, tensors, each),
            self.packed: lambda: _make(self.packed, tensors, each),
            self.archive: lambda: _make(self.archive, tensors, each),
            self.zip: lambda: _make(self.zip, tensors, each),
            self.many: lambda: _make(self.many, sizes.tiny, 4),
            self.sparse: lambda: _make_sparse(self.sparse),
            self.checkpoint: lambda: _child(
                "make_torch", self.checkpoint, str(sizes.torch // 4 // TORCH_TENSORS)
            ),
        }

    def prepare(self, *paths: Path) -> None:
        for path in dict.fromkeys(paths):
            if not path.exists():
                self._makers[path]()


def _plans(f: _Files) -> list[Plan]:
    out, large = f.folder / "out.safetensors", f.large
    zip_, packed, npz = f.folder / "o.pt", f.folder / "o.bpk", f.folder / "o.npz"
    save, cp, point = "save_ruda", "cp", f.checkpoint
    return [
        ("open and list many tensors", ("list_ruda", f.many), ("open_official", f.many)),
        ("the same with all snapshots", ("open_ruda", f.many), ("open_official", f.many)),
        ("list 10 GB sparse", ("list_ruda", f.sparse), ("open_official", f.sparse)),
        ("open a torch zip", ("open_ruda", point), ("open_torch", point)),
        ("open a torch zip, with imports", ("cold_ruda", point), ("cold_torch", point)),
        ("read all tensors", ("read_ruda", large), ("read_official", large)),
        ("read all of a torch zip", ("read_ruda", point), ("read_torch", point)),
        ("save, against safetensors", (save, large, out), ("save_official", large, out)),
        ("save, against cp", (save, large, out), (cp, large, out)),
        ("save, against cp and sync", (save, large, out), ("cp_sync", large, out)),
        ("save and verify, against cp", ("save_verify", large, out), (cp, large, out)),
        ("save shards, against cp", ("save_shards", large, out), (cp, large, out)),
        ("save as f16, against cp", ("save_half", large, out), (cp, large, out)),
        ("save Rudapack, against cp", (save, f.packed, packed), (cp, f.packed, packed)),
        ("save PyTorch, against cp", (save, f.zip, zip_), (cp, f.zip, zip_)),
        ("save PyTorch, against torch", (save, f.zip, zip_), ("save_torch", f.zip, zip_)),
        ("save npz, against numpy", (save, f.archive, npz), ("save_npz", f.archive, npz)),
    ]  # fmt: skip


def _make_sparse(path: Path) -> None:
    """A file of ten gigabytes that has a header and holes."""
    rows = SPARSE_BYTES // SPARSE_TENSORS // 4096
    each = rows * 4096
    header = {
        f"layer.{n}.weight": {
            "dtype": "F32",
            "shape": [rows, 1024],
            "data_offsets": [n * each, (n + 1) * each],
        }
        for n in range(SPARSE_TENSORS)
    }
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    with open(path, "wb") as file:
        file.write(len(raw).to_bytes(8, "little") + raw)
        file.truncate(8 + len(raw) + each * SPARSE_TENSORS)


def _make(path: Path, tensors: int, elements: int) -> None:
    import numpy as np

    from ruda.store import TensorIndex, TensorSnapshot, save

    values = np.random.default_rng(0).standard_normal(elements, dtype=np.float32)
    made = [TensorSnapshot.from_array(f"layer.{n}.weight", values) for n in range(tensors)]
    save(TensorIndex.of(made, format="memory"), path)
    os.sync()


def _compare(name: str, ours: Any, theirs: Any, repeat: int) -> dict[str, Any]:
    results: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    sides = [("ours", ours), ("theirs", theirs)]
    for turn in range(repeat):
        for side, work in sides if turn % 2 == 0 else sides[::-1]:
            results[side].append(_child(*work))
    times = {side: [r["seconds"] for r in found] for side, found in results.items()}
    seconds = {side: min(found) for side, found in times.items()}
    middle = {side: median(found) for side, found in times.items()}
    peak = {side: min(r["peak_mb"] for r in found) for side, found in results.items()}
    return {
        "name": name,
        "ruda_s": seconds["ours"],
        "peer_s": seconds["theirs"],
        "speed_ratio": seconds["theirs"] / seconds["ours"],
        "ruda_median_s": middle["ours"],
        "peer_median_s": middle["theirs"],
        "median_ratio": middle["theirs"] / middle["ours"],
        "ruda_peak_mb": peak["ours"],
        "peer_peak_mb": peak["theirs"],
        "peer": theirs[0],
    }


def _child(name: str, *paths: Path | str) -> dict[str, float]:
    command = [sys.executable, __file__, "--work", name, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _measured(work: Callable[..., Callable[[], object]], paths: list[Path]) -> dict[str, float]:
    """Seconds of the work without its imports, and how much memory it added at its peak."""
    if len(paths) == 2:
        for old in paths[1].parent.glob(f"{paths[1].stem}*"):
            old.unlink()
    run = work(*paths)
    os.sync()  # nobody pays for the writes of the one before, or for their removal
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

    _import_readers()

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


def _list_ruda(source: Path) -> int:
    from ruda.store import open_store

    with open_store(source) as index:
        return sum(len(s.shape) + len(str(s.dtype)) for s in index.values())


def _open_ruda(source: Path) -> Callable[[], object]:
    _import_readers()
    return lambda: _list_ruda(source)


def _import_readers() -> None:
    """What opening a first file imports, before the time begins."""
    from ruda.store import available_formats, open_store  # noqa: F401

    available_formats()


def _facts_ruda(source: Path) -> Callable[[], object]:
    from ruda.store import open_store

    _import_readers()

    def run() -> int:
        with open_store(source) as index:
            return sum(len(f.shape) + len(f.dtype_label) for f in index.facts())

    return run


def _open_official(source: Path) -> Callable[[], object]:
    import numpy  # noqa: F401 - safe_open does it, and the time begins after the imports
    from safetensors import safe_open

    def run() -> int:
        total = 0
        with safe_open(source, "np") as file:
            for key in file.keys():  # noqa: SIM118
                view = file.get_slice(key)
                total += len(view.get_shape()) + len(view.get_dtype())
        return total

    return run


def _list_torch(source: Path) -> int:
    import torch

    loaded = torch.load(source, mmap=True, weights_only=True)
    return sum(len(t.shape) + len(str(t.dtype)) for t in loaded.values())


def _open_torch(source: Path) -> Callable[[], object]:
    import torch  # noqa: F401 - before the time begins

    return lambda: _list_torch(source)


def _read_torch(source: Path) -> Callable[[], object]:
    import torch

    def run() -> None:
        for tensor in torch.load(source, weights_only=True).values():
            tensor.numpy().max()

    return run


def _save_torch(source: Path, out: Path) -> Callable[[], object]:
    import torch

    return lambda: torch.save(torch.load(source, weights_only=True), out)


def _save_npz(source: Path, out: Path) -> Callable[[], object]:
    import numpy as np

    def run() -> None:
        with np.load(source) as arrays:
            np.savez(out, **arrays)

    return run


def _save_shards(source: Path, out: Path) -> Callable[[], object]:
    from ruda.store import open_store, save

    def run() -> None:
        with open_store(source) as index:
            save(index, out, shard_size=max(1, index.nbytes // 4))

    return run


def _make_torch(path: str, elements: int) -> None:
    import torch

    made = {f"layers.{n}.weight": torch.rand(elements) for n in range(TORCH_TENSORS)}
    torch.save(made, path)
    os.sync()


def _read_ruda(source: Path) -> Callable[[], object]:
    from ruda.store import open_store

    _import_readers()

    def run() -> None:
        with open_store(source) as index:
            for snapshot in index.values():
                snapshot.read().max()

    return run


def _read_official(source: Path) -> Callable[[], object]:
    import numpy  # noqa: F401 - as above
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
    "cold_ruda": lambda source: lambda: _list_ruda(source),
    "list_ruda": _facts_ruda,
    "open_torch": _open_torch,
    "cold_torch": lambda source: lambda: _list_torch(source),
    "read_official": _read_official,
    "read_ruda": _read_ruda,
    "read_torch": _read_torch,
    "save_half": _save_half,
    "save_npz": _save_npz,
    "save_official": _save_official,
    "save_ruda": _save_ruda,
    "save_shards": _save_shards,
    "save_torch": _save_torch,
    "save_verify": lambda source, out: _save_ruda(source, out, verify=True),
}


def _ruda_from() -> str:
    """The file that ``import ruda`` runs: of an installed wheel, or of a checkout."""
    spec = importlib.util.find_spec("ruda")
    return "nowhere" if spec is None else str(spec.origin)


def _print_table(rows: list[dict[str, Any]]) -> None:
    print(f"ruda is imported from {_ruda_from()}")
    print(
        f"{'':38}{'ruda s':>9}{'peer s':>9}{'× peer':>8}{'median':>8}{'goal':>6}{'ruda MB':>9}"
        f"{'peer MB':>9}"
    )
    for row in rows:
        print(_line(row))


def _line(row: dict[str, Any]) -> str:
    goal = GOALS.get(row["name"])
    return (
        f"{row['name']:38}{row['ruda_s']:9.3f}{row['peer_s']:9.3f}{row['speed_ratio']:8.2f}"
        f"{row['median_ratio']:8.2f}"
        f"{'' if goal is None else goal:>6}{row['ruda_peak_mb']:9.1f}{row['peer_peak_mb']:9.1f}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
