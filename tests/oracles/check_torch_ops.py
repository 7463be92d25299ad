"""Every operation of Ruda's that torch has too, on the samples of torch's own ``op_db``, in f32.

    PYTHONPATH=core PYTHON_WITH_TORCH tests/oracles/check_torch_ops.py [--verbose] [NAME ...]

torch's test suite has sample inputs for each operation: edge shapes, empty tensors, axes of both
signs. Each sample goes through torch and through Ruda; shape and dtype have to be the same and
values within rounding. Samples with settings that Ruda does not offer are counted apart, with the
reason. No part of the test suite: torch is no dependency. Exit code 1 if a sample disagrees.
"""

# ruff: noqa: BLE001, T201
from __future__ import annotations

import argparse
import sys
import types
import unittest
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

# torch's test utilities import a package for expected output, which is not used here.
_EXPECT = types.ModuleType("expecttest")
_EXPECT.TestCase = unittest.TestCase  # type: ignore[attr-defined]
_EXPECT.assert_expected_inline = lambda *args, **kwargs: None  # type: ignore[attr-defined]
sys.modules.setdefault("expecttest", _EXPECT)
warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parent))

import torch  # noqa: E402
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402
from torch_ops.layers import LAYERS  # noqa: E402
from torch_ops.newer import NEWER  # noqa: E402
from torch_ops.translated import First, UnlikeError  # noqa: E402
from torch_ops.twins import TWINS as METHODS  # noqa: E402

from ruda.tensor import DType, Tensor  # noqa: E402

TWINS = METHODS | LAYERS | NEWER

# Sums in another order, and solvers: measured against the largest value of the result.
LOOSE = {
    "linalg": 2e-3,
    "cholesky": 1e-3,
    "logdet": 1e-3,
    "fft": 1e-4,
    "cumprod": 1e-4,
    "prod": 1e-4,
}
SAMPLES_AT_MOST = 400


def ours(value: Any) -> Any:
    """torch's tensors as Ruda's, at any depth; dtypes likewise."""
    if isinstance(value, torch.Tensor):
        return Tensor.from_data(value.detach().resolve_conj().resolve_neg().numpy().copy())
    if isinstance(value, torch.dtype):
        found = DType.from_torch(str(value).removeprefix("torch."))
        if found is None or not found.is_ordered:
            raise UnlikeError(f"dtype {value}")
        return found
    if isinstance(value, torch.device | torch.layout):
        return None
    if isinstance(value, tuple | list):
        return (
            type(value)(ours(one) for one in value)
            if type(value) in (tuple, list)
            else tuple(ours(one) for one in value)
        )
    return value


def plain(value: Any) -> list[Any]:
    """The arrays of a result, in order."""
    if isinstance(value, torch.Tensor):
        return [value.detach().resolve_conj().resolve_neg().numpy()]
    if isinstance(value, Tensor):
        return [value.numpy()]
    if isinstance(value, tuple | list):
        return [array for one in value for array in plain(one)]
    return [np.asarray(value)]


def disagreement(name: str, got: list[Any], wanted: list[Any]) -> str | None:
    """What differs, or None."""
    if len(got) != len(wanted):
        return f"{len(got)} results, torch has {len(wanted)}"
    for a, b in zip(got, wanted, strict=True):
        if a.shape != b.shape:
            return f"shape {a.shape}, torch has {b.shape}"
        if a.dtype != b.dtype:
            return f"dtype {a.dtype}, torch has {b.dtype}"
        if a.dtype.kind not in "fc":
            if not np.array_equal(a, b):
                return "other values"
            continue
        loose = next((v for k, v in LOOSE.items() if name.startswith(k)), 2e-5)
        with np.errstate(all="ignore"):
            top = np.max(np.abs(b[np.isfinite(b)]), initial=0)
            close = np.isclose(a, b, rtol=loose, atol=loose * max(float(top), 1e-3), equal_nan=True)
        if not close.all():
            return f"{np.count_nonzero(~close)} of {a.size} values, {a[~close][:2]} {b[~close][:2]}"
    return None


def check(op: Any, verbose: bool) -> Counter[str]:
    """Agreement, disagreement and reasons over the samples of one operation."""
    counts: Counter[str] = Counter()
    for number, sample in enumerate(op.sample_inputs("cpu", torch.float32)):
        if number >= SAMPLES_AT_MOST:
            break
        try:
            expected = op.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:
            counts["torch refuses"] += 1
            continue
        twin = TWINS[op.name]
        options = {k: ours(v) for k, v in sample.kwargs.items()} if _held(sample) else None
        try:
            if options is None:
                raise UnlikeError("a dtype that tensors do not compute with")
            found = twin(ours(sample.input), *(ours(a) for a in sample.args), **options)
            wanted = plain(expected)
            wanted = wanted[:1] if isinstance(found, First) else wanted
            problem = disagreement(op.name, plain(found), wanted)
        except UnlikeError as reason:
            counts[f"unlike: {reason}"] += 1
            continue
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        counts["disagrees" if problem else "agrees"] += 1
        if problem and (verbose or counts["disagrees"] == 1):
            print(f"  {op.name}: {str(sample)[:300]}\n    {problem[:200]}")
    return counts


def _held(sample: Any) -> bool:
    try:
        ours(tuple(sample.kwargs.values()))
        ours(sample.args)
        ours(sample.input)
    except (UnlikeError, TypeError):
        return False
    return True


def main() -> int:
    """Check all operations, or those named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    known = {op.name for op in op_db}
    stray = [name for name in TWINS if name not in known]
    total: Counter[str] = Counter()
    whole: set[str] = set()
    partly: dict[str, Counter[str]] = {}
    wrong: set[str] = set()
    for op in op_db:
        if op.name not in TWINS:
            continue
        if options.names and op.name not in options.names:
            continue
        counts = check(op, options.verbose)
        total += counts
        if counts["disagrees"]:
            wrong.add(op.name)
        elif counts["agrees"]:
            whole.add(op.name)
        if any(key.startswith("unlike") for key in counts):
            partly[op.name] = partly.get(op.name, Counter()) + counts
    print(f"{len(whole - wrong)} operations agree on {total['agrees']} samples")
    print(f"{len(wrong)} disagree on {total['disagrees']}: {' '.join(sorted(wrong))}")
    apart = sum(count for key, count in total.items() if key.startswith("unlike"))
    print(f"settings that Ruda does not offer: {apart}")
    for name, counts in sorted(partly.items()):
        reasons = "; ".join(f"{k[8:]} {c}" for k, c in counts.items() if k.startswith("unlike"))
        print(f"  {name}: {counts['agrees']} agree, {reasons}")
    if stray:
        print("not in op_db:", *stray)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
